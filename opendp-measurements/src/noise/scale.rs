//! The type of the scale of a noise distribution.

use serde_json::Value as Json;

use opendp_core::arith::shown;
use opendp_core::{Codec, Error, Result, named};

use crate::Temperature;

/// The scale of a noise distribution. A scale is a finite number that is at least 0. The scale 0
/// means no noise.
///
/// The scale is exactly the rational number that the float represents.
///
/// ```
/// # use opendp_measurements::Scale;
/// assert_eq!(Scale::new(2.5)?.value(), 2.5);
/// assert_eq!(Scale::new(-1.0).unwrap_err().kind(), "MakeMeasurement");
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Scale(f64);

impl Scale {
    /// Make a scale.
    ///
    /// # Errors
    /// `MakeMeasurement` when the number is negative or NaN; `MakeTransformation` when the number
    /// is positive infinity.
    pub fn new(scale: f64) -> Result<Self> {
        if scale == f64::INFINITY {
            return Err(Error::MakeTransformation(
                "scale: expected a finite number, found inf".into(),
            ));
        }
        if 0.0 <= scale {
            // The addition changes a negative zero to the positive zero.
            Ok(Scale(scale + 0.0))
        } else {
            Err(Error::MakeMeasurement(format!(
                "scale: expected a number of at least 0, found {}",
                shown(scale)
            )))
        }
    }
    /// Return the scale as a float.
    pub fn value(self) -> f64 {
        self.0
    }
}
impl From<Temperature> for Scale {
    fn from(temperature: Temperature) -> Self {
        Scale(temperature.value())
    }
}
impl Codec for Scale {
    fn to_json(&self) -> Json {
        self.0.to_json()
    }
    fn from_json(json: &Json) -> Result<Self> {
        Scale::new(f64::from_json(json)?)
    }
}
named!(Scale as "Scale");

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn is_finite_and_not_negative() {
        assert_eq!(Scale::new(0.0).unwrap().value(), 0.0);
        assert!(Scale::new(-0.0).unwrap().value().is_sign_positive());
        assert_eq!(Scale::new(f64::MAX).unwrap().value(), f64::MAX);
        for wrong in [-1.0, -5e-324, f64::NEG_INFINITY, f64::NAN] {
            let error = Scale::new(wrong).unwrap_err();
            assert_eq!(error.kind(), "MakeMeasurement");
            assert!(error.to_string().starts_with("scale: "), "{error}");
        }
        assert_eq!(Scale::new(f64::INFINITY).unwrap_err().kind(), "MakeTransformation");
    }
    #[test]
    fn is_checked_when_it_is_read() {
        assert_eq!(Scale::from_json(&json!(1)).unwrap(), Scale::new(1.0).unwrap());
        assert_eq!(Scale::new(0.5).unwrap().to_json(), json!(0.5));
        assert_eq!(Scale::from_json(&json!(-1)).unwrap_err().kind(), "MakeMeasurement");
        assert_eq!(Scale::from_json(&json!("NaN")).unwrap_err().kind(), "MakeMeasurement");
        assert_eq!(Scale::from_json(&json!("Infinity")).unwrap_err().kind(), "MakeTransformation");
        assert_eq!(Scale::from_json(&json!(null)).unwrap_err().kind(), "FailedCast");
    }
}
