//! The type of the temperature of a random choice.

use serde_json::Value as Json;

use opendp_core::arith::shown;
use opendp_core::{Codec, Error, Result, named};

/// The temperature of a random choice. A temperature is a finite number above 0, in the unit of the
/// scores.
///
/// At a higher temperature, the probabilities of the candidates are more equal, and the choice
/// reveals less.
///
/// ```
/// # use opendp_measurements::Temperature;
/// assert_eq!(Temperature::new(2.5)?.value(), 2.5);
/// assert_eq!(Temperature::new(0.0).unwrap_err().kind(), "MakeMeasurement");
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Temperature(f64);

impl Temperature {
    /// Make a temperature.
    ///
    /// # Errors
    /// `MakeMeasurement` when the number is not positive, or not finite.
    pub fn new(temperature: f64) -> Result<Self> {
        let wrong = |expected| {
            Err(Error::MakeMeasurement(format!(
                "temperature: expected a {expected} number, found {}",
                shown(temperature)
            )))
        };
        match 0.0 < temperature {
            true if temperature.is_finite() => Ok(Temperature(temperature)),
            true => wrong("finite"),
            false => wrong("positive"),
        }
    }
    /// Return the temperature as a float.
    pub fn value(self) -> f64 {
        self.0
    }
}
impl Codec for Temperature {
    fn to_json(&self) -> Json {
        self.0.to_json()
    }
    fn from_json(json: &Json) -> Result<Self> {
        Temperature::new(f64::from_json(json)?)
    }
}
named!(Temperature as "Temperature");

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn is_finite_and_positive() {
        assert_eq!(Temperature::new(5e-324).unwrap().value(), 5e-324);
        for wrong in [0.0, -0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            let error = Temperature::new(wrong).unwrap_err();
            assert_eq!(error.kind(), "MakeMeasurement");
            assert!(error.to_string().contains("temperature: expected a positive"), "{error}");
        }
        let error = Temperature::new(f64::INFINITY).unwrap_err();
        assert_eq!(error.kind(), "MakeMeasurement");
        assert!(error.to_string().contains("temperature: expected a finite"), "{error}");
    }
    #[test]
    fn is_checked_when_it_is_read() {
        assert_eq!(Temperature::from_json(&json!(0.5)).unwrap().to_json(), json!(0.5));
        assert_eq!(Temperature::from_json(&json!(0)).unwrap_err().kind(), "MakeMeasurement");
        assert_eq!(Temperature::from_json(&json!("1")).unwrap_err().kind(), "FailedCast");
    }
}
