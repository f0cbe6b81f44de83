//! Closed intervals.

use serde_json::Value as Json;

use crate::{Atom, Codec, Error, Result, codec::items, codec::unexpected, named};

/// A closed interval `[lower, upper]` of values of an atomic type. The interval is never empty.
///
/// ```
/// # use opendp_core::Bounds;
/// assert_eq!(Bounds::new(0, 10)?.clamp(50), 10);
/// assert_eq!(Bounds::new(1.0, 0.0).unwrap_err().kind(), "MakeDomain");
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds<T> {
    lower: T,
    upper: T,
}

impl<T: Atom> Bounds<T> {
    /// Make the interval from `lower` to `upper`.
    ///
    /// # Errors
    /// `FailedFunction` when a bound is NaN. `MakeDomain` when `lower` exceeds `upper`.
    pub fn new(lower: T, upper: T) -> Result<Self> {
        for (name, bound) in [("lower", &lower), ("upper", &upper)] {
            if bound.is_null() {
                return Err(Error::FailedFunction(format!(
                    "bounds: expected a number as the {name} bound, found NaN"
                )));
            }
        }
        if lower <= upper {
            Ok(Bounds { lower, upper })
        } else {
            Err(Error::MakeDomain(format!(
                "bounds: the lower bound {lower:?} is above the upper bound {upper:?}; swap them"
            )))
        }
    }
    /// Return the lower bound.
    pub fn lower(&self) -> T {
        self.lower.clone()
    }
    /// Return the upper bound.
    pub fn upper(&self) -> T {
        self.upper.clone()
    }
    /// Return whether `value` is in the interval. Return `false` for NaN.
    pub fn contains(&self, value: &T) -> bool {
        self.lower <= *value && *value <= self.upper
    }
    /// Return the value of the interval that is nearest to `value`. NaN stays NaN. The constructor
    /// `make_clamp` refuses input domains that contain NaN.
    #[must_use]
    #[inline]
    pub fn clamp(&self, value: T) -> T {
        if value < self.lower {
            self.lower.clone()
        } else if self.upper < value {
            self.upper.clone()
        } else {
            value
        }
    }
}

impl<T: Atom> Codec for Bounds<T> {
    fn to_json(&self) -> Json {
        Json::Array(vec![self.lower.to_json(), self.upper.to_json()])
    }
    fn from_json(json: &Json) -> Result<Self> {
        let expected = "a pair [lower, upper]";
        let [lower, upper] = items(json, expected)? else { return Err(unexpected(expected, json)) };
        Bounds::new(T::from_json(lower)?, T::from_json(upper)?)
    }
}
named!(Bounds<T> as "Bounds");

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn moves_outliers_to_the_nearest_bound() {
        let bounds = Bounds::new(-1.0, 1.0).unwrap();
        assert_eq!([-9.0, -1.0, 0.5, 9.0].map(|x| bounds.clamp(x)), [-1.0, -1.0, 0.5, 1.0]);
        assert!(bounds.clamp(f64::NAN).is_nan());
        assert_eq!(bounds.clamp(f64::INFINITY), 1.0);
    }
    #[test]
    fn refuses_reversed_and_nan_bounds_even_in_json() {
        assert_eq!(Bounds::new(1, 0).unwrap_err().kind(), "MakeDomain");
        assert_eq!(Bounds::new(f64::NAN, 0.0).unwrap_err().kind(), "FailedFunction");
        assert_eq!(Bounds::<i32>::from_json(&json!([1, 0])).unwrap_err().kind(), "MakeDomain");
        assert_eq!(
            Bounds::<f64>::from_json(&json!([0.0, "NaN"])).unwrap_err().to_string(),
            "bounds: expected a number as the upper bound, found NaN"
        );
        assert_eq!(Bounds::<i32>::from_json(&json!([0])).unwrap_err().kind(), "FailedCast");
    }
    #[test]
    fn orders_strings_too() {
        let bounds = Bounds::new("b".to_owned(), "d".to_owned()).unwrap();
        assert_eq!(bounds.clamp("z".to_owned()), "d");
    }
}
