//! Rare events (hits) among many candidates. The candidates with a hit are found without a draw for
//! each candidate.

use crate::samplers::{exponential::LazyExponential, ln, neg_ln};
use dashu_int::UBig;
use opendp_core::arith::fixed;
use opendp_core::random::{NoEntropy, RandomSource};

/// Independent trials. Each trial is a hit with probability `p = 2^-b`.
///
/// A digit is a uniform word of random bits. In a race, this word is the rarity of a first digit
/// (see `Noise::digit`). A digit whose first `b` bits are 0 is a hit. [`hit`](Hits::hit) draws a
/// hit, and [`miss`](Hits::miss) draws a digit that is not a hit. To draw a list of digits, first
/// draw the positions of the hits. Then draw only the digits that the caller needs. The result has
/// the distribution of independent uniform digits.
pub(super) struct Hits {
    /// A lower and an upper bound on `1 / -ln(1 - p)`, where `p` is the probability of a hit.
    pace: (f64, f64),
}

/// Return `b`. A digit is a hit if its first `b` bits are 0. `b` is the smaller of 8 and the number
/// of bits of a word. Only tests use words of fewer than 8 bits.
pub(super) const fn prefix<S: RandomSource>() -> u32 {
    if S::BITS < 8 { S::BITS } else { 8 }
}

impl Hits {
    pub(super) fn new<S: RandomSource>() -> Self {
        // The argument of the logarithm is exactly a float because b is small.
        let (low, high) = ln(1.0 - 1.0 / f64::from(1_u32 << prefix::<S>()));
        Self { pace: ((-1.0 / low).next_down(), (-1.0 / high).next_up()) }
    }

    /// Count the misses before the next hit, up to a limit.
    ///
    /// Let `p` be the probability of a hit, and `G` the number of misses before the next hit. So
    /// `P[G >= m] = (1 - p)^m`. Let `E` be a standard exponential variable and `l = -ln(1 - p)`.
    /// `P[E >= m l]` is also `(1 - p)^m`. So the integer part of `E / l` has the distribution of
    /// `G` and is used as `G`. A float enclosure nearly always decides `G`. Otherwise, more digits
    /// are drawn until an exact enclosure of `E / l` decides `G`.
    #[inline]
    pub(super) fn misses<S: RandomSource>(
        &self,
        limit: usize,
        source: &mut S,
    ) -> Result<usize, NoEntropy> {
        let digit = source.word()?;
        let (low, high) = neg_ln(digit, S::BITS);
        // The lower bound is at most 64 ln 2 / l < 2^14, so the lower bound fits `u16`.
        let lower = (low * self.pace.0).next_down() as u16;
        let upper = (high * self.pace.1).next_up();
        if upper < f64::from(lower + 1) || limit <= usize::from(lower) {
            return Ok(limit.min(lower.into()));
        }
        exact_misses(LazyExponential::from_first(digit, S::BITS), limit, source)
    }

    /// Draw a digit that is a hit.
    #[inline]
    pub(super) fn hit<S: RandomSource>(source: &mut S) -> Result<u64, NoEntropy> {
        Ok(source.word()? >> prefix::<S>())
    }

    /// Draw a digit that is not a hit.
    #[inline]
    pub(super) fn miss<S: RandomSource>(source: &mut S) -> Result<u64, NoEntropy> {
        loop {
            let digit = source.word()?;
            if digit >> (S::BITS - prefix::<S>()) != 0 {
                return Ok(digit);
            }
        }
    }
}

/// Find the integer part of `E / l`, up to a limit. Here `E` is the given exponential variable, and
/// `l = -ln(1 - 2^-b)`, where `b` is the result of [`prefix`].
///
/// This function terminates with probability 1. The enclosure of `E / l` shrinks to a point, and
/// this point is an integer with probability 0.
#[cold]
#[inline(never)]
fn exact_misses<S: RandomSource>(
    mut e: LazyExponential,
    limit: usize,
    source: &mut S,
) -> Result<usize, NoEntropy> {
    let b = prefix::<S>();
    loop {
        e.refine(source)?;
        let precision = e.bits() + 8;
        let (low, high) = e.enclose(precision);
        let log = fixed::ln(&UBig::from((1_u32 << b) - 1), -i64::from(b), precision);
        // `l` is above 2^-b, and its bounds differ by at most 2 units of 2^-precision. The
        // precision is at least b + 8. So both bounds of `l` are positive.
        let (Ok(upper), Ok(lower)) = (UBig::try_from(-log.0), UBig::try_from(-log.1)) else {
            continue;
        };
        if lower.is_zero() {
            continue;
        }
        let floor = usize::try_from(low / upper).unwrap_or(usize::MAX);
        if limit <= floor || high.is_some_and(|high| high / lower == UBig::from(floor)) {
            return Ok(limit.min(floor));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::tests::chi_square::chi_square;
    use opendp_core::random::{Seeded, Tape};

    /// Count how often each number of misses occurs. The last count includes all larger numbers.
    fn counts<const B: u32>(draws: usize, last: usize, seed: u64) -> Vec<u64> {
        let (mut source, mut counts) = (Seeded::<B>::new(seed), vec![0; last + 1]);
        let hits = Hits::new::<Seeded<B>>();
        for _ in 0..draws {
            counts[hits.misses(last, &mut source).unwrap()] += 1;
        }
        counts
    }
    fn geometric(draws: usize, last: usize, p: f64) -> Vec<f64> {
        let at_least = |m: usize| draws as f64 * (1.0 - p).powi(m as i32);
        let mut law: Vec<f64> = (0..last).map(|m| at_least(m) - at_least(m + 1)).collect();
        law.push(at_least(last));
        law
    }

    #[test]
    fn misses_are_geometric_whatever_the_length_of_a_word() {
        let found = counts::<64>(1_000_000, 1200, 1);
        assert!(chi_square(&found, &geometric(1_000_000, 1200, 1.0 / 256.0)) < 1.0);
        assert!(chi_square(&found, &geometric(1_000_000, 1200, 1.0 / 250.0)) > 1.0);
        let found = counts::<4>(20_000, 40, 2);
        assert!(chi_square(&found, &geometric(20_000, 40, 1.0 / 16.0)) < 1.0);
        assert!(chi_square(&found, &geometric(20_000, 40, 1.0 / 14.0)) > 1.0);
        let found = counts::<1>(20_000, 8, 3);
        assert!(chi_square(&found, &geometric(20_000, 8, 0.5)) < 1.0);
        assert!(chi_square(&found, &geometric(20_000, 8, 0.45)) > 1.0);
    }

    #[test]
    fn floats_and_integers_count_the_same_misses() {
        let (mut source, hits) = (Seeded::<64>::new(4), Hits::new::<Seeded<64>>());
        for _ in 0..10_000 {
            let digit = source.word().unwrap();
            let rest = vec![0x0123_4567_89AB_CDEF; 4];
            let floats =
                hits.misses(1 << 20, &mut Tape::<64>::new([vec![digit], rest.clone()].concat()));
            let e = LazyExponential::from_first(digit, 64);
            assert_eq!(floats, exact_misses(e, 1 << 20, &mut Tape::<64>::new(rest)));
        }
    }

    #[test]
    fn a_doubt_is_settled_by_further_digits() {
        // `digit` is the integer (255 / 256) 2^64. If U begins with `digit - 1`, U is just below
        // 255 / 256. Then E is just above l, and there is 1 miss. If U begins with `digit`, U is
        // just above 255 / 256. Then E is just below l, and there is no miss.
        let (hits, digit) = (Hits::new::<Seeded<64>>(), u64::MAX / 256 * 255 + 255);
        let misses = |words: Vec<u64>| hits.misses(99, &mut Tape::<64>::new(words)).unwrap();
        assert_eq!(misses(vec![digit - 1, 1 << 60, 0]), 1);
        assert_eq!(misses(vec![digit, 1 << 60, 0]), 0);
        // The control: floats do not decide this case.
        let (low, high) = neg_ln(digit, 64);
        assert!((low * hits.pace.0) < 1.0 && 1.0 < high * hits.pace.1);
        // If the first digit is 0, U is at most 2^-64, and E has no upper bound until a later digit
        // is not 0. If the number of misses certainly reaches the limit, no more digits are drawn.
        let mut tape = Tape::<64>::new(vec![0, 1 << 63]);
        assert_eq!(hits.misses(1 << 20, &mut tape), Ok(11_511)); // floor(65 ln 2 / l)
        assert_eq!(hits.misses(5, &mut Tape::<64>::new(vec![0])), Ok(5));
    }

    #[test]
    fn digits_are_as_the_places_of_the_hits_say() {
        fn check<const B: u32>() {
            let mut source = Seeded::<B>::new(6);
            for _ in 0..1000 {
                let hit = |digit: u64| digit >> (B - prefix::<Seeded<B>>()) == 0;
                assert!(hit(Hits::hit(&mut source).unwrap()));
                assert!(!hit(Hits::miss(&mut source).unwrap()));
            }
        }
        check::<1>();
        check::<4>();
        check::<12>();
        check::<64>();
    }
}
