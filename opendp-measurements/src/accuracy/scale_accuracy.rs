//! Conversion between the scale of noise and its accuracy.
//!
//! Noise `Z` has the accuracy `a` at `alpha` if `P[|Z| >= a] <= alpha`. Every accuracy is rounded
//! up, and every scale is rounded down. So an accuracy is never too small, and a scale is never too
//! large. The time of a conversion has a limit that does not depend on the scale.

use opendp_core::arith::{Directed, DirectedFloat};
use opendp_core::{Error, Result};

use crate::accuracy::gaussian_accuracy::{beyond, quantile};
use crate::accuracy::laplace_accuracy::negative_ln;
use crate::tails::discrete_gaussian_tail;
use crate::{Scale, accuracy};

/// Find the accuracy of continuous Laplace noise: `-scale ln(alpha)`.
///
/// # Errors
/// `InvalidDistance` when the scale is negative or not finite, or `alpha` is not in `(0, 1]`;
/// `Overflow` when the accuracy exceeds all floats.
///
/// ```
/// use opendp_measurements::laplacian_scale_to_accuracy;
/// let accuracy = laplacian_scale_to_accuracy(1.0, 0.05)?;
/// assert!((accuracy - 2.995732273553991).abs() < 1e-15);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn laplacian_scale_to_accuracy(scale: f64, alpha: f64) -> Result<f64> {
    let scale = check("scale", scale)?;
    accuracy::check(alpha)?;
    negative_ln(alpha)?.inf_mul(scale)
}

/// Find the scale at which continuous Laplace noise has a given accuracy: `-accuracy / ln(alpha)`.
///
/// # Errors
/// `InvalidDistance` when the accuracy is negative or not finite, or `alpha` is not in `(0, 1)`;
/// `Overflow` when the scale exceeds all floats.
///
/// ```
/// use opendp_measurements::accuracy_to_laplacian_scale;
/// let scale = accuracy_to_laplacian_scale(1.0, 0.05)?;
/// assert!((scale - 0.33380820069533407).abs() < 1e-15);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn accuracy_to_laplacian_scale(accuracy: f64, alpha: f64) -> Result<f64> {
    let accuracy = check("accuracy", accuracy)?;
    check_below_one(alpha)?;
    accuracy.neg_inf_div(negative_ln(alpha)?)
}

/// Find an accuracy of discrete Laplace noise: `scale ln(2 / (alpha (1 + exp(-1 / scale))))`.
///
/// Let `q = exp(-1 / scale)`. For every integer `m >= 1`, the noise `Z` has
/// `P[|Z| >= m] = 2 q^m / (1 + q)`. The accuracy is the real number `a` with
/// `2 q^a / (1 + q) = alpha`. If `a` is not an integer, `P[|Z| >= a]` is `2 q^m / (1 + q)` at the
/// next larger integer `m`. This probability is smaller than `alpha`. At scale 0, the accuracy is
/// 0, which is the limit of the formula for small scales.
///
/// # Errors
/// `InvalidDistance` when the scale is negative or not finite, or `alpha` is not in `(0, 1]`;
/// `Overflow` when the accuracy exceeds all floats.
///
/// ```
/// use opendp_measurements::discrete_laplacian_scale_to_accuracy;
/// let accuracy = discrete_laplacian_scale_to_accuracy(1.0, 0.05)?;
/// assert!((accuracy - 3.3756177665957137).abs() < 1e-14);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn discrete_laplacian_scale_to_accuracy(scale: f64, alpha: f64) -> Result<f64> {
    let scale = check("scale", scale)?;
    accuracy::check(alpha)?;
    if scale == 0.0 {
        return Ok(0.0);
    }
    // Use a lower bound on q. If the inverse of the scale exceeds all floats, q is below all
    // positive floats, and the lower bound is 0.
    let q = 1.0.inf_div(scale).and_then(|inverse| (-inverse).neg_inf_exp()).unwrap_or(0.0);
    let logarithm = 2.0.inf_ln()?.inf_add(negative_ln(alpha)?)?.inf_sub(q.neg_inf_ln_1p()?)?;
    Ok(logarithm.inf_mul(scale)?.max(0.0))
}

/// Find the scale at which discrete Laplace noise has a given accuracy.
///
/// The result is nearly the largest float for which [`discrete_laplacian_scale_to_accuracy`] is at
/// most the given accuracy.
///
/// # Errors
/// `InvalidDistance` when the accuracy is negative or not finite, or `alpha` is not in `(0, 1)`;
/// `Overflow` when the scale exceeds all floats.
///
/// ```
/// use opendp_measurements::accuracy_to_discrete_laplacian_scale;
/// let scale = accuracy_to_discrete_laplacian_scale(1.0, 0.05)?;
/// assert!((scale - 0.27295842040939744).abs() < 1e-14);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn accuracy_to_discrete_laplacian_scale(accuracy: f64, alpha: f64) -> Result<f64> {
    // At every scale, the accuracy of discrete Laplace noise is at least the accuracy of continuous
    // Laplace noise, which is `-scale ln(alpha)`. The reason is that `1 + q <= 2` for
    // `q = exp(-1 / scale)`. So the scale of continuous noise with the given accuracy is an upper
    // bound on the result.
    let upper = accuracy_to_laplacian_scale(accuracy, alpha)?;
    largest(upper, |scale| Ok(discrete_laplacian_scale_to_accuracy(scale, alpha)? <= accuracy))
}

/// Find the accuracy of continuous Gaussian noise: `scale` times the `(1 - alpha / 2)`-quantile of
/// the standard normal distribution.
///
/// # Errors
/// `InvalidDistance` when the scale is negative or not finite, or `alpha` is not in `(0, 1]`;
/// `Overflow` when the accuracy exceeds all floats.
///
/// ```
/// use opendp_measurements::gaussian_scale_to_accuracy;
/// let accuracy = gaussian_scale_to_accuracy(1.0, 0.05)?;
/// assert!((accuracy - 1.959963984540054).abs() < 1e-14);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn gaussian_scale_to_accuracy(scale: f64, alpha: f64) -> Result<f64> {
    let scale = check("scale", scale)?;
    accuracy::check(alpha)?;
    quantile(alpha)?.inf_mul(scale)
}

/// Find the scale at which continuous Gaussian noise has a given accuracy.
///
/// # Errors
/// `InvalidDistance` when the accuracy is negative or not finite, or `alpha` is not in `(0, 1)`;
/// `Overflow` when the scale exceeds all floats.
///
/// ```
/// use opendp_measurements::accuracy_to_gaussian_scale;
/// let scale = accuracy_to_gaussian_scale(1.0, 0.05)?;
/// assert!((scale - 0.510213456924654).abs() < 1e-14);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn accuracy_to_gaussian_scale(accuracy: f64, alpha: f64) -> Result<f64> {
    let accuracy = check("accuracy", accuracy)?;
    check_below_one(alpha)?;
    accuracy.neg_inf_div(quantile(alpha)?)
}

/// Find the accuracy of discrete Gaussian noise. The accuracy is the least integer `a >= 1` for
/// which a certified upper bound on `P[|Z| >= a]` is at most `alpha`.
///
/// # Errors
/// `InvalidDistance` when the scale is negative or not finite, or `alpha` is not in `(0, 1]`;
/// `Overflow` when the accuracy exceeds all floats.
///
/// ```
/// use opendp_measurements::discrete_gaussian_scale_to_accuracy;
/// assert_eq!(discrete_gaussian_scale_to_accuracy(100.0, 0.05)?, 197.0);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn discrete_gaussian_scale_to_accuracy(scale: f64, alpha: f64) -> Result<f64> {
    let scale = Scale::new(check("scale", scale)?)?;
    accuracy::check(alpha)?;
    beyond(scale, alpha)
}

/// Find the scale at which discrete Gaussian noise has a given accuracy.
///
/// The result is nearly the largest float for which a certified upper bound on
/// `P[|Z| >= accuracy]` is at most `alpha`. The noise `Z` is an integer, so the accuracy can be
/// rounded up to an integer. If this integer is above 0,
/// [`discrete_gaussian_scale_to_accuracy`] of the scale is at most this integer. If the accuracy is
/// 0, the scale is 0.
///
/// # Errors
/// `InvalidDistance` when the accuracy is negative or not finite, or `alpha` is not in `(0, 1)`;
/// `Overflow` when the scale exceeds all floats.
///
/// ```
/// use opendp_measurements::accuracy_to_discrete_gaussian_scale;
/// let scale = accuracy_to_discrete_gaussian_scale(1.0, 0.05)?;
/// assert!((scale - 0.3707466793890236).abs() < 1e-14);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn accuracy_to_discrete_gaussian_scale(accuracy: f64, alpha: f64) -> Result<f64> {
    // At the same scale, the error bound of discrete noise is at least the error bound of
    // continuous noise. So for a given error bound, the scale of discrete noise is at most the
    // scale of continuous noise.
    let accuracy = check("accuracy", accuracy)?.ceil();
    let upper = accuracy_to_gaussian_scale(accuracy, alpha)?;
    largest(upper, |scale| Ok(2.0 * discrete_gaussian_tail(Scale::new(scale)?, accuracy)? <= alpha))
}

/// Search for the largest scale up to `upper` for which a check succeeds. Return 0 if no such scale
/// is found.
///
/// A scale above 0 is returned only if the check succeeded at this scale. For some checks, a
/// failure at one scale implies a failure at all larger scales. For such a check, the result is the
/// largest scale for which the check succeeds.
fn largest(upper: f64, fits: impl Fn(f64) -> Result<bool>) -> Result<f64> {
    if 0.0 < upper && fits(upper)? {
        return Ok(upper);
    }
    let (mut good, mut bad) = (0.0_f64, upper);
    loop {
        // Until a check succeeds, halve the scale. In this way, very small scales are found.
        let middle = if good == 0.0 { bad / 2.0 } else { good + (bad - good) / 2.0 };
        if middle <= good || bad <= middle {
            return Ok(good);
        }
        if fits(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
}

/// Check that a scale or an accuracy is a finite number that is not negative.
fn check(name: &str, value: f64) -> Result<f64> {
    if value < 0.0 {
        return Err(Error::InvalidDistance(format!(
            "{name}: expected a number of at least 0, found {value:?}"
        )));
    }
    if value <= f64::MAX {
        // Convert a negative zero to zero.
        Ok(value + 0.0)
    } else {
        Err(Error::InvalidDistance(format!("{name}: expected a finite number, found {value:?}")))
    }
}
/// Check that `alpha` is a probability above 0 and below 1.
fn check_below_one(alpha: f64) -> Result<()> {
    if 0.0 < alpha && alpha < 1.0 {
        Ok(())
    } else {
        Err(Error::InvalidDistance(format!(
            "alpha: expected a probability above 0 and below 1, found {alpha:?}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Function = fn(f64, f64) -> Result<f64>;
    /// All pairs of inverse functions in this file: from scale to accuracy, and from accuracy to
    /// scale.
    const PAIRS: [(Function, Function); 4] = [
        (laplacian_scale_to_accuracy, accuracy_to_laplacian_scale),
        (discrete_laplacian_scale_to_accuracy, accuracy_to_discrete_laplacian_scale),
        (gaussian_scale_to_accuracy, accuracy_to_gaussian_scale),
        (discrete_gaussian_scale_to_accuracy, accuracy_to_discrete_gaussian_scale),
    ];
    /// Check that the relative difference between a value and a reference value is below `1e-14`.
    #[track_caller]
    fn near(found: Result<f64>, reference: f64) {
        let found = found.unwrap();
        assert!((found / reference - 1.0).abs() < 1e-14, "{found} for {reference}");
    }

    #[test]
    fn gives_the_accuracies_of_the_test_vectors() {
        near(laplacian_scale_to_accuracy(1.0, 0.05), 2.995_732_273_553_991);
        near(laplacian_scale_to_accuracy(2.0, 0.5), 1.386_294_361_119_890_6);
        near(gaussian_scale_to_accuracy(1.0, 0.05), 1.959_963_984_540_053_8);
        for (s, a) in [
            (0.1, 0.368_883_405_521_471_9),
            (0.5, 1.780_975_721_535_481_8),
            (1.0, 3.375_617_766_595_713_7),
            (2.0, 6.429_604_939_867_66),
            (5.0, 15.453_702_923_661_723),
            (100.0, 300.071_977_360_607_43),
        ] {
            near(discrete_laplacian_scale_to_accuracy(s, 0.05), a);
        }
        for (s, a) in [(0.1, 1.0), (0.5, 2.0), (1.0, 3.0), (2.0, 5.0), (5.0, 11.0), (100.0, 197.0)]
        {
            assert_eq!(discrete_gaussian_scale_to_accuracy(s, 0.05), Ok(a));
        }
        assert_eq!(discrete_gaussian_scale_to_accuracy(10.0, 0.01), Ok(27.0));
    }
    #[test]
    fn gives_the_scales_of_the_test_vectors() {
        near(accuracy_to_laplacian_scale(1.0, 0.05), 0.333_808_200_695_334_07);
        near(accuracy_to_discrete_laplacian_scale(1.0, 0.05), 0.272_958_420_409_397_44);
        near(accuracy_to_gaussian_scale(1.0, 0.05), 0.510_213_456_924_654);
        near(accuracy_to_discrete_gaussian_scale(1.0, 0.05), 0.370_746_679_389_023_6);
    }
    #[test]
    fn without_noise_there_is_no_error() {
        for (to_accuracy, to_scale) in PAIRS {
            // At scale 0, the accuracy of discrete Gaussian noise is 1. The accuracy of the other
            // kinds of noise is 0.
            assert!(to_accuracy(0.0, 0.05).unwrap() <= 1.0);
            assert_eq!(to_scale(0.0, 0.05), Ok(0.0));
            assert_eq!(to_accuracy(-0.0, 0.5), to_accuracy(0.0, 0.5));
        }
        assert_eq!(discrete_laplacian_scale_to_accuracy(0.0, 0.05), Ok(0.0));
        assert_eq!(discrete_gaussian_scale_to_accuracy(0.0, 0.05), Ok(1.0));
        // The noise is an integer, so the accuracy 0.9 is rounded up to 1.
        let of_one = accuracy_to_discrete_gaussian_scale(1.0, 0.05);
        assert_eq!(accuracy_to_discrete_gaussian_scale(0.9, 0.05), of_one);
        assert_eq!(accuracy_to_discrete_gaussian_scale(0.0, 0.05), Ok(0.0));
        let of_two = accuracy_to_discrete_gaussian_scale(2.0, 0.05);
        assert_eq!(accuracy_to_discrete_gaussian_scale(1.5, 0.05), of_two);
        assert!(of_one.unwrap() < of_two.unwrap());
    }
    #[test]
    fn a_scale_keeps_its_accuracy_and_is_the_largest_that_does() {
        for (to_accuracy, to_scale) in PAIRS {
            for alpha in [0.9, 0.05, 1e-9] {
                for accuracy in [1.0, 2.5, 40.0, 1e7, 1e15] {
                    let scale = to_scale(accuracy, alpha).unwrap();
                    // The accuracy of discrete Gaussian noise is an integer, even at scale 0.
                    let is_whole = to_accuracy(0.0, alpha) == Ok(1.0);
                    let a: f64 = if is_whole { accuracy.ceil() } else { accuracy };
                    assert!(to_accuracy(scale, alpha).unwrap() <= a * (1.0 + 1e-15), "{a} {alpha}");
                    let more = to_accuracy(scale * (1.0 + 1e-9), alpha).unwrap();
                    assert!(a.floor() * (1.0 - 1e-15) < more, "{a} {alpha}: {scale} is too small");
                }
            }
        }
    }
    #[test]
    fn large_scales_take_no_longer() {
        let large = discrete_gaussian_scale_to_accuracy(1e12, 0.05).unwrap();
        assert!((large / 1.959_963_984_540_054e12 - 1.0).abs() < 1e-11, "{large}");
        let huge = discrete_gaussian_scale_to_accuracy(1e300, 0.05).unwrap();
        assert!((huge / 1.959_963_984_540_054e300 - 1.0).abs() < 1e-11, "{huge}");
        for (to_accuracy, _) in PAIRS {
            assert_eq!(to_accuracy(f64::MAX, 1e-3).unwrap_err().kind(), "Overflow");
        }
    }
    #[test]
    fn refuses_what_is_no_scale_accuracy_or_probability() {
        for (to_accuracy, to_scale) in PAIRS {
            let message = |result: Result<f64>| result.unwrap_err().to_string();
            assert_eq!(
                message(to_accuracy(1.0, 0.0)),
                "invalid distance: alpha: expected a probability above 0 and at most 1, found 0.0"
            );
            assert_eq!(
                message(to_accuracy(-1.0, 0.5)),
                "invalid distance: scale: expected a number of at least 0, found -1.0"
            );
            assert_eq!(
                message(to_scale(-1.0, 0.5)),
                "invalid distance: accuracy: expected a number of at least 0, found -1.0"
            );
            assert_eq!(
                message(to_scale(1.0, 1.0)),
                "invalid distance: alpha: expected a probability above 0 and below 1, found 1.0"
            );
            for wrong in [f64::NAN, f64::INFINITY] {
                for result in [
                    to_accuracy(wrong, 0.5),
                    to_scale(wrong, 0.5),
                    to_accuracy(1.0, wrong),
                    to_scale(1.0, wrong),
                ] {
                    assert_eq!(result.unwrap_err().kind(), "InvalidDistance");
                }
            }
        }
    }
}
