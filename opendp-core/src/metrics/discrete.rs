//! The distance that only tells whether two values are equal.

use serde_json::Value as Json;

use crate::domain::descriptor;
use crate::{Atom, AtomDomain, DistanceOn, Metric, MetricOn, Result, TheMetric, named, register};

/// Whether two values differ: `d(x, x') = 0` when they are equal and 1 when they are not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiscreteDistance;

impl Metric for DiscreteDistance {
    type Distance = u32;
    fn to_json(&self) -> Json {
        descriptor("discrete_distance", [])
    }
}
impl<T: Atom> MetricOn<AtomDomain<T>> for DiscreteDistance {}
impl<T: Atom> DistanceOn<AtomDomain<T>> for DiscreteDistance {
    fn distance(&self, left: &T, right: &T) -> Result<Option<u32>> {
        Ok(Some(u32::from(left != right && !(left.is_null() && right.is_null()))))
    }
}
named!(DiscreteDistance as "DiscreteDistance");

/// Measure whether two values differ: 0 when they are equal and 1 when they are not.
pub fn discrete_distance() -> Result<TheMetric<DiscreteDistance>> {
    Ok(TheMetric(DiscreteDistance))
}
register! { "discrete.rs": discrete_distance(); }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_equal_from_different() {
        assert_eq!(DiscreteDistance.distance(&true, &false).unwrap(), Some(1));
        assert_eq!(DiscreteDistance.distance(&f64::NAN, &f64::NAN).unwrap(), Some(0));
    }
}
