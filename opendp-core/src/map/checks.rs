//! Checks of the distances that maps take and return.

use super::Shared;
use crate::{Distance, Result};

/// Check a distance, then evaluate a bound at this distance.
pub(super) fn checked<I: Distance, O>(bound: &Shared<I, O>, d_in: &I) -> Result<O> {
    d_in.check().map_err(|error| error.at("d_in"))?;
    bound.at(d_in)
}
/// Evaluate a bound, and check its result too. A negative result or NaN is a fault of the map. A
/// comparison with a budget must not accept such a result.
pub(super) fn evaluated<I: Distance, O: Distance>(bound: &Shared<I, O>, d_in: &I) -> Result<O> {
    let result = checked(bound, d_in)?;
    match result.check() {
        Ok(()) => Ok(result),
        Err(error) => Err(error.at(FAULT)),
    }
}
const FAULT: &str = "the map gives a wrong result, which is a fault of the map";
