//! A uniform real number whose digits are drawn only when needed.

use dashu_int::UBig;
use opendp_core::random::{NoEntropy, RandomSource};

/// A uniform real number on (0, 1). A digit is one word of the random source, or a part of one
/// word. So a digit can have up to 64 bits. Only the digits drawn so far are known.
///
/// Let `n` be the integer that the `b` drawn bits represent. Given these bits, the real number is
/// uniform on `[n, n + 1] / 2^b`. Independent uniform digits are exactly the expansion of a uniform
/// real number (except for a set of probability 0). Suppose that digits are drawn until every
/// number in the interval leads to the same decision. Then each decision has the same probability
/// as if all digits of the real number were known. This type is the "u-rand" of Karney (2016),
/// "Sampling exactly from the normal distribution", ACM TOMS 42(1), arXiv:1303.6257, section 3.
#[derive(Clone, Debug)]
pub struct LazyUniform {
    numerator: UBig,
    bits: usize,
}

impl LazyUniform {
    /// Start from the first digit, which is already drawn and has the given number of bits.
    ///
    /// Some callers draw this digit as a plain integer. These callers make a `LazyUniform` only if
    /// their decision needs more digits.
    pub fn from_first(digit: u64, bits: u32) -> Self {
        Self { numerator: digit.into(), bits: bits as usize }
    }

    /// Draw the first digit.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn draw<S: RandomSource>(source: &mut S) -> Result<Self, NoEntropy> {
        Ok(Self::from_first(source.word()?, S::BITS))
    }

    /// Draw one more digit.
    ///
    /// Cost: one word, and one shift of the integer that contains all earlier digits.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn refine<S: RandomSource>(&mut self, source: &mut S) -> Result<(), NoEntropy> {
        self.numerator <<= S::BITS as usize;
        self.numerator += source.word()?;
        self.bits += S::BITS as usize;
        Ok(())
    }

    /// Draw digits until at least `bits` bits are drawn.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn refine_to<S: RandomSource>(
        &mut self,
        bits: usize,
        source: &mut S,
    ) -> Result<(), NoEntropy> {
        while self.bits < bits {
            self.refine(source)?;
        }
        Ok(())
    }

    /// Return the lower bound `n` of the number in units of `2^-bits`, where `bits` is the number
    /// of drawn bits. The upper bound is `n + 1`.
    pub fn numerator(&self) -> &UBig {
        &self.numerator
    }

    /// Count the bits drawn so far.
    pub fn bits(&self) -> usize {
        self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::random::{Failing, Tape};

    #[test]
    fn digits_append_from_the_most_significant() {
        let mut tape = Tape::<4>::new(vec![0xa, 0x0, 0x3]);
        let mut uniform = LazyUniform::draw(&mut tape).unwrap();
        uniform.refine_to(12, &mut tape).unwrap();
        assert_eq!((uniform.numerator(), uniform.bits()), (&UBig::from(0xa03_u16), 12));
    }

    #[test]
    fn enough_bits_draw_nothing_more() {
        let mut uniform = LazyUniform::from_first(5, 64);
        let mut source = Failing::default();
        uniform.refine_to(64, &mut source).unwrap();
        assert_eq!(source.attempts(), 0);
        assert_eq!(uniform.refine_to(65, &mut source), Err(NoEntropy));
    }

    #[test]
    fn a_failing_source_is_reported() {
        assert!(LazyUniform::draw(&mut Failing::default()).is_err());
    }
}
