//! Tests each record for equality with a value.

use opendp_core::{
    Atom, AtomDomain, DatasetMetric, Function, MetricOn, Result, Space, Transformation,
    VectorDomain,
};

use crate::rows::each::{call_on, each};

/// Test each record for equality with a value.
///
/// # Arguments
/// * `value` - the value to compare with
///
/// # Precondition
/// The input is any space of data sets.
///
/// # Postcondition
/// The output has one truth value for each record, in the same order: `true` if the record equals
/// `value`, and `false` otherwise. A NaN is not equal to any value, including NaN. The input and
/// the output have the same metric. If the size of the input is known, the output has the same
/// size.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The output of a record depends only on that record. Equal records have equal outputs, and each
/// NaN has the output `false`; see [`make_row_by_row`](crate::make_row_by_row).
///
/// # Errors
/// `MetricSpace` when the metric is not defined on the output domain. Every dataset metric of this
/// project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_is_equal;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let is_two = make_is_equal(input, 2)?;
/// assert_eq!(is_two.invoke(&vec![1, 2])?, [false, true]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_is_equal<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    value: T,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<bool>>, M>>
where
    T: Atom,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
    M: MetricOn<VectorDomain<AtomDomain<bool>>>,
{
    let label = call_on("is_equal", value.clone());
    each(input, AtomDomain::default(), equal_to(value).labelled(label))
}

fn equal_to<T: Atom>(value: T) -> Function<Vec<T>, Vec<bool>> {
    Function::rows(move |records: &[T], out: &mut Vec<bool>| {
        compare(records, &value, out);
        Ok(())
    })
}
/// Append whether each value equals `value`.
pub(crate) fn compare<T: PartialEq>(values: &[T], value: &T, out: &mut Vec<bool>) {
    out.extend(values.iter().map(|other| other == value));
}

register! {
    "is_equal.rs": make_is_equal(input, value)
        for T in atoms,
            M in dataset_metrics;
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::{
        ChangeOneDistance, DistanceOn, HammingDistance, InsertDeleteDistance, StabilityMap,
        SymmetricDistance, laws,
    };

    #[track_caller]
    fn check<T: Atom, M>(alphabet: &[T], size: Option<usize>)
    where
        M: DatasetMetric + Default + DistanceOn<VectorDomain<AtomDomain<T>>>,
        M: DistanceOn<VectorDomain<AtomDomain<bool>>>,
    {
        let mut domain = VectorDomain::new(AtomDomain::<T>::default());
        if let Some(size) = size {
            domain = domain.with_size(size);
        }
        let input = Space::new(domain, M::default()).unwrap();
        for value in alphabet {
            let equal = make_is_equal(input.clone(), value.clone()).unwrap();
            assert!(laws::all(&equal, alphabet, 3).unwrap() > 0);
            assert_eq!(equal.map(&7), Ok(7));
            assert_eq!(equal.output().domain().size(), size);
        }
    }
    #[track_caller]
    fn check_all<T: Atom>(alphabet: &[T]) {
        check::<T, SymmetricDistance>(alphabet, None);
        check::<T, SymmetricDistance>(alphabet, Some(2));
        check::<T, InsertDeleteDistance>(alphabet, None);
        check::<T, InsertDeleteDistance>(alphabet, Some(2));
        check::<T, ChangeOneDistance>(alphabet, Some(3));
        check::<T, HammingDistance>(alphabet, Some(3));
    }

    #[test]
    fn obeys_the_laws_under_every_metric() {
        check_all(&[0.0, -0.0, f64::NAN, 5e-324, f64::INFINITY]);
        check_all(&[i32::MIN, -1, 0, 1, i32::MAX]);
        check_all(&[true, false]);
        check_all(&["", "a", "A", "é", "aa"].map(str::to_owned));
    }
    #[test]
    fn never_finds_nan_and_finds_zero_of_either_sign() {
        let input =
            Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap();
        let data = vec![f64::NAN, 0.0, -0.0];
        let is_nan = make_is_equal(input.clone(), f64::NAN).unwrap();
        assert_eq!(is_nan.invoke(&data).unwrap(), [false; 3]);
        let is_zero = make_is_equal(input, 0.0).unwrap();
        assert_eq!(is_zero.invoke(&data).unwrap(), [false, true, true]);
    }
    #[test]
    fn a_map_that_promises_less_is_refused() {
        let input =
            Space::new(VectorDomain::new(AtomDomain::default()), InsertDeleteDistance).unwrap();
        let equal = make_is_equal(input.clone(), 1_u8).unwrap();
        let wrong = Transformation::new(
            input,
            equal.output().clone(),
            equal.function().clone(),
            StabilityMap::new(|d_in: &u32| Ok(d_in / 2)),
        );
        assert!(laws::stable(&wrong, &laws::vectors(&[0, 1, 2], 3)).is_err());
    }
}
