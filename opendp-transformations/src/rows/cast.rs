//! Casts each record to another type, or to null.

use opendp_core::{
    Atom, AtomDomain, DatasetMetric, Function, MetricOn, OptionDomain, Result, Rows, Space,
    Transformation, VectorDomain,
};

use crate::rows::each::call;
use crate::rows::round_cast::{RoundCast, casts};

/// Cast each record to another type, or to null when the cast has no result.
///
/// # Arguments
/// There are no arguments except the type `TOA` to cast to.
///
/// # Precondition
/// The input is any space of data sets.
///
/// # Postcondition
/// The output has one record for each record of the input, in the same order. The output record is
/// the cast of the input record, as in [`RoundCast`]. The output record is null when the cast has
/// no result or is NaN. No record of the output is NaN. All other numbers, including infinities,
/// can occur. A text is cast to `true` if it is not empty, so the texts `false` and `0` are also
/// cast to `true`. The size does not change.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The cast of a record depends only on that record. Equal records have equal casts; see
/// [`make_row_by_row`](crate::make_row_by_row). The cast cannot fail: a record whose cast has no
/// result becomes null. Null is a member of the element domain of the output. All values except NaN
/// are also members.
///
/// # Errors
/// `MetricSpace` when the metric is not defined on the output domain. Every dataset metric of this
/// project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_cast;
/// let texts = VectorDomain::new(AtomDomain::<String>::default());
/// let cast = make_cast::<_, _, i32>(Space::new(texts, SymmetricDistance)?)?;
/// assert_eq!(cast.invoke(&vec!["1".into(), "x".into()])?, [Some(1), None]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_cast<TIA, M, TOA>(
    input: Space<VectorDomain<AtomDomain<TIA>>, M>,
) -> Result<
    Transformation<
        VectorDomain<AtomDomain<TIA>>,
        M,
        VectorDomain<OptionDomain<AtomDomain<TOA>>>,
        M,
    >,
>
where
    TIA: Atom,
    TOA: Atom + RoundCast<TIA>,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<TIA>>>,
    M: MetricOn<VectorDomain<OptionDomain<AtomDomain<TOA>>>>,
{
    Transformation::each(input, present_values, cast)
}
fn present_values<T: Atom>() -> OptionDomain<AtomDomain<T>> {
    OptionDomain::new(AtomDomain::non_nan())
}
fn cast<I: Atom, O: Atom + RoundCast<I>>() -> Function<Vec<I>, Vec<Option<O>>> {
    let label = call("cast", []);
    Function::rows_static(const { &Rows::new(casts) }).labelled(label)
}

register! {
    "cast.rs": make_cast(input)
        for TIA in castable_atoms,
            M in unsized_metrics,
            TOA in castable_atoms;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::each::each;
    use crate::rows::each::rows;
    use crate::test_checks::check_rows;
    use opendp_core::{InsertDeleteDistance, SymmetricDistance, laws};

    #[test]
    fn obeys_the_laws() {
        let floats = AtomDomain::<f64>::default();
        let alphabet = [f64::NAN, -0.0, 0.0, 5e-324, -1.5, f64::MAX, f64::NEG_INFINITY];
        check_rows(&floats, &alphabet, make_cast::<_, SymmetricDistance, i32>);
        check_rows(&floats, &alphabet, make_cast::<_, InsertDeleteDistance, f32>);
        check_rows(&floats, &alphabet, make_cast::<_, InsertDeleteDistance, String>);
        check_rows(&floats, &alphabet, make_cast::<_, SymmetricDistance, f64>);
        let texts = ["", "NaN", "1e400", " 5", "٣", "9223372036854775808"].map(str::to_owned);
        let all = AtomDomain::<String>::default();
        check_rows(&all, &texts, make_cast::<_, SymmetricDistance, u64>);
        check_rows(&all, &texts, make_cast::<_, SymmetricDistance, f64>);
        check_rows(&all, &texts, make_cast::<_, SymmetricDistance, bool>);
    }
    #[test]
    fn nan_becomes_null() {
        let input = VectorDomain::new(AtomDomain::<f64>::default());
        let cast = make_cast::<_, _, f32>(Space::new(input, SymmetricDistance).unwrap()).unwrap();
        assert_eq!(cast.invoke(&vec![f64::NAN, 0.5]).unwrap(), [None, Some(0.5)]);
        assert!(!cast.output().domain().element().element().nan());
    }
    #[test]
    fn the_laws_refuse_a_cast_that_shows_the_sign_of_zero() {
        let input = VectorDomain::new(AtomDomain::<f64>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        let print = |row: &f64| Some(row.to_string());
        let wrong = each(input, OptionDomain::new(AtomDomain::default()), rows(print)).unwrap();
        assert!(laws::stable(&wrong, &laws::vectors(&[0.0, -0.0], 1)).is_err());
    }
}
