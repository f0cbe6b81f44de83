//! The rows of data, from which samples are drawn.

use opendp_core::random::{NoEntropy, shuffle_end, with_secure};
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

/// Choose `kept` of `count` rows, and return their places in increasing order. All choices are
/// equally likely. If there are fewer than `kept` rows, choose all rows.
///
/// # Errors
/// [`NoEntropy`] if the source ends.
pub(super) fn chosen(count: usize, kept: usize) -> Result<Vec<usize>, NoEntropy> {
    let mut places: Vec<usize> = (0..count).collect();
    // A small sample needs few draws, even if there are many rows.
    with_secure(|source| shuffle_end(&mut places, kept, source))?;
    let mut chosen = places.split_off(count.saturating_sub(kept));
    chosen.sort_unstable();
    Ok(chosen)
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
    #[test]
    fn each_row_is_chosen_as_often_as_any_other() {
        let mut counts = [0_i32; 10];
        for _ in 0..10_000 {
            let places = chosen(10, 3).unwrap();
            assert!(places.len() == 3 && places.is_sorted_by(|first, second| first < second));
            places.into_iter().for_each(|place| counts[place] += 1);
        }
        // The tolerance 370 is eight standard deviations of each count.
        assert!(counts.iter().all(|count| (count - 3000).abs() < 370), "{counts:?}");
        assert_eq!(
            [chosen(3, 5), chosen(3, 3), chosen(0, 2)],
            [Ok(vec![0, 1, 2]), Ok(vec![0, 1, 2]), Ok(vec![])]
        );
        assert_eq!(chosen(3, 0), Ok(vec![]));
    }
}
