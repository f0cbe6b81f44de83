//! Casts each record to another type, or to the default value of this type.

use opendp_core::{
    Atom, AtomDomain, DatasetMetric, Function, MetricOn, Result, Rows, Space, Transformation,
    VectorDomain,
};

use crate::rows::each::call;
use crate::rows::round_cast::{RoundCast, defaults};

/// Cast each record to another type, or to the default value of this type when the cast has no
/// result.
///
/// # Arguments
/// There are no arguments except the type `TOA` to cast to.
///
/// # Precondition
/// The input is any space of data sets.
///
/// # Postcondition
/// The output has one record for each record of the input, in the same order. The output record is
/// the cast of the input record, as in [`RoundCast`]. If the cast has no result, the output record
/// is the default value of `TOA`: zero, `false` or the empty text. A float in the output can be
/// NaN. A text is cast to `true` if it is not empty, so the texts `false` and `0` are also cast to
/// `true`. The size does not change.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The cast of a record depends only on that record. Equal records have equal casts; see
/// [`make_row_by_row`](crate::make_row_by_row). Every value of `TOA` is in the element domain of
/// the output.
///
/// # Errors
/// `MetricSpace` when the metric is not defined on the output domain. Every dataset metric of this
/// project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_cast_default;
/// let input = Space::new(VectorDomain::new(AtomDomain::<f64>::default()), SymmetricDistance)?;
/// let cast = make_cast_default::<_, _, i32>(input)?;
/// assert_eq!(cast.invoke(&vec![1.9, -1.9, 3e10, f64::NAN])?, [1, -1, 0, 0]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_cast_default<TIA, M, TOA>(
    input: Space<VectorDomain<AtomDomain<TIA>>, M>,
) -> Result<Transformation<VectorDomain<AtomDomain<TIA>>, M, VectorDomain<AtomDomain<TOA>>, M>>
where
    TIA: Atom,
    TOA: Atom + RoundCast<TIA>,
    M: DatasetMetric + MetricOn<VectorDomain<AtomDomain<TIA>>>,
    M: MetricOn<VectorDomain<AtomDomain<TOA>>>,
{
    Transformation::each(input, AtomDomain::default, cast_default)
}
fn cast_default<I: Atom, O: Atom + RoundCast<I>>() -> Function<Vec<I>, Vec<O>> {
    let label = call("cast_default", []);
    Function::rows_static(const { &Rows::new(defaults) }).labelled(label)
}

register! {
    "cast_default.rs": make_cast_default(input)
        for TIA in castable_atoms,
            M in unsized_metrics,
            TOA in castable_atoms;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::check_rows;
    use opendp_core::{Function, InsertDeleteDistance, StabilityMap, SymmetricDistance, laws};

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }
    fn space<T: Atom>() -> Space<VectorDomain<AtomDomain<T>>, SymmetricDistance> {
        Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance).unwrap()
    }

    #[test]
    fn obeys_the_laws() {
        let floats = AtomDomain::<f32>::default();
        let alphabet = [f32::NAN, -0.0, 0.0, 1e-45, -1.5, f32::MAX, f32::NEG_INFINITY];
        check_rows(&floats, &alphabet, make_cast_default::<_, SymmetricDistance, u32>);
        check_rows(&floats, &alphabet, make_cast_default::<_, InsertDeleteDistance, f64>);
        check_rows(&floats, &alphabet, make_cast_default::<_, SymmetricDistance, String>);
        check_rows(&floats, &alphabet, make_cast_default::<_, SymmetricDistance, bool>);
        let integers = [i64::MIN, -1, 0, 1, i64::MAX];
        check_rows(
            &AtomDomain::default(),
            &integers,
            make_cast_default::<_, SymmetricDistance, i32>,
        );
        let words = texts(&["", "NaN", "1e400", " 5", "٣", "9223372036854775808"]);
        check_rows(&AtomDomain::default(), &words, make_cast_default::<_, SymmetricDistance, f64>);
    }
    #[test]
    fn casts_as_the_catalogue_lists() {
        let to_int = make_cast_default::<_, _, i32>(space::<String>()).unwrap();
        assert_eq!(to_int.invoke(&texts(&["1", "x", "2.5"])).unwrap(), [1, 0, 0]);
        let to_bool = make_cast_default::<_, _, bool>(space::<String>()).unwrap();
        assert_eq!(to_bool.invoke(&texts(&["", "a", "false"])).unwrap(), [false, true, true]);
    }
    #[test]
    fn the_laws_refuse_a_cast_that_drops_what_does_not_cast_from_sized_data() {
        let input = space::<f64>().domain().clone().with_size(2);
        let input = Space::new(input, SymmetricDistance).unwrap();
        let honest = make_cast_default::<_, _, i32>(input.clone()).unwrap();
        let wrong = Transformation::new(
            input,
            honest.output().clone(),
            Function::rows(|records: &[f64], out: &mut Vec<i32>| {
                out.extend(records.iter().filter_map(i32::round_cast));
                Ok(())
            }),
            StabilityMap::identity(),
        );
        let data = laws::vectors(&[0.5, f64::NAN], 2);
        assert!(laws::member(&honest, &data).unwrap() > 0);
        assert!(laws::member(&wrong, &data).is_err());
    }
}
