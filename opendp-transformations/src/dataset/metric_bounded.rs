//! Counts a removed and an added record as one replaced record.

use opendp_core::{
    AtomDomain, ChangeOneDistance, DatasetMetric, Domain, Error, MetricOn, OptionDomain, Result,
    Space, StabilityMap, SymmetricDistance, Transformation, VectorDomain,
};

use crate::rows::identity::copy;

/// A metric that counts a replaced record as two changes. The metric is defined for data sets of
/// any size. For two data sets of the same size, the distance is twice the number of replaced
/// records.
///
/// `InsertDeleteDistance` is not such a metric. Suppose that a record is deleted at the beginning
/// of the data, and a record is inserted at the end. Then all records between these places move.
/// The distance is 2, but the records at many positions can differ.
pub trait UnboundedMetric: DatasetMetric {
    /// The metric that counts replaced records.
    type Bounded: DatasetMetric + Default;
}
impl UnboundedMetric for SymmetricDistance {
    type Bounded = ChangeOneDistance;
}

/// Count one removed and one added record as one replaced record.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The size of the data is known. If the size is not known, use `make_resize` first. The metric
/// ignores the order of the records. If the metric depends on the order, use `make_unordered`
/// first.
///
/// # Postcondition
/// The output is the input, with the same known size. The metric of the output is
/// `ChangeOneDistance`.
///
/// # Map
/// `d_out = floor(d_in / 2)`.
///
/// # Proof
/// Let `x` and `x'` have the same number of records. Let `R` be the records of `x` that `x'` lacks,
/// and `A` the records of `x'` that `x` lacks, both with multiplicity. `R` and `A` have the same
/// number of records. This number is half of the symmetric distance, which is therefore even. If
/// the records `R` are replaced by the records `A`, then `x` becomes `x'`. So `floor(d_in / 2)`
/// replacements are enough.
///
/// # Errors
/// `MetricSpace` when the size is not known.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_metric_bounded;
/// let records = VectorDomain::new(AtomDomain::<i32>::default()).with_size(10);
/// let bounded = make_metric_bounded(Space::new(records, SymmetricDistance)?)?;
/// assert_eq!(bounded.output().metric(), &ChangeOneDistance);
/// assert_eq!(bounded.map(&5)?, 2);
/// # Ok::<(), Error>(())
/// ```
pub fn make_metric_bounded<D, M>(input: Space<D, M>) -> Result<Transformation<D, M, D, M::Bounded>>
where
    D: Domain,
    M: UnboundedMetric + MetricOn<D>,
    M::Bounded: MetricOn<D>,
{
    Transformation::remeasured(input, bounded, copy)
}
fn bounded<M: UnboundedMetric>(
    size: Option<usize>,
    _: &M,
) -> Result<(M::Bounded, StabilityMap<M, M::Bounded>)> {
    if size.is_none() {
        return Err(Error::MetricSpace(
            "input: expected a domain with a known size, because only data sets of the same size \
             differ by replaced records; state the size of the domain"
                .into(),
        ));
    }
    Ok((M::Bounded::default(), StabilityMap::new(|d_in| Ok(d_in / 2))))
}

register! {
    "metric_bounded.rs": make_metric_bounded(input)
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
            M in [SymmetricDistance];
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::{HammingDistance, InsertDeleteDistance, UserDomain, laws};

    fn domain() -> VectorDomain<AtomDomain<f64>> {
        VectorDomain::new(AtomDomain::default()).with_size(3)
    }

    #[test]
    fn obeys_the_laws() {
        let input = Space::new(domain(), SymmetricDistance).unwrap();
        let bounded = make_metric_bounded(input).unwrap();
        assert!(laws::all(&bounded, &[f64::NAN, -0.0, 0.0, 5e-324], 3).unwrap() > 0);
        assert_eq!([1, 2, 3, 5].map(|d| bounded.map(&d).unwrap()), [0, 1, 1, 2]);
    }
    #[test]
    fn the_same_map_is_false_where_the_order_counts() {
        let from = Space::new(domain(), InsertDeleteDistance).unwrap();
        let to = Space::new(domain(), HammingDistance).unwrap();
        let wrong = Transformation::new(from, to, copy(), StabilityMap::new(|d_in| Ok(d_in / 2)));
        let error = laws::stable(&wrong, &laws::vectors(&[1.0, 2.0, 3.0], 3)).unwrap_err();
        assert!(error.contains("more than 1"), "{error}");
    }
    #[test]
    fn asks_for_a_known_size() {
        let input = Space::new(domain().without_size(), SymmetricDistance).unwrap();
        assert_eq!(make_metric_bounded(input).unwrap_err().kind(), "MetricSpace");
        let lists = UserDomain::new("lists", |_| true);
        let input = Space::new(lists, SymmetricDistance).unwrap();
        assert_eq!(make_metric_bounded(input).unwrap_err().kind(), "MetricSpace");
    }
}
