//! Casts each record to a float, or to NaN.

use opendp_core::arith::Float;
use opendp_core::{
    Atom, AtomDomain, DatasetMetric, Function, MetricOn, Result, Space, Transformation,
    VectorDomain,
};

use crate::RoundCast;
use crate::rows::each::{call, rows};

/// Cast each record to a float type, or to NaN when the cast has no result. NaN is the null value
/// of float types.
///
/// # Arguments
/// There are no arguments except the float type `TOA` to cast to.
///
/// # Precondition
/// The input is any space of data sets.
///
/// # Postcondition
/// The output has one record for each record of the input, in the same order. The output record is
/// the cast of the input record, as in [`RoundCast`]. If the cast has no result, the output record
/// is NaN. The size does not change.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The cast of a record depends only on that record. Equal records have equal casts; see
/// [`make_row_by_row`](crate::make_row_by_row). Every float, including NaN, is in the element
/// domain of the output.
///
/// # Errors
/// `MetricSpace` when the metric is not defined on the output domain. Every dataset metric of this
/// project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_cast_inherent;
/// let texts = VectorDomain::new(AtomDomain::<String>::default());
/// let cast = make_cast_inherent::<_, _, f64>(Space::new(texts, SymmetricDistance)?)?;
/// let numbers = cast.invoke(&vec!["1".into(), "x".into()])?;
/// assert!(numbers[0] == 1.0 && numbers[1].is_nan());
/// # Ok::<(), Error>(())
/// ```
pub fn make_cast_inherent<TIA, M, TOA>(
    input: Space<VectorDomain<AtomDomain<TIA>>, M>,
) -> Result<Transformation<VectorDomain<AtomDomain<TIA>>, M, VectorDomain<AtomDomain<TOA>>, M>>
where
    TIA: Atom,
    TOA: Atom + Float + RoundCast<TIA>,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<TIA>>>,
    M: MetricOn<VectorDomain<AtomDomain<TOA>>>,
{
    Transformation::each(input, AtomDomain::default, cast_inherent)
}
fn cast_inherent<I: Atom, O: Atom + Float + RoundCast<I>>() -> Function<Vec<I>, Vec<O>> {
    let (label, null) = (call("cast_inherent", []), O::from_f64_toward_zero(f64::NAN));
    rows(move |row| O::round_cast(row).unwrap_or(null)).labelled(label)
}

register! {
    "cast_inherent.rs": make_cast_inherent(input)
        for TIA in castable_atoms,
            M in unsized_metrics,
            TOA in [f32, f64];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::each::each;
    use crate::test_checks::check_rows;
    use opendp_core::{InsertDeleteDistance, SymmetricDistance, laws};

    #[test]
    fn obeys_the_laws() {
        let words = ["", "NaN", "1e400", "-0", "0", " 5", "٣"].map(str::to_owned);
        let texts = AtomDomain::<String>::default();
        check_rows(&texts, &words, make_cast_inherent::<_, SymmetricDistance, f64>);
        check_rows(&texts, &words, make_cast_inherent::<_, InsertDeleteDistance, f32>);
        let alphabet = [f64::NAN, -0.0, 0.0, 5e-324, f64::MAX, f64::NEG_INFINITY];
        check_rows(
            &AtomDomain::default(),
            &alphabet,
            make_cast_inherent::<_, SymmetricDistance, f32>,
        );
    }
    #[test]
    fn the_laws_refuse_the_claim_that_nothing_is_nan() {
        let input = VectorDomain::new(AtomDomain::<String>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        let cast = |row: &String| f64::round_cast(row).unwrap_or(f64::NAN);
        let wrong = each(input, AtomDomain::non_nan(), rows(cast)).unwrap();
        assert!(laws::member(&wrong, &laws::vectors(&["x".to_owned()], 1)).is_err());
    }
}
