//! Bounds on the error of releases with Laplace noise. Each bound holds except with probability
//! alpha.

use opendp_core::Result;
use opendp_core::arith::{Directed, DirectedFloat};

use crate::accuracy::with_half_step;
use crate::{Scale, discrete_laplacian_scale_to_accuracy};

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

/// Return an upper bound on the error of a released float. The bound is
/// `scale ln(1 / alpha) + 2^k / 2`, rounded up.
///
/// A standard Laplace variable `L` has `P[scale |L| >= t] = exp(-t / scale)`. At
/// `t = scale ln(1 / alpha)`, this probability is `alpha`. The release is rounded to the nearest
/// multiple of `2^k`, which is at most `2^k / 2` away. `alpha` must be in `(0, 1]`.
///
/// # Errors
/// `Overflow` when the bound exceeds all floats.
pub(crate) fn continuous_accuracy(scale: Scale, k: i32, alpha: f64) -> Result<f64> {
    let noise = negative_ln(alpha)?.inf_mul(scale.value())?;
    with_half_step(noise, scale, k)
}

/// Return an upper bound on the error of a released integer. Up to rounding, the bound is the least
/// integer `a >= 0` with `P[|Z| > a] <= alpha`. Here `Z` is discrete Laplace noise of this scale.
///
/// Let `q = exp(-1 / scale)`. For every integer `m >= 1`, `P[|Z| >= m] = 2 q^m / (1 + q)`. At
/// `m = a + 1`, this probability is at most `alpha` if and only if
/// `a >= scale (ln 2 - ln alpha - ln(1 + q)) - 1`. The right side of this inequality is rounded up.
/// So if the right side is very close to an integer, the computed `a` can be too large by 1. The
/// result is rounded up to a float. Saturation at the ends of the integer type only moves a release
/// closer to the true number. `alpha` must be in `(0, 1]`.
///
/// # Errors
/// `Overflow` when the bound exceeds all floats.
pub(crate) fn discrete_accuracy(scale: Scale, alpha: f64) -> Result<f64> {
    let real = discrete_laplacian_scale_to_accuracy(scale.value(), alpha)?;
    Ok(real.inf_sub(1.0)?.ceil().max(0.0))
}

/// Return an upper bound on `-ln(alpha)`.
pub(crate) fn negative_ln(alpha: f64) -> Result<f64> {
    Ok(0.0 - alpha.neg_inf_ln()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(scale: f64) -> Scale {
        Scale::new(scale).unwrap()
    }
    /// Compute `P[|Z| > a]` approximately, for discrete Laplace noise `Z` of scale `s`.
    fn beyond(a: f64, s: f64) -> f64 {
        2.0 * (-(a + 1.0) / s).exp() / (1.0 + (-1.0 / s).exp())
    }

    #[test]
    fn continuous_noise_and_half_a_step() {
        let near = |found: f64, exact: f64| exact <= found && found <= exact * (1.0 + 1e-15);
        let finest = |s, alpha| continuous_accuracy(scale(s), -1074, alpha).unwrap();
        assert!(near(finest(1.0, 0.05), 2.995_732_273_553_991));
        assert!(near(finest(2.0, 0.5), 1.386_294_361_119_890_6));
        assert_eq!(continuous_accuracy(scale(1.0), 3, 1.0), Ok(4.0));
        assert_eq!(continuous_accuracy(scale(0.0), 3, 0.05), Ok(4.0));
        assert_eq!(continuous_accuracy(scale(0.0), -1074, 0.05), Ok(0.0));
        assert_eq!(continuous_accuracy(scale(1.0), -1074, 1.0), Ok(5e-324));
        assert_eq!(continuous_accuracy(scale(1.0), -1073, 1.0), Ok(5e-324));
        assert_eq!(continuous_accuracy(scale(f64::MAX), 0, 0.05).unwrap_err().kind(), "Overflow");
    }
    #[test]
    fn the_least_integer_that_noise_rarely_exceeds() {
        let expected =
            [(0.1, 0.0), (0.5, 1.0), (1.0, 3.0), (2.0, 6.0), (5.0, 15.0), (100.0, 300.0)];
        for (s, a) in expected {
            assert_eq!(discrete_accuracy(scale(s), 0.05), Ok(a), "scale {s}");
        }
        for s in [0.05, 0.3, 1.0, 2.5, 17.0, 1e6] {
            for alpha in [1.0, 0.9, 0.5, 0.1, 1e-3, 1e-12] {
                let a = discrete_accuracy(scale(s), alpha).unwrap();
                assert_eq!(a.fract(), 0.0);
                assert!(beyond(a, s) <= alpha * (1.0 + 1e-9), "{s} {alpha}: {a}");
                assert!(a == 0.0 || beyond(a - 1.0, s) > alpha * (1.0 - 1e-9), "{s} {alpha}: {a}");
            }
        }
        assert_eq!(discrete_accuracy(scale(0.0), 0.05), Ok(0.0));
        assert_eq!(discrete_accuracy(scale(5e-324), 5e-324), Ok(0.0));
        assert_eq!(discrete_accuracy(scale(f64::MAX), 0.05).unwrap_err().kind(), "Overflow");
    }
}
