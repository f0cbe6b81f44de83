//! Rational weights of noises.

use opendp_core::arith::{Directed, InfCast};
use opendp_core::{Error, Result};

/// A rational factor of a noise.
///
/// ```
/// use opendp_measurements::accuracy::Weight;
/// assert_eq!(Weight::new(-2, 6)?, Weight::new(1, -3)?);
/// assert_eq!(Weight::from(3), Weight::new(3, 1)?);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    numerator: i128,
    denominator: i128,
}
impl Weight {
    pub(crate) const ONE: Weight = Weight { numerator: 1, denominator: 1 };

    /// Build a weight from the quotient of two integers.
    ///
    /// # Errors
    /// `Argument` when the denominator is 0.
    pub fn new(numerator: i64, denominator: i64) -> Result<Self> {
        if denominator == 0 {
            return Err(Error::argument("denominator", "expected a number other than 0"));
        }
        Ok(Weight::reduced(numerator.into(), denominator.into()))
    }
    /// Cancel the common factors of the numerator and the denominator. Make the denominator
    /// positive.
    fn reduced(numerator: i128, denominator: i128) -> Self {
        let by = divisor(numerator, denominator);
        let by = if denominator < 0 { -by } else { by };
        Weight { numerator: numerator / by, denominator: denominator / by }
    }
    pub(crate) fn times(self, other: Weight) -> Result<Self> {
        // Cancel the common factors of each numerator and the denominator of the other weight. Each
        // weight is already reduced. So the product is reduced, too.
        let (a, b) = (
            Weight::reduced(self.numerator, other.denominator),
            Weight::reduced(other.numerator, self.denominator),
        );
        let numerator = a.numerator.checked_mul(b.numerator).ok_or_else(large)?;
        let denominator = a.denominator.checked_mul(b.denominator).ok_or_else(large)?;
        Ok(Weight { numerator, denominator })
    }
    pub(crate) fn plus(self, other: Weight) -> Result<Self> {
        let by = divisor(self.denominator, other.denominator);
        let (mine, theirs) = (self.denominator / by, other.denominator / by);
        let sum = || {
            let left = self.numerator.checked_mul(theirs)?;
            let sum = left.checked_add(other.numerator.checked_mul(mine)?)?;
            Some((sum, self.denominator.checked_mul(theirs)?))
        };
        let (numerator, denominator) = sum().ok_or_else(large)?;
        Ok(Weight::reduced(numerator, denominator))
    }
    pub(crate) fn is_zero(self) -> bool {
        self.numerator == 0
    }
    pub(crate) fn parts(self) -> (i128, i128) {
        (self.numerator, self.denominator)
    }
    /// Return the magnitude of the weight, rounded up.
    pub(crate) fn magnitude_up(self) -> Result<f64> {
        f64::inf_cast(self.numerator.saturating_abs())?
            .inf_div(f64::neg_inf_cast(self.denominator)?)
    }
    /// Return the magnitude of the weight, rounded down.
    pub(crate) fn magnitude_down(self) -> Result<f64> {
        let numerator = f64::neg_inf_cast(self.numerator.saturating_abs())?;
        numerator.neg_inf_div(f64::inf_cast(self.denominator)?)
    }
    /// Multiply a float by the weight. Return the product, and a bound on its rounding error.
    pub(crate) fn apply(self, value: f64) -> Result<(f64, f64)> {
        let (below, above) = (self.magnitude_down()?, self.magnitude_up()?);
        let magnitude = value.abs();
        let (low, high) = (magnitude.neg_inf_mul(below)?, magnitude.inf_mul(above)?);
        let sign = if (self.numerator < 0) == (value < 0.0) { 1.0 } else { -1.0 };
        Ok((sign * high, high.inf_sub(low)?))
    }
}
impl From<i64> for Weight {
    fn from(number: i64) -> Self {
        Weight { numerator: number.into(), denominator: 1 }
    }
}
/// Return the greatest common divisor of two numbers, or 1 if both are 0.
pub(crate) fn divisor(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}
#[cold]
fn large() -> Error {
    Error::Overflow("the weight of a noise term has too many digits".into())
}
