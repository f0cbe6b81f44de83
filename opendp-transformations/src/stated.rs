//! Checks the number of records that the input domain states.

use opendp_core::{Domain, Error, Result, VectorDomain};

/// Check that the size of the domain is known, and return this size. If `stated` contains a size,
/// check that both sizes are equal. If the size of the domain is unknown, the error message ends
/// with `advice`.
pub(crate) fn known_size<D: Domain>(
    domain: &VectorDomain<D>,
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
/// Check that the size of the domain is known and at least 1, and return this size. The message of
/// an error ends with `advice`.
pub(crate) fn size_with_mean<D: Domain>(domain: &VectorDomain<D>, advice: &str) -> Result<usize> {
    match known_size(domain, None, advice)? {
        0 => Err(Error::MakeTransformation(format!(
            "input: expected a size of at least 1, found 0 records, which have no mean; {advice}"
        ))),
        size => Ok(size),
    }
}
/// Return the number of records minus `ddof`. Check that the result is at least 1.
pub(crate) fn degrees_of_freedom(size: usize, ddof: usize) -> Result<usize> {
    size.checked_sub(ddof).filter(|rest| 0 < *rest).ok_or_else(|| {
        Error::MakeTransformation(format!(
            "ddof: expected less than {size}, the number of records, found {ddof}"
        ))
    })
}
