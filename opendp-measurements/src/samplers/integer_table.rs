//! Exact discrete Laplace and Gaussian noise of one small scale, from a table.

mod urns;
mod weights;

use super::{SaturatingNoise, add_noise, discrete_laplace::signed, uniform::LazyUniform};
use dashu_int::{IBig, UBig, ops::BitTest};
use opendp_core::random::{NoEntropy, RandomSource, uniform_below};
use urns::Urns;
use weights::{SHORTFALL, Weights, high_product};

/// Discrete Laplace or Gaussian noise of one scale. The noise is an integer `k` with probability
/// proportional to the weight `w_|k| = e^(-x_|k|)`. For Laplace noise `x_j = j / scale`, and for
/// Gaussian noise `x_j = j^2 / (2 sigma^2)`.
///
/// The noise has the distribution of [`discrete_laplace`](super::discrete_laplace) or
/// [`discrete_gaussian`](super::discrete_gaussian). Nearly every draw takes one word and one load
/// from the table, without a branch that depends on the noise.
///
/// # Exactness
///
/// A trial chooses one of `2^63` equally likely outcomes, called units, and a fair sign. Fix an
/// integer `A`. The magnitude 0 gets `A` units. Each magnitude `j > 0` gets exactly the probability
/// of `2 A w_j` units, although `2 A w_j` is usually not an integer. Let `K` be the largest
/// magnitude of the table. The units are divided as follows:
///
/// * *Table.* For each `j` from 1 to `K`, let `p_j` be an integer with `p_j <= 2 A w_j <= p_j + 2`.
///   Then `p_j` units give `j`, and `p_0 = A` units give 0. The `s` other units together form one
///   more entry of the table. If this entry is drawn, a uniform integer `u` below `s` is drawn. The
///   integer `u` selects one of these `s` units. The `s` units belong to the following three items.
/// * *Rest.* Each `j` from 1 to `K` has two of the `s` units. Each of these two units is accepted
///   with probability `(2 A w_j - p_j) / 2`, and otherwise rejected.
/// * *Tail.* All magnitudes above `K` together have `t` of the `s` units. These magnitudes are
///   divided into blocks of `2^b` magnitudes. The blocks are numbered 0, 1, and so on. Block `i` is
///   chosen with probability `2^-(i + 1)`. Then each `j` of this block is chosen with probability
///   `2^-b`. Then `j` is accepted with probability `2 A w_j / (t 2^-(i + 1 + b))`. This probability
///   is at most 1 for two reasons. First, `w_(j + 2^b) <= w_j / 2` for every `j > K`. Indeed,
///   `x_(j + 2^b) - x_j` is at least `0.7 > ln 2` at `j = K + 1` and does not decrease as `j`
///   increases. So `w_j <= 2^-i w_(K + 1)` in block `i`. Second, `2^(b + 2) A w_(K + 1) <= t`. So
///   `2 A w_j <= 2^(1 - i) A w_(K + 1) <= t 2^-(i + 1 + b)`.
/// * The remaining units among the `s` units are rejected. A rejected trial is followed by another
///   trial.
///
/// So a trial gives `j > 0` with probability exactly `2^-63 2 A w_j`, even in the tail. A trial
/// gives 0 with probability `2^-63 A`. The sign halves the probability of each `j > 0`, and does
/// not change the probability of 0. So in each trial each integer `k` has probability
/// `2^-63 A w_|k|`. In the first trial that is not rejected, the probability of `k` is proportional
/// to `w_|k|` (von Neumann 1951).
///
/// The proof uses only the inequalities above. So the distribution does not depend on the choice of
/// `A`, `p_j`, `t` and `b`. Certified bounds of the weights ensure the inequalities. For `w_j`,
/// `Weights::below` returns a bound from `2^128 w_j - 2^24` to `2^128 w_j`. This bound is
/// multiplied by `2 A / 2^128` and rounded down to `p_j`. Because `2 A < 2^64`, `p_j` is at least
/// `2 A w_j - (1 + 2^-40)`. For units of the kinds *Rest* and *Tail*, a lazily drawn uniform
/// variable is compared with enclosures of `w_j` (Karney 2016, arXiv:1303.6257). Digits of this
/// variable are drawn until they decide the comparison. The scale is the rational number that the
/// float represents.
///
/// # Cost
///
/// A draw takes one word, and about 1 ns in addition to the time that this word takes. For most
/// scales, the probability of a draw outside of the table is at most about `2^-39`. For some
/// scales, a table with this probability would need more than `2^11` entries of 8 bytes. Then the
/// table has `2^11` entries, and the probability is at most about `2^-19`. Draws outside of the
/// table take microseconds. The preparation of a table takes from 1 to 25 microseconds.
#[derive(Clone, Debug)]
pub struct IntegerTable {
    urns: Urns,
    weights: Weights,
    /// The number `A` of units that the entry for the magnitude 0 has.
    unit: u64,
    /// The number `t` of units that the tail has.
    tail: u64,
    /// The exponent `b`: a block of the tail has `2^b` magnitudes.
    block: u32,
}

/// A table has at least `2^3` entries (one cache line) and at most `2^11` entries (16 KiB).
const FEWEST: u32 = 3;
const MOST: u32 = 11;
/// The tail can begin at magnitudes `j` with `x_j >= 28`. There, the weight is at most
/// `e^-28 < 2^-40`. The unit of this constant is 1/10.
const FAR: u32 = 280;
/// If a table of the largest size does not reach `x_j >= 28`, the tail can begin at magnitudes `j`
/// with `x_j >= 14`. There, the weight is at most `e^-14 < 2^-20`. The unit of this constant is
/// 1/10.
const NEAR: u32 = 140;
/// If `x_j` increases by 0.7, the weight decreases by a factor of more than 2, because
/// `0.7 > ln 2`. The unit of this constant is 1/10.
const HALF: u32 = 7;

impl IntegerTable {
    /// Prepare noise with the distribution of [`discrete_laplace`](super::discrete_laplace). The
    /// scale must be above 0 and at most about 146. Otherwise, return `None`.
    pub fn laplace(scale: f64) -> Option<Self> {
        (0.0 < scale && scale < f64::INFINITY).then(|| Weights::laplace(scale)).and_then(Self::new)
    }
    /// Prepare noise with the distribution of [`discrete_gaussian`](super::discrete_gaussian).
    /// Sigma must be above 0 and at most about 386. Otherwise, return `None`.
    pub fn gaussian(sigma: f64) -> Option<Self> {
        (0.0 < sigma && sigma < f64::INFINITY).then(|| Weights::gaussian(sigma)).and_then(Self::new)
    }

    fn new(weights: Weights) -> Option<Self> {
        // The table lists the magnitudes below `first`. The next entry, with the index `first`,
        // represents all units outside of the table. So the magnitude `first` is the first
        // magnitude of the tail.
        let first = |bits: u32| (1_u64 << bits) - 1;
        let enough = |bits: &u32| weights.part(0, first(*bits), FAR);
        let bits = (FEWEST..MOST + 1)
            .find(enough)
            .or_else(|| weights.part(0, first(MOST), NEAR).then_some(MOST))?;
        let first = first(bits);
        let block = (0..MOST + 1).find(|b| weights.part(first, first + (1 << b), HALF))?;

        let mut below = weights.below(first as usize);
        // `beyond` is at least 2^128 w_first.
        let beyond = below.pop()? + SHORTFALL;
        // Add the sum of w_|k| over all k with |k| < first to 2^(b + 2) w_first, where b is
        // `block`. Compute an upper bound on the result, in units of 2^-112. Each term is rounded
        // up.
        let up = |bound: u128| (bound >> 16) + 1;
        let window: u128 = below.iter().map(|bound| up(*bound) + (SHORTFALL >> 16)).sum();
        let all = (1 << 112) + 2 * window + (up(beyond) << (block + 2));
        // From the 2^63 units, subtract two units for each magnitude in the table, including 0.
        // Subtract one more unit because t is rounded up. A is the number of remaining units,
        // divided by the computed bound and rounded down. This bound is at least 1, so A is below
        // 2^63.
        let room = (1_u64 << 63) - 2 * first - 1;
        let unit = u64::try_from((UBig::from(room) << 112_usize) / all).ok()?;

        let share = |bound: u128| high_product(u128::from(unit) << 1, bound) as u64;
        let mut entries = vec![unit];
        entries.extend(below.iter().map(|bound| share(*bound)));
        let taken: u64 = entries.iter().sum();
        entries.push((1 << 63) - taken);
        let tail = high_product(u128::from(unit) << (block + 2), beyond) as u64 + 1;
        Some(Self { urns: Urns::new(bits, entries), weights, unit, tail, block })
    }

    /// Draw the noise `k`. Return whether `k` is negative, and `|k|`.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    #[inline]
    pub fn draw<S: RandomSource>(&self, source: &mut S) -> Result<(bool, u128), NoEntropy> {
        let word = long_word(source)?;
        let entry = self.urns.entry(word);
        if entry == self.urns.last() {
            return self.beyond(word & 1 == 1, source);
        }
        Ok(((word & 1 == 1) & (entry != 0), entry.into()))
    }

    /// Draw the noise `k` as a signed integer.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    #[inline]
    pub fn draw_big<S: RandomSource>(&self, source: &mut S) -> Result<IBig, NoEntropy> {
        let (negative, magnitude) = self.draw(source)?;
        Ok(signed((negative, magnitude.into())))
    }

    /// Draw the noise `k`, and add `k` to an integer. Clamp the sum to the range of the type of the
    /// integer.
    ///
    /// The result is the same as with [`draw`](Self::draw) and `add_noise`, but this function needs
    /// fewer instructions.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    #[inline]
    pub fn add<T: SaturatingNoise, S: RandomSource>(
        &self,
        x: T,
        source: &mut S,
    ) -> Result<T, NoEntropy> {
        let word = long_word(source)?;
        let entry = self.urns.entry(word);
        if entry == self.urns.last() {
            return Ok(add_noise(x, self.beyond(word & 1 == 1, source)?));
        }
        // The entry has the type `u64`. So for numbers of at most 64 bits, the compiler needs no
        // instructions on 128 bits.
        Ok(add_noise(x, (word & 1 == 1, entry.into())))
    }

    /// Continue a trial whose word selected the last entry, the entry of all units outside of the
    /// table.
    #[cold]
    #[inline(never)]
    fn beyond<S: RandomSource>(
        &self,
        mut negative: bool,
        source: &mut S,
    ) -> Result<(bool, u128), NoEntropy> {
        loop {
            if let Some(magnitude) = self.slow(source)? {
                return Ok((negative, magnitude.into()));
            }
            let word = long_word(source)?;
            let entry = self.urns.entry(word);
            negative = word & 1 == 1;
            if entry != self.urns.last() {
                return Ok((negative & (entry != 0), entry.into()));
            }
        }
    }

    /// Choose one of the units outside of the table. Return the magnitude of the unit, or `None` if
    /// the trial is rejected.
    ///
    /// A fair coin is flipped until it shows tails. The number of flips that show heads is the
    /// number of the block. So, in practice, this number is far below `2^48`, and the magnitude
    /// fits 64 bits.
    fn slow<S: RandomSource>(&self, source: &mut S) -> Result<Option<u64>, NoEntropy> {
        let first = self.urns.last();
        let unit = uniform_below(self.urns.weight(first), source)?;
        let rest = 2 * (first - 1);
        if unit < rest {
            let magnitude = 1 + unit / 2;
            let (taken, divisor) = (self.urns.weight(magnitude), UBig::from(2_u8));
            let accepted =
                self.accept(magnitude, UBig::from(self.unit) << 1, taken.into(), divisor, source)?;
            return Ok(accepted.then_some(magnitude));
        }
        if self.tail <= unit - rest {
            return Ok(None);
        }
        let mut block = 0;
        while source.word()? & 1 == 1 {
            block += 1;
        }
        let magnitude = first + (block << self.block) + uniform_below(1 << self.block, source)?;
        let height = UBig::from(self.unit) << (block as usize + self.block as usize + 2);
        let accepted = self.accept(magnitude, height, UBig::ZERO, self.tail.into(), source)?;
        Ok(accepted.then_some(magnitude))
    }

    /// Decide whether `taken + divisor V < height w_j`, where `j` is the magnitude and `w_j` is its
    /// weight. `V` is a uniform real number on (0, 1).
    ///
    /// This function terminates with probability 1. The enclosures of both sides shrink to points
    /// as digits of `V` are drawn. These points are equal with probability 0.
    fn accept<S: RandomSource>(
        &self,
        magnitude: u64,
        height: UBig,
        taken: UBig,
        divisor: UBig,
        source: &mut S,
    ) -> Result<bool, NoEntropy> {
        let mut v = LazyUniform::draw(source)?;
        loop {
            let precision = v.bits() + height.bit_len() + 8;
            let (lo, hi) = self.weights.enclose(magnitude, precision);
            // Both sides of the comparison are in units of 2^-precision.
            let places = precision - v.bits();
            let least = (&taken << precision) + ((&divisor * v.numerator()) << places);
            if &least + (&divisor << places) <= &height * lo {
                return Ok(true);
            }
            if &height * hi <= least {
                return Ok(false);
            }
            v.refine(source)?;
        }
    }
}

/// Draw 64 random bits from the source.
#[inline]
fn long_word<S: RandomSource>(source: &mut S) -> Result<u64, NoEntropy> {
    let mut number = source.word()?;
    let mut drawn = S::BITS;
    while drawn < 64 {
        // The loop runs only for sources whose words have fewer than 64 bits.
        number = number << S::BITS | source.word()?;
        drawn += S::BITS;
    }
    Ok(number)
}

#[cfg(test)]
mod tests;
