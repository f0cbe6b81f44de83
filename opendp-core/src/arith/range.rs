//! The check of a range of floats.

use super::shown;
use crate::{Error, Result};

/// Check that both ends of a range are finite, and that the lower end does not exceed the upper
/// end.
///
/// # Errors
/// Otherwise `Argument` with the name `bounds`. The message shows both ends.
///
/// ```
/// use opendp_core::arith::check_range;
///
/// assert!(check_range((0.0, 0.0)).is_ok() && check_range((-1.0, 2.5)).is_ok());
/// for wrong in [(2.0, 1.0), (0.0, f64::INFINITY), (f64::NAN, 1.0)] {
///     assert_eq!(check_range(wrong).unwrap_err().kind(), "Argument");
/// }
/// ```
pub fn check_range((lower, upper): (f64, f64)) -> Result<()> {
    if lower <= upper && lower.is_finite() && upper.is_finite() {
        return Ok(());
    }
    let (lower, upper) = (shown(lower), shown(upper));
    let reason = format!("expected two finite numbers, the lower first, found {lower} and {upper}");
    Err(Error::argument("bounds", reason))
}
