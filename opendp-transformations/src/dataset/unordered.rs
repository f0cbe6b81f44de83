//! Changes the metric of the data to a metric that ignores the order of the records.

use opendp_core::{
    AtomDomain, ChangeOneDistance, DatasetMetric, Domain, HammingDistance, InsertDeleteDistance,
    MetricOn, OptionDomain, Result, Space, StabilityMap, SymmetricDistance, Transformation,
    VectorDomain,
};

use crate::rows::identity::copy;

/// A metric of data sets that depends on the order of the records.
pub trait OrderedMetric: DatasetMetric {
    /// The metric that counts the same changes as this metric, but ignores the order of the
    /// records. The distance between two data sets is at most their distance in the ordered metric.
    type Unordered: DatasetMetric + Default;
}
impl OrderedMetric for InsertDeleteDistance {
    type Unordered = SymmetricDistance;
}
impl OrderedMetric for HammingDistance {
    type Unordered = ChangeOneDistance;
}

/// Change the metric of the data to a metric that ignores the order of the records.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The metric depends on the order of the records.
///
/// # Postcondition
/// The output is the input. The metric of the output counts the same changes as the metric of the
/// input, but ignores the order. `InsertDeleteDistance` becomes `SymmetricDistance`, and
/// `HammingDistance` becomes `ChangeOneDistance`.
///
/// # Map
/// `d_out = d_in`.
///
/// # Proof
/// Take the insertions and deletions that convert one sequence into another. In the multiset of the
/// records, each insertion adds one record, and each deletion removes one record. So the symmetric
/// distance is at most the number of insertions and deletions. Now take the replacements at all
/// positions that differ. In the multiset, each of these replacements replaces one record. So the
/// change-one distance is at most the number of these positions.
///
/// # Errors
/// `MetricSpace` when the metric is not defined on the domain.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_unordered;
/// let input = Space::new(VectorDomain::new(AtomDomain::<i32>::default()), InsertDeleteDistance)?;
/// let unordered = make_unordered(input)?;
/// assert_eq!(unordered.output().metric(), &SymmetricDistance);
/// assert_eq!(unordered.map(&1)?, 1);
/// # Ok::<(), Error>(())
/// ```
pub fn make_unordered<D, M>(input: Space<D, M>) -> Result<Transformation<D, M, D, M::Unordered>>
where
    D: Domain,
    M: OrderedMetric + MetricOn<D>,
    M::Unordered: MetricOn<D>,
{
    Transformation::remeasured(input, unordered, copy)
}
fn unordered<M: OrderedMetric>(
    _: Option<usize>,
    _: &M,
) -> Result<(M::Unordered, StabilityMap<M, M::Unordered>)> {
    Ok((M::Unordered::default(), StabilityMap::identity()))
}

register! {
    "unordered.rs": make_unordered(input)
        for D in [
                VectorDomain<AtomDomain<i32>>, VectorDomain<AtomDomain<i64>>,
                VectorDomain<AtomDomain<u32>>, VectorDomain<AtomDomain<u64>>,
                VectorDomain<AtomDomain<usize>>, VectorDomain<AtomDomain<f32>>,
                VectorDomain<AtomDomain<f64>>, VectorDomain<AtomDomain<bool>>,
                VectorDomain<AtomDomain<String>>, VectorDomain<OptionDomain<AtomDomain<String>>>,
                VectorDomain<OptionDomain<AtomDomain<f64>>>,
                VectorDomain<OptionDomain<AtomDomain<i32>>>,
                VectorDomain<OptionDomain<AtomDomain<i64>>>,
            ],
            M in [InsertDeleteDistance, HammingDistance];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_checks::check_rows;
    use opendp_core::laws;

    #[test]
    fn obeys_the_laws() {
        let floats = AtomDomain::<f64>::default();
        let alphabet = [f64::NAN, -0.0, 0.0, 5e-324];
        check_rows(&floats, &alphabet, make_unordered::<_, InsertDeleteDistance>);
        check_rows(&floats, &alphabet, make_unordered::<_, HammingDistance>);
    }
    #[test]
    fn the_laws_refuse_the_way_back() {
        let domain = VectorDomain::new(AtomDomain::<i32>::default());
        let to = Space::new(domain.clone(), InsertDeleteDistance).unwrap();
        let from = Space::new(domain, SymmetricDistance).unwrap();
        let wrong = Transformation::new(from, to, copy(), StabilityMap::identity());
        assert!(laws::stable(&wrong, &laws::vectors(&[1, 2], 2)).is_err());
    }
}
