//! The exact choice of a candidate with softmax probability, by the Gumbel-max trick.

use super::{
    exponential::LazyExponential,
    logarithm::ln,
    race::{Noise, race},
    score::Score,
};
use dashu_int::{IBig, UBig};
use opendp_core::arith::fixed;
use opendp_core::random::{NoEntropy, RandomSource};

/// The direction of a choice: whether large scores or small scores are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimize {
    /// Prefer large scores.
    Max,
    /// Prefer small scores.
    Min,
}

/// Choose index `i` with probability proportional to `exp(±scores[i] / temperature)`.
///
/// The sign is `+` for [`Optimize::Max`] and `-` for [`Optimize::Min`]. An empty list gives `None`.
/// A single score is chosen without a draw.
///
/// The chosen index `i` maximises `±s_i / temperature + G_i`, with `s_i = scores[i]`. The
/// `G_i = -ln(E_i)` are independent standard Gumbel variables, and the `E_i` are standard
/// exponential variables. The index has softmax probabilities, by the Gumbel-max trick (Maddison,
/// Tarlow, Minka 2014, "A* Sampling", section 2). Medina and Gillenwater (2020, "Duff") use this
/// trick for privacy. The choice is the exponential mechanism of McSherry and Talwar (2007) with
/// `temperature = 2 sensitivity / epsilon`.
///
/// # Exactness
///
/// Exact comparisons of the noisy scores decide the choice. So the choice has exactly the softmax
/// probabilities, for scores of all magnitudes. Let `G = -ln E` be the noise of one score. Here
/// `E = -ln U` for a uniform variable `U` on (0, 1). Let `z` be the number of zero bits at the
/// start of the binary expansion of `1 - U`. Because `E >= 1 - U >= 2^-(z + 1)`, the noise
/// satisfies `G <= -ln(1 - U) <= (z + 1) ln 2`. For a small `z`, this bound is small, so most of
/// the candidates with a small `z` cannot be chosen. The candidates with a large `z` are found
/// without a draw for each candidate.
///
/// Scores must be finite, and the temperature must be finite and above 0. Other values do not cause
/// an error. A temperature of 0 counts as `5e-324`, a negative temperature counts as its magnitude,
/// and NaN and infinity count as `f64::MAX`. A score that is NaN or infinite counts as a number
/// whose magnitude exceeds `f64::MAX`.
///
/// Cost: about a nanosecond for each score, if there are many scores. The time depends on the
/// scores and on the choice.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn gumbel_argmax<T: Score, S: RandomSource>(
    scores: &[T],
    temperature: f64,
    optimize: Optimize,
    source: &mut S,
) -> Result<Option<usize>, NoEntropy> {
    Ok(race::<Gumbel, _, _>(scores, 1, temperature, optimize, source)?.first().copied())
}

/// Choose the indices of the `k` largest sums, with the largest first. The sums are the numbers
/// that [`gumbel_argmax`] maximises. If there are fewer than `k` scores, return all indices.
///
/// The result has exactly the distribution of `k` choices by [`gumbel_argmax`]. Each choice is made
/// with fresh noise among the remaining candidates (Durfee, Rogers 2019, Lemma 4.2). This
/// distribution is called the Plackett-Luce distribution. The decreasing function `e^-y` maps the
/// sums to independent exponential variables of rates `w_i = exp(±s_i / temperature)`, with
/// `s_i = scores[i]`. So the largest sum belongs to the least variable. Variable `i` is the least
/// variable with probability `w_i`, divided by the sum of all rates. The index of the least
/// variable is independent of the value of this variable. Exponential variables are memoryless. So
/// if the least value is subtracted from each of the other variables, the differences are again
/// independent and exponential, with the same rates.
///
/// Cost: about twice the cost of one choice, if `k` is small.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn gumbel_top_k<T: Score, S: RandomSource>(
    scores: &[T],
    k: usize,
    temperature: f64,
    optimize: Optimize,
    source: &mut S,
) -> Result<Vec<usize>, NoEntropy> {
    race::<Gumbel, _, _>(scores, k, temperature, optimize, source)
}

/// The noise `-ln(E)`, which decreases as `E` increases.
struct Gumbel;

impl Noise for Gumbel {
    /// Return `2^bits - 1 - rarity` (see [`Noise::digit`]). With `U` as in [`Noise`], this digit
    /// gives `E = -ln U >= 1 - U >= rarity / 2^bits`.
    #[inline]
    fn digit(rarity: u64, bits: u32) -> u64 {
        u64::MAX >> (64 - bits) ^ rarity
    }
    #[inline]
    fn upper((e_lo, _): (f64, f64)) -> f64 {
        -ln(e_lo).0
    }
    #[inline]
    fn lower((_, e_hi): (f64, f64)) -> f64 {
        -ln(e_hi).1
    }
    fn enclose(e: &LazyExponential, precision: usize) -> (Option<IBig>, Option<IBig>) {
        let exponent = -(precision as i64);
        let (e_lo, e_hi) = e.enclose(precision);
        let positive = |e: &UBig| !e.is_zero();
        let upper = Some(e_lo).filter(positive).map(|e| -fixed::ln(&e, exponent, precision).0);
        let lower = e_hi.filter(positive).map(|e| -fixed::ln(&e, exponent, precision).1);
        (lower, upper)
    }
}
