//! Distances between numbers, vectors and maps of numbers: absolute values and norms.

use std::{collections::HashMap, marker::PhantomData};

use num_traits::NumCast;
use serde_json::{Value as Json, json};

use crate::arith::{InfCast, Number};
use crate::domain::descriptor;
use crate::order::sorted;
use crate::{
    Atom, AtomDomain, Distance, DistanceOn, Error, HashableAtom, MapDomain, Metric, MetricOn,
    Named, Result, TheMetric, TypeName, VectorDomain, named,
};

/// The absolute difference of two numbers `x` and `x'`, stated as a number of type `Q`:
/// `d(x, x') = |x - x'|`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AbsoluteDistance<Q>(PhantomData<fn() -> Q>);

/// The `P`-norm of the difference of two vectors `x` and `x'`, stated as a number of type `Q`:
/// `(sum |x_i - x'_i|^P)^(1/P)`. In the difference of two maps, the value of a missing key is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LpDistance<const P: usize, Q>(PhantomData<fn() -> Q>);
/// The sum of the absolute differences of two vectors `x` and `x'`: `sum |x_i - x'_i|`.
pub type L1Distance<Q> = LpDistance<1, Q>;
/// The Euclidean length of the difference of two vectors `x` and `x'`: `sqrt(sum |x_i - x'_i|^2)`.
pub type L2Distance<Q> = LpDistance<2, Q>;

impl<Q> AbsoluteDistance<Q> {
    /// Make the metric that states absolute differences as numbers of type `Q`.
    pub const fn new() -> Self {
        AbsoluteDistance(PhantomData)
    }
}
impl<const P: usize, Q> LpDistance<P, Q> {
    /// Make the metric that states `P`-norms as numbers of type `Q`.
    pub const fn new() -> Self {
        LpDistance(PhantomData)
    }
}
impl<Q: Distance + Number> Metric for AbsoluteDistance<Q> {
    type Distance = Q;
    fn to_json(&self) -> Json {
        descriptor("absolute_distance", [("T", Some(json!(Q::type_name().to_string())))])
    }
}
impl<const P: usize, Q: Distance + Number> Metric for LpDistance<P, Q> {
    type Distance = Q;
    fn to_json(&self) -> Json {
        let name = if P == 1 { "l1_distance" } else { "l2_distance" };
        descriptor(name, [("T", Some(json!(Q::type_name().to_string())))])
    }
}
named!(AbsoluteDistance<Q> as "AbsoluteDistance");
impl<const P: usize, Q: Named> Named for LpDistance<P, Q> {
    fn type_name() -> TypeName {
        let head = if P == 1 { "L1Distance" } else { "L2Distance" };
        TypeName::generic(head, [Q::type_name()])
    }
}

impl<T: Atom, Q: Distance + Number> MetricOn<AtomDomain<T>> for AbsoluteDistance<Q> {
    fn check(&self, domain: &AtomDomain<T>) -> Result<()> {
        check_numbers("AbsoluteDistance", domain)
    }
}
impl<const P: usize, T: Atom, Q: Distance + Number> MetricOn<VectorDomain<AtomDomain<T>>>
    for LpDistance<P, Q>
{
    fn check(&self, domain: &VectorDomain<AtomDomain<T>>) -> Result<()> {
        const { assert!(P == 1 || P == 2, "only the norms L1 and L2 are defined") };
        check_numbers("a norm", domain.element())
    }
}
impl<const P: usize, K: HashableAtom, V: Atom, Q: Distance + Number>
    MetricOn<MapDomain<AtomDomain<K>, AtomDomain<V>>> for LpDistance<P, Q>
{
    fn check(&self, domain: &MapDomain<AtomDomain<K>, AtomDomain<V>>) -> Result<()> {
        const { assert!(P == 1 || P == 2, "only the norms L1 and L2 are defined") };
        check_numbers("a norm", domain.value())
    }
}
/// Check that the members of a domain are numbers and not NaN. The difference of NaN and any value
/// is NaN, so NaN has no distance to any value.
pub(super) fn check_numbers<T: Atom>(metric: &str, domain: &AtomDomain<T>) -> Result<()> {
    if !T::NUMERIC {
        return Err(Error::MetricSpace(format!(
            "{metric} measures differences of numbers, and elements of type `{}` are not numbers: \
             choose another metric, such as `DiscreteDistance`",
            T::type_name()
        )));
    }
    if domain.nan() {
        return Err(Error::MetricSpace(format!(
            "{metric} requires elements that are not NaN: state \"nan\": false in their domain"
        )));
    }
    Ok(())
}

/// Return the absolute difference of two numbers as a distance, rounded up.
pub(super) fn difference<T, Q>(left: T, right: T) -> Result<Q>
where
    T: Number,
    Q: Number + InfCast<T>,
{
    // Equal infinities need this case, because infinity minus infinity is NaN.
    if left == right {
        return Ok(Q::zero());
    }
    let (small, large) = if left < right { (left, right) } else { (right, left) };
    // If the type `T` can hold the difference, the computed difference is exact or rounded up. If
    // the difference overflows `T`, it is computed in `i128`. If `i128` cannot hold the difference
    // either, `small` is rounded down and `large` is rounded up, and the difference is computed in
    // `Q`.
    match large.inf_sub(small) {
        Ok(difference) => Q::inf_cast(difference),
        Err(_) => wide(small, large).map_or_else(|| outward(small, large), Ok),
    }
}
/// Compute the difference of two integers in `i128`. Round only this difference up, to a number of
/// type `Q`. Return `None` if `i128` or `Q` cannot hold a number of this computation.
fn wide<T: Number, Q: Number>(small: T, large: T) -> Option<Q> {
    let difference = large.to_i128()?.checked_sub(small.to_i128()?)?;
    let near = <Q as NumCast>::from(difference)?;
    if near.to_i128()? < difference { near.inf_add(Q::one()).ok() } else { Some(near) }
}
/// Return an upper bound on `large - small`. Before the subtraction, `small` is rounded down and
/// `large` is rounded up.
fn outward<T, Q>(small: T, large: T) -> Result<Q>
where
    T: Number,
    Q: Number + InfCast<T>,
{
    match Q::neg_inf_cast(small) {
        Ok(small) => Q::inf_cast(large)?.inf_sub(small),
        // An unsigned `Q` cannot hold a negative `small`. So add `|small|` to `large` in two steps:
        // first `|small| - 1`, which the type `T` can always hold, and then 1.
        Err(_) => {
            let rest = Q::inf_cast(small.inf_add(T::one())?.total_abs()?)?;
            Q::inf_cast(large)?.inf_add(rest)?.inf_add(Q::one())
        }
    }
}
/// Return the `P`-norm of differences, rounded up.
pub(super) fn norm<const P: usize, Q: Number + InfCast<f64>>(differences: &[Q]) -> Result<Q>
where
    f64: InfCast<Q>,
{
    use crate::arith::{Directed, DirectedFloat};
    const { assert!(P == 1 || P == 2, "only the norms L1 and L2 are defined") };
    let mut total = Q::zero();
    if P == 1 {
        // Add the smallest numbers first. This order keeps the rounding errors small.
        for d in sorted(differences) {
            total = total.inf_add(d)?;
        }
        return Ok(total);
    }
    let mut squares = 0.0_f64;
    for d in differences {
        let d = f64::inf_cast(*d)?;
        squares = squares.inf_add(d.inf_mul(d)?)?;
    }
    Q::inf_cast(squares.inf_sqrt()?)
}

impl<T: Atom + Number, Q> DistanceOn<AtomDomain<T>> for AbsoluteDistance<Q>
where
    Q: Distance + Number + InfCast<T>,
{
    fn distance(&self, left: &T, right: &T) -> Result<Option<Q>> {
        difference(*left, *right).map(Some)
    }
}
impl<const P: usize, T: Atom + Number, Q> DistanceOn<VectorDomain<AtomDomain<T>>>
    for LpDistance<P, Q>
where
    Q: Distance + Number + InfCast<T> + InfCast<f64>,
    f64: InfCast<Q>,
{
    fn distance(&self, left: &Vec<T>, right: &Vec<T>) -> Result<Option<Q>> {
        if left.len() != right.len() {
            return Ok(None);
        }
        let all = left.iter().zip(right).map(|(x, y)| difference(*x, *y));
        norm::<P, Q>(&all.collect::<Result<Vec<Q>>>()?).map(Some)
    }
}
impl<const P: usize, K: HashableAtom, V: Atom + Number, Q>
    DistanceOn<MapDomain<AtomDomain<K>, AtomDomain<V>>> for LpDistance<P, Q>
where
    Q: Distance + Number + InfCast<V> + InfCast<f64>,
    f64: InfCast<Q>,
{
    fn distance(&self, left: &HashMap<K, V>, right: &HashMap<K, V>) -> Result<Option<Q>> {
        norm::<P, Q>(&changes(left, right)?).map(Some)
    }
}
/// Return the absolute difference at each key of the two maps.
pub(super) fn changes<K: HashableAtom, V: Number, Q: Number + InfCast<V>>(
    left: &HashMap<K, V>,
    right: &HashMap<K, V>,
) -> Result<Vec<Q>> {
    let missing = right.keys().filter(|key| !left.contains_key(*key));
    left.keys()
        .chain(missing)
        .map(|key| {
            let value_at = |map: &HashMap<K, V>| map.get(key).copied().unwrap_or_else(V::zero);
            difference(value_at(left), value_at(right))
        })
        .collect()
}

/// Measure the absolute difference of two numbers.
pub fn absolute_distance<T: Distance + Number>() -> Result<TheMetric<AbsoluteDistance<T>>> {
    Ok(TheMetric(AbsoluteDistance::new()))
}
/// Measure the sum of the absolute differences of two vectors or maps.
pub fn l1_distance<T: Distance + Number>() -> Result<TheMetric<L1Distance<T>>> {
    Ok(TheMetric(L1Distance::new()))
}
/// Measure the Euclidean length of the difference of two vectors or maps.
pub fn l2_distance<T: Distance + Number>() -> Result<TheMetric<L2Distance<T>>> {
    Ok(TheMetric(L2Distance::new()))
}
register! {
    "norm.rs": absolute_distance()
        for T in [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, f32, f64];
}
register! {
    "norm.rs": l1_distance()
        for T in [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, f32, f64];
}
register! {
    "norm.rs": l2_distance()
        for T in [i8, i16, i32, i64, i128, u8, u16, u32, u64, usize, f32, f64];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Space;

    fn atoms<T: Atom, Q: Distance + Number>() -> Space<AtomDomain<T>, AbsoluteDistance<Q>> {
        Space::new(AtomDomain::non_nan(), AbsoluteDistance::new()).unwrap()
    }
    fn vectors<const P: usize, Q: Distance + Number>()
    -> Space<VectorDomain<AtomDomain<i32>>, LpDistance<P, Q>> {
        Space::new(VectorDomain::new(AtomDomain::default()), LpDistance::new()).unwrap()
    }

    #[test]
    fn takes_the_difference_of_extremes() {
        assert_eq!(atoms::<i8, i32>().distance(&i8::MIN, &i8::MAX).unwrap(), Some(255));
        assert!(atoms::<i8, i8>().distance(&i8::MIN, &i8::MAX).is_err());
        assert_eq!(atoms::<f64, f64>().distance(&1.5, &-1.0).unwrap(), Some(2.5));
    }
    #[test]
    fn an_infinite_number_is_at_distance_0_of_itself() {
        let (infinity, all) = (f64::INFINITY, atoms::<f64, f64>());
        assert_eq!(all.distance(&infinity, &infinity).unwrap(), Some(0.0));
        assert_eq!(all.distance(&-infinity, &-infinity).unwrap(), Some(0.0));
        assert!(all.distance(&infinity, &1.0).is_err() && all.distance(&f64::NAN, &1.0).is_err());
        assert!(all.distance(&f64::NAN, &f64::NAN).is_err());
        let scores = Space::new(
            VectorDomain::new(AtomDomain::<f64>::non_nan()),
            crate::LInfDistance::<f64>::default(),
        );
        let (left, right) = (vec![infinity, 1.0], vec![infinity, 3.5]);
        assert_eq!(scores.unwrap().distance(&left, &right).unwrap(), Some(2.5));
    }
    #[test]
    fn a_difference_of_integers_is_rounded_once() {
        // The exact difference is 3 * 2^62 - 1, which is rounded up to 3 * 2^62. If both numbers
        // were first rounded outward, to 2^62 + 1024 and -2^63, the result would be larger.
        let (x, y) = (4_611_686_018_427_387_910_i64, -9_223_372_036_854_775_801);
        assert_eq!(atoms::<i64, f64>().distance(&x, &y).unwrap(), Some(3.0 * 2_f64.powi(62)));
        let one_more = Some((3.0 * 2_f64.powi(62)).next_up());
        assert_eq!(atoms::<i64, f64>().distance(&(x + 2), &y).unwrap(), one_more);
    }
    #[test]
    fn adds_or_squares_the_differences() {
        let (left, right) = (vec![0, 0], vec![3, -4]);
        assert_eq!(vectors::<1, i32>().distance(&left, &right).unwrap(), Some(7));
        assert_eq!(vectors::<2, f64>().distance(&left, &right).unwrap(), Some(5.0));
        assert_eq!(vectors::<2, f64>().distance(&left, &vec![0]).unwrap(), None);
    }
    #[test]
    fn counts_a_missing_key_as_zero() {
        let maps = MapDomain::new(AtomDomain::<i32>::default(), AtomDomain::<i32>::default());
        let space = Space::new(maps, L1Distance::<i32>::new()).unwrap();
        let (left, right) = (HashMap::from([(1, 2), (2, 5)]), HashMap::from([(2, 4), (3, 7)]));
        assert_eq!(space.distance(&left, &right).unwrap(), Some(10));
    }
    #[test]
    fn refuses_domains_with_nan() {
        let error =
            Space::new(AtomDomain::<f64>::default(), AbsoluteDistance::<f64>::new()).unwrap_err();
        assert_eq!(error.kind(), "MetricSpace");
        let vectors = VectorDomain::new(AtomDomain::<f64>::default());
        assert!(Space::new(vectors, L1Distance::<f64>::new()).is_err());
    }
    #[test]
    fn refuses_domains_of_texts_and_booleans() {
        fn refused<T: Atom>() {
            let atoms = AtomDomain::<T>::default;
            let vectors = || VectorDomain::new(atoms());
            let maps = MapDomain::new(AtomDomain::<i32>::default(), atoms());
            let parts = crate::L01InfDistance::new(AbsoluteDistance::<u32>::new());
            let wrong = [
                Space::new(atoms(), AbsoluteDistance::<u32>::new()).err(),
                Space::new(vectors(), L2Distance::<f64>::new()).err(),
                Space::new(vectors(), crate::LInfDistance::<f64>::default()).err(),
                Space::new(vectors(), crate::RangeDistance::<f64>::default()).err(),
                Space::new(maps.clone(), L1Distance::<u32>::new()).err(),
                Space::new(maps, parts).err(),
            ];
            for error in wrong {
                let error = error.unwrap();
                assert_eq!(error.kind(), "MetricSpace");
                assert!(error.to_string().contains(&T::type_name().to_string()), "{error}");
            }
        }
        refused::<String>();
        refused::<bool>();
    }
}
