//! The mean of a known number of bounded records, under its older name.

use opendp_core::arith::Float;
use opendp_core::{
    AbsoluteDistance, Atom, AtomDomain, Bounds, DatasetMetric, Distance, MetricOn, Result, Space,
    Transformation, VectorDomain,
};

use crate::make_mean;
use crate::stated::{known_size, within_bounds};

/// Average a known number of bounded records, under the older name.
///
/// This is [`make_mean`] under its older name.
///
/// # Arguments
/// * `size` - the number of records; the size of the input when absent
/// * `bounds` - a pair `[lower, upper]`; the bounds of the input when absent
///
/// # Precondition
/// The size of the input is known and not zero. Its records are not NaN. They are within bounds, or
/// `bounds` are given.
///
/// # Function
/// If the input has no bounds, the records are first clamped to `bounds`, as by `make_clamp`. Then
/// they are averaged, as by `make_mean`.
///
/// # Postcondition
/// The output is the mean, never NaN or infinite.
///
/// # Map
/// With `n` records, bounds `[L, U]` and a symmetric distance `d`, which is `d_in`, or `2 * d_in`
/// when the metric counts replaced records: `floor(d / 2) * (U - L) / n`, rounded up as by
/// `make_mean`.
///
/// # Proof
/// The proof of `make_mean` applies, after the proof of `make_clamp` if the input has no bounds.
///
/// # Errors
/// `MakeTransformation` when the size is not known, when there are no bounds, or when `size` or
/// `bounds` differ from those of the input; `FailedFunction` when a record may be NaN; and the
/// errors of `make_mean`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_sized_bounded_mean;
/// let pairs = VectorDomain::new(AtomDomain::<f64>::non_nan()).with_size(2);
/// let input = Space::new(pairs, SymmetricDistance)?;
/// let mean = make_sized_bounded_mean(input, None, Some(Bounds::new(0.0, 10.0)?))?;
/// assert_eq!(mean.invoke(&vec![-7.0, 99.0])?, 5.0);
/// assert_eq!(mean.map(&2)?, 5.0);
/// # Ok::<(), Error>(())
/// ```
pub fn make_sized_bounded_mean<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    size: Option<usize>,
    bounds: Option<Bounds<T>>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, AtomDomain<T>, AbsoluteDistance<T>>>
where
    T: Atom + Float + Distance + Into<f64>,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    known_size(input.domain(), size, "use `make_resize` first")?;
    within_bounds(input, bounds, make_mean)
}

register! {
    "sized_bounded_mean.rs": make_sized_bounded_mean(input, size = null, bounds = null)
        for T in [f32, f64],
            M in dataset_metrics;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symmetric::Records;
    use crate::test_checks::metrics::*;
    use opendp_core::{DistanceOn, laws};

    fn triples() -> Records<f32> {
        VectorDomain::new(AtomDomain::non_nan()).with_size(3)
    }
    #[track_caller]
    fn check<M: DatasetMetric + Default + DistanceOn<Records<f32>>>() {
        let input = Space::new(triples(), M::default()).unwrap();
        let bounds = Bounds::new(-0.1, 0.3).unwrap();
        let mean = make_sized_bounded_mean(input, Some(3), Some(bounds)).unwrap();
        assert!(laws::all(&mean, &[f32::MIN, -0.0, 1e-45, 0.2, f32::INFINITY], 3).unwrap() > 0);
    }

    #[test]
    fn obeys_the_laws_under_every_metric() {
        check::<SymmetricDistance>();
        check::<InsertDeleteDistance>();
        check::<ChangeOneDistance>();
        check::<HammingDistance>();
    }
    #[track_caller]
    fn refuse(domain: Records<f32>, size: Option<usize>, gist: &str) {
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let error = make_sized_bounded_mean(input, size, None).unwrap_err();
        assert_eq!(error.kind(), "MakeTransformation");
        assert!(error.to_string().contains(gist), "{error}");
    }
    #[test]
    fn says_what_is_missing() {
        refuse(triples().without_size(), Some(3), "make_resize");
        refuse(triples(), Some(4), "size: expected 3");
        refuse(triples(), None, "make_clamp");
    }
}
