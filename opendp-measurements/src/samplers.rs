//! Exact samplers: every output has exactly the probability of its formula.
//!
//! Each sampler draws the digits of uniform reals lazily (Karney 2016, arXiv:1303.6257). Floats
//! with a proven error bound decide nearly every draw. If their intervals do not decide, more
//! digits are drawn and big integers decide. No rounding ever changes a probability, so a privacy
//! proof about the real-valued mechanism holds for the program. All samplers assume a
//! [`RandomSource`] of independent uniform words.
//!
//! # Time
//!
//! Mechanisms draw discrete noise of a small scale on machine integers, Laplace up to 146 and
//! Gaussian up to 386, from an [`IntegerTable`]. The time does not depend on the noise: one word,
//! one load and the same instructions for every value. There are two exceptions. First, saturation
//! of a sum at the end of a narrow type may be a branch; the release shows it, too. Second, a few
//! draws from a table take microseconds: at most one in 500 000, or one in `2^38` for scales up to
//! 73. The noise of nearly all these draws is large.
//!
//! **All other samplers leak a little through time.** No loop counts up to the noise. But points
//! that are rejected, or that floats cannot decide, take longer, and their frequency depends on the
//! value of the noise. `opendp-bench --leakage` times 30 000 releases of a number, leaves out the
//! slowest 2 %, and correlates the ranks of time and of the magnitude of the noise. By chance alone
//! the root mean square of this correlation is 0.006. Medians of 18 reports, on a busy machine with
//! 2 cores:
//!
//! | noise | correlation |
//! |---|---|
//! | discrete Laplace, scale 1, 10, 10^6 | -0.002, 0.000, 0.001 |
//! | discrete Gaussian, sigma 1, 10, 10^6 | 0.002, -0.001, 0.043 |
//! | Laplace on floats, scale 1 | 0.006 |
//! | Gaussian on floats, sigma 1 | 0.011 |
//! | control: a Bernoulli trial for each unit, scale 10 | 0.98 |
//!
//! [`RandomSource`]: opendp_core::random::RandomSource

// Coins and uniform numbers.
mod bernoulli;
mod bernoulli_lanes;
mod uniform;

// Noise on integers.
mod censored_laplace;
mod discrete_gaussian;
mod discrete_laplace;
mod geometric;
mod integer_table;
mod rounded_gaussian;
mod saturating;

// Noise on floats, rounded to a lattice after the addition.
mod canonical;
mod exponential;
mod gaussian;
mod laplace;
mod lattice;
mod lattice_strips;
mod lattice_sum;
mod strips;

// Choices among candidates, and comparisons.
mod gumbel;
mod noisy_threshold;
mod permute_and_flip;
mod race;
mod score;

// Numbers.
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
