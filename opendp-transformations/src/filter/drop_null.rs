//! Drops missing records.

use opendp_core::{
    AtomDomain, DatasetMetric, Function, MetricOn, OptionDomain, Result, Space, Transformation,
    VectorDomain,
};

use crate::Nullable;
use crate::rows::each::call;

/// Drop each record that is null or NaN.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The metric counts added and removed records (`SymmetricDistance`), or it counts inserted and
/// deleted records (`InsertDeleteDistance`). Other metrics require a known size, but the number of
/// kept records depends on the data.
///
/// # Postcondition
/// The output contains the records that are neither null nor NaN, in the same order. The output has
/// the metric of the input. The element domain of the output excludes NaN and has no bounds. The
/// size is unknown, even if the size of the input is known.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// The decision to keep a record depends only on that record; see
/// [`make_filter`](crate::make_filter).
///
/// # Errors
/// `MetricSpace` when the metric requires a known size.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_drop_null;
/// let input = Space::new(VectorDomain::new(AtomDomain::<f64>::default()), SymmetricDistance)?;
/// let present = make_drop_null(input)?;
/// assert_eq!(present.invoke(&vec![1.0, f64::NAN, 2.0])?, [1.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn make_drop_null<D, M>(
    input: Space<VectorDomain<D>, M>,
) -> Result<Transformation<VectorDomain<D>, M, VectorDomain<AtomDomain<D::Present>>, M>>
where
    D: Nullable,
    M: DatasetMetric + MetricOn<VectorDomain<D>> + MetricOn<VectorDomain<AtomDomain<D::Present>>>,
{
    Transformation::each_kept(input, AtomDomain::non_nan(), false, drop_null::<D>())
}
fn drop_null<D: Nullable>() -> Function<Vec<D::Carrier>, Vec<D::Present>> {
    let label = call("drop_null", []);
    let drop_null = |records: &[D::Carrier], out: &mut Vec<D::Present>| {
        for record in records {
            if let Some(value) = D::present(record) {
                out.push(value.clone());
            }
        }
        Ok(())
    };
    Function::rows(drop_null).labelled(label)
}

register! {
    "drop_null.rs": make_drop_null(input)
        for D in [
                AtomDomain<f32>, AtomDomain<f64>,
                OptionDomain<AtomDomain<i32>>, OptionDomain<AtomDomain<i64>>,
                OptionDomain<AtomDomain<u32>>, OptionDomain<AtomDomain<u64>>,
                OptionDomain<AtomDomain<usize>>, OptionDomain<AtomDomain<f32>>,
                OptionDomain<AtomDomain<f64>>, OptionDomain<AtomDomain<bool>>,
                OptionDomain<AtomDomain<String>>,
            ],
            M in unsized_metrics;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::check_rows;
    use opendp_core::{
        HammingDistance, InsertDeleteDistance, StabilityMap, SymmetricDistance, laws,
    };

    #[test]
    fn obeys_the_laws() {
        let floats = AtomDomain::<f64>::default();
        let alphabet = [f64::NAN, -0.0, 0.0, 5e-324, f64::NEG_INFINITY];
        check_rows(&floats, &alphabet, make_drop_null::<_, SymmetricDistance>);
        check_rows(&floats, &alphabet, make_drop_null::<_, InsertDeleteDistance>);
        let maybe = OptionDomain::new(floats);
        let alphabet = [None, Some(f64::NAN), Some(0.0), Some(f64::MAX)];
        check_rows(&maybe, &alphabet, make_drop_null::<_, InsertDeleteDistance>);
    }
    #[test]
    fn the_laws_refuse_the_claim_that_the_size_stays() {
        let domain = VectorDomain::new(AtomDomain::<f64>::default()).with_size(2);
        let input = Space::new(domain, SymmetricDistance).unwrap();
        let honest = make_drop_null(input.clone()).unwrap();
        assert_eq!(honest.output().domain().size(), None);
        let output = honest.output().domain().clone().with_size(2);
        let output = Space::new(output, SymmetricDistance).unwrap();
        let map = StabilityMap::identity();
        let wrong = Transformation::new(input, output, honest.function().clone(), map);
        assert!(laws::member(&wrong, &[vec![0.0, f64::NAN]]).is_err());
    }
    #[test]
    fn refuses_a_metric_of_one_size() {
        let domain = VectorDomain::new(AtomDomain::<f64>::default()).with_size(2);
        let error = make_drop_null(Space::new(domain, HammingDistance).unwrap()).unwrap_err();
        assert_eq!(error.kind(), "MetricSpace");
    }
}
