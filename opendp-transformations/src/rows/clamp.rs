//! Clamps records to bounds.

use opendp_core::arith::Number;
use opendp_core::{
    Atom, AtomDomain, Bounds, DatasetMetric, Error, Function, MetricOn, Result, Space,
    Transformation, VectorDomain,
};

use crate::rows::each::{call_on, each};

/// Replace each record that is out of bounds by the nearest bound.
///
/// # Arguments
/// * `bounds` - a pair `[lower, upper]`
///
/// # Precondition
/// No record is NaN: the element domain of the input excludes NaN.
///
/// # Postcondition
/// Each record of the output is within `bounds`. The input and the output have the same size and
/// metric.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// A record is not NaN, so there are three cases. A record below `lower` becomes `lower`, and a
/// record above `upper` becomes `upper`. Every other record does not change. So all outputs are in
/// the output domain. The output of a record depends only on that record. Suppose that one record
/// of the input is added, removed or replaced. Then the same change happens to at most one record
/// of the output, at the same place.
///
/// # Errors
/// `FailedFunction` when the input domain contains NaN. The type `Bounds` already excludes reversed
/// bounds and bounds that are NaN.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_clamp;
/// let input = Space::new(VectorDomain::new(AtomDomain::<f64>::non_nan()), SymmetricDistance)?;
/// let clamp = make_clamp(input, Bounds::new(0.0, 1.0)?)?;
/// assert_eq!(clamp.invoke(&vec![-1.0, 0.5, 3.0])?, [0.0, 0.5, 1.0]);
/// assert_eq!(clamp.map(&3)?, 3);
/// # Ok::<(), Error>(())
/// ```
pub fn make_clamp<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    bounds: Bounds<T>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<T>>, M>>
where
    T: Atom + Number,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    if input.domain().element().nan() {
        return Err(may_be_nan());
    }
    each(input, AtomDomain::bounded(bounds), clamp(bounds))
}

register! {
    "clamp.rs": make_clamp(input, bounds)
        for T in numbers, M in dataset_metrics;
}

fn clamp<T: Atom + Number>(bounds: Bounds<T>) -> Function<Vec<T>, Vec<T>> {
    let (lower, upper) = (bounds.lower(), bounds.upper());
    let label = call_on("clamp", bounds);
    let clamp = move |rows: &[T], out: &mut Vec<T>| {
        // The compiler turns two consecutive `if` expressions into two vector instructions, for the
        // maximum and the minimum. The compiler does not do this for nested `if` expressions.
        out.extend(rows.iter().map(|row| {
            let raised = if *row < lower { lower } else { *row };
            if upper < raised { upper } else { raised }
        }));
        Ok(())
    };
    Function::projection(bounds, clamp).labelled(label)
}
#[cold]
pub(crate) fn may_be_nan() -> Error {
    Error::FailedFunction(
        "input: the records may be NaN, expected an element domain without NaN: state \"nan\": false, \
         or put {\"impute_constant\": {\"constant\": 0.0}} before this step"
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::metrics::*;
    use opendp_core::{DistanceOn, laws};

    fn domain<T: Atom>() -> VectorDomain<AtomDomain<T>> {
        VectorDomain::new(AtomDomain::non_nan())
    }
    #[track_caller]
    fn check<T, M>(domain: VectorDomain<AtomDomain<T>>, alphabet: &[T], lower: T, upper: T)
    where
        T: Atom + Number,
        M: DatasetMetric + Default + DistanceOn<VectorDomain<AtomDomain<T>>>,
    {
        let input = Space::new(domain, M::default()).unwrap();
        let clamp = make_clamp(input, Bounds::new(lower, upper).unwrap()).unwrap();
        assert!(laws::all(&clamp, alphabet, 3).unwrap() > 0);
        assert_eq!(clamp.map(&3), Ok(3));
    }
    #[track_caller]
    fn check_all<T: Atom + Number>(alphabet: &[T], lower: T, upper: T) {
        check::<T, SymmetricDistance>(domain(), alphabet, lower, upper);
        check::<T, SymmetricDistance>(domain().with_size(2), alphabet, lower, upper);
        check::<T, InsertDeleteDistance>(domain(), alphabet, lower, upper);
        check::<T, InsertDeleteDistance>(domain().with_size(2), alphabet, lower, upper);
        check::<T, ChangeOneDistance>(domain().with_size(3), alphabet, lower, upper);
        check::<T, HammingDistance>(domain().with_size(3), alphabet, lower, upper);
    }

    #[test]
    fn obeys_the_laws_under_every_metric() {
        check_all(&[f64::NEG_INFINITY, -0.0, 0.0, 5e-324, f64::MAX], 0.0, 1.0);
        check_all(&[f32::MIN, -0.0, 0.0, 1e-45, f32::INFINITY], -0.0, 1e-40);
        check_all(&[i8::MIN, -1, 0, 1, i8::MAX], -1, 1);
        check_all(&[i128::MIN, -1, 0, 1, i128::MAX], i128::MIN, 0);
        check_all(&[0_usize, 1, 2, 3, usize::MAX], 1, 2);
    }
    #[test]
    fn moves_outliers_to_the_nearest_bound() {
        let input = Space::new(domain(), SymmetricDistance).unwrap();
        let clamp = make_clamp(input, Bounds::new(0.0, 1.0).unwrap()).unwrap();
        assert_eq!(clamp.invoke(&vec![-1.0, 0.5, 3.0]).unwrap(), [0.0, 0.5, 1.0]);
        let element = clamp.output().domain().element();
        assert_eq!(element, &AtomDomain::bounded(Bounds::new(0.0, 1.0).unwrap()));
    }
    #[test]
    fn refuses_records_that_may_be_nan() {
        let records = VectorDomain::new(AtomDomain::<f64>::default());
        let input = Space::new(records, SymmetricDistance).unwrap();
        let error = make_clamp(input, Bounds::new(0.0, 1.0).unwrap()).unwrap_err();
        assert_eq!(error.kind(), "FailedFunction");
        assert!(error.to_string().contains("input") && error.to_string().contains("NaN"));
    }
}
