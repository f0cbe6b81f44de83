//! Bounds on the error of releases with Gaussian noise. Each bound holds except with probability
//! alpha.

use opendp_core::Result;
use opendp_core::arith::{Directed, DirectedFloat};

use crate::Scale;
use crate::accuracy::laplace_accuracy::negative_ln;
use crate::accuracy::with_half_step;
use crate::recent::{Recent, recent};
use crate::tails::{discrete_gaussian_tail, gaussian_tail};

/// Return an upper bound on the error of a released number. If `lattice` is `k`, the number is a
/// float on the lattice of multiples of `2^k`. If `lattice` is `None`, the number is an integer.
///
/// # Errors
/// `Overflow` when the bound exceeds all floats.
pub(crate) fn accuracy(scale: Scale, lattice: Option<i32>, alpha: f64) -> Result<f64> {
    match lattice {
        Some(k) => continuous_accuracy(scale, k, alpha),
        None => discrete_accuracy(scale, alpha),
    }
}

/// Return an upper bound on the error of a released float. The bound is `scale t + 2^k / 2`,
/// rounded up. Here `t` satisfies `P[|N| > t] <= alpha` for a standard normal `N`.
///
/// The release is rounded to the nearest multiple of `2^k`, which is at most `2^k / 2` away.
/// `alpha` must be in `(0, 1]`.
///
/// # Errors
/// `Overflow` when the bound exceeds all floats.
pub(crate) fn continuous_accuracy(scale: Scale, k: i32, alpha: f64) -> Result<f64> {
    let noise = quantile(alpha)?.inf_mul(scale.value())?;
    with_half_step(noise, scale, k)
}

/// Return an upper bound on the error of a released integer. The bound is the least integer `a` for
/// which a computed upper bound on `P[|Z| > a]` is at most `alpha`. Here `Z` is discrete Gaussian
/// noise of this scale.
///
/// Saturation at the ends of the integer type only moves a release closer to the true number.
/// `alpha` must be in `(0, 1]`.
///
/// # Errors
/// `Overflow` when the bound exceeds all floats.
pub(crate) fn discrete_accuracy(scale: Scale, alpha: f64) -> Result<f64> {
    // Up to 2^53, the subtraction of 1 is exact. For larger floats, the difference is rounded up,
    // so the result is still a bound.
    beyond(scale, alpha)?.inf_sub(1.0)
}

/// Find by bisection the least integer `m >= 1` for which a computed upper bound on `P[|Z| >= m]`
/// is at most `alpha`. Here `Z` is discrete Gaussian noise of this scale. The result is rounded up
/// to a float.
///
/// The search begins at an integer `m` for which `P[|Z| >= m]` is small enough. Let `N` be standard
/// normal. For every integer `m >= 1`, `P[Z >= m] <= P[scale N >= m - 1]` (Canonne, Kamath, Steinke
/// 2020, Proposition 25). The proof has two steps. First, each weight `exp(-k^2 / (2 scale^2))`
/// with `k >= m` is at most the mean of the weight function over `[k - 1, k]`. Second, the sum of
/// all weights is at least `scale sqrt(2 pi)`, by Poisson's summation. So the search begins at an
/// `m` for which `P[|N| >= (m - 1) / scale] <= alpha`. The search moves down only to integers `m`
/// for which the computed bound on `P[|Z| >= m]` is small enough.
///
/// # Errors
/// `Overflow` when the bound exceeds all floats.
pub(crate) fn beyond(scale: Scale, alpha: f64) -> Result<f64> {
    let mut good = quantile(alpha)?.inf_mul(scale.value())?.ceil().inf_add(1.0)?;
    let mut bad = 0.0;
    loop {
        let middle = (bad + (good - bad) / 2.0).floor();
        if middle <= bad || good <= middle {
            return Ok(good);
        }
        if 2.0 * discrete_gaussian_tail(scale, middle)? <= alpha {
            good = middle;
        } else {
            bad = middle;
        }
    }
}

/// Find a number just above the least `t` with `P[|N| > t] <= alpha`, for a standard normal `N`.
///
/// The search begins at `sqrt(2 ln(1 / alpha))` and moves down only to a `t` whose computed tail
/// bound is small enough. The first value is valid, because `P[|N| > t] <= exp(-t^2 / 2)` for all
/// `t >= 0`. Proof: consider `exp(-t^2 / 2) - P[|N| > t]`. This difference is 0 at `t = 0` and in
/// the limit of large `t`. Its derivative is `(sqrt(2 / pi) - t) exp(-t^2 / 2)`. As `t` grows, the
/// derivative is first positive and then negative. So the difference is never negative.
///
/// Callers often repeat the same `alpha`, so the last results are kept.
pub(crate) fn quantile(alpha: f64) -> Result<f64> {
    thread_local! {
        static LAST: Recent = const { Recent::new([None; 2]) };
    }
    recent(&LAST, alpha, search)
}
fn search(alpha: f64) -> Result<f64> {
    let unit = Scale::new(1.0)?;
    let mut good = negative_ln(alpha)?.inf_mul(2.0)?.inf_sqrt()?;
    let mut bad = 0.0;
    for _ in 0..60 {
        let middle = bad + (good - bad) / 2.0;
        if middle <= bad || good <= middle {
            break;
        }
        if 2.0 * gaussian_tail(unit, middle)? <= alpha {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(scale: f64) -> Scale {
        Scale::new(scale).unwrap()
    }

    #[test]
    fn the_quantile_is_a_bound_and_close() {
        for (alpha, exact) in [
            (0.5, 0.674_489_750_196_081_7),
            (0.317_310_507_862_914, 1.0),
            (0.05, 1.959_963_984_540_054),
            (0.01, 2.575_829_303_548_901),
            (1e-3, 3.290_526_731_491_894),
            (1e-9, 6.109_410_204_869_29),
        ] {
            let found = quantile(alpha).unwrap();
            assert!((found / exact - 1.0).abs() < 1e-13, "{alpha}: {found}");
        }
        assert_eq!(quantile(1.0), Ok(0.0));
        // The exact value is 38.485. One tail must be at most half of alpha. Here this half is
        // below all positive floats, so no computed tail is small enough. The result is the first
        // value of the search, which is larger than the exact value.
        let largest = quantile(5e-324).unwrap();
        assert!(38.48 < largest && largest < 38.61, "{largest}");
    }
    #[test]
    fn continuous_noise_and_half_a_step() {
        let single = continuous_accuracy(scale(1.0), -1074, 0.05).unwrap();
        assert!(1.959_963_984_540_054 < single && single < 1.959_963_984_540_058, "{single}");
        assert_eq!(continuous_accuracy(scale(2.0), -1074, 0.05), Ok(2.0 * single));
        assert_eq!(continuous_accuracy(scale(1.0), 3, 1.0), Ok(4.0));
        assert_eq!(continuous_accuracy(scale(0.0), 3, 0.05), Ok(4.0));
        assert_eq!(continuous_accuracy(scale(0.0), -1074, 0.05), Ok(0.0));
        assert_eq!(continuous_accuracy(scale(1.0), -1074, 1.0), Ok(5e-324));
        assert_eq!(continuous_accuracy(scale(f64::MAX), 0, 0.05).unwrap_err().kind(), "Overflow");
    }
    #[test]
    fn integers_stay_within_their_bound() {
        // Compute P[|Z| > a] by summation.
        let beyond = |a: f64, s: f64| {
            let weight = |k: i32| (-(f64::from(k) / s).powi(2) / 2.0).exp();
            let reach = (20.0 * s) as i32 + 2;
            let all: f64 = (-reach..=reach).map(weight).sum();
            2.0 * (1..=reach).filter(|k| a < f64::from(*k)).map(weight).sum::<f64>() / all
        };
        for s in [0.05, 0.3, 0.5, 1.0, 2.5, 17.0, 400.0] {
            for alpha in [1.0, 0.9, 0.5, 0.1, 0.05, 1e-3, 1e-9] {
                let a = discrete_accuracy(scale(s), alpha).unwrap();
                assert_eq!(a.fract(), 0.0);
                assert!(beyond(a, s) <= alpha, "{s} {alpha}: {a}");
                // Up to a rounding error, the result is the least integer.
                assert!(a == 0.0 || alpha * (1.0 - 1e-4) < beyond(a - 1.0, s), "{s} {alpha}: {a}");
            }
        }
        assert_eq!(discrete_accuracy(scale(100.0), 0.05), Ok(196.0));
        assert_eq!(discrete_accuracy(scale(0.0), 0.05), Ok(0.0));
        assert_eq!(discrete_accuracy(scale(5e-324), 5e-324), Ok(1.0));
        assert_eq!(discrete_accuracy(scale(f64::MAX), 0.05).unwrap_err().kind(), "Overflow");
    }
}
