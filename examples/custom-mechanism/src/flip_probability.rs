//! The probability of a wrong report. This file defines the type of a parameter.

use opendp_core::arith::shown;
use opendp_core::{Codec, Error, Result, named};
use serde_json::Value as Json;

/// A probability above 0 and at most one half.
///
/// ```
/// # use custom_mechanism::FlipProbability;
/// assert_eq!(FlipProbability::new(0.25)?.value(), 0.25);
/// assert_eq!(FlipProbability::new(0.0).unwrap_err().kind(), "MakeMeasurement");
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlipProbability(f64);

impl FlipProbability {
    /// Make a probability.
    ///
    /// # Errors
    /// `MakeMeasurement` when `probability` is not above 0, exceeds one half, or is NaN.
    pub fn new(probability: f64) -> Result<Self> {
        if 0.0 < probability && probability <= 0.5 {
            Ok(FlipProbability(probability))
        } else {
            Err(Error::MakeMeasurement(format!(
                "flip: expected a number above 0 and at most 0.5, found {}",
                shown(probability)
            )))
        }
    }
    /// Return the probability as a float.
    pub fn value(self) -> f64 {
        self.0
    }
}
/// Reading a probability from JSON makes the same checks as [`FlipProbability::new`].
impl Codec for FlipProbability {
    fn to_json(&self) -> Json {
        self.0.to_json()
    }
    fn from_json(json: &Json) -> Result<Self> {
        FlipProbability::new(f64::from_json(json)?)
    }
}
named!(FlipProbability as "acme::FlipProbability");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_above_zero_and_at_most_one_half() {
        assert!(FlipProbability::new(5e-324).is_ok() && FlipProbability::new(0.5).is_ok());
        for wrong in [0.0, -0.1, 0.5_f64.next_up(), f64::NAN] {
            assert_eq!(FlipProbability::new(wrong).unwrap_err().kind(), "MakeMeasurement");
        }
    }
}
