//! Distances between partitioned aggregates: the number of parts that change, and the sizes of the
//! changes.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::norm::{AbsoluteDistance, changes, check_numbers, norm};
use crate::arith::{InfCast, Number};
use crate::domain::descriptor;
use crate::{
    Atom, AtomDomain, Distance, DistanceOn, HashableAtom, MapDomain, Metric, MetricOn, Named,
    Result, TheMetric, TypeName,
};

/// The distance between two partitioned aggregates, which are maps with one number for each part.
/// Three numbers state the distance: the number of changed parts, the `P`-norm of the changes of
/// all parts, and the largest change of any part. The metric `M` measures the change of a part.
///
/// The distance is the triple `(l0, lp, linf)` of these three numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct L0PInfDistance<const P: usize, M>(M);
/// The number of changed parts, the sum of their changes, and the largest change.
pub type L01InfDistance<M> = L0PInfDistance<1, M>;
/// The number of changed parts, the Euclidean length of their changes, and the largest change.
pub type L02InfDistance<M> = L0PInfDistance<2, M>;

impl<const P: usize, M> L0PInfDistance<P, M> {
    /// Measure the change of each part with `inner`.
    pub const fn new(inner: M) -> Self {
        L0PInfDistance(inner)
    }
    /// Return the metric that measures the change of a part.
    pub fn inner(&self) -> &M {
        &self.0
    }
}
impl<const P: usize, M: Metric> Metric for L0PInfDistance<P, M> {
    type Distance = (u32, M::Distance, M::Distance);
    fn to_json(&self) -> Json {
        let name = if P == 1 { "l01inf_distance" } else { "l02inf_distance" };
        descriptor(name, [("metric", Some(self.0.to_json()))])
    }
}
impl<const P: usize, M: Named> Named for L0PInfDistance<P, M> {
    fn type_name() -> TypeName {
        let head = if P == 1 { "L01InfDistance" } else { "L02InfDistance" };
        TypeName::generic(head, [M::type_name()])
    }
}
impl<const P: usize, K: HashableAtom, V: Atom, Q: Distance + Number>
    MetricOn<MapDomain<AtomDomain<K>, AtomDomain<V>>> for L0PInfDistance<P, AbsoluteDistance<Q>>
{
    fn check(&self, domain: &MapDomain<AtomDomain<K>, AtomDomain<V>>) -> Result<()> {
        const { assert!(P == 1 || P == 2, "only the norms L1 and L2 are defined") };
        check_numbers("a distance between parts", domain.value())
    }
}
impl<const P: usize, K: HashableAtom, V: Atom + Number, Q>
    DistanceOn<MapDomain<AtomDomain<K>, AtomDomain<V>>> for L0PInfDistance<P, AbsoluteDistance<Q>>
where
    Q: Distance + Number + InfCast<V> + InfCast<f64>,
    f64: InfCast<Q>,
{
    fn distance(&self, left: &HashMap<K, V>, right: &HashMap<K, V>) -> Result<Option<(u32, Q, Q)>> {
        let changes: Vec<Q> = changes(left, right)?;
        let (mut parts, mut largest) = (0, Q::zero());
        for change in &changes {
            if Q::zero() < *change {
                parts += 1;
            }
            if largest < *change {
                largest = *change;
            }
        }
        Ok(Some((parts, norm::<P, Q>(&changes)?, largest)))
    }
}

/// Measure the number of changed parts, the sum of their changes, and the largest change.
///
/// # Arguments
/// * `metric` - the metric that measures the change of a part
pub fn l01inf_distance<M: Metric>(metric: TheMetric<M>) -> Result<TheMetric<L01InfDistance<M>>> {
    Ok(TheMetric(L0PInfDistance(metric.0)))
}
/// Measure the number of changed parts, the Euclidean length of their changes, and the largest
/// change.
///
/// # Arguments
/// * `metric` - the metric that measures the change of a part
pub fn l02inf_distance<M: Metric>(metric: TheMetric<M>) -> Result<TheMetric<L02InfDistance<M>>> {
    Ok(TheMetric(L0PInfDistance(metric.0)))
}
register! {
    "partition.rs": l01inf_distance(metric)
        for M in [
            AbsoluteDistance<i32>, AbsoluteDistance<i64>, AbsoluteDistance<u32>,
            AbsoluteDistance<u64>, AbsoluteDistance<usize>, AbsoluteDistance<f32>,
            AbsoluteDistance<f64>,
        ];
}
register! {
    "partition.rs": l02inf_distance(metric)
        for M in [
            AbsoluteDistance<i32>, AbsoluteDistance<i64>, AbsoluteDistance<u32>,
            AbsoluteDistance<u64>, AbsoluteDistance<usize>, AbsoluteDistance<f32>,
            AbsoluteDistance<f64>,
        ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_parts_norm_and_largest_change() {
        let (left, right) = (HashMap::from([(1, 3.0), (2, 5.0)]), HashMap::from([(2, 9.0)]));
        let l1 = L01InfDistance::new(AbsoluteDistance::<f64>::new());
        assert_eq!(l1.distance(&left, &right).unwrap(), Some((2, 7.0, 4.0)));
        let l2 = L02InfDistance::new(AbsoluteDistance::<f64>::new());
        assert_eq!(l2.distance(&left, &right).unwrap(), Some((2, 5.0, 4.0)));
    }
    #[test]
    fn a_norm_is_not_limited_by_the_other_norm() {
        // The sum of the changes is 150, which exceeds the largest `i8`. The length is 86.6.
        let (left, right) = (HashMap::from([(1, 50_i8), (2, 50), (3, 50)]), HashMap::new());
        let l2 = L02InfDistance::new(AbsoluteDistance::<i8>::new());
        assert_eq!(l2.distance(&left, &right).unwrap(), Some((3, 87, 50)));
        // The square of the change exceeds all floats, but the sum does not.
        let (left, right) = (HashMap::from([(1, 1e200)]), HashMap::new());
        let l1 = L01InfDistance::new(AbsoluteDistance::<f64>::new());
        assert_eq!(l1.distance(&left, &right).unwrap(), Some((1, 1e200, 1e200)));
    }
}
