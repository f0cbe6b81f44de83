//! Distances between data sets: the number of records that differ.

use crate::domain::descriptor;
use crate::{
    Codec, DatasetMetric, DistanceOn, Domain, Error, Metric, MetricOn, Result, TheMetric,
    VectorDomain, named,
};
use serde_json::{Number, Value as Json};

/// The number of records added or removed, in any order.
///
/// Let `#(v in x)` be the number of records of the data set `x` that equal `v`. The distance
/// between two data sets `x` and `x'` is the size of the symmetric difference of their multisets of
/// records. This size is `sum over values v of |#(v in x) - #(v in x')|`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SymmetricDistance;

/// The number of records inserted or deleted, in order.
///
/// The distance `d(x, x')` is the smallest number of insertions and deletions that turn the
/// sequence `x` of records into the sequence `x'`. Let `|x|` be the number of records of `x`, and
/// `c` the length of a longest common subsequence of `x` and `x'`. The distance is
/// `|x| + |x'| - 2 c`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InsertDeleteDistance;

/// The number of records replaced, in any order. The size of the data sets must be known.
///
/// If the data sets `x` and `x'` have the same size, the distance `d(x, x')` is half of their
/// symmetric distance. The distance between data sets of different sizes is infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChangeOneDistance;

/// The number of positions with different records. The size of the data sets must be known.
///
/// Let `x_i` be the record of the data set `x` at position `i`. If two data sets `x` and `x'` have
/// the same size, their distance is the number of positions `i` with `x_i != x'_i`. The distance
/// between data sets of different sizes is infinite.
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
/// Return twice `d_in`, where `d_in` is the number of replaced records. A replacement removes one
/// record and adds one record.
fn twice(d_in: u32) -> Result<u32> {
    d_in.checked_mul(2).ok_or_else(|| {
        Error::Overflow(format!(
            "d_in: each of the {d_in} replaced records counts twice, and the total exceeds the \
             largest u32"
        ))
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
            "{metric} requires a domain of data sets of known size; state the size of the domain"
        ))),
    }
}

impl<D: Domain> DistanceOn<VectorDomain<D>> for SymmetricDistance
where
    D::Carrier: PartialEq,
{
    fn distance(&self, left: &Vec<D::Carrier>, right: &Vec<D::Carrier>) -> Result<Option<u32>> {
        symmetric(left, right, same).map(Some)
    }
}
impl<D: Domain> DistanceOn<VectorDomain<D>> for InsertDeleteDistance
where
    D::Carrier: PartialEq,
{
    fn distance(&self, left: &Vec<D::Carrier>, right: &Vec<D::Carrier>) -> Result<Option<u32>> {
        insert_delete(left, right, same).map(Some)
    }
}
impl<D: Domain> DistanceOn<VectorDomain<D>> for ChangeOneDistance
where
    D::Carrier: PartialEq,
{
    fn distance(&self, left: &Vec<D::Carrier>, right: &Vec<D::Carrier>) -> Result<Option<u32>> {
        change_one(left, right, same)
    }
}
impl<D: Domain> DistanceOn<VectorDomain<D>> for HammingDistance
where
    D::Carrier: PartialEq,
{
    fn distance(&self, left: &Vec<D::Carrier>, right: &Vec<D::Carrier>) -> Result<Option<u32>> {
        hamming(left, right, same)
    }
}

/// Return whether two records are equal. NaN equals NaN, even inside nested values.
pub(crate) fn same<T: PartialEq + Codec>(x: &T, y: &T) -> bool {
    #[allow(clippy::eq_op, reason = "only a value with a NaN differs from itself")]
    let both_hold_nan = x != x && y != y;
    x == y || (both_hold_nan && same_json(&x.to_json(), &y.to_json()))
}
/// Return whether two records of one type are equal as JSON. In JSON, NaN is a string and equals
/// itself. `-0.0` equals `+0.0`, as in Rust's `==`.
fn same_json(x: &Json, y: &Json) -> bool {
    match (x, y) {
        (Json::Array(x), Json::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_json(x, y))
        }
        (Json::Object(x), Json::Object(y)) => {
            let other = |(key, x)| y.get(key).is_some_and(|y| same_json(x, y));
            x.len() == y.len() && x.iter().all(other)
        }
        (Json::Number(x), Json::Number(y)) => {
            let zero = |number: &Number| number.as_f64() == Some(0.0);
            x == y || (zero(x) && zero(y))
        }
        _ => x == y,
    }
}
pub(super) fn symmetric<T>(left: &[T], right: &[T], same: fn(&T, &T) -> bool) -> Result<u32> {
    let mut unmatched: Vec<&T> = right.iter().collect();
    let mut removed = 0;
    for x in left {
        match unmatched.iter().position(|y| same(x, y)) {
            Some(place) => {
                unmatched.swap_remove(place);
            }
            None => removed += 1,
        }
    }
    count(removed + unmatched.len())
}
pub(super) fn insert_delete<T>(left: &[T], right: &[T], same: fn(&T, &T) -> bool) -> Result<u32> {
    // Compare the visited records of `left` with the first `j` records of `right`. Entry `j` of
    // `longest` is the length of a longest common subsequence of these two sequences.
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
pub(super) fn change_one<T>(
    left: &[T],
    right: &[T],
    same: fn(&T, &T) -> bool,
) -> Result<Option<u32>> {
    if left.len() != right.len() {
        return Ok(None);
    }
    Ok(Some(symmetric(left, right, same)? / 2))
}
pub(super) fn hamming<T>(left: &[T], right: &[T], same: fn(&T, &T) -> bool) -> Result<Option<u32>> {
    if left.len() != right.len() {
        return Ok(None);
    }
    count(left.iter().zip(right).filter(|(x, y)| !same(x, y)).count()).map(Some)
}
fn count(records: usize) -> Result<u32> {
    u32::try_from(records).map_err(|_| {
        Error::Overflow("the distance between the data sets exceeds the largest u32".into())
    })
}

/// Count the records added or removed, in any order.
///
/// The distance is the size of the symmetric difference of two multisets of records.
pub fn symmetric_distance() -> Result<TheMetric<SymmetricDistance>> {
    Ok(TheMetric(SymmetricDistance))
}
/// Count the records inserted or deleted. The order of the records matters.
///
/// The distance is the smallest number of insertions and deletions that turn one sequence into the
/// other.
pub fn insert_delete_distance() -> Result<TheMetric<InsertDeleteDistance>> {
    Ok(TheMetric(InsertDeleteDistance))
}
/// Count the records replaced, in any order. The size of the data sets must be known.
pub fn change_one_distance() -> Result<TheMetric<ChangeOneDistance>> {
    Ok(TheMetric(ChangeOneDistance))
}
/// Count the positions with different records. The size of the data sets must be known.
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
    use crate::{
        AtomDomain, Function, MapDomain, OptionDomain, PairDomain, Space, StabilityMap,
        Transformation, laws,
    };

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
    /// In every metric, check the distance between two data sets of one record each. `expected`
    /// states whether the two records differ.
    #[track_caller]
    fn apart<D: Domain>(left: D::Carrier, right: D::Carrier, expected: bool)
    where
        D::Carrier: PartialEq,
    {
        let (left, right, change) = (vec![left], vec![right], u32::from(expected));
        let distance = |metric: &dyn Fn(&Vec<D::Carrier>, &Vec<D::Carrier>) -> Option<u32>| {
            [metric(&left, &right), metric(&right, &left)]
        };
        fn distance_in<D: Domain, M: DistanceOn<VectorDomain<D>, Distance = u32>>(
            metric: M,
        ) -> impl Fn(&Vec<D::Carrier>, &Vec<D::Carrier>) -> Option<u32> {
            move |left, right| metric.distance(left, right).unwrap()
        }
        assert_eq!(distance(&distance_in::<D, _>(SymmetricDistance)), [Some(2 * change); 2]);
        assert_eq!(distance(&distance_in::<D, _>(InsertDeleteDistance)), [Some(2 * change); 2]);
        assert_eq!(distance(&distance_in::<D, _>(ChangeOneDistance)), [Some(change); 2]);
        assert_eq!(distance(&distance_in::<D, _>(HammingDistance)), [Some(change); 2]);
    }
    #[test]
    fn records_that_both_hold_a_nan_differ_where_the_rest_of_them_does() {
        const NAN: f64 = f64::NAN;
        type Pairs = PairDomain<AtomDomain<f64>, AtomDomain<i32>>;
        apart::<Pairs>((NAN, 1), (NAN, 2), true);
        apart::<Pairs>((NAN, 1), (NAN, 1), false);
        apart::<Pairs>((NAN, 1), (0.0, 1), true);
        type Floats = VectorDomain<AtomDomain<f64>>;
        apart::<Floats>(vec![NAN, 1.0], vec![NAN, 2.0], true);
        apart::<Floats>(vec![NAN, 1.0], vec![1.0, NAN], true);
        apart::<Floats>(vec![NAN], vec![NAN, NAN], true);
        apart::<Floats>(vec![-NAN, 0.0], vec![NAN, -0.0], false);
        apart::<Floats>(vec![NAN, 5e-324], vec![NAN, 0.0], true);
        apart::<VectorDomain<Pairs>>(vec![(NAN, 1)], vec![(NAN, 2)], true);
        type Maybe = VectorDomain<OptionDomain<AtomDomain<f64>>>;
        apart::<Maybe>(vec![Some(NAN), None], vec![Some(NAN), Some(NAN)], true);
        apart::<Maybe>(vec![Some(NAN), None], vec![Some(NAN), None], false);
        type Maps = MapDomain<AtomDomain<i32>, AtomDomain<f64>>;
        apart::<Maps>([(1, NAN), (2, 3.0)].into(), [(1, NAN), (2, 4.0)].into(), true);
        apart::<Maps>([(1, NAN), (2, 3.0)].into(), [(2, 3.0), (1, NAN)].into(), false);
        apart::<Maps>([(1, NAN)].into(), [(2, NAN)].into(), true);
        apart::<AtomDomain<f64>>(NAN, -NAN, false);
    }
    #[test]
    fn the_laws_judge_a_projection_of_records_that_hold_a_nan() {
        type Pairs = VectorDomain<PairDomain<AtomDomain<f64>, AtomDomain<i32>>>;
        let pairs = Space::new(Pairs::default(), SymmetricDistance).unwrap();
        let seconds = Space::new(VectorDomain::new(AtomDomain::default()), SymmetricDistance);
        let map = StabilityMap::from_constant(1);
        let second = Function::map(|rows: &Vec<(f64, i32)>| Ok(rows.iter().map(|r| r.1).collect()));
        let honest = Transformation::new(pairs.clone(), seconds.unwrap(), second, map.clone());
        let data = laws::vectors(&[(f64::NAN, 1), (f64::NAN, 2), (0.0, 1)], 2);
        assert!(laws::stable(&honest, &data).is_ok());
        // Each output row depends on the number of input rows. So one more input row can change all
        // output rows, and the map with the constant 1 is wrong for this function.
        let all = |rows: &Vec<(f64, i32)>| {
            Ok(rows.iter().map(|row| (f64::NAN, rows.len() as i32 + row.1)).collect())
        };
        let wrong = Transformation::new(pairs.clone(), pairs, Function::map(all), map);
        assert!(laws::stable(&wrong, &data).is_err());
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
