//! The sum of a known number of bounded records, under its older name.

use opendp_core::{
    AbsoluteDistance, AtomDomain, Bounds, DatasetMetric, MetricOn, Result, Space, Transformation,
    VectorDomain,
};

use crate::stated::{known_size, within_bounds};
use crate::{Summand, make_sum};

/// Add up a known number of bounded records.
///
/// This is [`make_sum`] for data sets whose size is public, under its older name.
///
/// # Arguments
/// * `size` - the number of records; the size of the input when absent
/// * `bounds` - a pair `[lower, upper]`; the bounds of the input when absent
///
/// # Precondition
/// The size of the input is known. Its records are not NaN. They are within bounds, or `bounds` are
/// given.
///
/// # Function
/// If the input has no bounds, the records are first clamped to `bounds`, as by `make_clamp`. Then
/// they are added up, as by `make_sum`.
///
/// # Postcondition
/// The output is the sum, never NaN or infinite.
///
/// # Map
/// With bounds `[L, U]` and a symmetric distance `d`, which is `d_in`, or `2 * d_in` when the
/// metric counts replaced records: `floor(d / 2) * (U - L)`, rounded up as by `make_sum`.
///
/// # Proof
/// The proof of `make_sum` applies, after the proof of `make_clamp` if the input has no bounds.
///
/// # Errors
/// `MakeTransformation` when the size is not known, when there are no bounds, or when `size` or
/// `bounds` differ from those of the input; `FailedFunction` when a record may be NaN; and the
/// errors of `make_sum`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_sized_bounded_sum;
/// let pairs = VectorDomain::new(AtomDomain::<i32>::default()).with_size(2);
/// let input = Space::new(pairs, SymmetricDistance)?;
/// let sum = make_sized_bounded_sum(input, Some(2), Some(Bounds::new(1, 10)?))?;
/// assert_eq!(sum.invoke(&vec![7, 99])?, 17);
/// assert_eq!(sum.map(&2)?, 9);
/// # Ok::<(), Error>(())
/// ```
pub fn make_sized_bounded_sum<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    size: Option<usize>,
    bounds: Option<Bounds<T>>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<T>>,
        M,
        AtomDomain<T::Total>,
        AbsoluteDistance<T::Total>,
    >,
>
where
    T: Summand,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    known_size(input.domain(), size, "use `make_bounded_sum`, or `make_resize` first")?;
    within_bounds(input, bounds, make_sum)
}

register! {
    "sized_bounded_sum.rs": make_sized_bounded_sum(input, size = null, bounds = null)
        for T in numbers, M in dataset_metrics;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symmetric::Records;
    use crate::test_checks::metrics::*;
    use opendp_core::{DistanceOn, laws};

    fn triples(bounds: Option<(i8, i8)>) -> Records<i8> {
        let bounds = bounds.map(|(lower, upper)| Bounds::new(lower, upper).unwrap());
        VectorDomain::new(AtomDomain::new(bounds, None)).with_size(3)
    }
    #[track_caller]
    fn check<M: DatasetMetric + Default + DistanceOn<Records<i8>>>() {
        let input = Space::new(triples(None), M::default()).unwrap();
        let bounds = Bounds::new(-20, 30).unwrap();
        let sum = make_sized_bounded_sum(input, None, Some(bounds)).unwrap();
        assert!(laws::all(&sum, &[i8::MIN, -1, 0, 1, i8::MAX], 3).unwrap() > 0);
    }

    #[test]
    fn obeys_the_laws_under_every_metric() {
        check::<SymmetricDistance>();
        check::<InsertDeleteDistance>();
        check::<ChangeOneDistance>();
        check::<HammingDistance>();
    }
    #[test]
    fn counts_a_replaced_record_once() {
        let input = Space::new(triples(Some((1, 10))), HammingDistance).unwrap();
        let sum = make_sized_bounded_sum(input, Some(3), None).unwrap();
        assert_eq!([0, 1, 2].map(|d| sum.map(&d).unwrap()), [0, 9, 18]);
    }
    #[track_caller]
    fn refuse(domain: Records<i8>, size: Option<usize>, bounds: Option<(i8, i8)>, gist: &str) {
        let bounds = bounds.map(|(lower, upper)| Bounds::new(lower, upper).unwrap());
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let error = make_sized_bounded_sum(input, size, bounds).unwrap_err();
        assert_eq!(error.kind(), "MakeTransformation");
        assert!(error.to_string().contains(gist), "{error}");
    }
    #[test]
    fn says_what_to_use_instead() {
        refuse(triples(Some((0, 1))).without_size(), None, None, "make_bounded_sum");
        refuse(triples(Some((0, 1))), Some(4), None, "size: expected 3");
        refuse(triples(Some((0, 1))), Some(3), Some((0, 2)), "bounds: expected [0, 1]");
        refuse(triples(None), None, None, "make_clamp");
    }
}
