//! Bounds on the error of releases: for one noise, for sums of independent noises, and for several
//! releases together.
//!
//! Each release with additive noise is the true number plus a [`Noise`] with a known distribution.
//! Releases can be added, subtracted and multiplied by rational numbers. The result is the true
//! result plus a weighted sum of independent noises. [`sum_of`] bounds the quantiles of this
//! weighted sum. The bound is proven. If the weighted sum has many noises, the bound is far smaller
//! than the sum of the quantiles of the single noises. [`largest_of`] gives one bound that holds
//! for several errors together. An [`Estimate`] stores a number together with the noises in it. So
//! a noise that is added twice counts as one noise with weight 2.
//!
//! ```
//! use opendp_measurements::Scale;
//! use opendp_measurements::accuracy::{Noise, Term, largest_of, sum_of};
//! // 100 noisy counts, and their total.
//! let counts = [Term::new(Noise::discrete_laplace(Scale::new(10.0)?)).times(100)];
//! // The bound for one count is 30. The sum of 100 such bounds is 3000.
//! assert_eq!(sum_of(&counts, 0.05)?, 277.0);
//! // Except with probability 0.05, none of the 100 errors exceeds 76.
//! assert_eq!(largest_of(&counts, 0.05)?, 76.0);
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # How the bounds are computed, and why they hold
//! Let `alpha` be the requested probability that the bound fails. All noises are symmetric. So each
//! weighted sum `S` of noises is symmetric, and `P[|S| > t] = 2 P[S > t]` for every `t >= 0`. A
//! release can be cut off at bounds: if the release is beyond a bound, the bound replaces it. For
//! such a release, the computation uses the positive part of the noise. Let `E` be the true error
//! of a sum of such releases, and let `S` be the sum with the positive parts. Then only the
//! inequality `P[|E| > t] <= 2 P[S > t]` holds. By default, every noise is rounded *up* to a grid,
//! so the sum on the grid is at least the exact sum. But if there are many noises that are not cut
//! off, each of these noises is rounded to the nearest grid point. Then Hoeffding's bound limits
//! the sum of the rounding errors, except with probability `alpha / 10000`. If all noises are
//! integers, some grid contains all values of the weighted sum, because all weights are rational.
//! If this grid is coarse enough, the computation uses this grid, and rounds nothing. If no noise
//! is discrete or cut off, all Gaussian noises are merged into one noise. The distributions on the
//! grid are tilted: the mass at each value `x` is multiplied by `e^(t x)`, for a chosen number `t`.
//! Then the transforms of the [accounting](crate::accounting) convolve the tilted distributions. A
//! transform computes the masses in an interval of values, which is called the window. The
//! transform, the window and the masses have errors. Each error is bounded from above, and the
//! bounds are added. Heuristics choose the grid, the tilt and the window. These choices affect how
//! tight the bound is. The bound holds for every choice. The result is at most the union bound,
//! which is the weighted sum of the quantiles of the `n` noises at `alpha / n`.

pub(crate) mod confidence_interval;
pub(crate) mod ends;
pub(crate) mod gaussian_accuracy;
pub(crate) mod laplace_accuracy;
pub(crate) mod scale_accuracy;

mod estimate;
mod grid;
mod noise;
mod on_grid;
mod ratio;
mod sum;
mod weight;

pub use estimate::{Estimate, simultaneous};
pub use noise::Noise;
pub use ratio::Ratio;
pub use sum::{Term, largest_of, sum_of};
pub use weight::Weight;

use opendp_core::arith::Directed;
use opendp_core::{Error, Result};

use crate::Scale;
use crate::samplers::power_of_two;

/// The maximum number of bounds to list. A release can have several answers. The number of answers
/// can come from a JSON document, and a document can state any number. Without this limit, a list
/// of bounds could exceed the memory.
const MOST_BOUNDS: usize = 1 << 20;

/// Check that `alpha` is above 0 and at most 1.
pub(crate) fn check(alpha: f64) -> Result<()> {
    if 0.0 < alpha && alpha <= 1.0 {
        Ok(())
    } else {
        Err(Error::InvalidDistance(format!(
            "alpha: expected a probability above 0 and at most 1, found {alpha:?}"
        )))
    }
}

/// Add `2^k / 2` to a bound on the noise, and round up. The result bounds the error of a release
/// that is rounded to the nearest multiple of `2^k`.
fn with_half_step(noise: f64, scale: Scale, k: i32) -> Result<f64> {
    // On the finest lattice (`k = -1074`), `2^k / 2` is not a float, so this number is rounded up
    // to the least positive float. All floats are on this lattice. So at scale 0, the release
    // equals the true number, and nothing is added.
    let half = match power_of_two(k - 1) {
        0.0 if scale.value() == 0.0 => 0.0,
        0.0 => f64::from_bits(1),
        half => half,
    };
    noise.inf_add(half)
}

/// List the same bound once for each of `count` answers. If the count is unknown or very large,
/// list the bound only once.
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
            "invalid distance: alpha: expected a probability above 0 and at most 1, found 0.0"
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
