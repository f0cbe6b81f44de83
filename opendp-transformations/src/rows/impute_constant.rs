//! Replaces missing records by a constant.

use opendp_core::Atom;
use opendp_core::{
    AtomDomain, DatasetMetric, Error, MetricOn, OptionDomain, Result, Space, Transformation,
    VectorDomain,
};

use crate::Nullable;
use crate::rows::each::{call_on, each, rows};

/// Replace each record that is null or NaN by a constant.
///
/// # Arguments
/// * `constant` - the value for missing records
///
/// # Precondition
/// `constant` is not NaN.
///
/// # Postcondition
/// The output has one record for each record of the input, in the same order. A record that is null
/// or NaN becomes `constant`. All other records do not change. No record of the output is NaN or
/// null. The bounds of the element domain are dropped, because `constant` can be out of bounds. To
/// restore the bounds, use `make_clamp` afterwards. The size does not change.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The output of a record depends only on that record; see
/// [`make_row_by_row`](crate::make_row_by_row). The constant is not NaN, and a record that does not
/// change is not NaN. So no record of the output is NaN.
///
/// # Errors
/// `MakeTransformation` when `constant` is NaN. `MetricSpace` when the metric is not defined on the
/// output domain. Every dataset metric of this project is defined on the output domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_impute_constant;
/// let input = Space::new(VectorDomain::new(AtomDomain::<f64>::default()), SymmetricDistance)?;
/// let impute = make_impute_constant(input, 0.0)?;
/// assert_eq!(impute.invoke(&vec![1.0, f64::NAN, 2.0])?, [1.0, 0.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_impute_constant<D, M>(
    input: Space<VectorDomain<D>, M>,
    constant: D::Present,
) -> Result<Transformation<VectorDomain<D>, M, VectorDomain<AtomDomain<D::Present>>, M>>
where
    D: Nullable,
    M: DatasetMetric + MetricOn<VectorDomain<D>> + MetricOn<VectorDomain<AtomDomain<D::Present>>>,
{
    if constant.is_null() {
        return Err(Error::MakeTransformation(
            "constant: expected a value for missing records, found NaN".into(),
        ));
    }
    let label = call_on("impute_constant", constant.clone());
    let impute = move |row: &D::Carrier| D::present(row).unwrap_or(&constant).clone();
    each(input, AtomDomain::non_nan(), rows(impute).labelled(label))
}

register! {
    "impute_constant.rs": make_impute_constant(input, constant)
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
    use crate::test_checks::{check_rows, metrics::*};
    use opendp_core::laws;

    #[test]
    fn obeys_the_laws() {
        let floats = AtomDomain::<f64>::default();
        let alphabet = [f64::NAN, -0.0, 0.0, 5e-324, f64::NEG_INFINITY];
        check_rows(&floats, &alphabet, |x: Space<_, SymmetricDistance>| {
            make_impute_constant(x, 0.0)
        });
        check_rows(&floats, &alphabet, |x: Space<_, HammingDistance>| {
            make_impute_constant(x, -1.0)
        });
        let maybe = OptionDomain::new(floats);
        let alphabet = [None, Some(f64::NAN), Some(0.0), Some(f64::MAX)];
        check_rows(&maybe, &alphabet, |x: Space<_, ChangeOneDistance>| {
            make_impute_constant(x, 0.0)
        });
        check_rows(&maybe, &alphabet, |x: Space<_, InsertDeleteDistance>| {
            make_impute_constant(x, f64::INFINITY)
        });
        let words = OptionDomain::new(AtomDomain::<String>::default());
        let alphabet = [None, Some("".to_owned()), Some("a".to_owned())];
        check_rows(&words, &alphabet, |x: Space<_, SymmetricDistance>| {
            make_impute_constant(x, "a".to_owned())
        });
    }
    #[test]
    fn a_nan_that_is_not_null_does_not_survive() {
        let input = VectorDomain::new(OptionDomain::new(AtomDomain::<f64>::default()));
        let input = Space::new(input, SymmetricDistance).unwrap();
        let data = vec![None, Some(f64::NAN), Some(2.0)];
        let impute = make_impute_constant(input.clone(), 0.0).unwrap();
        assert_eq!(impute.invoke(&data).unwrap(), [0.0, 0.0, 2.0]);
        assert!(!impute.output().domain().element().nan());
        let unwrap = rows(|row: &Option<f64>| row.unwrap_or(0.0));
        let wrong = each(input, AtomDomain::non_nan(), unwrap).unwrap();
        assert!(laws::member(&wrong, &[data]).is_err());
    }
    #[test]
    fn refuses_a_constant_that_is_nan() {
        let input = VectorDomain::new(AtomDomain::<f64>::default());
        let input = Space::new(input, SymmetricDistance).unwrap();
        let error = make_impute_constant(input, f64::NAN).unwrap_err();
        assert!(error.kind() == "MakeTransformation" && error.to_string().contains("constant"));
    }
}
