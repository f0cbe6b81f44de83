//! The sum of an unknown number of bounded records, under its older name.

use opendp_core::{
    AbsoluteDistance, AtomDomain, Bounds, DatasetMetric, Error, MetricOn, Result, Space,
    Transformation, VectorDomain,
};

use crate::stated::within_bounds;
use crate::{Summand, make_sum};

/// Add up an unknown number of bounded records.
///
/// This is [`make_sum`] for data sets whose size is not public, under its older name.
///
/// # Arguments
/// * `bounds` - a pair `[lower, upper]`; the bounds of the input when absent
///
/// # Precondition
/// The size of the input is unknown. Its records are not NaN. They are within bounds, or `bounds`
/// are given.
///
/// # Function
/// If the input has no bounds, the records are first clamped to `bounds`, as by `make_clamp`. Then
/// they are added up, as by `make_sum`.
///
/// # Postcondition
/// The output is the sum, never NaN or infinite.
///
/// # Map
/// With bounds `[L, U]`: `d_in * max(|L|, |U|)`, rounded up as by `make_sum`.
///
/// # Proof
/// The proof of `make_sum` applies, after the proof of `make_clamp` if the input has no bounds.
///
/// # Errors
/// `MakeTransformation` when the size is known, when there are no bounds, or when `bounds` differ
/// from those of the input; `FailedFunction` when a record may be NaN; and the errors of
/// `make_sum`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_bounded_sum;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), SymmetricDistance)?;
/// let sum = make_bounded_sum(input, Some(Bounds::new(0, 10)?))?;
/// assert_eq!(sum.invoke(&vec![7, 99])?, 17);
/// assert_eq!(sum.map(&1)?, 10);
/// # Ok::<(), Error>(())
/// ```
pub fn make_bounded_sum<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
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
    if let Some(size) = input.domain().size() {
        return Err(Error::MakeTransformation(format!(
            "input: the number of records is known to be {size}; use `make_sized_bounded_sum`"
        )));
    }
    within_bounds(input, bounds, make_sum)
}

register! {
    "bounded_sum.rs": make_bounded_sum(input, bounds = null)
        for T in numbers, M in unsized_metrics;
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::{InsertDeleteDistance, SymmetricDistance, laws};

    fn domain() -> VectorDomain<AtomDomain<f64>> {
        VectorDomain::new(AtomDomain::bounded(Bounds::new(-1.0, 0.1).unwrap()))
    }

    #[test]
    fn obeys_the_laws_with_and_without_a_clamp() {
        let alphabet = [-f64::MAX, -0.0, 5e-324, 0.1, 1e300];
        let bounds = Bounds::new(-1.0, 0.1).unwrap();
        let free = VectorDomain::new(AtomDomain::non_nan());
        let input = Space::new(free.clone(), SymmetricDistance).unwrap();
        let sum = make_bounded_sum(input, Some(bounds)).unwrap();
        assert!(laws::all(&sum, &alphabet, 3).unwrap() > 0);
        let input = Space::new(free, InsertDeleteDistance).unwrap();
        let sum = make_bounded_sum(input, Some(bounds)).unwrap();
        assert!(laws::all(&sum, &alphabet, 3).unwrap() > 0);
        let input = Space::new(domain(), InsertDeleteDistance).unwrap();
        assert!(laws::all(&make_bounded_sum(input, None).unwrap(), &alphabet, 3).unwrap() > 0);
    }
    #[test]
    fn is_the_sum_by_another_name() {
        let input = Space::new(domain(), SymmetricDistance).unwrap();
        let data = vec![-1.0, 0.1, 0.05];
        let (old, new) = (make_bounded_sum(input.clone(), None).unwrap(), make_sum(input).unwrap());
        assert_eq!(old.invoke(&data), new.invoke(&data));
        assert_eq!(old.map(&3), new.map(&3));
    }
    #[track_caller]
    fn refuse(domain: VectorDomain<AtomDomain<f64>>, bounds: Option<(f64, f64)>, gist: &str) {
        let bounds = bounds.map(|(lower, upper)| Bounds::new(lower, upper).unwrap());
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let error = make_bounded_sum(input, bounds).unwrap_err();
        assert!(error.to_string().contains(gist), "{error}");
        assert!(["MakeTransformation", "FailedFunction"].contains(&error.kind()));
    }
    #[test]
    fn says_what_to_use_instead() {
        refuse(domain().with_size(3), None, "make_sized_bounded_sum");
        refuse(VectorDomain::new(AtomDomain::non_nan()), None, "make_clamp");
        refuse(domain(), Some((-1.0, 0.2)), "bounds: expected [-1, 0.1]");
        refuse(VectorDomain::new(AtomDomain::default()), Some((0.0, 1.0)), "NaN");
    }
}
