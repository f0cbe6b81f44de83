//! Many exact coin flips at once, one in each bit of a word.

use super::dyadic::Dyadic;
use opendp_core::random::{NoEntropy, RandomSource};

/// A sampler of coins with one common probability. A lane is one bit of a word, and each lane has
/// its own coin.
///
/// # Exactness
///
/// Lane `i` compares a uniform real `U_i` with the probability `p`, as
/// [`bernoulli`](super::bernoulli) does. The first binary digit that differs decides `U_i < p`. If
/// `p` has no digits left, `U_i < p` is false. The `j`th drawn word contains the `j`th digit of
/// every `U_i`, in bit `i`. The bits of a word are independent and uniform, so the `U_i` are
/// independent and uniform. Each coin shows true with exactly the probability `p`, even if `p` is a
/// subnormal float or the largest float below 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BernoulliLanes {
    /// The mantissa of the probability `p = mantissa 2^-places`.
    mantissa: u64,
    places: u64,
}

impl BernoulliLanes {
    /// Make a sampler in which each coin shows true with probability `p = f 2^-halvings`. If `p` is
    /// at least 1, every coin shows true. If `p` is at most 0 or NaN, no coin shows true.
    ///
    /// `p` is exact even if no float equals `p`. For example, `p` can be half of the least positive
    /// float.
    pub fn new(f: f64, halvings: u32) -> Self {
        if f.is_nan() || f <= 0.0 {
            return Self { mantissa: 0, places: 0 };
        }
        if f == f64::INFINITY {
            return Self { mantissa: 1, places: 0 };
        }
        let parts = Dyadic::new(f);
        let zeros = parts.mantissa.trailing_zeros();
        let mantissa = parts.mantissa >> zeros;
        let places = i64::from(halvings) - i64::from(parts.exponent) - i64::from(zeros);
        // If `places` is not positive, the probability is an integer of at least 1.
        match u64::try_from(places) {
            Ok(places @ 1..) if places >= u64::from(u64::BITS) || mantissa >> places == 0 => {
                Self { mantissa, places }
            }
            _ => Self { mantissa: 1, places: 0 },
        }
    }

    /// Flip the coins of `lanes`, a mask of some of the lowest [`RandomSource::BITS`] bits. Other
    /// lanes show 0.
    ///
    /// Cost: on average, each word decides half of the undecided lanes. If the probability has many
    /// binary places, 64 lanes take 7.3 words on average. The number of words is at most the number
    /// of binary places of the probability.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    #[inline]
    pub fn flip<S: RandomSource>(&self, lanes: u64, source: &mut S) -> Result<u64, NoEntropy> {
        let Some(mut coins) = self.certain() else { return Ok(lanes) };
        coins.open = lanes;
        for place in (0..self.places).rev() {
            if coins.open == 0 {
                break;
            }
            coins.compare(self.digit(place), source.word()?);
        }
        Ok(coins.less)
    }

    /// Flip the coins as [`flip`](Self::flip) does, but draw one word for each binary place of the
    /// probability. So the number of words depends on the probability alone.
    ///
    /// No branch depends on a drawn word. But Rust guarantees nothing about durations: the compiler
    /// and the processor can still make the duration depend on the words.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn flip_constant_time<S: RandomSource>(
        &self,
        lanes: u64,
        source: &mut S,
    ) -> Result<u64, NoEntropy> {
        let Some(mut coins) = self.certain() else { return Ok(lanes) };
        coins.open = lanes;
        for place in (0..self.places).rev() {
            coins.compare(self.digit(place), source.word()?);
        }
        Ok(coins.less)
    }

    /// Return the state before the first comparison. The field `open` of this state is still 0, and
    /// the caller sets this field. Return `None` if every coin certainly shows true.
    #[inline]
    fn certain(&self) -> Option<Coins> {
        (self.mantissa == 0 || 0 < self.places).then_some(Coins { less: 0, open: 0 })
    }
    /// Return the binary digit of the probability at a place, copied to all lanes. Place 0 is the
    /// place of the last digit.
    #[inline]
    fn digit(&self, place: u64) -> u64 {
        let digits = u32::try_from(place).ok().and_then(|place| self.mantissa.checked_shr(place));
        (digits.unwrap_or(0) & 1).wrapping_neg()
    }
}

/// The state of the comparisons. In each lane, one uniform variable is compared with the
/// probability.
struct Coins {
    /// The lanes in which the digits so far decide that the variable is less than the probability.
    less: u64,
    /// The lanes in which all digits so far equal the digits of the probability.
    open: u64,
}
impl Coins {
    #[inline]
    fn compare(&mut self, digit: u64, word: u64) {
        self.less |= self.open & digit & !word;
        self.open &= !(digit ^ word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::random::{Failing, Seeded, Tape};

    type Flip = fn(&BernoulliLanes, u64, &mut Tape<2>) -> Result<u64, NoEntropy>;

    /// Run two lanes on all tapes (sequences of words) of n words. For each pair of results, count
    /// the tapes that give this pair. Also count the tapes that end before both coins are decided.
    fn enumerate(coins: &BernoulliLanes, n: u32, flip: Flip) -> ([u64; 4], u64) {
        let (mut counts, mut open) = ([0; 4], 0);
        for number in 0..1 << (2 * n) {
            match flip(coins, 3, &mut Tape::from_bits(number, n)) {
                Ok(pair) => counts[pair as usize] += 1,
                Err(NoEntropy) => open += 1,
            }
        }
        (counts, open)
    }

    #[test]
    fn all_tapes_together_give_independent_coins_of_the_exact_probability() {
        for (f, halvings, numerator, places) in [
            (1.0, 1, 1_u64, 1),
            (0.5, 1, 1, 2),
            (0.625, 0, 5, 3),
            (0.625, 1, 5, 4),
            (0.96875, 0, 31, 5),
        ] {
            let coins = BernoulliLanes::new(f, halvings);
            let other = (1 << places) - numerator;
            for flip in [BernoulliLanes::flip as Flip, BernoulliLanes::flip_constant_time] {
                let (counts, open) = enumerate(&coins, places, flip);
                let pair = |a: u64, b: u64| a * b;
                let exact = [
                    pair(other, other),
                    pair(other, numerator),
                    pair(numerator, other),
                    pair(numerator, numerator),
                ];
                assert_eq!((counts, open), (exact, 0), "{f} 2^-{halvings}");
                // The control: a coin with half of the probability gives other counts.
                let (wrong, _) = enumerate(&BernoulliLanes::new(f, halvings + 1), places, flip);
                assert_ne!(wrong, exact);
            }
        }
        // The probability 0.3 has many binary places, so a few words do not always decide the coin.
        // The share of the tapes on which both coins show true is a lower bound on the probability
        // of two true coins. The share of these tapes and of the undecided tapes together is an
        // upper bound.
        let coins = BernoulliLanes::new(0.3, 0);
        let (counts, open) = enumerate(&coins, 7, BernoulliLanes::flip);
        let both = 0.3 * 0.3 * f64::from(1 << 14);
        assert!(counts[3] as f64 <= both && both <= (counts[3] + open) as f64);
        assert!(open <= 2 * 128);
    }
    #[test]
    fn constant_time_gives_the_same_coins_and_always_draws_as_much() {
        for (f, halvings, words) in
            [(1.0, 1, 1), (0.5, 1, 2), (0.95, 1, 53), (1e-300, 1, 1050), (5e-324, 1, 1075)]
        {
            let coins = BernoulliLanes::new(f, halvings);
            for seed in 0..200 {
                let (mut first, mut second) = (Seeded::<64>::new(seed), Seeded::<64>::new(seed));
                let flipped = coins.flip_constant_time(u64::MAX, &mut first);
                assert_eq!(flipped, coins.flip(u64::MAX, &mut second));
                assert_eq!(first.used(), words);
                assert!(second.used() <= words);
            }
        }
    }
    #[test]
    fn few_words_decide_all_lanes() {
        let mut source = Seeded::<64>::new(1);
        let coins = BernoulliLanes::new(0.3, 0);
        for _ in 0..10_000 {
            coins.flip(u64::MAX, &mut source).unwrap();
        }
        assert!((72_000..75_000).contains(&source.used()), "{}", source.used());
    }
    #[test]
    fn every_lane_has_its_share_and_a_wrong_probability_is_noticed() {
        let draws = 100_000;
        let mut source = Seeded::<64>::new(2);
        let coins = BernoulliLanes::new(0.6, 1);
        let mut counts = [0_u32; 64];
        for _ in 0..draws {
            let word = coins.flip(u64::MAX, &mut source).unwrap();
            for (lane, count) in counts.iter_mut().enumerate() {
                *count += (word >> lane & 1) as u32;
            }
        }
        let draws = f64::from(draws);
        let worst = |p: f64| {
            let z = |n: &u32| ((f64::from(*n) - draws * p) / (draws * p * (1.0 - p)).sqrt()).abs();
            counts.iter().map(z).fold(0.0, f64::max)
        };
        assert!(worst(0.3) < 6.5, "{}", worst(0.3));
        assert!(worst(0.307) > 6.5);
    }
    #[test]
    fn certain_coins_draw_nothing_and_other_lanes_stay_zero() {
        let mut source = Failing::default();
        for (f, expected) in
            [(0.0, 0), (-1.0, 0), (f64::NAN, 0), (1.0, 5), (3.0, 5), (f64::INFINITY, 5)]
        {
            let coins = BernoulliLanes::new(f, 0);
            assert_eq!(coins.flip(5, &mut source), Ok(expected), "{f}");
            assert_eq!(coins.flip_constant_time(5, &mut source), Ok(expected), "{f}");
        }
        for halvings in [1, 2000, u32::MAX] {
            let coins = BernoulliLanes::new(f64::INFINITY, halvings);
            assert_eq!(coins.flip(5, &mut source), Ok(5), "{halvings}");
        }
        assert_eq!(source.attempts(), 0);
        for (f, halvings) in [(0.5, u32::MAX), (5e-324, u32::MAX), (1.0, u32::MAX)] {
            let coins = BernoulliLanes::new(f, halvings);
            assert_eq!(coins.flip(u64::MAX, &mut Seeded::<64>::new(1)), Ok(0), "{f}");
            assert_eq!(coins.flip(1, &mut source), Err(NoEntropy), "{f}");
        }
        let coins = BernoulliLanes::new(1.0, 1);
        assert_eq!(coins.flip(0, &mut source), Ok(0));
        assert_eq!(coins.flip(1, &mut source), Err(NoEntropy));
        assert_eq!(coins.flip(0b101, &mut Tape::<64>::new(vec![0])), Ok(0b101));
    }
}
