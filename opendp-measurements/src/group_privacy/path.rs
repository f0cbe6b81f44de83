//! Metrics that join members of a domain by paths.

use std::num::NonZeroU32;

use opendp_core::erased::{AnyDistance, AnyMetric};
use opendp_core::{
    ChangeOneDistance, DiscreteDistance, Domain, Error, HammingDistance, InsertDeleteDistance,
    Metric, Result, SymmetricDistance,
};

/// A metric that joins members of a domain by paths of members.
///
/// An implementation makes the following claim. Let [`unit`](PathMetric::unit) succeed, and let
/// [`path`](PathMetric::path) return `(k, step)` for a distance. Take any two members that are at
/// most this distance apart. Then there are members `z_0, ..., z_k` that begin with the first
/// member and end with the second member. For each `i`, `z_i` and `z_(i+1)` are at most `step`
/// apart. For this claim, it is not enough to divide a distance into equal parts. For example, take
/// two data sets of three records that differ in one record. The symmetric distance between these
/// data sets is 2. Suppose that all data sets have three records. Then two data sets never have
/// distance 1. So a path with steps of length 1 does not exist.
pub trait PathMetric: Metric {
    /// Return the unit of a domain: the length of the shortest step between two different members.
    ///
    /// # Errors
    /// `NotImplemented` when the metric does not make the claim for this domain.
    fn unit<D: Domain>(&self, domain: &D) -> Result<NonZeroU32>;
    /// Divide a distance into at most `limit` steps. Return the number of steps, which is at least
    /// 1, and the length of each step. If the distance increases, the number of steps and the
    /// length of a step increase or stay the same.
    ///
    /// # Errors
    /// The errors of [`unit`](PathMetric::unit).
    fn path(
        &self,
        unit: NonZeroU32,
        d_in: &Self::Distance,
        limit: u32,
    ) -> Result<(u32, Self::Distance)>;
}

/// Divide a distance that counts records into steps. The length of a step is a multiple of the
/// unit. All distances between members are multiples of the unit, so `d_in` is first rounded down
/// to a multiple of the unit.
fn divide(unit: NonZeroU32, d_in: u32, limit: u32) -> (u32, u32) {
    let (units, limit) = (d_in / unit, limit.max(1));
    (units.clamp(1, limit), units.div_ceil(limit) * unit.get())
}
/// Implement `PathMetric` for metrics that count records. A path leads from a first multiset (or
/// sequence) to a second multiset (or sequence). First, remove the records that only the first
/// multiset contains, one by one. Then insert the records that only the second multiset contains,
/// one by one. If the number of records is fixed, one step removes a record and inserts a record.
macro_rules! counting {
    ($($metric:ident $sized:literal),*) => {$(
        impl PathMetric for $metric {
            fn unit<D: Domain>(&self, domain: &D) -> Result<NonZeroU32> {
                if !domain.recombines() {
                    return Err(unjoined(&D::type_name()));
                }
                let replaces = !$sized && domain.records().is_some();
                Ok(NonZeroU32::MIN.saturating_add(u32::from(replaces)))
            }
            fn path(&self, unit: NonZeroU32, d_in: &u32, limit: u32) -> Result<(u32, u32)> {
                Ok(divide(unit, *d_in, limit))
            }
        }
    )*};
}
counting! {
    SymmetricDistance false, InsertDeleteDistance false, ChangeOneDistance true, HammingDistance true
}
/// Different members are at distance 1, so one step is enough.
impl PathMetric for DiscreteDistance {
    fn unit<D: Domain>(&self, _: &D) -> Result<NonZeroU32> {
        Ok(NonZeroU32::MIN)
    }
    fn path(&self, _: NonZeroU32, d_in: &u32, _: u32) -> Result<(u32, u32)> {
        Ok((1, (*d_in).min(1)))
    }
}
/// An erased metric has the paths of its inner metric. The inner metric must be a metric of this
/// file.
macro_rules! erased {
    ($($metric:ident)*) => {
        impl PathMetric for AnyMetric {
            fn unit<D: Domain>(&self, domain: &D) -> Result<NonZeroU32> {
                $(if let Ok(metric) = self.downcast_ref::<$metric>() {
                    return metric.unit(domain);
                })*
                Err(unjoined(&self.inner_type()))
            }
            fn path(
                &self,
                unit: NonZeroU32,
                d_in: &AnyDistance,
                limit: u32,
            ) -> Result<(u32, AnyDistance)> {
                $(if let Ok(metric) = self.downcast_ref::<$metric>() {
                    let (steps, step) = metric.path(unit, d_in.downcast_ref()?, limit)?;
                    return Ok((steps, AnyDistance::new(step)));
                })*
                Err(unjoined(&self.inner_type()))
            }
        }
    };
}
erased! {
    SymmetricDistance InsertDeleteDistance ChangeOneDistance HammingDistance DiscreteDistance
}
#[cold]
fn unjoined(name: &opendp_core::TypeName) -> Error {
    Error::NotImplemented(format!(
        "group privacy needs a path of neighbours between distant data sets; it is not known \
         whether {name} has such paths"
    ))
}

#[cfg(test)]
mod tests {
    use opendp_core::{AtomDomain, DataFrameDomain, DistanceOn, UserDomain, VectorDomain};

    use super::*;

    fn rows() -> VectorDomain<AtomDomain<bool>> {
        VectorDomain::new(AtomDomain::default())
    }
    #[test]
    fn a_path_has_whole_steps_that_reach_the_end() {
        for unit in [1, 2].map(|unit| NonZeroU32::new(unit).unwrap()) {
            for limit in [1, 2, 3, 7, u32::MAX] {
                let all = (0..50_u32).chain([u32::MAX]).map(|d| (d, divide(unit, d, limit)));
                let all: Vec<_> = all.collect();
                for (d, (steps, step)) in &all {
                    let way = u64::from(*steps) * u64::from(*step);
                    assert!(u64::from(*d / unit * unit.get()) <= way && 1 <= *steps);
                    assert!(*steps <= limit && *step % unit == 0 && step <= d);
                }
                assert!(all.windows(2).all(|p| p[0].1.0 <= p[1].1.0 && p[0].1.1 <= p[1].1.1));
            }
        }
    }
    /// Return whether the claimed paths exist between any two members of a list.
    fn joined<M>(metric: M, members: &[Vec<u8>], unit: u32) -> bool
    where
        M: PathMetric<Distance = u32> + DistanceOn<VectorDomain<AtomDomain<u8>>>,
    {
        let unit = NonZeroU32::new(unit).unwrap();
        let all = |x: &Vec<u8>| -> Vec<Option<u32>> {
            members.iter().map(|y| metric.distance(x, y).unwrap()).collect()
        };
        let distances: Vec<_> = members.iter().map(all).collect();
        let reaches = |from: usize, to: usize, d: u32, limit: u32| {
            let (steps, step) = metric.path(unit, &d, limit).unwrap();
            let mut reached = vec![false; members.len()];
            reached[from] = true;
            for _ in 0..steps {
                let near = |to: usize| {
                    (0..members.len())
                        .any(|z| reached[z] && distances[z][to].is_some_and(|d| d <= step))
                };
                reached = (0..members.len()).map(near).collect();
            }
            reached[to]
        };
        (0..members.len()).all(|x| {
            (0..members.len()).all(|y| {
                let Some(d) = distances[x][y] else { return true };
                (1..5).all(|limit| reaches(x, y, d, limit))
            })
        })
    }
    fn vectors(length: u32) -> Vec<Vec<u8>> {
        let digits = |n: u32| (0..length).map(|place| (n / 3_u32.pow(place) % 3) as u8).collect();
        (0..3_u32.pow(length)).map(digits).collect()
    }
    #[test]
    fn all_small_data_sets_are_joined_by_the_paths_that_are_claimed() {
        let sized = vectors(3);
        let free: Vec<_> = (0..4).flat_map(vectors).collect();
        assert!(joined(SymmetricDistance, &free, 1) && joined(InsertDeleteDistance, &free, 1));
        assert!(joined(SymmetricDistance, &sized, 2) && joined(InsertDeleteDistance, &sized, 2));
        assert!(joined(ChangeOneDistance, &sized, 1) && joined(HammingDistance, &sized, 1));
        // In the two controls, the claimed paths do not exist. In the first control, each step
        // would add or remove one record, but all data sets have the same size. In the second
        // control, the domain contains only data sets with an even number of records.
        assert!(!joined(SymmetricDistance, &sized, 1));
        let even: Vec<_> = free.into_iter().filter(|rows| rows.len() % 2 == 0).collect();
        assert!(!joined(SymmetricDistance, &even, 1));
    }
    #[test]
    fn data_sets_of_one_size_are_joined_by_replacing_records() {
        let unit = |metric: SymmetricDistance, sized| {
            metric.unit(&if sized { rows().with_size(3) } else { rows() }).unwrap().get()
        };
        assert_eq!([false, true].map(|sized| unit(SymmetricDistance, sized)), [1, 2]);
        let sized = rows().with_size(3);
        assert_eq!(InsertDeleteDistance.unit(&sized).unwrap().get(), 2);
        assert_eq!(HammingDistance.unit(&sized).unwrap().get(), 1);
        assert_eq!(ChangeOneDistance.unit(&sized).unwrap().get(), 1);
    }
    #[test]
    fn domains_that_may_have_gaps_are_refused() {
        let kind = |unit: Result<NonZeroU32>| unit.unwrap_err().kind();
        let some = UserDomain::new("sorted lists", |_| true);
        assert_eq!(kind(SymmetricDistance.unit(&some)), "NotImplemented");
        let any = DataFrameDomain::<String>::default();
        assert_eq!(kind(HammingDistance.unit(&any.with_size(2))), "NotImplemented");
        // With the discrete distance, one step joins any two members of any domain.
        assert!(DiscreteDistance.unit(&some).is_ok());
    }
}
