//! A standard exponential variable, whose digits are drawn only when a decision needs them.

use super::uniform::LazyUniform;
use dashu_int::{IBig, UBig};
use opendp_core::arith::fixed::ln;
use opendp_core::random::{NoEntropy, RandomSource};

/// An exponential variable `E` with `P[E > t] = e^-t`.
///
/// `E = -ln(U)` for a lazily drawn uniform variable `U`: only the digits of `U` that have been
/// drawn so far are known. The formula `-ln(U)` is an inversion of the distribution function of `E`
/// (Devroye 1986, "Non-Uniform Random Variate Generation", II.2). Each new digit narrows the
/// interval that contains `E`. So decisions that use this interval agree with the exact `E`.
#[derive(Clone, Debug)]
pub struct LazyExponential {
    uniform: LazyUniform,
}

impl LazyExponential {
    /// Start from the first digit of `U`, which is already drawn and has the given number of bits.
    ///
    /// For the same digit, [`neg_ln`](super::neg_ln) returns bounds of `E` in a few nanoseconds.
    pub fn from_first(digit: u64, bits: u32) -> Self {
        Self { uniform: LazyUniform::from_first(digit, bits) }
    }

    /// Draw the first digit of `U`.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn draw<S: RandomSource>(source: &mut S) -> Result<Self, NoEntropy> {
        Ok(Self { uniform: LazyUniform::draw(source)? })
    }

    /// Draw one more digit of `U`.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn refine<S: RandomSource>(&mut self, source: &mut S) -> Result<(), NoEntropy> {
        self.uniform.refine(source)
    }

    /// Draw digits of `U` until at least `bits` bits of `U` are drawn.
    ///
    /// # Errors
    ///
    /// [`NoEntropy`] if the source ends.
    pub fn refine_to<S: RandomSource>(
        &mut self,
        bits: usize,
        source: &mut S,
    ) -> Result<(), NoEntropy> {
        self.uniform.refine_to(bits, source)
    }

    /// Count the bits of `U` drawn so far.
    pub fn bits(&self) -> usize {
        self.uniform.bits()
    }

    /// Return a lower and an upper bound on `E` for the digits drawn so far, in units of
    /// `2^-precision`.
    ///
    /// The result `(lo, hi)` satisfies `lo <= 2^precision E <= hi`. If all digits are 0, `hi` is
    /// `None`, which means infinity.
    ///
    /// `U` is in `[n, n + 1] / 2^b`, where `n` is the integer that the `b` drawn bits represent. In
    /// units of `2^-precision`, `hi` is an upper bound on `-ln(n / 2^b)`, and `lo` is a lower bound
    /// on `-ln(n / 2^b) - 1 / n`. `E` is at least `-ln((n + 1) / 2^b)`, and
    /// `ln((n + 1) / n) <= 1 / n`. So `lo` is also a lower bound on `E`. The difference `hi - lo`
    /// is at most `2^precision / n` plus 4 for rounding. So the enclosure of `E` is at most
    /// `1 / n + 4 / 2^precision` wide. This width becomes arbitrarily small as `n` and `precision`
    /// grow.
    ///
    /// Cost: one big-integer logarithm, about 2 microseconds at 128 bits.
    pub fn enclose(&self, precision: usize) -> (UBig, Option<UBig>) {
        let n = self.uniform.numerator();
        let exponent = -(self.uniform.bits() as i64);
        if n.is_zero() {
            let (_, hi) = ln(&UBig::ONE, exponent, precision);
            return (magnitude(-hi), None);
        }
        let (lo, hi) = ln(n, exponent, precision);
        let width = ((UBig::ONE << precision) + n - UBig::ONE) / n;
        (magnitude(-hi - width), Some(magnitude(-lo)))
    }
}

/// A positive real number that is a function of a uniform variable `U`. The digits of `U` are drawn
/// only when a decision needs them.
pub(super) trait LazyReal {
    /// Count the bits of `U` drawn so far.
    fn bits(&self) -> usize;
    /// Draw one more digit of `U`.
    fn refine<S: RandomSource>(&mut self, source: &mut S) -> Result<(), NoEntropy>;
    /// Return a lower and an upper bound on the number, in units of `2^-precision`. An upper bound
    /// of `None` means infinity.
    fn enclose(&self, precision: usize) -> (UBig, Option<UBig>);
    /// Draw digits until at least `bits` bits of `U` are drawn.
    fn refine_to<S: RandomSource>(&mut self, bits: usize, source: &mut S) -> Result<(), NoEntropy> {
        while self.bits() < bits {
            self.refine(source)?;
        }
        Ok(())
    }
}
impl LazyReal for LazyExponential {
    fn bits(&self) -> usize {
        self.bits()
    }
    fn refine<S: RandomSource>(&mut self, source: &mut S) -> Result<(), NoEntropy> {
        self.refine(source)
    }
    fn enclose(&self, precision: usize) -> (UBig, Option<UBig>) {
        self.enclose(precision)
    }
}

/// Replace a negative lower bound of `E` by 0, which is also a lower bound of `E`.
fn magnitude(bound: IBig) -> UBig {
    UBig::try_from(bound).unwrap_or(UBig::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::neg_ln;
    use opendp_core::random::Seeded;

    fn as_f64(n: &UBig, precision: usize) -> f64 {
        n.to_f64().value() * 2f64.powi(-(precision as i32))
    }

    #[test]
    fn enclosures_nest_and_shrink_as_digits_come() {
        let mut source = Seeded::<4>::new(1);
        for _ in 0..100 {
            let mut variable = LazyExponential::draw(&mut source).unwrap();
            // The bounds after each digit are within the previous bounds, up to 8 units of
            // rounding.
            let mut outer = (IBig::ZERO, None::<IBig>);
            for _ in 0..40 {
                let (lo, hi) = variable.enclose(200);
                let (lo, hi) = (IBig::from(lo), hi.map(IBig::from));
                assert!(lo >= &outer.0 - 8);
                if let Some(outer) = &outer.1 {
                    assert!(hi.as_ref().unwrap() <= &(outer + 8));
                }
                outer = (lo, hi);
                variable.refine(&mut source).unwrap();
            }
            let width = UBig::try_from(outer.1.unwrap() - outer.0).unwrap();
            assert!(as_f64(&width, 200) < 1e-30);
        }
    }

    #[test]
    fn the_fast_enclosure_of_a_digit_meets_the_exact_one() {
        for digit in 0..16 {
            let (fast_lo, fast_hi) = neg_ln(digit, 4);
            let (lo, hi) = LazyExponential::from_first(digit, 4).enclose(100);
            let top = |d: u64| -(d as f64 / 16.0).ln();
            assert!(fast_lo <= top(digit + 1) * 1.000001 && fast_hi >= top(digit) * 0.999999);
            assert!(as_f64(&lo, 100) <= top(digit + 1) + 1e-12);
            assert_eq!(hi.is_none(), digit == 0);
            assert!(hi.is_none_or(|hi| as_f64(&hi, 100) >= top(digit) - 1e-12));
        }
    }
}
