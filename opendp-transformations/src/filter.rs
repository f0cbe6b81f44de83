//! Keeps the records that satisfy a condition.

mod drop_null;
mod filter_bounds;
mod filter_values;

use opendp_core::{
    Carrier, DatasetMetric, Domain, Function, MetricOn, Result, Space, Transformation, VectorDomain,
};

pub use drop_null::make_drop_null;
pub use filter_bounds::make_filter_bounds;
pub use filter_values::make_filter_values;

/// Keep the records for which a condition of your own holds.
///
/// This constructor is only for Rust programs. A pipeline document cannot contain a closure,
/// because a closure has no name. No check can verify the closure, so the caller is responsible for
/// the precondition below; see [`make_row_by_row`](crate::make_row_by_row). In pipeline documents,
/// use [`make_filter_bounds`](crate::make_filter_bounds) and
/// [`make_filter_values`](crate::make_filter_values).
///
/// # Arguments
/// * `keep` - the condition
///
/// # Precondition
/// The metric counts added and removed records (`SymmetricDistance`), or it counts inserted and
/// deleted records (`InsertDeleteDistance`). `keep` depends only on the record. `keep` gives the
/// same result for equal records, where `0.0` equals `-0.0`, and NaN equals NaN. `keep` uses no
/// randomness, has no state, and does not panic.
///
/// # Postcondition
/// The output contains the records for which `keep` returns true, in the same order. The output has
/// the element domain and the metric of the input. The size is unknown, even if the size of the
/// input is known.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The decision to keep a record depends only on that record. Suppose that a record is added,
/// inserted, removed or deleted in the input. If the condition does not hold for this record, the
/// output does not change. Otherwise, the same change happens to one record of the output, at the
/// corresponding place.
///
/// # Errors
/// `MetricSpace` when the metric requires a known size.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_filter;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let even = make_filter(input, |x: &i32| x % 2 == 0)?;
/// assert_eq!(even.invoke(&vec![1, 2, 3, 4])?, [2, 4]);
/// assert_eq!(even.map(&1)?, 1);
/// # Ok::<(), Error>(())
/// ```
pub fn make_filter<D, M>(
    input: Space<VectorDomain<D>, M>,
    keep: impl Fn(&D::Carrier) -> bool + Send + Sync + 'static,
) -> Result<Transformation<VectorDomain<D>, M, VectorDomain<D>, M>>
where
    D: Domain,
    M: DatasetMetric + MetricOn<VectorDomain<D>>,
{
    let element = input.domain().element().clone();
    Transformation::each_kept(input, element, false, kept(keep))
}

/// Make the function that keeps the records for which a condition holds.
pub(crate) fn kept<T>(keep: impl Fn(&T) -> bool + Send + Sync + 'static) -> Function<Vec<T>, Vec<T>>
where
    T: Clone,
    Vec<T>: for<'a> Carrier<Chunk<'a> = &'a [T]>,
{
    Function::rows(move |records: &[T], out: &mut Vec<T>| {
        for record in records {
            if keep(record) {
                out.push(record.clone());
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::check_rows;
    use opendp_core::{AtomDomain, HammingDistance, InsertDeleteDistance, SymmetricDistance, laws};

    #[test]
    fn obeys_the_laws() {
        let floats = AtomDomain::<f64>::default();
        let alphabet = [f64::NAN, -0.0, 0.0, 5e-324, f64::NEG_INFINITY];
        check_rows(&floats, &alphabet, |x: Space<_, SymmetricDistance>| {
            make_filter(x, |row: &f64| 0.0 <= *row)
        });
        check_rows(&floats, &alphabet, |x: Space<_, InsertDeleteDistance>| {
            make_filter(x, |row: &f64| row.is_nan())
        });
    }
    #[test]
    fn the_laws_refuse_a_condition_that_tells_equal_records_apart() {
        let input = Space::new(VectorDomain::new(AtomDomain::<f64>::default()), SymmetricDistance);
        let wrong = make_filter(input.unwrap(), |row: &f64| row.is_sign_positive()).unwrap();
        assert!(laws::stable(&wrong, &laws::vectors(&[0.0, -0.0], 1)).is_err());
    }
    #[test]
    fn refuses_a_metric_of_one_size() {
        let domain = VectorDomain::new(AtomDomain::<f64>::default()).with_size(2);
        let input = Space::new(domain, HammingDistance).unwrap();
        assert_eq!(make_filter(input, |_| true).unwrap_err().kind(), "MetricSpace");
    }
}
