//! Sources of uniform random words: one secure source for releases, and several for tests. The
//! module also has functions that draw a uniform index and a uniform order.

mod secure;
mod shuffle;
mod tape;
mod uniform_below;

pub(crate) use secure::on_one_tape;
pub use secure::{SecureSource, securely, with_secure};
pub use shuffle::{shuffle, shuffle_end};
pub use tape::{Failing, Seeded, Tape};
pub use uniform_below::{big_uniform_below, uniform_below};

/// The error of a source without random bits: the system has no entropy, or a test tape ended.
///
/// The type has no fields, so a `Result<u64, NoEntropy>` is returned in registers. The caller must
/// stop the release, because there is no other source for releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no entropy: the operating system gave no random bytes, or a test tape ended")]
pub struct NoEntropy;

/// A supply of independent words of uniform random bits.
///
/// Every sampler of this project draws only through this trait. Every proof of exactness assumes
/// only that words are independent and uniform on `[0, 2^BITS)`.
pub trait RandomSource {
    /// The number of uniform bits in each word, between 1 and 64.
    ///
    /// Releases use words of 64 bits. Many tests use words of 1 or 4 bits, so that a test can
    /// enumerate every tape (fixed list of words) of a given length. Tests with short words also
    /// reach code that is almost never reached with 64-bit words.
    const BITS: u32 = 64;

    /// Draw an integer that is uniform on `[0, 2^BITS)` and independent of all earlier words.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source cannot supply another word.
    fn word(&mut self) -> Result<u64, NoEntropy>;
}

impl<S: RandomSource + ?Sized> RandomSource for &mut S {
    const BITS: u32 = S::BITS;

    #[inline]
    fn word(&mut self) -> Result<u64, NoEntropy> {
        (**self).word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(mut source: impl RandomSource) -> Result<u64, NoEntropy> {
        Ok(source.word()? + source.word()?)
    }

    #[test]
    fn a_borrowed_source_draws_from_its_owner() {
        let mut tape = Tape::<4>::new(vec![3, 4, 5]);
        assert_eq!(sum(&mut tape), Ok(7));
        assert_eq!(tape.used(), 2);
        assert_eq!(sum(&mut tape), Err(NoEntropy));
    }

    #[test]
    fn a_borrowed_source_keeps_the_word_size() {
        fn bits<S: RandomSource>(_: &S) -> u32 {
            S::BITS
        }
        let mut tape = Tape::<4>::new(vec![]);
        assert_eq!(bits(&&mut tape), 4);
        assert_eq!(bits(&SecureSource::new().unwrap()), 64);
    }

    #[test]
    fn the_error_fits_beside_a_word_in_two_registers() {
        assert!(size_of::<Result<u64, NoEntropy>>() <= 2 * size_of::<u64>());
    }
}
