//! Applies a function of the user to each record alone.

use opendp_core::{DatasetMetric, Domain, MetricOn, Result, Space, Transformation, VectorDomain};

use crate::rows::each::{each, rows};

/// Apply a function of your own to each record alone.
///
/// This constructor is only for Rust programs. A pipeline document cannot contain a closure,
/// because a closure has no name. No check can verify the closure, so the caller is responsible for
/// the precondition below. Auditors can search a program for the name of this constructor.
///
/// # Arguments
/// * `element` - the domain of the records of the output
/// * `row` - the function of a record
///
/// # Precondition
/// For each member of the element domain of the input, the function `row`:
/// * gives a member of `element`;
/// * gives the same result for each call with the same record. `row` uses no randomness, keeps no
///   state, and reads no other data;
/// * gives equal records for equal records. In the metrics, `0.0` equals `-0.0`, and NaN equals
///   NaN. So the outputs of equal numbers must also be equal;
/// * does not panic. If an adversary can observe the running time, this time must not depend on the
///   record.
///
/// # Postcondition
/// The output has one record for each record of the input, in the same order. The input and the
/// output have the same metric. If the size of the input is known, the output has the same size.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The output of a record depends only on that record. Suppose that a record of the input is added,
/// inserted, removed, deleted or replaced. Then the same change happens to one record of the
/// output, at the same place. If the old and the new record have the same output, a replacement
/// does not change the output. Now take a shortest sequence of changes from one input to another,
/// in any dataset metric. This sequence gives a sequence of changes from the first output to the
/// second output. The sequence for the outputs is not longer than the sequence for the inputs.
///
/// # Errors
/// `MetricSpace` when the metric is not defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_row_by_row;
/// let words = VectorDomain::new(AtomDomain::<String>::default());
/// let input = Space::new(words, SymmetricDistance)?;
/// let lengths = make_row_by_row(input, AtomDomain::default(), |word: &String| word.len())?;
/// assert_eq!(lengths.invoke(&vec!["to".into(), "be".into(), "not".into()])?, [2, 2, 3]);
/// assert_eq!(lengths.map(&1)?, 1);
/// # Ok::<(), Error>(())
/// ```
pub fn make_row_by_row<D, E, M>(
    input: Space<VectorDomain<D>, M>,
    element: E,
    row: impl Fn(&D::Carrier) -> E::Carrier + Send + Sync + 'static,
) -> Result<Transformation<VectorDomain<D>, M, VectorDomain<E>, M>>
where
    D: Domain,
    E: Domain,
    M: DatasetMetric + MetricOn<VectorDomain<D>> + MetricOn<VectorDomain<E>>,
{
    each(input, element, rows(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks;
    use opendp_core::{
        AtomDomain, ChangeOneDistance, InsertDeleteDistance, SymmetricDistance, laws,
    };

    fn domain() -> VectorDomain<AtomDomain<f64>> {
        VectorDomain::new(AtomDomain::default())
    }
    const ALPHABET: [f64; 4] = [f64::NAN, -0.0, 0.0, f64::INFINITY];

    #[test]
    fn obeys_the_laws_with_a_function_of_the_record() {
        let input = Space::new(domain(), InsertDeleteDistance).unwrap();
        let sign = make_row_by_row(input, AtomDomain::<bool>::default(), |x| 0.0 < *x).unwrap();
        assert!(laws::all(&sign, &ALPHABET, 3).unwrap() > 0);
        assert!(test_checks::row_law(&sign, &laws::vectors(&ALPHABET, 2)).unwrap() > 0);
        let input = Space::new(domain().with_size(2), ChangeOneDistance).unwrap();
        let sign = make_row_by_row(input, AtomDomain::<bool>::default(), |x| 0.0 < *x).unwrap();
        assert!(laws::all(&sign, &ALPHABET, 2).unwrap() > 0);
        assert_eq!(sign.output().domain().size(), Some(2));
    }
    #[test]
    fn the_laws_refuse_a_function_that_tells_equal_records_apart() {
        let input = Space::new(domain(), SymmetricDistance).unwrap();
        let bits = make_row_by_row(input, AtomDomain::<u64>::default(), |x| x.to_bits()).unwrap();
        assert!(laws::stable(&bits, &laws::vectors(&ALPHABET, 2)).is_err());
    }
    #[test]
    fn the_laws_refuse_a_function_that_remembers() {
        use std::sync::atomic::{AtomicU64, Ordering};
        let input = Space::new(domain(), SymmetricDistance).unwrap();
        let seen = AtomicU64::new(0);
        let count = move |_: &f64| seen.fetch_add(1, Ordering::Relaxed);
        let count = make_row_by_row(input, AtomDomain::<u64>::default(), count).unwrap();
        assert!(test_checks::row_law(&count, &laws::vectors(&ALPHABET, 1)).is_err());
    }
    #[test]
    fn the_laws_refuse_an_output_out_of_its_domain() {
        let input = Space::new(domain(), SymmetricDistance).unwrap();
        let same = make_row_by_row(input, AtomDomain::non_nan(), |x: &f64| *x).unwrap();
        assert!(laws::member(&same, &laws::vectors(&ALPHABET, 1)).is_err());
    }
}
