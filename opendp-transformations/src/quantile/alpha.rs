//! A quantile level: a number from zero to one.

use opendp_core::arith::cast::dyadic;
use opendp_core::arith::shown;
use opendp_core::codec::{items, unexpected};
use opendp_core::{Codec, Error, Result, named};
use serde_json::Value as Json;

/// A quantile level: a number from zero to one. The level 1/2 is the median.
///
/// Pipeline documents state a level as a number or as a pair of integers
/// `[numerator, denominator]`.
///
/// ```
/// # use opendp_transformations::Alpha;
/// assert!(Alpha::new(0.25).is_ok() && Alpha::from_fraction(2, 3).is_ok());
/// assert_eq!(Alpha::new(1.5).unwrap_err().kind(), "MakeTransformation");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alpha(Kind);
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Number(f64),
    Fraction(u64, u64),
}

impl Alpha {
    /// Make a level from a number.
    ///
    /// # Errors
    /// `MakeTransformation` when the number is NaN, or is not from zero to one.
    pub fn new(alpha: f64) -> Result<Self> {
        if (0.0..=1.0).contains(&alpha) {
            return Ok(Alpha(Kind::Number(alpha)));
        }
        Err(Error::MakeTransformation(format!(
            "alpha: expected a number from 0 to 1, found {}",
            shown(alpha)
        )))
    }
    /// Make a level from a fraction.
    ///
    /// # Errors
    /// `MakeTransformation` when the fraction is not from zero to one, or when the denominator is
    /// zero.
    pub fn from_fraction(numerator: u64, denominator: u64) -> Result<Self> {
        if 0 < denominator && numerator <= denominator {
            return Ok(Alpha(Kind::Fraction(numerator, denominator)));
        }
        Err(Error::MakeTransformation(format!(
            "alpha: expected a fraction from 0 to 1, found {numerator}/{denominator}"
        )))
    }
    /// Return the factor by which quantile scores at this level are multiplied. The score of a
    /// candidate is the distance between the rank of the candidate and the ideal rank, times this
    /// factor.
    ///
    /// The level is also called alpha. [`make_quantile_score_candidates`] uses alpha as a fraction,
    /// and rounds alpha if the denominator of this fraction is too large. The factor is the
    /// denominator of the fraction after this rounding. The largest denominator depends on the size
    /// of the data, which is unknown if `size` is `None`.
    ///
    /// ```
    /// # use opendp_transformations::Alpha;
    /// assert_eq!(Alpha::from_fraction(2, 4)?.denominator(None), 2);
    /// assert_eq!(Alpha::new(0.1)?.denominator(None), 10_000);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// [`make_quantile_score_candidates`]: crate::make_quantile_score_candidates
    pub fn denominator(&self, size: Option<usize>) -> u64 {
        self.for_size(size).denominator
    }
    /// Return the level as a fraction. Quantile scores are computed from this fraction.
    pub(crate) fn for_size(&self, size: Option<usize>) -> Fraction {
        self.fraction(match size {
            Some(size) => u64::MAX / u64::try_from(size).unwrap_or(u64::MAX).max(1),
            None => DENOMINATORS,
        })
    }
    /// Return alpha as an exact fraction, if the denominator of this fraction is below `limit`.
    /// Otherwise return a fraction with the denominator `limit`. Its numerator is the product of
    /// alpha and `limit`, rounded down. If alpha is a float, `limit` and this product are rounded
    /// to floats before the product is rounded down. The numerator is at most `limit`.
    fn fraction(&self, limit: u64) -> Fraction {
        let exact = match self.0 {
            Kind::Number(number) => exact_fraction(number),
            Kind::Fraction(numerator, denominator) => Some(reduce(numerator, denominator)),
        };
        if let Some(fraction) = exact.filter(|fraction| fraction.denominator < limit) {
            return fraction;
        }
        let numerator = match self.0 {
            // This cast rounds a nonnegative float down to an integer.
            Kind::Number(number) => (number * limit as f64) as u64,
            Kind::Fraction(numerator, denominator) => {
                let product = u128::from(numerator) * u128::from(limit);
                u64::try_from(product / u128::from(denominator)).unwrap_or(limit)
            }
        };
        Fraction { numerator: numerator.min(limit), denominator: limit }
    }
}

/// When the size of the data is unknown, the denominators of levels are at most this limit.
const DENOMINATORS: u64 = 10_000;

/// A fraction from zero to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fraction {
    pub(crate) numerator: u64,
    pub(crate) denominator: u64,
}

/// Convert a float to a fraction of the same value, with the smallest denominator. Return `None` if
/// this denominator does not fit `u64`.
fn exact_fraction(number: f64) -> Option<Fraction> {
    let (mantissa, exponent) = dyadic(number)?;
    let numerator = u64::try_from(mantissa).ok()?;
    // If the float is above zero, then the mantissa is odd. The exponent is then at most zero,
    // because the float is at most one. For the float zero, the mantissa and the exponent are zero.
    let denominator = 1_u64.checked_shl(exponent.unsigned_abs())?;
    Some(Fraction { numerator, denominator })
}
fn reduce(numerator: u64, denominator: u64) -> Fraction {
    let (mut a, mut b) = (denominator, numerator);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Fraction { numerator: numerator / a, denominator: denominator / a }
}

impl Codec for Alpha {
    fn to_json(&self) -> Json {
        match self.0 {
            Kind::Number(number) => number.to_json(),
            Kind::Fraction(numerator, denominator) => (numerator, denominator).to_json(),
        }
    }
    fn from_json(json: &Json) -> Result<Self> {
        let expected = "a number, or a pair [numerator, denominator]";
        if !(json.is_array() || json.is_object()) {
            let alpha = f64::from_json(json).map_err(|_| unexpected(expected, json))?;
            return Alpha::new(alpha);
        }
        let [numerator, denominator] = items(json, expected)? else {
            return Err(unexpected(expected, json));
        };
        Alpha::from_fraction(u64::from_json(numerator)?, u64::from_json(denominator)?)
    }
}
named!(Alpha as "Alpha");

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(alpha: Alpha, limit: u64, numerator: u64, denominator: u64) {
        assert_eq!(alpha.fraction(limit), Fraction { numerator, denominator });
        assert!(numerator <= denominator);
    }

    #[test]
    fn is_exact_when_the_denominator_is_small_enough() {
        check(Alpha::new(0.5).unwrap(), 10_000, 1, 2);
        check(Alpha::new(0.75).unwrap(), 10_000, 3, 4);
        check(Alpha::new(0.9).unwrap(), 10_000, 9000, 10_000);
        check(Alpha::new(0.29).unwrap(), 10_000, 2900, 10_000);
        check(Alpha::new(2.0 - 2_f64.sqrt()).unwrap(), 10_000, 5857, 10_000);
        check(Alpha::new(0.0).unwrap(), 10_000, 0, 1);
        check(Alpha::new(-0.0).unwrap(), 10_000, 0, 1);
        check(Alpha::new(1.0).unwrap(), 10_000, 1, 1);
        check(Alpha::new(5e-324).unwrap(), 10_000, 0, 10_000);
        check(Alpha::new(1.0_f64.next_down()).unwrap(), u64::MAX, (1 << 53) - 1, 1 << 53);
        check(Alpha::new(1.0).unwrap(), 1, 1, 1);
        check(Alpha::from_fraction(50, 100).unwrap(), 10_000, 1, 2);
        check(Alpha::from_fraction(2, 3).unwrap(), 10_000, 2, 3);
        check(Alpha::from_fraction(u64::MAX - 1, u64::MAX).unwrap(), 10_000, 9999, 10_000);
        check(Alpha::from_fraction(0, 7).unwrap(), 10_000, 0, 1);
    }
    #[test]
    fn refuses_what_is_not_from_zero_to_one() {
        for bad in [-0.1, 1.0_f64.next_up(), f64::NAN, f64::INFINITY] {
            assert_eq!(Alpha::new(bad).unwrap_err().kind(), "MakeTransformation");
        }
        assert_eq!(Alpha::from_fraction(2, 1).unwrap_err().kind(), "MakeTransformation");
        assert_eq!(Alpha::from_fraction(0, 0).unwrap_err().kind(), "MakeTransformation");
        assert_eq!(Alpha::from_json(&json!(1.5)).unwrap_err().kind(), "MakeTransformation");
        assert_eq!(Alpha::from_json(&json!("x")).unwrap_err().kind(), "FailedCast");
        assert_eq!(Alpha::from_json(&json!([1])).unwrap_err().kind(), "FailedCast");
    }
    #[test]
    fn reads_what_it_writes() {
        for alpha in [Alpha::new(0.1).unwrap(), Alpha::from_fraction(2, 3).unwrap()] {
            assert_eq!(Alpha::from_json(&alpha.to_json()), Ok(alpha));
        }
        assert_eq!(Alpha::from_json(&json!(1)), Alpha::new(1.0));
    }
}
