//! Exact samplers. Each sampler gives every output exactly the probability that the formula of the
//! sampler states.
//!
//! The samplers draw the digits of uniform reals lazily (Karney 2016, arXiv:1303.6257). In most
//! samplers, float intervals with a proven error bound decide the result of nearly every draw. If
//! the intervals do not decide, more digits are drawn and big integers decide. Rounding never
//! changes a probability. So a privacy proof about the real-valued mechanism holds for the program.
//! All samplers assume a [`RandomSource`] of independent uniform words.
//!
//! # Time
//!
//! If the scale is small, mechanisms draw discrete noise for integers from an [`IntegerTable`]. The
//! table allows scales up to about 146 for Laplace noise and up to about 386 for Gaussian noise.
//! Every draw takes one word, one load and the same instructions, so the time does not depend on
//! the noise. There are two exceptions. First, the compiler can use a branch for the saturation of
//! a sum in a narrow integer type. The release of a saturated sum is the least or the largest value
//! of the type. So the time can reveal at most whether the exact sum was equal to this value or
//! beyond it. Second, a few draws from a table take microseconds. On average, at most one in 500
//! 000 draws takes microseconds. For scales up to 73, on average at most one in `2^38` draws takes
//! microseconds. Large noise is much more likely in these slow draws than in other draws.
//!
//! **Other samplers leak a little through time.** The exceptions are [`CensoredLaplace`] and the
//! functions whose names end with `constant_time`. No sampler has a loop with one step for each
//! unit of the noise. But a draw takes longer if the sampler rejects its first proposal, or if
//! floats cannot decide. The frequency of such draws depends on the value of the noise.
//! `opendp-bench --leakage` times 30 000 releases of a number and leaves out the slowest 2 % of the
//! releases. Then the benchmark computes the rank correlation of the times and the magnitudes of
//! the noise. If time and noise are independent, the root mean square of this correlation is 0.006.
//! The following table shows the median of this correlation over 18 runs of the benchmark, on a
//! busy machine with 2 cores:
//!
//! | noise | correlation |
//! |---|---|
//! | discrete Laplace, scale 1, 10, 10^6 | -0.002, 0.000, 0.001 |
//! | discrete Gaussian, sigma 1, 10, 10^6 | 0.002, -0.001, 0.043 |
//! | Laplace on floats, scale 1 | 0.006 |
//! | Gaussian on floats, sigma 1 | 0.011 |
//! | control: a Bernoulli trial for each unit, scale 10 | 0.98 |
//!
//! Take noise on floats with the default lattice and a scale from `1e-278` to `1e304`. The same
//! instructions run for all private numbers. So the time does not depend on the magnitude of the
//! number. In a measurement, each of several vectors contained copies of one number, from 0 to
//! `1e200`. The time per number differed by less than 3 % between the vectors. For another lattice,
//! let `2^k` be the distance between neighbouring lattice points. The time can depend on the
//! private number if `scale / 2^k` is at least `2^50` or below `2^-40`.
//!
//! If the scale is at least `2^50`, all discrete Gaussian noise and most discrete Laplace noise is
//! drawn with big integers.
//!
//! [`RandomSource`]: opendp_core::random::RandomSource

// Samplers of coins and of uniform numbers.
mod bernoulli;
mod bernoulli_lanes;
mod uniform;

// Samplers of noise on integers.
mod censored_laplace;
mod discrete_gaussian;
mod discrete_laplace;
mod geometric;
mod integer_table;
mod rounded_gaussian;
mod saturating;

// Samplers that add noise to a float. The sum is rounded to a lattice after the addition.
mod canonical;
mod exponential;
mod float_noise;
mod gaussian;
mod laplace;
mod lattice;
mod lattice_strips;
mod lattice_sum;
mod strips;

// Samplers that choose among candidates or compare noisy numbers.
mod gumbel;
mod noisy_threshold;
mod permute_and_flip;
mod race;
mod score;

// Exact arithmetic of floats and logarithms.
mod dyadic;
mod logarithm;

#[cfg(test)]
pub(crate) mod tests;

pub use bernoulli::{bernoulli, bernoulli_constant_time, bernoulli_ratio};
pub use bernoulli_lanes::BernoulliLanes;
pub use canonical::CanonicalNoise;
pub use censored_laplace::CensoredLaplace;
pub use discrete_gaussian::{big_discrete_gaussian, discrete_gaussian};
pub use discrete_laplace::{big_discrete_laplace, discrete_laplace};
pub use dyadic::{Dyadic, power_of_two};
pub use exponential::LazyExponential;
pub use float_noise::FloatNoise;
pub use gaussian::gaussian;
pub use geometric::Geometric;
pub use gumbel::{Optimize, gumbel_argmax, gumbel_top_k};
pub use integer_table::IntegerTable;
pub use laplace::laplace;
pub use lattice::round_to_lattice;
pub use logarithm::{ln, neg_ln};
pub use noisy_threshold::NoisyThreshold;
pub use permute_and_flip::{exponential_top_k, permute_and_flip};
pub use rounded_gaussian::rounded_gaussian;
pub use saturating::{SaturatingNoise, add_noise};
pub use score::Score;
pub use uniform::LazyUniform;

pub use opendp_core::random::{big_uniform_below, shuffle, uniform_below};
