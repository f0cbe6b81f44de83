//! Privacy profiles of noise.

use opendp_core::arith::{Directed, DirectedFloat};
use opendp_core::{PrivacyProfile, Result};

use super::enclosed_pair::LEAST_SCALE;
use super::integer_gaussian::IntegerGaussianPair;
use super::profile::exposed;
use super::{
    Account, DiscreteGaussianPair, DiscreteLaplacePair, EnclosedPair, GaussianPair,
    IntegerVectorPair, LaplacePair, gaussian_delta, profile_of, profile_of_concentrated,
    profile_of_private,
};

/// The outputs of discrete Gaussian noise are listed only if the quotient of sensitivity and scale
/// is below this number.
const MOST_RATIO: f64 = 20.0;
/// The outputs of a discrete mechanism are listed one by one only if the sensitivity is at most
/// this number.
const MAX_SENSITIVITY: f64 = 65536.0;

/// Return the profile in two special cases, and `None` in all other cases. At distance 0, there is
/// no loss. At scale 0 and a distance above 0, the loss is unbounded.
fn degenerate(sensitivity: f64, scale: f64) -> Option<PrivacyProfile> {
    if sensitivity == 0.0 {
        Some(Account::new().profile())
    } else if scale == 0.0 {
        Some(exposed())
    } else {
        None
    }
}

/// Return the profile of Laplace noise on real numbers. `sensitivity` is the largest L1 distance
/// between neighbours.
///
/// Let `s` be the sensitivity divided by the scale. For an epsilon from 0 to `s`, one release has
/// `delta = 1 - e^((epsilon - s) / 2)` (Balle, Barthe, Gaboardi 2018, Theorem 3). So
/// `epsilon = s + 2 ln(1 - delta)`.
///
/// # Errors
/// `Overflow` when the sensitivity, the scale or their quotient is not finite.
pub fn profile_of_laplace(sensitivity: f64, scale: f64) -> Result<PrivacyProfile> {
    if let Some(profile) = degenerate(sensitivity, scale) {
        return Ok(profile);
    }
    let largest = sensitivity.inf_div(scale)?;
    let delta = move |epsilon: f64| {
        if epsilon >= largest {
            return Ok(0.0);
        }
        Ok(-epsilon.neg_inf_sub(largest)?.neg_inf_div(2.0)?.neg_inf_exp_m1()?)
    };
    let epsilon = move |delta: f64| match delta {
        1.0 => Ok(0.0),
        delta => Ok(largest.inf_add((-delta).inf_ln_1p()?.inf_mul(2.0)?)?.max(0.0)),
    };
    Ok(profile_of(LaplacePair { epsilon: largest }).with_delta(delta).with_epsilon(epsilon))
}

/// Return the profile of discrete Laplace noise on integers. `sensitivity` is the largest L1
/// distance between neighbours.
///
/// Two integers differ by an integer, so the sensitivity is rounded down. If the sensitivity is
/// above 65536, or at least 300 times the scale, the result is the profile of a pure loss. This
/// loss is the sensitivity divided by the scale.
///
/// # Errors
/// The errors of [`profile_of_laplace`].
pub fn profile_of_discrete_laplace(sensitivity: f64, scale: f64) -> Result<PrivacyProfile> {
    let sensitivity = sensitivity.floor();
    if let Some(profile) = degenerate(sensitivity, scale) {
        return Ok(profile);
    }
    let epsilon = sensitivity.inf_div(scale)?;
    if sensitivity <= MAX_SENSITIVITY && epsilon < 300.0 {
        return Ok(profile_of(DiscreteLaplacePair { sensitivity: sensitivity as u32, scale }));
    }
    profile_of_private(epsilon, 0.0)
}

/// Return the profile of Gaussian noise on real numbers. `sensitivity` is the largest L2 distance
/// between neighbours.
///
/// # Errors
/// The errors of [`profile_of_laplace`].
pub fn profile_of_gaussian(sensitivity: f64, scale: f64) -> Result<PrivacyProfile> {
    if let Some(profile) = degenerate(sensitivity, scale) {
        return Ok(profile);
    }
    let mu = sensitivity.inf_div(scale)?;
    let exact = move |epsilon| gaussian_delta(mu, epsilon).map(|delta| delta.upper);
    Ok(profile_of(GaussianPair { mu }).with_delta(exact))
}

/// Return the profile of discrete Gaussian noise on one integer.
///
/// The outputs of the noise are listed under two conditions: the sensitivity and the scale are at
/// most 65536, and the sensitivity is below 20 times the scale. Otherwise, for scales of at least
/// 100, profiles of continuous noise enclose this profile: see
/// [`EnclosedPair`](super::EnclosedPair). For smaller scales, the result is the profile that
/// follows from `rho` (the zero-concentrated loss).
///
/// # Errors
/// The errors of [`profile_of_laplace`].
pub fn profile_of_discrete_gaussian(sensitivity: f64, scale: f64) -> Result<PrivacyProfile> {
    let sensitivity = sensitivity.floor();
    if let Some(profile) = degenerate(sensitivity, scale) {
        return Ok(profile);
    }
    let ratio = sensitivity.inf_div(scale)?;
    if sensitivity <= MAX_SENSITIVITY
        && scale <= DiscreteGaussianPair::MAX_SCALE
        && ratio < MOST_RATIO
    {
        return Ok(profile_of(DiscreteGaussianPair { sensitivity: sensitivity as u32, scale }));
    }
    if LEAST_SCALE <= scale {
        let pair = EnclosedPair::gaussian(sensitivity, 1.0, scale)?;
        return Ok(profile_of(pair.on_one_integer(sensitivity, scale)));
    }
    match sensitivity.inf_mul(sensitivity) {
        Ok(square) => Ok(profile_of(IntegerGaussianPair::new(square, scale)?)),
        Err(_) => profile_of_concentrated(ratio.inf_mul(ratio)?.inf_div(2.0)?),
    }
}

/// Return the profile of discrete Gaussian noise on integers. `sensitivity` is the largest L2
/// distance between neighbours.
///
/// The square of the L2 distance between two vectors of integers is an integer. So the square of
/// the sensitivity is rounded down. If the sensitivity is the float nearest to the square root of
/// an integer, this integer is used as the square. For scales of at least 100, profiles of
/// continuous noise enclose this profile ([`EnclosedPair`](super::EnclosedPair)). For smaller
/// scales, there is a bound for the worst of all shifts: see
/// [`IntegerVectorPair`](super::IntegerVectorPair). A shift is the difference between the vectors
/// of two neighbours. This bound is used only if the sensitivity is below `sqrt(2)` times the
/// scale, and the scale is at least 1. Also, the bound must add at most `1e-7` to delta, and at
/// most about 2 million losses may be listed. Otherwise, the enclosure by continuous noise is used
/// for scales of at least 20. For scales below 20, `rho` (the zero-concentrated loss) is used. If
/// the rounded square is 1, the result is the profile of noise on one integer. Above a sensitivity
/// of `1e100`, only `rho` is used. For squares above 1 and sensitivities up to `1e100`, an account
/// of several releases computes two more bounds. For the first bound, all releases with discrete
/// Gaussian noise are composed as one release with continuous noise. The first bound is tight for
/// many releases. The account computes the second bound only if all its releases are equal and few.
/// For this bound, the releases are composed with the worst choice of their shifts. The second
/// bound is tight if the sensitivity is at most 1.3 times the scale.
///
/// # Errors
/// The errors of [`profile_of_laplace`].
pub fn profile_of_discrete_gaussian_vector(sensitivity: f64, scale: f64) -> Result<PrivacyProfile> {
    if 1e100 < sensitivity {
        let ratio = sensitivity.inf_div(scale)?;
        return profile_of_concentrated(ratio.inf_mul(ratio)?.inf_div(2.0)?);
    }
    let square = sensitivity.next_up().inf_mul(sensitivity)?.floor();
    if let Some(profile) = degenerate(square, scale) {
        return Ok(profile);
    }
    if square == 1.0 {
        return profile_of_discrete_gaussian(1.0, scale);
    }
    let root = square.inf_sqrt()?;
    if scale < LEAST_SCALE
        && square <= f64::from(u32::MAX)
        && let Some(pair) = IntegerVectorPair::enclosed(square as u64, scale)?
    {
        return Ok(profile_of(pair));
    }
    if 20.0 <= scale {
        return Ok(profile_of(EnclosedPair::gaussian(root, square, scale)?));
    }
    Ok(profile_of(IntegerGaussianPair::new(square, scale)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Return the exact delta of discrete Laplace noise on integers that are moved by `shifts`.
    fn delta_of_integers(shifts: &[i32], scale: f64, epsilon: f64) -> f64 {
        // The losses in units of `1 / scale`, with their probabilities. In these units, each loss
        // is an integer.
        let mut losses = vec![(0, 1.0)];
        for shift in shifts {
            let q = (-1.0 / scale).exp();
            let noise = (-400..=400_i32).map(|z| (z, (1.0 - q) / (1.0 + q) * q.powi(z.abs())));
            let moved: Vec<_> =
                noise.map(|(z, mass)| ((z - shift).abs() - z.abs(), mass)).collect();
            let mut both = std::collections::BTreeMap::new();
            for (loss, mass) in losses {
                for (more, other) in &moved {
                    *both.entry(loss + more).or_insert(0.0) += mass * other;
                }
            }
            losses = both.into_iter().collect();
        }
        let part = |(loss, mass): (i32, f64)| {
            mass * (-(epsilon - f64::from(loss) / scale).exp_m1()).max(0.0)
        };
        losses.into_iter().map(part).sum()
    }
    /// Each expected number is the least float above a value that was computed with 60 digits.
    #[test]
    fn profiles_of_floats_are_rounded_up() {
        let laplace = |distance| profile_of_laplace(distance, 1.0).unwrap();
        for (distance, least) in
            [(1.0, 0.39346934028736663), (2.0, 0.6321205588285578), (3.0, 0.7768698398515702)]
        {
            assert!(least <= laplace(distance).delta(0.0).unwrap(), "{distance}");
        }
        for (delta, least) in
            [(0.0625, 0.8709229577248577), (0.125, 0.7329372147509549), (0.25, 0.4246358550964382)]
        {
            assert!(least <= laplace(1.0).epsilon(delta).unwrap(), "{delta}");
        }
        let third = profile_of_laplace(1.0, 3.0).unwrap();
        assert_eq!(third.epsilon(0.0), Ok(0.33333333333333337));
        for (scale, least) in [
            (1.0, 0.38292492254802624),
            (1.5, 0.2611173196364728),
            (3.0, 0.13236766522180732),
            (7.0, 0.056943329032957034),
        ] {
            assert!(least <= profile_of_gaussian(1.0, scale).unwrap().delta(0.0).unwrap());
        }
    }
    #[test]
    fn laplace_noise_on_one_number_protects_less_than_on_a_vector() {
        let scale = 1.7;
        for shifts in [&[1, 1][..], &[1, 3], &[2, 2], &[1, 1, 2], &[5, 1, 1, 1]] {
            let total: i32 = shifts.iter().sum();
            let distance = f64::from(total);
            let integers = profile_of_discrete_laplace(distance, scale).unwrap();
            let floats = profile_of_laplace(distance, scale).unwrap();
            let vector = shifts.iter().fold(Account::new(), |all, shift| {
                all.with(Arc::new(LaplacePair { epsilon: f64::from(*shift) / scale }), 1)
            });
            // The control: for a distance that is smaller by 1, the delta of each profile is too
            // small at some epsilon.
            let less = profile_of_discrete_laplace(distance - 1.0, scale).unwrap();
            let real = profile_of_laplace(distance - 1.0, scale).unwrap();
            let (mut above, mut real_above) = (false, false);
            for step in 0..=40 {
                let epsilon = distance / scale * f64::from(step) / 40.0;
                let exact = delta_of_integers(shifts, scale, epsilon);
                assert!(exact <= integers.delta(epsilon).unwrap() + 1e-12, "{shifts:?} {epsilon}");
                above |= less.delta(epsilon).unwrap() < exact;
                let lower = vector.delta(epsilon).unwrap().lower;
                assert!(lower <= floats.delta(epsilon).unwrap(), "{shifts:?} {epsilon}");
                real_above |= real.delta(epsilon).unwrap() < lower;
            }
            assert!(above && real_above, "{shifts:?}");
        }
        let exact = delta_of_integers(&[3], scale, 0.7);
        let profile = profile_of_discrete_laplace(3.0, scale).unwrap();
        assert!((exact - profile.delta(0.7).unwrap()).abs() < 1e-9);
    }
}
