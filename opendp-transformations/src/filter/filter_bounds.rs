//! Keeps the records within bounds.

use opendp_core::{
    Atom, AtomDomain, Bounds, DatasetMetric, MetricOn, Result, Space, Transformation, VectorDomain,
};

use crate::filter::kept;
use crate::rows::each::call_on;

/// Keep the records that lie within bounds.
///
/// Records out of bounds are dropped. To move such records to the nearest bound instead, use
/// [`make_clamp`](crate::make_clamp).
///
/// # Arguments
/// * `bounds` - a pair `[lower, upper]`
///
/// # Precondition
/// The metric counts added and removed records (`SymmetricDistance`), or it counts inserted and
/// deleted records (`InsertDeleteDistance`).
///
/// # Postcondition
/// The output contains the records within `bounds`, in the same order. The output has the metric of
/// the input. No record of the output is NaN, and the element domain of the output has `bounds`.
/// The size of the output is unknown, even if the size of the input is known.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The decision to keep a record depends only on that record; see
/// [`make_filter`](crate::make_filter). Each kept record passed the test for the bounds, so it is a
/// member of the domain with these bounds.
///
/// # Errors
/// `MetricSpace` when the metric requires a known size. The type `Bounds` already excludes reversed
/// bounds and bounds that are NaN.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_filter_bounds;
/// let input = Space::new(VectorDomain::new(AtomDomain::<f64>::default()), SymmetricDistance)?;
/// let inside = make_filter_bounds(input, Bounds::new(0.0, 1.0)?)?;
/// assert_eq!(inside.invoke(&vec![0.5, 3.0, f64::NAN])?, [0.5]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_filter_bounds<T, M>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    bounds: Bounds<T>,
) -> Result<Transformation<VectorDomain<AtomDomain<T>>, M, VectorDomain<AtomDomain<T>>, M>>
where
    T: Atom,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<T>>>,
{
    let label = call_on("filter_bounds", bounds.clone());
    let element = AtomDomain::bounded(bounds.clone());
    Transformation::each_kept(
        input,
        element,
        false,
        kept(move |row| bounds.contains(row)).labelled(label),
    )
}

register! {
    "filter_bounds.rs": make_filter_bounds(input, bounds)
        for T in numbers, M in unsized_metrics;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::check_rows;
    use opendp_core::{InsertDeleteDistance, SymmetricDistance, laws};

    #[test]
    fn obeys_the_laws() {
        let floats = AtomDomain::<f64>::default();
        let alphabet = [f64::NAN, -0.0, 0.0, 5e-324, f64::INFINITY];
        for (lower, upper) in [(0.0, 0.0), (-0.0, 5e-324), (1.0, f64::INFINITY)] {
            let bounds = Bounds::new(lower, upper).unwrap();
            check_rows(&floats, &alphabet, |x: Space<_, SymmetricDistance>| {
                make_filter_bounds(x, bounds)
            });
        }
        let bounds = Bounds::new(-1, 1).unwrap();
        let alphabet = [i8::MIN, -1, 0, 1, i8::MAX];
        check_rows(&AtomDomain::default(), &alphabet, |x: Space<_, InsertDeleteDistance>| {
            make_filter_bounds(x, bounds)
        });
    }
    #[test]
    fn the_laws_refuse_a_filter_that_keeps_nan() {
        let input = VectorDomain::new(AtomDomain::<f64>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        let bounds = Bounds::new(0.0, 1.0).unwrap();
        let keep = |row: &f64| !(*row < 0.0 || 1.0 < *row);
        let wrong =
            Transformation::each_kept(input, AtomDomain::bounded(bounds), false, kept(keep))
                .unwrap();
        assert!(laws::member(&wrong, &[vec![f64::NAN]]).is_err());
    }
}
