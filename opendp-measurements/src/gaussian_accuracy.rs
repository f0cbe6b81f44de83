//! How far Gaussian noise goes, except with probability alpha.

use opendp_core::Result;
use opendp_core::arith::{Directed, DirectedFloat};

use crate::Scale;
use crate::samplers::power_of_two;

/// Bound the error of a float: `scale t + 2^k / 2` with `P[|N| > t] <= alpha`, rounded up.
///
/// The nearest point of the lattice is at most half a step away. `alpha` must be in `(0, 1]`.
///
/// # Errors
/// `Overflow` when the bound exceeds all floats.
pub(crate) fn continuous_accuracy(scale: Scale, k: i32, alpha: f64) -> Result<f64> {
    let noise = quantile(alpha)?.inf_mul(scale.value())?;
    // On the finest lattice half a step is no float, but without noise nothing is rounded there.
    let half = match power_of_two(k - 1) {
        0.0 if scale.value() == 0.0 => 0.0,
        0.0 => f64::from_bits(1),
        half => half,
    };
    noise.inf_add(half)
}

/// Bound the error of an integer: an integer `a` with `P[|Z| > a] <= alpha`, rounded up to a float.
///
/// For every integer `m >= 1`, `P[Z >= m] <= P[scale N >= m - 1]` (Canonne, Kamath, Steinke 2020,
/// Proposition 25): each weight `exp(-k^2 / (2 scale^2))` with `k >= m` is at most its mean over
/// `[k - 1, k]`, and all weights together are at least `scale sqrt(2 pi)`, by Poisson's summation.
/// With `m = a + 1` and the symmetry of both, `P[|Z| > a] <= P[scale |N| >= a]`. Saturation brings a
/// release only closer to the true number. `alpha` must be in `(0, 1]`.
///
/// # Errors
/// `Overflow` when the bound exceeds all floats.
pub(crate) fn discrete_accuracy(scale: Scale, alpha: f64) -> Result<f64> {
    Ok(quantile(alpha)?.inf_mul(scale.value())?.ceil())
}

/// Find a `t` not far above the least with `P[|N| > t] <= alpha`, for a standard normal `N`.
///
/// The search begins at `sqrt(2 ln(1 / alpha))` and moves down only to a `t` whose [`tail`] is small
/// enough. The beginning is such a `t` since `P[|N| > t] <= exp(-t^2 / 2)` for all `t >= 0`: the
/// difference of both is 0 at 0 and in the limit, and the derivative of the right side less the
/// left, `(sqrt(2 / pi) - t) exp(-t^2 / 2)`, is first positive and then negative.
fn quantile(alpha: f64) -> Result<f64> {
    let mut good = (0.0 - alpha.neg_inf_ln()?).inf_mul(2.0)?.inf_sqrt()?;
    let mut bad = 0.0;
    for _ in 0..60 {
        let middle = bad + (good - bad) / 2.0;
        if tail(middle)? <= alpha {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

/// An upper bound of `P[|N| > t]` for `t >= 0`, at most about 13 % above it, 0.1 % at `t = 2`.
///
/// With the density `phi`, `P[N > t] < 4 phi(t) / (3 t + sqrt(t^2 + 8))` (Sampford 1953, "Some
/// inequalities on Mill's ratio and related functions"). All operations round towards a larger
/// result.
fn tail(t: f64) -> Result<f64> {
    // 8 / sqrt(2 pi) = 3.19153824321146142...
    const FACTOR: f64 = 3.191_538_243_211_462;
    let weight = (0.0 - t.neg_inf_mul(t)? / 2.0).inf_exp()?;
    let divisor = t.neg_inf_mul(t)?.neg_inf_add(8.0)?.neg_inf_sqrt()?;
    let divisor = divisor.neg_inf_add(t.neg_inf_mul(3.0)?)?;
    weight.inf_mul(FACTOR)?.inf_div(divisor)
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
            let slack = if alpha < 0.1 { 1.001 } else { 1.04 };
            assert!(exact < found && found < exact * slack, "{alpha}: {found}");
        }
        assert_eq!(quantile(1.0), Ok(0.0));
        assert!(quantile(5e-324).unwrap() < 38.6);
        // The exact value is 38.485.
        assert!(38.48 < quantile(5e-324).unwrap());
    }
    #[test]
    fn the_tail_is_bounded_from_above() {
        for (t, exact) in [
            (0.0, 1.0),
            (0.5, 0.617_075_077_451_973_9),
            (1.0, 0.317_310_507_862_914_1),
            (2.0, 0.045_500_263_896_358_4),
            (5.0, 5.733_031_437_583_892e-7),
            (8.0, 1.244_192_114_854_357_5e-15),
        ] {
            let bound = tail(t).unwrap();
            assert!(exact <= bound && bound <= exact * 1.13, "{t}: {bound}");
        }
    }
    #[test]
    fn continuous_noise_and_half_a_step() {
        let one = continuous_accuracy(scale(1.0), -1074, 0.05).unwrap();
        assert!(1.959_963_984_540_054 < one && one < 1.962, "{one}");
        assert_eq!(continuous_accuracy(scale(2.0), -1074, 0.05), Ok(2.0 * one));
        assert_eq!(continuous_accuracy(scale(1.0), 3, 1.0), Ok(4.0));
        assert_eq!(continuous_accuracy(scale(0.0), 3, 0.05), Ok(4.0));
        assert_eq!(continuous_accuracy(scale(0.0), -1074, 0.05), Ok(0.0));
        assert_eq!(continuous_accuracy(scale(1.0), -1074, 1.0), Ok(5e-324));
        assert_eq!(continuous_accuracy(scale(f64::MAX), 0, 0.05).unwrap_err().kind(), "Overflow");
    }
    #[test]
    fn integers_stay_within_their_bound() {
        // P[|Z| > a] by summation.
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
                // One more than needed at most, or 4 % and one.
                let least = (0..).find(|a| beyond(f64::from(*a), s) <= alpha).unwrap();
                assert!(a <= f64::from(least) * 1.04 + 1.0 + 0.2 * s, "{s} {alpha}: {a} {least}");
            }
        }
        assert_eq!(discrete_accuracy(scale(100.0), 0.05), Ok(197.0));
        assert_eq!(discrete_accuracy(scale(0.0), 0.05), Ok(0.0));
        assert_eq!(discrete_accuracy(scale(5e-324), 5e-324), Ok(1.0));
        assert_eq!(discrete_accuracy(scale(f64::MAX), 0.05).unwrap_err().kind(), "Overflow");
    }
}
