//! Distances between vectors of scores: the largest change, and the range of changes.

use std::marker::PhantomData;

use num_traits::NumCast;
use serde_json::{Value as Json, json};

use super::norm::{check_numbers, difference};
use crate::arith::{InfCast, Number};
use crate::domain::descriptor;
use crate::{
    Atom, AtomDomain, Distance, DistanceOn, Metric, MetricOn, Result, TheMetric, VectorDomain,
    named,
};

/// The largest change of any score between two vectors `x` and `x'`, as a number of type `Q`:
/// `d(x, x') = max_i |x_i - x'_i|`.
///
/// If `monotonic` is `true`, the user promises that all scores change in the same direction between
/// neighbours. If two vectors break this promise, their distance is infinite. Under this promise,
/// the [range of the changes](RangeDistance) is at most `d(x, x')`. Without the promise, the range
/// can be `2 d(x, x')`. The privacy loss of a selection from the scores grows with this range.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LInfDistance<Q> {
    monotonic: bool,
    distance: PhantomData<fn() -> Q>,
}

/// The range of the changes of the scores between two vectors `x` and `x'`:
/// `d(x, x') = max_ij |(x_i - x'_i) - (x_j - x'_j)|`. This range is a number of type `Q`.
///
/// This distance does not change if the same number is added to all scores of a vector. The
/// distance is at most twice [`LInfDistance`]. If all scores change in the same direction, the
/// distance is at most [`LInfDistance`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RangeDistance<Q>(PhantomData<fn() -> Q>);

impl<Q> LInfDistance<Q> {
    /// Measure the largest change of any score. If `monotonic` is `true`, the user promises that
    /// all scores change in the same direction.
    pub fn new(monotonic: bool) -> Self {
        LInfDistance { monotonic, distance: PhantomData }
    }
    /// Return whether the user promises that all scores change in the same direction.
    pub fn monotonic(&self) -> bool {
        self.monotonic
    }
}
impl<Q> RangeDistance<Q> {
    /// Measure the range of the changes.
    pub fn new() -> Self {
        RangeDistance(PhantomData)
    }
}
impl<Q: Distance + Number> Metric for LInfDistance<Q> {
    type Distance = Q;
    fn to_json(&self) -> Json {
        let name = json!(Q::type_name().to_string());
        descriptor("linf_distance", [("T", Some(name)), ("monotonic", Some(json!(self.monotonic)))])
    }
}
impl<Q: Distance + Number> Metric for RangeDistance<Q> {
    type Distance = Q;
    fn to_json(&self) -> Json {
        descriptor("range_distance", [("T", Some(json!(Q::type_name().to_string())))])
    }
}
named!(LInfDistance<Q> as "LInfDistance", RangeDistance<Q> as "RangeDistance");

impl<T: Atom, Q: Distance + Number> MetricOn<VectorDomain<AtomDomain<T>>> for LInfDistance<Q> {
    fn check(&self, domain: &VectorDomain<AtomDomain<T>>) -> Result<()> {
        check_numbers("LInfDistance", domain.element())
    }
}
impl<T: Atom, Q: Distance + Number> MetricOn<VectorDomain<AtomDomain<T>>> for RangeDistance<Q> {
    fn check(&self, domain: &VectorDomain<AtomDomain<T>>) -> Result<()> {
        check_numbers("RangeDistance", domain.element())
    }
}

impl<T: Atom + Number, Q> DistanceOn<VectorDomain<AtomDomain<T>>> for LInfDistance<Q>
where
    Q: Distance + Number + InfCast<T>,
{
    fn distance(&self, left: &Vec<T>, right: &Vec<T>) -> Result<Option<Q>> {
        let Some((rise, fall)) = rise_and_fall::<T, Q>(left, right)? else { return Ok(None) };
        if self.monotonic && Q::zero() < rise && Q::zero() < fall {
            return Ok(None);
        }
        Ok(Some(if rise < fall { fall } else { rise }))
    }
}
impl<T: Atom + Number, Q> DistanceOn<VectorDomain<AtomDomain<T>>> for RangeDistance<Q>
where
    Q: Distance + Number + InfCast<T>,
{
    fn distance(&self, left: &Vec<T>, right: &Vec<T>) -> Result<Option<Q>> {
        if left.len() != right.len() {
            return Ok(None);
        }
        if left.len() < 2 {
            return Ok(Some(Q::zero()));
        }
        // The distance is the largest change minus the smallest change. An increase is a positive
        // change, and a decrease is a negative change. The largest change is rounded up, and the
        // smallest change is rounded down, so that the distance is rounded up.
        let change = |(x, y): (&T, &T)| -> Result<[(bool, Q); 2]> {
            let [down, up] = sizes(*x, *y)?;
            Ok(if x < y { [(true, down), (true, up)] } else { [(false, up), (false, down)] })
        };
        let mut changes = left.iter().zip(right).map(change);
        let Some(first) = changes.next().transpose()? else { return Ok(Some(Q::zero())) };
        let [mut smallest, mut largest] = first;
        for change in changes {
            let [low, high] = change?;
            if less(largest, high) {
                largest = high;
            }
            if less(low, smallest) {
                smallest = low;
            }
        }
        let range = match (largest, smallest) {
            ((true, large), (true, small)) => large.inf_sub(small)?,
            ((true, large), (false, small)) => large.inf_add(small)?,
            ((false, large), (_, small)) => small.inf_sub(large)?,
        };
        Ok(Some(range))
    }
}
/// Return two bounds on the size of the change from `x` to `y`. The first bound is the size rounded
/// down, and the second bound is the size rounded up.
fn sizes<T: Number, Q: Number + InfCast<T>>(x: T, y: T) -> Result<[Q; 2]> {
    let up = difference(x, y)?;
    if x == y {
        return Ok([up, up]);
    }
    let (small, large) = if x < y { (x, y) } else { (y, x) };
    if let Ok(difference) = large.neg_inf_sub(small) {
        return Ok([Q::neg_inf_cast(difference)?, up]);
    }
    // The difference overflows the type `T`, so it is computed in `i128`. If `i128` cannot hold the
    // difference either, `large` is rounded down and `small` is rounded up, and the difference is
    // computed in `Q`.
    let wide = || {
        let difference = large.to_i128()?.checked_sub(small.to_i128()?)?;
        let near = <Q as NumCast>::from(difference)?;
        if difference < near.to_i128()? { near.neg_inf_sub(Q::one()).ok() } else { Some(near) }
    };
    let inward = || Q::neg_inf_cast(large)?.neg_inf_sub(Q::inf_cast(small)?);
    Ok([wide().map_or_else(inward, Ok)?, up])
}
/// Return whether the first change is less than the second. A change is a pair: its first part is
/// `true` for an increase, and its second part is the size.
fn less<Q: PartialOrd>(a: (bool, Q), b: (bool, Q)) -> bool {
    match (a.0, b.0) {
        (true, true) => a.1 < b.1,
        (false, false) => b.1 < a.1,
        (rises, _) => !rises,
    }
}
/// Return the largest increase of a score and the largest decrease of a score. Return `None` if the
/// vectors have different lengths.
fn rise_and_fall<T: Number, Q>(left: &[T], right: &[T]) -> Result<Option<(Q, Q)>>
where
    Q: Number + InfCast<T>,
{
    if left.len() != right.len() {
        return Ok(None);
    }
    let (mut rise, mut fall) = (Q::zero(), Q::zero());
    for (x, y) in left.iter().zip(right) {
        let change = difference(*x, *y)?;
        let side = if x < y { &mut rise } else { &mut fall };
        if *side < change {
            *side = change;
        }
    }
    Ok(Some((rise, fall)))
}

/// Measure the largest change of any score.
///
/// # Arguments
/// * `monotonic` - `true` promises that all scores change in the same direction between neighbours
pub fn linf_distance<T: Distance + Number>(monotonic: bool) -> Result<TheMetric<LInfDistance<T>>> {
    Ok(TheMetric(LInfDistance::new(monotonic)))
}
/// Measure the range of the changes of the scores.
pub fn range_distance<T: Distance + Number>() -> Result<TheMetric<RangeDistance<T>>> {
    Ok(TheMetric(RangeDistance::new()))
}
register! {
    "maximum.rs": linf_distance(monotonic = false)
        for T in [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, f32, f64];
}
register! {
    "maximum.rs": range_distance()
        for T in [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, f32, f64];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(left: &[i32], right: &[i32], largest: i32, range: i32) {
        let (left, right) = (left.to_vec(), right.to_vec());
        let d = LInfDistance::<i32>::new(false).distance(&left, &right).unwrap();
        assert_eq!(d, Some(largest));
        assert_eq!(RangeDistance::<i32>::new().distance(&left, &right).unwrap(), Some(range));
        assert_eq!(RangeDistance::<i32>::new().distance(&right, &left).unwrap(), Some(range));
    }

    #[test]
    fn measures_the_largest_change_and_the_range_of_changes() {
        check(&[0, 0], &[3, -4], 4, 7);
        check(&[0, 0], &[3, 5], 5, 2);
        check(&[0, 0, 0], &[-1, -5, -2], 5, 4);
        check(&[], &[], 0, 0);
        check(&[7, 7], &[7, 9], 2, 2);
    }
    #[test]
    fn a_range_of_changes_that_no_float_equals_is_rounded_up() {
        let large = (1_u64 << 53) as f64;
        // The changes are 2^53 + 1 and 2^53 + 2, so the exact range is 1. An `f64` cannot represent
        // 2^53 + 1. If this change were rounded to 2^53 + 2, the range would be 0, which is wrong.
        let (left, right) = (vec![-1.0, 0.0], vec![large, large + 2.0]);
        let metric = RangeDistance::<f64>::new();
        for (x, y) in [(&left, &right), (&right, &left)] {
            assert!(1.0 <= metric.distance(x, y).unwrap().unwrap());
        }
        // A vector with one score has one change, so the range is 0.
        assert_eq!(metric.distance(&vec![-1.0], &vec![large]), Ok(Some(0.0)));
        // If a change overflows the type of the scores, it is computed exactly in a wider type.
        let (low, high) = (vec![i32::MIN, 0], vec![i32::MAX, 1]);
        let range = RangeDistance::<u32>::new().distance(&low, &high);
        assert_eq!(range, Ok(Some(u32::MAX - 1)));
        let range = RangeDistance::<u32>::new().distance(&vec![i32::MIN; 2], &vec![i32::MAX; 2]);
        assert_eq!(range, Ok(Some(0)));
    }
    #[test]
    fn a_monotonic_distance_is_infinite_when_scores_move_both_ways() {
        let metric = LInfDistance::<i32>::new(true);
        assert_eq!(metric.distance(&vec![0, 0], &vec![1, -1]).unwrap(), None);
        assert_eq!(metric.distance(&vec![0, 0], &vec![1, 2]).unwrap(), Some(2));
    }
    #[test]
    fn compares_the_promise() {
        assert_ne!(LInfDistance::<u64>::new(true), LInfDistance::new(false));
    }
}
