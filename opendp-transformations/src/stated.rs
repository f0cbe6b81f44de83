//! Checks the number of records that the input domain states.

use opendp_core::{Atom, Error, Result};

use crate::symmetric::Records;

/// Check that the size of the domain is known, and return this size. If `stated` contains a size,
/// check that both sizes are equal. If the size of the domain is unknown, the error message ends
/// with `advice`.
pub(crate) fn known_size<T: Atom>(
    domain: &Records<T>,
    stated: Option<usize>,
    advice: &str,
) -> Result<usize> {
    match (domain.size(), stated) {
        (Some(known), Some(stated)) if known != stated => Err(Error::MakeTransformation(format!(
            "size: expected {known}, the size of the input, found {stated}"
        ))),
        (Some(known), _) => Ok(known),
        (None, _) => Err(Error::MakeTransformation(format!(
            "input: the number of records must be known; {advice}"
        ))),
    }
}
