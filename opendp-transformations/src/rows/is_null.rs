//! Tests each record for null and NaN.

use opendp_core::{
    Atom, AtomDomain, DatasetMetric, Domain, Function, MetricOn, OptionDomain, Result, Space,
    Transformation, VectorDomain,
};

use crate::rows::each::{call, rows};

/// A domain in which null or NaN means that a value is missing.
pub trait Nullable: Domain {
    /// The type of the values that are present.
    type Present: Atom;
    /// Return the value, or `None` if it is null or NaN.
    fn present(value: &Self::Carrier) -> Option<&Self::Present>;
}
impl<T: Atom> Nullable for AtomDomain<T> {
    type Present = T;
    fn present(value: &T) -> Option<&T> {
        if value.is_null() { None } else { Some(value) }
    }
}
impl<T: Atom> Nullable for OptionDomain<AtomDomain<T>> {
    type Present = T;
    fn present(value: &Option<T>) -> Option<&T> {
        value.as_ref().filter(|value| !value.is_null())
    }
}

/// Test whether each record is null or NaN.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The input is any space of data sets whose element domain can contain null or NaN.
///
/// # Postcondition
/// The output has one truth value for each record, in the same order: `true` if the record is null
/// or NaN, and `false` otherwise. The input and the output have the same metric. If the size of the
/// input is known, the output has the same size.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The output of a record depends only on that record; see
/// [`make_row_by_row`](crate::make_row_by_row).
///
/// # Errors
/// `MetricSpace` when the metric is not defined on the output domain. Every dataset metric of this
/// project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_is_null;
/// let input = Space::new(VectorDomain::new(AtomDomain::<f64>::default()), SymmetricDistance)?;
/// let missing = make_is_null(input)?;
/// assert_eq!(missing.invoke(&vec![1.0, f64::NAN])?, [false, true]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_is_null<D, M>(
    input: Space<VectorDomain<D>, M>,
) -> Result<Transformation<VectorDomain<D>, M, VectorDomain<AtomDomain<bool>>, M>>
where
    D: Nullable,
    M: DatasetMetric + MetricOn<VectorDomain<D>> + MetricOn<VectorDomain<AtomDomain<bool>>>,
{
    Transformation::each(input, AtomDomain::default, is_null::<D>)
}
fn is_null<D: Nullable>() -> Function<Vec<D::Carrier>, Vec<bool>> {
    let label = call("is_null", []);
    rows(|row| D::present(row).is_none()).labelled(label)
}

register! {
    "is_null.rs": make_is_null(input)
        for D in [
                AtomDomain<f32>, AtomDomain<f64>,
                OptionDomain<AtomDomain<i32>>, OptionDomain<AtomDomain<i64>>,
                OptionDomain<AtomDomain<u32>>, OptionDomain<AtomDomain<u64>>,
                OptionDomain<AtomDomain<usize>>, OptionDomain<AtomDomain<f32>>,
                OptionDomain<AtomDomain<f64>>, OptionDomain<AtomDomain<bool>>,
                OptionDomain<AtomDomain<String>>,
            ],
            M in dataset_metrics;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::each::each;
    use crate::test_checks::{check_rows, metrics::*};
    use opendp_core::laws;

    #[test]
    fn obeys_the_laws() {
        let floats = AtomDomain::<f64>::default();
        let alphabet = [f64::NAN, -f64::NAN, -0.0, f64::INFINITY];
        check_rows(&floats, &alphabet, make_is_null::<_, SymmetricDistance>);
        check_rows(&floats, &alphabet, make_is_null::<_, InsertDeleteDistance>);
        check_rows(&floats, &alphabet, make_is_null::<_, ChangeOneDistance>);
        check_rows(&floats, &alphabet, make_is_null::<_, HammingDistance>);
        let maybe = OptionDomain::new(floats);
        let alphabet = [None, Some(f64::NAN), Some(0.0)];
        check_rows(&maybe, &alphabet, make_is_null::<_, SymmetricDistance>);
    }
    #[test]
    fn finds_null_and_nan_inside_of_a_value() {
        let input = VectorDomain::new(OptionDomain::new(AtomDomain::<f64>::default()));
        let missing = make_is_null(Space::new(input, SymmetricDistance).unwrap()).unwrap();
        let data = vec![None, Some(f64::NAN), Some(1.0)];
        assert_eq!(missing.invoke(&data).unwrap(), [true, true, false]);
    }
    #[test]
    fn the_laws_refuse_to_tell_nan_from_nan() {
        let input = VectorDomain::new(AtomDomain::<f64>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        let sign = |row: &f64| row.is_sign_negative();
        let wrong = each(input, AtomDomain::default(), rows(sign)).unwrap();
        let data = laws::vectors(&[f64::NAN, -f64::NAN], 1);
        assert!(laws::stable(&wrong, &data).is_err());
    }
}
