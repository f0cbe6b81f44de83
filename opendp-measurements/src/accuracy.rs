//! Bounds on the error of releases: for one noise, for sums of independent noises, and for several
//! releases at once.
//!
//! Each release of additive noise is the true number plus a [`Noise`] of known distribution. A
//! result computed from releases by adding, subtracting and multiplying by rational numbers is the
//! true result plus a weighted sum of independent noises. [`sum_of`] bounds the quantiles of such a
//! sum: the bound is certain, and far tighter than the sum of the noises' quantiles. [`largest_of`]
//! bounds all of several errors at once. An [`Estimate`] stores a number together with its noises,
//! so that a noise that enters twice does not count as two noises.
//!
//! ```
//! use opendp_measurements::Scale;
//! use opendp_measurements::accuracy::{Noise, Term, largest_of, sum_of};
//! // 100 noisy counts, and their total.
//! let counts = [Term::new(Noise::discrete_laplace(Scale::new(10.0)?)).times(100)];
//! assert_eq!(sum_of(&counts, 0.05)?, 277.0); // one count alone: 30; the sum of all bounds: 3000
//! assert_eq!(largest_of(&counts, 0.05)?, 76.0); // all of them at once
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # How it computes, and why the bounds hold
//! All these noises are symmetric. So their weighted sums are symmetric, and
//! `P[|S| > t] = 2 P[S > t]`. Noise that is cut off is bounded by its positive part on either side;
//! then the left side is at most the right side. Every noise is rounded *up* to a grid, so the sum
//! can only grow. If there are many noises, each is rounded to the nearest grid point instead. The
//! sum of these rounding errors is within Hoeffding's bound except with probability
//! `alpha / 10000`. (If all noises are integers with rational weights, there is a grid without
//! rounding, and Gaussian noises on real numbers are merged into one.) The measures on the grid are
//! convolved by the transforms of the [accounting](crate::accounting). They are tilted first. Every
//! error of the transform, of the window and of the masses is bounded from above and added.
//! Heuristics choose grid, tilt and window. They affect how tight the bound is, but not whether it
//! holds. The result is never above the sum of the noises' own quantiles at `alpha / n`, the union
//! bound.

// One noise.
pub(crate) mod confidence_interval;
pub(crate) mod gaussian_accuracy;
pub(crate) mod laplace_accuracy;
pub(crate) mod scale_accuracy;

// Sums of noises.
mod estimate;
mod grid;
mod noise;
mod on_grid;
mod sum;
mod weight;

pub use estimate::{Estimate, simultaneous};
pub use noise::Noise;
pub use sum::{Term, largest_of, sum_of};
pub use weight::Weight;

use opendp_core::{Error, Result};

/// The maximum number of bounds to list. A document may state any size, without data.
const MOST_BOUNDS: usize = 1 << 20;

/// Check that `alpha` is a probability above 0.
pub(crate) fn check(alpha: f64) -> Result<()> {
    if 0.0 < alpha && alpha <= 1.0 {
        Ok(())
    } else {
        Err(Error::InvalidDistance(format!("alpha ({alpha:?}) must be in (0, 1]")))
    }
}

/// List the same bound for each of `count` answers, or once if the count is unknown or very large.
pub(crate) fn each(bound: f64, count: Option<usize>) -> Vec<Option<f64>> {
    vec![Some(bound); count.filter(|count| *count <= MOST_BOUNDS).unwrap_or(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_is_a_probability_above_zero() {
        assert!(check(1.0).is_ok() && check(5e-324).is_ok());
        for wrong in [0.0, -0.1, 1.0_f64.next_up(), f64::NAN, f64::INFINITY] {
            assert_eq!(check(wrong).unwrap_err().kind(), "InvalidDistance");
        }
        assert_eq!(
            check(0.0).unwrap_err().to_string(),
            "invalid distance: alpha (0.0) must be in (0, 1]"
        );
    }
    #[test]
    fn lists_a_bound_for_each_answer_unless_memory_would_suffer() {
        assert_eq!(each(0.5, Some(2)), [Some(0.5), Some(0.5)]);
        assert_eq!(each(0.5, None), [Some(0.5)]);
        assert_eq!(each(0.5, Some(usize::MAX)), [Some(0.5)]);
        assert_eq!(each(0.5, Some(0)), []);
    }
}
