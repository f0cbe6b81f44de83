//! A distance that only states whether two values are equal.

use serde_json::Value as Json;

use crate::domain::descriptor;
use crate::{
    Atom, AtomDomain, BitVector, BitVectorDomain, DistanceOn, Domain, Metric, MetricOn, Result,
    TheMetric, named,
};

/// The discrete distance: `d(x, x')` is 0 when `x` and `x'` are equal, and 1 when they differ. NaN
/// equals NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiscreteDistance;

impl Metric for DiscreteDistance {
    type Distance = u32;
    fn to_json(&self) -> Json {
        descriptor("discrete_distance", [])
    }
}
// The discrete distance is a metric on every set.
impl<D: Domain> MetricOn<D> for DiscreteDistance {}
impl<T: Atom> DistanceOn<AtomDomain<T>> for DiscreteDistance {
    fn distance(&self, left: &T, right: &T) -> Result<Option<u32>> {
        Ok(Some(u32::from(left != right && !(left.is_null() && right.is_null()))))
    }
}
impl DistanceOn<BitVectorDomain> for DiscreteDistance {
    fn distance(&self, left: &BitVector, right: &BitVector) -> Result<Option<u32>> {
        Ok(Some(u32::from(left != right)))
    }
}
named!(DiscreteDistance as "DiscreteDistance");

/// Measure whether two values differ. The distance is 0 when the values are equal, and 1 when they
/// differ.
pub fn discrete_distance() -> Result<TheMetric<DiscreteDistance>> {
    Ok(TheMetric(DiscreteDistance))
}
register! { "discrete.rs": discrete_distance(); }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Argument;
    use crate::erased::{AnyDomain, AnyMetric};
    use crate::{Arg, InsertDeleteDistance, Space, VectorDomain};

    fn distance<D: Domain>(left: &D::Carrier, right: &D::Carrier) -> Option<u32>
    where
        DiscreteDistance: DistanceOn<D>,
    {
        DistanceOn::<D>::distance(&DiscreteDistance, left, right).unwrap()
    }

    #[test]
    fn tells_equal_from_different() {
        assert_eq!(distance::<AtomDomain<bool>>(&true, &false), Some(1));
        assert_eq!(distance::<AtomDomain<f64>>(&f64::NAN, &f64::NAN), Some(0));
        let (short, long) = (BitVector::zeros(3), BitVector::zeros(4));
        assert_eq!(distance::<BitVectorDomain>(&short, &short), Some(0));
        assert_eq!(distance::<BitVectorDomain>(&short, &long), Some(1));
    }
    #[test]
    fn fits_every_domain_whose_type_is_erased() {
        let space = |domain: AnyDomain, metric: AnyMetric| {
            <Space<AnyDomain, AnyMetric> as Argument>::from_arg(&Arg::Pair(domain, metric))
        };
        let text = AnyDomain::new(AtomDomain::<String>::default());
        let rows = AnyDomain::new(VectorDomain::new(AtomDomain::<i32>::default()));
        for domain in [text.clone(), rows] {
            assert!(space(domain, AnyMetric::new(DiscreteDistance)).is_ok());
        }
        let error = space(text, AnyMetric::new(InsertDeleteDistance)).unwrap_err();
        assert_eq!(error.kind(), "MetricSpace");
    }
}
