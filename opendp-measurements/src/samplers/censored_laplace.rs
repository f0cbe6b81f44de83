//! Discrete Laplace noise on an interval, with the same number of coin flips for every draw.

use super::uniform::LazyUniform;
use dashu_int::UBig;
use opendp_core::arith::{dyadic::dyadic, fixed};
use opendp_core::random::{NoEntropy, RandomSource};
use std::hint::black_box;

/// A sampler that adds discrete Laplace noise to a number from 0 to a width, and clamps the sum to
/// this interval.
///
/// The noise is `z` with probability exactly proportional to `exp(-|z| / scale)`. The instructions
/// and the number of drawn words do not depend on the number or on the noise (see *Time*).
///
/// # Exactness
///
/// Let `q = exp(-1 / scale)`. The noise is 0 with probability `(1 - q) / (1 + q)`. Otherwise the
/// noise has a fair sign and the magnitude `1 + G`, where `P[G = g] = (1 - q) q^g`. Indeed,
/// `2q / (1 + q) 1/2 (1 - q) q^(|z| - 1) = (1 - q) / (1 + q) q^|z|` for every `z` except 0.
///
/// The binary digits of `G` are independent (Marsaglia 1971, "Random variables with independent
/// binary digits"). Let `w` be the width, and `n` the least integer with `2^n >= w`. Write
/// `G = L + 2^n H`, where `L` has the digits `b_0 .. b_(n-1)`. Because
/// `(1 - q) (1 + q) (1 + q^2) .. (1 + q^(2^(n-1))) = 1 - q^(2^n)`,
///
/// `P[L = l, H = h] = (1 - q) q^l q^(2^n h)`, which is
/// `(prod_j q^(2^j b_j) / (1 + q^(2^j))) (1 - q^(2^n)) q^(2^n h)`, with `j` from 0 to `n - 1`.
///
/// So digit `j` is 1 with probability `q^(2^j) / (1 + q^(2^j))`. `H` is positive with probability
/// `q^(2^n)`. All digits and `H` are independent. If `H` is 0, the magnitude is `1 + L`. Otherwise,
/// the magnitude exceeds `w`, and the sign alone decides the clamped sum.
///
/// The probabilities are irrational, because `e^t` is irrational for every rational `t` except 0
/// (Lambert 1761). Each coin compares a uniform variable with the probability of the coin. One word
/// is compared with the first 64 bits of the probability, which [`CensoredLaplace::new`] computes.
/// If the word and these bits are equal, more words are drawn and compared with more precise
/// certified bounds of the probability.
///
/// # Time
///
/// Each addition runs the same instructions on `n + 3` drawn words. Comparisons give masks, whose
/// bits are all equal. A mask selects a value. So no branch and no memory address depends on the
/// number or on the noise. There is one exception: the word of a coin can equal the first 64 bits
/// of the probability of this coin. This event has probability `2^-64` for each of the `n + 2`
/// coins. The coin then takes microseconds to draw more words. The event depends only on the words.
/// So an observer sees a constant time, except with probability at most `(n + 2) 2^-64 < 2^-56`.
/// Compare the joint distribution of the sum and the time with the joint distribution of the sum
/// and a constant time. The total variation distance between the two distributions is at most
/// `(n + 2) 2^-64`. If the sum alone is epsilon-differentially private, the sum and the time
/// together are (epsilon, delta)-differentially private. This delta is at most `1 + e^epsilon`
/// times the distance. The source of random words refills its buffer after a fixed number of words.
/// Rust guarantees neither a duration nor an effect of `black_box`.
///
/// Cost: a word and a few operations for each coin. At width 10^4, an addition draws 17 words.
#[derive(Clone, Debug)]
pub struct CensoredLaplace {
    width: u128,
    nonzero: Coin,
    digits: Vec<Coin>,
    beyond: Coin,
}

impl CensoredLaplace {
    /// Make a sampler for a scale and a width. Return `None` if the scale or the width is 0.
    ///
    /// In these two cases, the release is the clamped number itself, and the caller needs no
    /// sampler. A negative scale counts as its magnitude. An infinite scale or NaN counts as the
    /// largest float, so such a mistake adds too much noise.
    pub fn new(scale: f64, width: u128) -> Option<Self> {
        let scale = scale.abs().min(f64::MAX);
        if scale == 0.0 {
            return None;
        }
        let last = width.checked_sub(1)?;
        let count = u128::BITS - last.leading_zeros();
        let coin = |face, power| Coin::new(Probability { face, power, scale });
        Some(Self {
            width,
            nonzero: coin(Face::Nonzero, 0),
            digits: (0..count).map(|power| coin(Face::Digit, power)).collect(),
            beyond: coin(Face::Beyond, count),
        })
    }

    /// Clamp a number to the interval from 0 to the width, add noise, and clamp the sum to the same
    /// interval.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn add<S: RandomSource>(&self, number: u128, source: &mut S) -> Result<u128, NoEntropy> {
        let number = min(number, self.width);
        let noise = self.draw(source)?;
        // The magnitude is first limited to `width - number` for `up`, and to `number` for `down`.
        // So both results are in the interval.
        let up = number + min(noise.magnitude, self.width - number);
        let down = number - min(noise.magnitude, number);
        Ok(select(noise.negative, down, up))
    }

    /// Return the number of words that an addition draws if each coin needs only one word.
    pub fn words(&self) -> usize {
        self.digits.len() + 3
    }

    #[inline]
    fn draw<S: RandomSource>(&self, source: &mut S) -> Result<Noise, NoEntropy> {
        let nonzero = mask(self.nonzero.flip(source)?);
        let negative = mask(source.word()? & 1 == 1);
        let mut magnitude = 0_u128;
        for (place, coin) in self.digits.iter().enumerate() {
            magnitude |= u128::from(coin.flip(source)?) << place;
        }
        let beyond = mask(self.beyond.flip(source)?);
        // A magnitude of 2^128 is replaced by the largest `u128`. These two magnitudes are at least
        // the width of the interval, so the released number does not change.
        let magnitude = magnitude.saturating_add(1) | beyond;
        Ok(Noise { negative, magnitude: magnitude & nonzero })
    }
}

struct Noise {
    negative: u128,
    magnitude: u128,
}

/// If the condition is true, return a mask with all bits set. Otherwise return 0.
#[inline]
fn mask(condition: bool) -> u128 {
    // `black_box` hides the condition from the compiler, so the compiler cannot make a branch.
    black_box(u128::from(condition)).wrapping_neg()
}
/// Return the first value if all bits of the mask are set, and the second value if the mask is 0.
#[inline]
fn select(mask: u128, first: u128, second: u128) -> u128 {
    second ^ ((first ^ second) & mask)
}
#[inline]
fn min(a: u128, b: u128) -> u128 {
    select(mask(a < b), a, b)
}

/// A coin that shows true with a given probability.
#[derive(Clone, Copy, Debug)]
struct Coin {
    /// The first 64 binary places of the probability.
    first: u64,
    probability: Probability,
}
impl Coin {
    fn new(probability: Probability) -> Self {
        // The probability is irrational, so some finite precision decides the first 64 bits of the
        // probability.
        let mut bits = 128;
        loop {
            let (lo, hi) = probability.enclose(bits);
            let (lo, hi) = (lo >> (bits - 64), hi >> (bits - 64));
            if let (true, Ok(first)) = (lo == hi, u64::try_from(lo)) {
                return Self { first, probability };
            }
            bits *= 2;
        }
    }
    #[inline]
    fn flip<S: RandomSource>(&self, source: &mut S) -> Result<bool, NoEntropy> {
        let first = self.first >> (64 - S::BITS);
        let word = source.word()?;
        if word == first {
            return self.decide(LazyUniform::from_first(word, S::BITS), source);
        }
        Ok(word < first)
    }
    /// Compare a uniform variable with the probability. The word that is already drawn equals the
    /// first bits of the probability. Draw digits of the variable until they decide the comparison.
    #[cold]
    #[inline(never)]
    fn decide<S: RandomSource>(
        &self,
        mut uniform: LazyUniform,
        source: &mut S,
    ) -> Result<bool, NoEntropy> {
        loop {
            uniform.refine(source)?;
            let more = 16;
            let (lo, hi) = self.probability.enclose(uniform.bits() + more);
            if (uniform.numerator() + UBig::ONE) << more <= lo {
                return Ok(true);
            }
            if hi <= uniform.numerator() << more {
                return Ok(false);
            }
        }
    }
}

/// The probability of a coin, as a function of `r = exp(-2^power / scale)`.
#[derive(Clone, Copy, Debug)]
struct Probability {
    face: Face,
    power: u32,
    scale: f64,
}
/// The kind of a coin, which determines what the coin shows about the noise.
#[derive(Clone, Copy, Debug)]
enum Face {
    /// The coin shows whether the noise is not 0. The coin has the probability `2r / (1 + r)`.
    Nonzero,
    /// The coin shows a digit of the magnitude minus 1. The coin has the probability `r / (1 + r)`.
    Digit,
    /// The coin shows whether the magnitude minus 1 is at least `2^power`. The probability is `r`.
    Beyond,
}
impl Probability {
    /// Return a lower and an upper bound of the probability, in units of `2^-bits`.
    ///
    /// All three probabilities increase with `r`, and `r` decreases as its exponent
    /// `2^power / scale` increases. The bounds of the exponent are in units of `2^-(bits + 8)`.
    fn enclose(&self, bits: usize) -> (UBig, UBig) {
        let guard = 8;
        let unit = bits + guard;
        // The scale is finite and positive.
        let (mantissa, exponent) = dyadic(self.scale).unwrap_or_default();
        let (_, mantissa) = mantissa.into_parts();
        let shift = i64::from(self.power) - i64::from(exponent) + unit as i64;
        let low = match usize::try_from(shift) {
            Ok(shift) => (UBig::ONE << shift) / mantissa.max(UBig::ONE),
            Err(_) => UBig::ZERO,
        };
        let high = &low + UBig::ONE;
        let (lo, _) = fixed::exp(&-dashu_int::IBig::from(high), unit, unit);
        let (_, hi) = fixed::exp(&-dashu_int::IBig::from(low), unit, unit);
        let whole = UBig::ONE << unit;
        let up = (UBig::ONE << guard) - UBig::ONE;
        let (lo, hi) = match self.face {
            Face::Beyond => (lo, hi),
            Face::Digit => (odds(&lo, &whole, 0).0, odds(&hi, &whole, 0).1),
            Face::Nonzero => (odds(&lo, &whole, 1).0, odds(&hi, &whole, 1).1),
        };
        (lo >> guard, (hi + up) >> guard)
    }
}
/// Return the floor and the ceiling of `2^shift r / (1 + r)`. `r` and the results are in units of
/// `1 / whole`.
fn odds(r: &UBig, whole: &UBig, shift: usize) -> (UBig, UBig) {
    let (dividend, divisor) = ((r * whole) << shift, whole + r);
    let floor = &dividend / &divisor;
    let ceiling = (dividend + &divisor - UBig::ONE) / divisor;
    (floor, ceiling)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::discrete_gaussian;
    use crate::samplers::tests::chi_square::chi_square;
    use opendp_core::random::{Failing, Seeded, Tape};

    /// Compute the probability of each clamped sum from the closed form of `P[noise >= m]`.
    fn probabilities(scale: f64, width: u64, number: u64) -> Vec<f64> {
        let q = (-1.0 / scale).exp();
        // The tail P[noise >= m] for m >= 1.
        let tail = |m: u64| q.powf(m as f64) / (1.0 + q);
        let mass_at = |sum: u64| match sum.abs_diff(number) {
            distance if sum == 0 && distance == 0 => 1.0 - tail(1),
            distance if sum == width && distance == 0 => 1.0 - tail(1),
            distance if sum == 0 || sum == width => tail(distance),
            distance => (1.0 - q) / (1.0 + q) * q.powf(distance as f64),
        };
        (0..=width).map(mass_at).collect()
    }

    #[test]
    fn all_tapes_together_bracket_the_probability_of_each_coin() {
        for scale in [0.2, 1.0, 3.7, 1e3, 1e17] {
            for (face, power) in
                [(Face::Nonzero, 0), (Face::Digit, 0), (Face::Digit, 3), (Face::Beyond, 2)]
            {
                let coin = Coin::new(Probability { face, power, scale });
                let r = (-f64::from(1 << power) / scale).exp();
                let p = match face {
                    Face::Nonzero => 2.0 * r / (1.0 + r),
                    Face::Digit => r / (1.0 + r),
                    Face::Beyond => r,
                };
                for n in [1, 2, 5, 12] {
                    let (mut heads, mut open) = (0.0, 0);
                    for number in 0..1 << n {
                        match coin.flip(&mut Tape::<1>::from_bits(number, n)) {
                            Ok(true) => heads += 1.0,
                            Ok(false) => {}
                            Err(NoEntropy) => open += 1,
                        }
                    }
                    assert_eq!(open, 1, "{scale} {face:?} {power}");
                    let scaled = p * f64::from(1 << n);
                    assert!(heads - 1e-9 <= scaled && scaled <= heads + 1.0 + 1e-9, "{coin:?}");
                }
            }
        }
    }
    #[test]
    fn the_enclosures_of_a_probability_shrink_around_it() {
        for scale in [5e-324, 1e-3, 0.5, 1.0, 1e9, f64::MAX] {
            for (face, power) in [(Face::Nonzero, 0), (Face::Digit, 127), (Face::Beyond, 4)] {
                let probability = Probability { face, power, scale };
                let (mut outer, mut precision) = (probability.enclose(10), 10);
                for bits in [64, 128, 400] {
                    let inner = probability.enclose(bits);
                    let shift = bits - precision;
                    assert!(inner.0 <= inner.1 && inner.1 <= &inner.0 + UBig::from(4_u8));
                    assert!((&outer.0 << shift) <= inner.1);
                    assert!(inner.0 <= (&outer.1 << shift));
                    (outer, precision) = (inner, bits);
                }
            }
        }
    }
    #[test]
    fn sums_have_their_exact_probabilities_and_a_wrong_scale_is_noticed() {
        fn counts<const B: u32>(scale: f64, width: u64, number: u64, draws: u32) -> Vec<u64> {
            let noise = CensoredLaplace::new(scale, width.into()).unwrap();
            let (mut source, mut counts) = (Seeded::<B>::new(1), vec![0; width as usize + 1]);
            for _ in 0..draws {
                counts[noise.add(number.into(), &mut source).unwrap() as usize] += 1;
            }
            counts
        }
        for (scale, width, number) in
            [(0.4, 3, 1), (1.0, 1, 0), (2.0, 10, 10), (5.0, 12, 3), (9.0, 100, 64), (1e9, 5, 2)]
        {
            let expected = |scale: f64, draws: u32| -> Vec<f64> {
                let p = probabilities(scale, width, number);
                p.into_iter().map(|p| p * f64::from(draws)).collect()
            };
            let counts_64 = counts::<64>(scale, width, number, 200_000);
            assert!(chi_square(&counts_64, &expected(scale, 200_000)) < 1.0, "{scale} {width}");
            if scale < 100.0 {
                let wrong = expected(scale * 1.1, 200_000);
                assert!(chi_square(&counts_64, &wrong) > 1.0, "{scale} {width}");
            }
            // With words of 2 bits, about one coin in four is still undecided after the first word.
            let counts_2 = counts::<2>(scale, width, number, 5_000);
            assert!(chi_square(&counts_2, &expected(scale, 5_000)) < 1.0, "{scale} {width}");
        }
    }
    #[test]
    fn the_number_of_words_depends_on_nothing_but_the_width() {
        for (width, words) in
            [(1, 3), (2, 4), (3, 5), (4, 5), (10_000, 17), (1 << 64, 67), (u128::MAX, 131)]
        {
            for scale in [1e-9, 1.0, 300.0, 1e30] {
                let noise = CensoredLaplace::new(scale, width).unwrap();
                assert_eq!(noise.words(), words);
                let mut source = Seeded::<64>::new(2);
                for round in 1..=300 {
                    let number = if round % 2 == 0 { 0 } else { width };
                    noise.add(number, &mut source).unwrap();
                    assert_eq!(source.used(), round * words as u64, "{width} {scale}");
                }
            }
        }
        // The control: a sampler that rejects and draws again takes a varying number of words.
        let mut source = Seeded::<64>::new(2);
        let drawn: Vec<u64> = (0..300)
            .map(|_| {
                let before = source.used();
                discrete_gaussian(1.0, &mut source).unwrap();
                source.used() - before
            })
            .collect();
        assert!(drawn.iter().any(|count| *count != drawn[0]));
    }
    #[test]
    fn nothing_is_drawn_when_there_is_nothing_to_decide() {
        assert!(CensoredLaplace::new(0.0, 9).is_none());
        assert!(CensoredLaplace::new(1.0, 0).is_none());
        let noise = CensoredLaplace::new(1.0, 9).unwrap();
        assert_eq!(noise.add(0, &mut Failing::default()), Err(NoEntropy));
        for words in 0..noise.words() {
            assert_eq!(noise.add(3, &mut Tape::<64>::new(vec![1 << 61; words])), Err(NoEntropy));
        }
    }
    #[test]
    fn the_widest_interval_and_the_largest_scale_stay_within() {
        let mut source = Seeded::<64>::new(3);
        let noise = CensoredLaplace::new(f64::INFINITY, u128::MAX).unwrap();
        let mut ends = [0; 2];
        for _ in 0..200 {
            let sum = noise.add(u128::MAX / 2, &mut source).unwrap();
            ends[usize::from(sum == u128::MAX)] += 1;
            assert!(sum == 0 || sum == u128::MAX);
        }
        assert!(60 < ends[0] && 60 < ends[1], "{ends:?}");
        let noise = CensoredLaplace::new(f64::NAN, 10).unwrap();
        assert!([0, 10].contains(&noise.add(5, &mut source).unwrap()));
        // A number outside of the interval is first clamped to the interval.
        let noise = CensoredLaplace::new(5e-324, 10).unwrap();
        assert_eq!(noise.add(11, &mut source), Ok(10));
    }
}
