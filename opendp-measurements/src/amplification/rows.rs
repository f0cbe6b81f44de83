//! Checks that data consist of rows that a sample can select.

use opendp_core::{Domain, Error, Result};

/// Check that the members of a domain consist of records, and that any selection of these records
/// is a member too. If the domain fixes the number of records, the selection must have this number.
/// If a domain fails this check, it is possible that a sample is not a member, or that there are no
/// records to sample. For example, a text is one value. The only possible sample of a text is the
/// whole text.
///
/// # Errors
/// `MakeMeasurement` when the domain does not [recombine](Domain::recombines).
pub(super) fn check_rows<D: Domain>(domain: &D) -> Result<()> {
    if domain.recombines() {
        return Ok(());
    }
    Err(Error::MakeMeasurement(format!(
        "measurement: expected a domain whose records can be selected one by one, such as a vector \
         or a frame with a schema, found {}; sample after the steps that make the records",
        domain.to_json()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::{AtomDomain, DataFrameDomain, UserDomain, VectorDomain};

    #[test]
    fn only_data_of_records_have_samples() {
        let records = VectorDomain::new(AtomDomain::<String>::default());
        assert!(check_rows(&records).is_ok());
        let text = check_rows(&AtomDomain::<String>::default()).unwrap_err();
        assert_eq!(text.kind(), "MakeMeasurement");
        assert!(text.to_string().contains("one by one"), "{text}");
        assert!(check_rows(&UserDomain::new("lists", |_| true)).is_err());
        // Frames without a schema can have different columns. Then their rows do not fit into one
        // frame, so the domain of these frames does not recombine.
        assert!(check_rows(&DataFrameDomain::<String>::default()).is_err());
    }
}
