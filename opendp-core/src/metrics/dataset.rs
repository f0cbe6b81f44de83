//! Distances between data sets: how many records differ.

use crate::domain::descriptor;
use crate::{
    DatasetMetric, DistanceOn, Domain, Error, Metric, MetricOn, Result, TheMetric, VectorDomain,
    named,
};
use serde_json::Value as Json;

/// Records added or removed, in any order.
///
/// `d(x, x')` is the size of the symmetric difference of the two multisets of records:
/// `sum over values v of |#(v in x) - #(v in x')|`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SymmetricDistance;

/// Records inserted or deleted, in order.
///
/// `d(x, x')` is the smallest number of insertions and deletions that turn the sequence `x` into
/// `x'`: `|x| + |x'| - 2 * (length of a longest common subsequence)`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InsertDeleteDistance;

/// Records replaced, in any order, at a known number of records.
///
/// `d(x, x')` is half of their symmetric distance; data sets of different sizes are infinitely far
/// apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChangeOneDistance;

/// Positions that hold different records, at a known number of records.
///
/// `d(x, x') = #{i : x_i != x'_i}`; data sets of different sizes are infinitely far apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HammingDistance;

impl Metric for SymmetricDistance {
    type Distance = u32;
    fn to_json(&self) -> Json {
        descriptor("symmetric_distance", [])
    }
}
impl Metric for InsertDeleteDistance {
    type Distance = u32;
    fn to_json(&self) -> Json {
        descriptor("insert_delete_distance", [])
    }
}
impl Metric for ChangeOneDistance {
    type Distance = u32;
    fn to_json(&self) -> Json {
        descriptor("change_one_distance", [])
    }
}
impl Metric for HammingDistance {
    type Distance = u32;
    fn to_json(&self) -> Json {
        descriptor("hamming_distance", [])
    }
}
named! {
    SymmetricDistance as "SymmetricDistance",
    InsertDeleteDistance as "InsertDeleteDistance",
    ChangeOneDistance as "ChangeOneDistance",
    HammingDistance as "HammingDistance",
}

macro_rules! dataset_metrics {
    ($($metric:ident: $sized:literal $ordered:literal $to_symmetric:path;)*) => {$(
        impl DatasetMetric for $metric {
            fn sized(&self) -> bool {
                $sized
            }
            fn ordered(&self) -> bool {
                $ordered
            }
            fn to_symmetric(&self, d_in: u32) -> Result<u32> {
                $to_symmetric(d_in)
            }
        }
    )*};
}
dataset_metrics! {
    SymmetricDistance: false false Ok;
    InsertDeleteDistance: false true Ok;
    ChangeOneDistance: true false twice;
    HammingDistance: true true twice;
}
/// A replaced record is one removed and one added.
fn twice(d_in: u32) -> Result<u32> {
    d_in.checked_mul(2).ok_or_else(|| {
        Error::Overflow(format!("d_in: twice {d_in} replaced records exceed a count of u32"))
    })
}

impl<D: Domain> MetricOn<VectorDomain<D>> for SymmetricDistance {}
impl<D: Domain> MetricOn<VectorDomain<D>> for InsertDeleteDistance {}
impl<D: Domain> MetricOn<VectorDomain<D>> for ChangeOneDistance {
    fn check(&self, domain: &VectorDomain<D>) -> Result<()> {
        known_size(domain.size(), "ChangeOneDistance")
    }
}
impl<D: Domain> MetricOn<VectorDomain<D>> for HammingDistance {
    fn check(&self, domain: &VectorDomain<D>) -> Result<()> {
        known_size(domain.size(), "HammingDistance")
    }
}
pub(super) fn known_size(size: Option<usize>, metric: &str) -> Result<()> {
    match size {
        Some(_) => Ok(()),
        None => Err(Error::MetricSpace(format!(
            "{metric} requires a domain of data sets of known size"
        ))),
    }
}

impl<D: Domain> DistanceOn<VectorDomain<D>> for SymmetricDistance
where
    D::Carrier: PartialEq,
{
    fn distance(&self, left: &Vec<D::Carrier>, right: &Vec<D::Carrier>) -> Result<Option<u32>> {
        symmetric(left, right).map(Some)
    }
}
impl<D: Domain> DistanceOn<VectorDomain<D>> for InsertDeleteDistance
where
    D::Carrier: PartialEq,
{
    fn distance(&self, left: &Vec<D::Carrier>, right: &Vec<D::Carrier>) -> Result<Option<u32>> {
        insert_delete(left, right).map(Some)
    }
}
impl<D: Domain> DistanceOn<VectorDomain<D>> for ChangeOneDistance
where
    D::Carrier: PartialEq,
{
    fn distance(&self, left: &Vec<D::Carrier>, right: &Vec<D::Carrier>) -> Result<Option<u32>> {
        change_one(left, right)
    }
}
impl<D: Domain> DistanceOn<VectorDomain<D>> for HammingDistance
where
    D::Carrier: PartialEq,
{
    fn distance(&self, left: &Vec<D::Carrier>, right: &Vec<D::Carrier>) -> Result<Option<u32>> {
        hamming(left, right)
    }
}

/// Whether two records are the same one, NaN included.
pub(crate) fn same<T: PartialEq>(x: &T, y: &T) -> bool {
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    let both_nan = x != x && y != y;
    x == y || both_nan
}
pub(super) fn symmetric<T: PartialEq>(left: &[T], right: &[T]) -> Result<u32> {
    let mut unmatched: Vec<&T> = right.iter().collect();
    let mut removed = 0;
    for x in left {
        match unmatched.iter().position(|y| same(x, *y)) {
            Some(place) => {
                unmatched.swap_remove(place);
            }
            None => removed += 1,
        }
    }
    count(removed + unmatched.len())
}
pub(super) fn insert_delete<T: PartialEq>(left: &[T], right: &[T]) -> Result<u32> {
    // Row by row: the longest common subsequence of all of `left` so far and of each prefix of
    // `right`.
    let mut longest = vec![0_usize; right.len() + 1];
    for x in left {
        let mut diagonal = 0;
        for (j, y) in right.iter().enumerate() {
            let above = longest[j + 1];
            longest[j + 1] = if same(x, y) { diagonal + 1 } else { above.max(longest[j]) };
            diagonal = above;
        }
    }
    count(left.len() + right.len() - 2 * longest[right.len()])
}
pub(super) fn change_one<T: PartialEq>(left: &[T], right: &[T]) -> Result<Option<u32>> {
    if left.len() != right.len() {
        return Ok(None);
    }
    Ok(Some(symmetric(left, right)? / 2))
}
pub(super) fn hamming<T: PartialEq>(left: &[T], right: &[T]) -> Result<Option<u32>> {
    if left.len() != right.len() {
        return Ok(None);
    }
    count(left.iter().zip(right).filter(|(x, y)| !same(*x, *y)).count()).map(Some)
}
fn count(records: usize) -> Result<u32> {
    u32::try_from(records)
        .map_err(|_| Error::Overflow("a distance between data sets exceeds u32".into()))
}

/// Count the records added or removed, in any order.
///
/// The size of the symmetric difference of two multisets of records.
pub fn symmetric_distance() -> Result<TheMetric<SymmetricDistance>> {
    Ok(TheMetric(SymmetricDistance))
}
/// Count the records inserted or deleted, in order.
///
/// The smallest number of insertions and deletions that turn one sequence into the other.
pub fn insert_delete_distance() -> Result<TheMetric<InsertDeleteDistance>> {
    Ok(TheMetric(InsertDeleteDistance))
}
/// Count the records replaced, in any order, at a known number of records.
pub fn change_one_distance() -> Result<TheMetric<ChangeOneDistance>> {
    Ok(TheMetric(ChangeOneDistance))
}
/// Count the positions that hold different records, at a known number of records.
pub fn hamming_distance() -> Result<TheMetric<HammingDistance>> {
    Ok(TheMetric(HammingDistance))
}

register! { "dataset.rs": symmetric_distance(); }
register! { "dataset.rs": insert_delete_distance(); }
register! { "dataset.rs": change_one_distance(); }
register! { "dataset.rs": hamming_distance(); }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtomDomain, Space};

    fn domain() -> VectorDomain<AtomDomain<f64>> {
        VectorDomain::new(AtomDomain::default())
    }
    #[track_caller]
    fn check<M: DistanceOn<VectorDomain<AtomDomain<f64>>>>(
        metric: M,
        left: &[f64],
        right: &[f64],
        expected: Option<M::Distance>,
    ) where
        M::Distance: PartialEq,
    {
        let (left, right) = (left.to_vec(), right.to_vec());
        assert_eq!(metric.distance(&left, &right).unwrap(), expected);
        assert_eq!(metric.distance(&right, &left).unwrap(), expected);
    }

    #[test]
    fn counts_records_added_or_removed() {
        check(SymmetricDistance, &[1.0, 2.0, 2.0], &[2.0, 3.0], Some(3));
        check(SymmetricDistance, &[1.0, 2.0], &[2.0, 1.0], Some(0));
        check(SymmetricDistance, &[f64::NAN], &[f64::NAN], Some(0));
    }
    #[test]
    fn counts_insertions_and_deletions_in_order() {
        check(InsertDeleteDistance, &[1.0, 2.0], &[2.0, 1.0], Some(2));
        check(InsertDeleteDistance, &[0.0, 1.0, 2.0, 9.0], &[0.0, 1.0, 2.0], Some(1));
        check(InsertDeleteDistance, &[], &[1.0, 2.0], Some(2));
    }
    #[test]
    fn counts_replacements_at_equal_size() {
        check(ChangeOneDistance, &[1.0, 2.0], &[3.0, 1.0], Some(1));
        check(HammingDistance, &[1.0, 2.0], &[3.0, 1.0], Some(2));
        check(ChangeOneDistance, &[1.0], &[], None);
        check(HammingDistance, &[1.0], &[], None);
    }
    #[test]
    fn asks_for_a_known_size_where_sizes_are_equal() {
        assert_eq!(Space::new(domain(), ChangeOneDistance).unwrap_err().kind(), "MetricSpace");
        assert_eq!(Space::new(domain(), HammingDistance).unwrap_err().kind(), "MetricSpace");
        assert!(Space::new(domain().with_size(3), HammingDistance).is_ok());
        assert!(Space::new(domain(), SymmetricDistance).is_ok());
    }
}
