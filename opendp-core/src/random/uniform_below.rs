//! Exactly uniform indices, and exactly uniform integers of any length.

use dashu_int::{UBig, ops::BitTest};

use super::{NoEntropy, RandomSource};

/// Draw an integer that is exactly uniform on `[0, bound)`.
///
/// # Exactness
///
/// Let `b` be the number of bits of `bound - 1`. An attempt draws enough words for `b` bits. The
/// last `b` bits form a number that is uniform on `[0, 2^b)`. If this number is not below `bound`,
/// it is rejected, and an independent attempt follows. So each number below `bound` has the same
/// probability at each attempt, and therefore in total. The total probabilities sum to 1, because
/// each attempt succeeds with probability `bound / 2^b > 1/2`. Each bit is used at most once.
///
/// A bound of 0 counts as 1.
///
/// For a bound of 1, nothing is drawn. Otherwise there are fewer than two attempts on average.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn uniform_below<S: RandomSource>(bound: u64, source: &mut S) -> Result<u64, NoEntropy> {
    let Some(last) = bound.checked_sub(1).filter(|last| 0 < *last) else { return Ok(0) };
    let bits = u64::BITS - last.leading_zeros();
    let mask = u64::MAX >> (u64::BITS - bits);
    loop {
        let mut number = source.word()?;
        let mut drawn = S::BITS;
        while drawn < bits {
            // This line runs only if a word has fewer than 64 bits.
            number = number << S::BITS | source.word()?;
            drawn += S::BITS;
        }
        if number & mask <= last {
            return Ok(number & mask);
        }
    }
}

/// Draw an integer of any length that is exactly uniform on `[0, bound)`.
///
/// Let `b` be the number of bits of `bound - 1`. Draw a number that is uniform on `[0, 2^b)`.
/// Repeat this step until the number is below the bound. The proof of [`uniform_below`] applies. A
/// bound of 0 counts as 1.
///
/// # Errors
///
/// [`NoEntropy`] if the source ends.
pub fn big_uniform_below<S: RandomSource>(bound: &UBig, source: &mut S) -> Result<UBig, NoEntropy> {
    if *bound <= UBig::ONE {
        return Ok(UBig::ZERO);
    }
    let bits = (bound - UBig::ONE).bit_len();
    let word_bits = S::BITS as usize;
    loop {
        let mut number = UBig::ZERO;
        let mut drawn = 0;
        while drawn < bits {
            number = (number << word_bits) + source.word()?;
            drawn += word_bits;
        }
        // All bits are uniform and independent, so it does not matter which surplus bits are
        // dropped.
        let number = number >> (drawn - bits);
        if number < *bound {
            return Ok(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Failing, Tape};

    #[test]
    fn all_tapes_together_give_every_number_equally_often() {
        for bound in 2..=9_u64 {
            for n in 4..=12 {
                let (mut counts, mut open) = (vec![0_u64; bound as usize], 0);
                for number in 0..1 << n {
                    match uniform_below(bound, &mut Tape::<1>::from_bits(number, n)) {
                        Ok(index) => counts[index as usize] += 1,
                        Err(NoEntropy) => open += 1,
                    }
                }
                assert!(counts.iter().all(|count| *count == counts[0]), "{bound}: {counts:?}");
                assert_eq!(counts[0] * bound + open, 1 << n);
                // A tape gives no result if every attempt on this tape rejects its number. The bits
                // after the last complete attempt have no effect.
                let bits = u64::from(u64::BITS - (bound - 1).leading_zeros());
                let attempts = (u64::from(n) / bits) as u32;
                assert_eq!(open, ((1 << bits) - bound).pow(attempts) << (u64::from(n) % bits));
            }
        }
    }
    #[test]
    fn one_number_draws_nothing_and_the_largest_bound_one_word() {
        let mut source = Failing::default();
        assert_eq!([0, 1].map(|bound| uniform_below(bound, &mut source)), [Ok(0), Ok(0)]);
        assert_eq!(source.attempts(), 0);
        assert_eq!(uniform_below(2, &mut source), Err(NoEntropy));
        let mut tape = Tape::<64>::new(vec![u64::MAX, u64::MAX - 1]);
        assert_eq!(uniform_below(u64::MAX, &mut tape), Ok(u64::MAX - 1));
    }
    #[test]
    fn all_tapes_together_give_every_long_number_equally_often() {
        for bound in 2..=9_usize {
            for n in [5, 9, 12] {
                let mut counts = vec![0_u64; bound];
                for number in 0..1 << n {
                    let drawn =
                        big_uniform_below(&bound.into(), &mut Tape::<1>::from_bits(number, n));
                    if let Ok(index) = drawn {
                        counts[usize::try_from(index).unwrap()] += 1;
                    }
                }
                assert!(counts.iter().all(|count| *count == counts[0]), "{bound}: {counts:?}");
                // Each tape is long enough for one attempt, and an attempt succeeds with a
                // probability above 1/2. So at least half of the tapes give a number.
                assert!((1 << n) <= 2 * counts[0] * bound as u64);
            }
        }
    }
    #[test]
    fn a_long_number_spells_whole_words_and_stays_below() {
        let bound = (UBig::ONE << 130) + UBig::ONE;
        let mut tape =
            Tape::<64>::new(vec![u64::MAX; 3].into_iter().chain([0, 0, 1 << 63]).collect());
        // Each attempt draws three words and keeps the first 131 of their 192 bits. In the first
        // attempt, all bits are 1, so the number is not below the bound. In the second attempt, the
        // number is 2^63 >> 61 = 4.
        assert_eq!(big_uniform_below(&bound, &mut tape), Ok(UBig::from(4_u8)));
        assert_eq!(tape.used(), 6);
        assert_eq!(big_uniform_below(&bound, &mut tape), Err(NoEntropy));
        assert_eq!(big_uniform_below(&UBig::ONE, &mut tape), Ok(UBig::ZERO));
        assert_eq!(big_uniform_below(&UBig::ZERO, &mut tape), Ok(UBig::ZERO));
    }
}
