//! Counts a replaced record as one removed and one added record.

use opendp_core::{
    AtomDomain, ChangeOneDistance, DatasetMetric, Domain, HammingDistance, InsertDeleteDistance,
    MetricOn, OptionDomain, Result, Space, StabilityMap, SymmetricDistance, Transformation,
    VectorDomain,
};

use crate::rows::identity::copy;
use crate::symmetric::one_each;

/// A metric that counts the replaced records between two data sets of the same size.
pub trait BoundedMetric: DatasetMetric {
    /// The metric that counts a replaced record as one removed and one added record.
    type Unbounded: DatasetMetric + Default;
}
impl BoundedMetric for ChangeOneDistance {
    type Unbounded = SymmetricDistance;
}
impl BoundedMetric for HammingDistance {
    type Unbounded = InsertDeleteDistance;
}

/// Count a replaced record as one removed and one added record.
///
/// # Arguments
/// None.
///
/// # Precondition
/// The metric counts replaced records, so the size of the data is known.
///
/// # Postcondition
/// The output is the input, with the same known size. The metric of the output counts records that
/// are removed and added. `ChangeOneDistance` becomes `SymmetricDistance`, and `HammingDistance`
/// becomes `InsertDeleteDistance`.
///
/// # Map
/// `d_out = 2 * d_in`.
///
/// # Proof
/// One replacement has the same effect as one removal and one insertion at the same place.
///
/// # Errors
/// The map returns `Overflow` when `2 * d_in` does not fit `u32`.
///
/// ```
/// # use opendp_core::*;
/// # use opendp_transformations::make_metric_unbounded;
/// let records = VectorDomain::new(AtomDomain::<i32>::default()).with_size(10);
/// let unbounded = make_metric_unbounded(Space::new(records, ChangeOneDistance)?)?;
/// assert_eq!(unbounded.output().metric(), &SymmetricDistance);
/// assert_eq!(unbounded.map(&3)?, 6);
/// # Ok::<(), Error>(())
/// ```
pub fn make_metric_unbounded<D, M>(
    input: Space<D, M>,
) -> Result<Transformation<D, M, D, M::Unbounded>>
where
    D: Domain,
    M: BoundedMetric + MetricOn<D>,
    M::Unbounded: MetricOn<D>,
{
    Transformation::remeasured(input, unbounded, copy)
}
fn unbounded<M: BoundedMetric>(
    _: Option<usize>,
    metric: &M,
) -> Result<(M::Unbounded, StabilityMap<M, M::Unbounded>)> {
    Ok((M::Unbounded::default(), one_each(metric)))
}

register! {
    "metric_unbounded.rs": make_metric_unbounded(input)
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
            M in [ChangeOneDistance, HammingDistance];
}

#[cfg(test)]
mod tests {
    use super::*;
    use opendp_core::{DistanceOn, laws};

    #[track_caller]
    fn check<M>()
    where
        M: BoundedMetric + Default + DistanceOn<VectorDomain<AtomDomain<f64>>>,
        M::Unbounded: DistanceOn<VectorDomain<AtomDomain<f64>>>,
    {
        let domain = VectorDomain::new(AtomDomain::default()).with_size(3);
        let input = Space::new(domain, M::default()).unwrap();
        let honest = make_metric_unbounded(input.clone()).unwrap();
        let alphabet = [f64::NAN, -0.0, 0.0, 5e-324];
        assert!(laws::all(&honest, &alphabet, 3).unwrap() > 0);
        assert_eq!([1, 3].map(|d| honest.map(&d).unwrap()), [2, 6]);
        assert_eq!(honest.map(&u32::MAX).unwrap_err().kind(), "Overflow");
        let map = StabilityMap::identity();
        let wrong = Transformation::new(input, honest.output().clone(), copy(), map);
        assert!(laws::stable(&wrong, &laws::vectors(&alphabet, 3)).is_err());
    }

    #[test]
    fn obeys_the_laws_and_promises_no_more_than_needed() {
        check::<ChangeOneDistance>();
        check::<HammingDistance>();
    }
}
