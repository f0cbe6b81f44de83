//! Exact choice of a candidate with softmax probability, by the Gumbel-max trick.

use super::{
    exponential::LazyExponential,
    logarithm::ln,
    race::{Noise, race},
    score::Score,
};
use dashu_int::{IBig, UBig};
use opendp_core::arith::fixed;
use opendp_core::random::{NoEntropy, RandomSource};

/// State which end of the scores is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimize {
    /// Prefer large scores.
    Max,
    /// Prefer small scores.
    Min,
}

/// Choose index `i` with probability proportional to `exp(±scores[i] / temperature)`.
///
/// The sign is `+` for [`Optimize::Max`] and `-` for [`Optimize::Min`]. An empty list gives `None`;
/// a single score is chosen without a draw.
///
/// The index maximises `±s_i / temperature + G_i` with independent standard Gumbel variables
/// `G_i = -ln(E_i)`, `E_i` standard exponential. This index has softmax probabilities, by the
/// Gumbel-max trick (Maddison, Tarlow, Minka 2014, "A* Sampling", section 2). Medina and
/// Gillenwater (2020, "Duff") use it for privacy. It is the exponential mechanism of McSherry and
/// Talwar (2007) with `temperature = 2 sensitivity / epsilon`.
///
/// # Exactness
///
/// The race is decided by exact comparisons, so probabilities are exactly softmax, for all
/// magnitudes. Let `z` be the number of leading zeros of `1 - U`. Because `E >= 1 - U`, the noise
/// satisfies `G <= -ln(1 - U) <= (z + 1) ln 2`. So most candidates are excluded if `1 - U` has few
/// leading zeros. The candidates with many leading zeros are found without a draw for each
/// candidate.
///
/// Scores must be finite; the temperature must be finite and above 0. Other values are read as
/// follows: a temperature of 0 means `5e-324`, a negative one means its magnitude, NaN and infinity
/// mean `f64::MAX`. NaN or infinite scores are read as numbers beyond `f64::MAX`; this call then
/// still returns.
///
/// Cost: about a nanosecond per score, when there are many. Time depends on scores and choice.
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

/// Choose the indices of the `k` largest of the sums that [`gumbel_argmax`] maximises, the largest
/// first; all indices when there are fewer than `k`.
///
/// This is exactly the distribution of `k` choices by [`gumbel_argmax`], each among the remaining
/// candidates and with fresh noise (Durfee, Rogers 2019, Lemma 4.2; it is the law of Plackett and
/// Luce). A decreasing function turns the sums into independent exponential variables of rates
/// `w_i = exp(±s_i / temperature)`. Variable `i` is the least with probability `w_i / sum w`,
/// independently of the least value. Exponential variables have no memory, so the excess of the
/// others over this value is again independent and exponential with the same rates.
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

/// The noise `-ln(E)`, which decreases with `E`.
struct Gumbel;

impl Noise for Gumbel {
    /// `E = -ln U >= 1 - U >= rarity / 2^bits`.
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
