//! Predictable sources for tests and simulations.

use super::{NoEntropy, RandomSource};
use chacha20::ChaCha20Rng;
use rand::{Rng, SeedableRng};

/// A fixed list of words of `B` bits. Each word is drawn once, and further draws fail.
///
/// A test runs a sampler on all `2^(nB)` tapes of `n` words. The counts of the outputs give exact
/// probabilities. If a tape ends before the sampler returns, the output for this tape is unknown.
/// Use tapes only in tests.
#[derive(Clone, Debug)]
pub struct Tape<const B: u32> {
    words: Vec<u64>,
    used: usize,
}

impl<const B: u32> Tape<B> {
    /// Make a tape from words. Keep the low `B` bits of each word.
    pub fn new(words: Vec<u64>) -> Self {
        let words = words.into_iter().map(|word| word & mask(B)).collect();
        Self { words, used: 0 }
    }

    /// Make a tape from the lowest `length * B` bits of a number. The most significant word is the
    /// first.
    ///
    /// Numbers from 0 to `2^(length * B) - 1` enumerate all tapes of `length` words.
    pub fn from_bits(number: u64, length: u32) -> Self {
        let word = |index| number.checked_shr((length - 1 - index) * B).unwrap_or(0);
        Self::new((0..length).map(word).collect())
    }

    /// Count the words drawn so far.
    pub fn used(&self) -> usize {
        self.used
    }
}

impl<const B: u32> RandomSource for Tape<B> {
    const BITS: u32 = B;

    fn word(&mut self) -> Result<u64, NoEntropy> {
        let word = self.words.get(self.used).copied().ok_or(NoEntropy)?;
        self.used += 1;
        Ok(word)
    }
}

/// A reproducible stream of words of `B` bits from a seed.
///
/// The words come from ChaCha20, so they pass statistical tests. But the seed reveals the noise.
/// Use this source only for tests and simulations, **never for a release**.
#[derive(Debug)]
pub struct Seeded<const B: u32 = 64> {
    stream: ChaCha20Rng,
    used: u64,
}

impl<const B: u32> Seeded<B> {
    /// Start the stream for a seed.
    pub fn new(seed: u64) -> Self {
        Self { stream: ChaCha20Rng::seed_from_u64(seed), used: 0 }
    }

    /// Count the words drawn so far.
    pub fn used(&self) -> u64 {
        self.used
    }
}

impl<const B: u32> RandomSource for Seeded<B> {
    const BITS: u32 = B;

    #[inline]
    fn word(&mut self) -> Result<u64, NoEntropy> {
        self.used += 1;
        Ok(self.stream.next_u64() & mask(B))
    }
}

/// A source that fails at every draw, and counts the attempts.
///
/// A test uses this source to show that a sampler returns the error of the source. If the count of
/// attempts is 0, the sampler has drawn nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failing {
    attempts: usize,
}

impl Failing {
    /// Count the attempted draws.
    pub fn attempts(&self) -> usize {
        self.attempts
    }
}

impl RandomSource for Failing {
    fn word(&mut self) -> Result<u64, NoEntropy> {
        self.attempts += 1;
        Err(NoEntropy)
    }
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_replays_its_words_and_then_fails() {
        let mut tape = Tape::<4>::new(vec![1, 17]);
        assert_eq!([tape.word(), tape.word(), tape.word()], [Ok(1), Ok(1), Err(NoEntropy)]);
        assert_eq!(tape.used(), 2);
    }

    #[test]
    fn a_number_spells_a_tape_from_its_most_significant_word() {
        let mut tape = Tape::<1>::from_bits(0b110, 3);
        assert_eq!([tape.word(), tape.word(), tape.word()], [Ok(1), Ok(1), Ok(0)]);
        let mut tape = Tape::<4>::from_bits(0xab, 3);
        assert_eq!([tape.word(), tape.word(), tape.word()], [Ok(0), Ok(10), Ok(11)]);
    }

    #[test]
    fn a_seed_fixes_the_stream_and_another_seed_changes_it() {
        let draw = |seed| Seeded::<64>::new(seed).word();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn a_seeded_word_stays_below_its_bound_and_reaches_it() {
        let mut source = Seeded::<4>::new(1);
        let words: Vec<u64> = (0..1000).map(|_| source.word().unwrap()).collect();
        assert_eq!(words.iter().max(), Some(&15));
        assert_eq!(words.iter().min(), Some(&0));
        assert_eq!(source.used(), 1000);
    }

    #[test]
    fn a_failing_source_counts_what_was_asked_of_it() {
        let mut source = Failing::default();
        assert_eq!(source.word(), Err(NoEntropy));
        assert_eq!(source.attempts(), 1);
    }
}
