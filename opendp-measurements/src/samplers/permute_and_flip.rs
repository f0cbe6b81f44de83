//! The exact choice of a candidate by permute-and-flip, with exponential noise.

use super::{
    Optimize,
    exponential::LazyExponential,
    race::{Noise, race},
    score::Score,
};
use dashu_int::IBig;
use opendp_core::random::{NoEntropy, RandomSource};

/// Choose the index that maximises `±scores[i] / scale + E_i`, with independent standard
/// exponential variables `E_i`.
///
/// The sign is `+` for [`Optimize::Max`] and `-` for [`Optimize::Min`]. An empty list gives `None`.
/// A single score is chosen without a draw.
///
/// The index has the distribution of the permute-and-flip mechanism of McKenna and Sheldon (2020).
/// That mechanism visits the candidates in random order. Let `best` be the best of all scores. Each
/// visited candidate is accepted with probability `exp(-|best - score| / scale)`. The first
/// accepted candidate is chosen. Ding et al. (2021, "The Permute-and-Flip Mechanism Is Identical to
/// Report-Noisy-Max with Exponential Noise", arXiv:2105.07260) prove that this choice has the
/// distribution of the maximising index.
///
/// # Exactness
///
/// The noisy scores are real numbers whose digits are drawn lazily. Exact comparisons decide the
/// choice. So the mechanism has exactly the stated probabilities, for scores of all magnitudes.
///
/// Scores must be finite, and the scale must be finite and above 0. Other values do not cause an
/// error. A scale of 0 counts as `5e-324`, and a negative scale counts as its magnitude. A scale
/// that is NaN or infinite counts as `f64::MAX`. A score that is NaN or infinite counts as a number
/// whose magnitude exceeds `f64::MAX`.
///
/// Cost: about a nanosecond for each score, if there are many scores. The time depends on the
/// scores and on the choice.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn permute_and_flip<T: Score, S: RandomSource>(
    scores: &[T],
    scale: f64,
    optimize: Optimize,
    source: &mut S,
) -> Result<Option<usize>, NoEntropy> {
    Ok(race::<Exponential, _, _>(scores, 1, scale, optimize, source)?.first().copied())
}

/// Choose the indices of the `k` largest noisy scores, in descending order of these scores. The
/// noisy scores are the sums that [`permute_and_flip`] maximises. If there are fewer than `k`
/// scores, return all indices.
///
/// Repeated choices by [`permute_and_flip`] with fresh noise would give the second and all later
/// indices a different distribution. In this function, the candidates that are not chosen yet have
/// smaller noisy scores than the chosen candidates. So their noise tends to be smaller than fresh
/// noise. So the next candidate is more likely to have a good score than with fresh noise. For
/// example, take the scores 0, 0, -1 and scale 1, and let a candidate of score 0 be first. Then the
/// other candidate of score 0 is second with probability 0.860. With fresh noise, this probability
/// would be 0.816.
///
/// Cost: about twice the cost of one choice, if `k` is small.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn exponential_top_k<T: Score, S: RandomSource>(
    scores: &[T],
    k: usize,
    scale: f64,
    optimize: Optimize,
    source: &mut S,
) -> Result<Vec<usize>, NoEntropy> {
    race::<Exponential, _, _>(scores, k, scale, optimize, source)
}

/// Noise that is a standard exponential variable `E`.
struct Exponential;

impl Noise for Exponential {
    /// Return the rarity itself (see [`Noise::digit`]). With `U` as in [`Noise`],
    /// `E = -ln U <= -ln(rarity / 2^bits)`.
    #[inline]
    fn digit(rarity: u64, _: u32) -> u64 {
        rarity
    }
    #[inline]
    fn upper((_, e_hi): (f64, f64)) -> f64 {
        e_hi
    }
    #[inline]
    fn lower((e_lo, _): (f64, f64)) -> f64 {
        e_lo
    }
    fn enclose(e: &LazyExponential, precision: usize) -> (Option<IBig>, Option<IBig>) {
        let (lower, upper) = e.enclose(precision);
        (Some(lower.into()), upper.map(IBig::from))
    }
}
