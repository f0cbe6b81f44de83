//! Metrics with numbers as distances. The type of the numbers is chosen at run time.

use std::{fmt, marker::PhantomData};

use serde_json::Value as Json;

use super::norm::{AbsoluteDistance, LpDistance};
use super::partition::L0PInfDistance;
use crate::erased::{AnyDistance, AnyMetric};
use crate::{Distance, Domain, Error, Metric, MetricOn, Named, Result, TypeName, named};

/// A distance that is one number, stored exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnyNumber {
    /// An integer. A number of type `u128` must fit into `i128`.
    Integer(i128),
    /// A float.
    Float(f64),
}
named!(AnyNumber as "AnyNumber");

/// A metric that measures the same distances as `M`. The type of the numbers that state these
/// distances is chosen at run time.
///
/// Registrations use this type. So a constructor is compiled only once, and not once for each type
/// of numbers. When a value of this type is erased, the result is the metric that the value stands
/// for.
///
/// ```
/// # use opendp_core::{AbsoluteDistance, AtomDomain, OfAnyNumber, Space};
/// let space = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<u32>::new())?;
/// type Chosen = OfAnyNumber<AbsoluteDistance<f64>>;
/// let chosen = space.erase().typed::<AtomDomain<i32>, Chosen>()?;
/// assert_eq!(chosen.erase(), space.erase());
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub struct OfAnyNumber<M> {
    metric: AnyMetric,
    like: PhantomData<fn() -> M>,
}
impl<M> OfAnyNumber<M> {
    fn new(metric: AnyMetric) -> Self {
        OfAnyNumber { metric, like: PhantomData }
    }
}

/// A family of metrics, with one metric for each numeric type except `u128`. The metric for `f64`
/// implements this trait and represents the family.
pub trait NumberMetric: Metric + Default {
    /// The metric of the family for `i128`.
    type OfIntegers: Metric;
    /// Return whether a metric belongs to the family.
    fn has(metric: &AnyMetric) -> bool;
}
macro_rules! number_metrics {
    ($(|$q:ident| $metric:ty, $like:ty, $integers:ty;)*) => {$(
        impl NumberMetric for $like {
            type OfIntegers = $integers;
            fn has(metric: &AnyMetric) -> bool {
                number_metrics!(@any $q $metric, metric;
                    i8 i16 i32 i64 i128 isize u8 u16 u32 u64 usize f32 f64)
            }
        }
    )*};
    (@any $q:ident $tested:ty, $metric:ident; $($t:ident)*) => {
        $({ type $q = $t; $metric.is::<$tested>() })||*
    };
}
number_metrics! {
    |Q| AbsoluteDistance<Q>, AbsoluteDistance<f64>, AbsoluteDistance<i128>;
    |Q| LpDistance<1, Q>, LpDistance<1, f64>, LpDistance<1, i128>;
    |Q| LpDistance<2, Q>, LpDistance<2, f64>, LpDistance<2, i128>;
    |Q| L0PInfDistance<1, AbsoluteDistance<Q>>, L0PInfDistance<1, AbsoluteDistance<f64>>,
        L0PInfDistance<1, AbsoluteDistance<i128>>;
    |Q| L0PInfDistance<2, AbsoluteDistance<Q>>, L0PInfDistance<2, AbsoluteDistance<f64>>,
        L0PInfDistance<2, AbsoluteDistance<i128>>;
}

impl<M: NumberMetric> Metric for OfAnyNumber<M> {
    type Distance = AnyDistance;
    const STANDS: bool = true;
    fn to_json(&self) -> Json {
        self.metric.to_json()
    }
    fn read_distance(&self, distance: AnyDistance) -> Result<AnyDistance> {
        self.metric.read_distance(distance)
    }
    fn erased(&self) -> AnyMetric {
        self.metric.clone()
    }
    fn view(metric: &AnyMetric) -> Option<Self> {
        M::has(metric).then(|| OfAnyNumber::new(metric.clone()))
    }
}
/// The type of distances does not affect whether a metric fits a domain. So the check of the metric
/// for `f64` is used for all metrics of the family.
impl<D: Domain, M: NumberMetric + MetricOn<D>> MetricOn<D> for OfAnyNumber<M> {
    fn check(&self, domain: &D) -> Result<()> {
        M::default().check(domain)
    }
}
impl<M: NumberMetric> Named for OfAnyNumber<M> {
    fn type_name() -> TypeName {
        M::type_name().replace(&f64::type_name(), &AnyNumber::type_name())
    }
}
impl<M> Clone for OfAnyNumber<M> {
    fn clone(&self) -> Self {
        OfAnyNumber::new(self.metric.clone())
    }
}
impl<M> PartialEq for OfAnyNumber<M> {
    fn eq(&self, other: &Self) -> bool {
        self.metric == other.metric
    }
}
impl<M> fmt::Debug for OfAnyNumber<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.metric.fmt(f)
    }
}

impl AnyDistance {
    /// Return the distance as one number.
    ///
    /// # Errors
    /// `FailedCast` when the distance is not a single number, or exceeds the largest `i128`.
    pub fn number(&self) -> Result<AnyNumber> {
        match self.numbers() {
            [Some(number), None, None] => Ok(number),
            _ => Err(not_numbers(self, "a number")),
        }
    }
    /// Return the numbers in a distance that consists of three numbers.
    ///
    /// # Errors
    /// `FailedCast` when the distance does not consist of three numbers, or when one of these
    /// numbers exceeds the largest `i128`.
    pub fn three_numbers(&self) -> Result<[AnyNumber; 3]> {
        match self.numbers() {
            [Some(first), Some(second), Some(third)] => Ok([first, second, third]),
            _ => Err(not_numbers(self, "three numbers")),
        }
    }
}
#[cold]
fn not_numbers(found: &AnyDistance, expected: &str) -> Error {
    Error::FailedCast(format!("expected {expected}, found {}", found.show()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AtomDomain, MapDomain, Space};

    type Chosen = OfAnyNumber<AbsoluteDistance<f64>>;
    type Parts = OfAnyNumber<L0PInfDistance<1, AbsoluteDistance<f64>>>;

    #[test]
    fn stands_for_the_metrics_of_its_kind_and_no_others() {
        let space =
            Space::new(AtomDomain::<i8>::default(), AbsoluteDistance::<u64>::new()).unwrap();
        let chosen = space.erase().typed::<AtomDomain<i8>, Chosen>().unwrap();
        assert_eq!(chosen.erase(), space.erase());
        assert_eq!(chosen.metric().to_json(), space.metric().to_json());
        assert!(space.erase().typed::<AtomDomain<i16>, Chosen>().is_err());
        let lp = LpDistance::<1, f64>::new();
        assert!(Chosen::view(&lp.erased()).is_none() && Parts::view(&lp.erased()).is_none());
    }
    #[test]
    fn refuses_the_domains_that_the_others_refuse() {
        let metric = Chosen::view(&AbsoluteDistance::<f32>::new().erased()).unwrap();
        assert!(Space::new(AtomDomain::<f64>::non_nan(), metric.clone()).is_ok());
        let error = Space::new(AtomDomain::<f64>::default(), metric).unwrap_err();
        assert_eq!(error.kind(), "MetricSpace");
    }
    #[test]
    fn is_named_for_what_it_leaves_open() {
        let names = [Chosen::type_name(), Parts::type_name()].map(|name| name.to_string());
        assert_eq!(
            names,
            ["AbsoluteDistance<AnyNumber>", "L01InfDistance<AbsoluteDistance<AnyNumber>>"]
        );
    }
    #[test]
    fn reads_distances_exactly() {
        let number = |distance: AnyDistance| distance.number();
        assert_eq!(number(AnyDistance::new(i64::MAX)), Ok(AnyNumber::Integer(i64::MAX.into())));
        assert_eq!(number(AnyDistance::new(0.1_f32)), Ok(AnyNumber::Float(0.1_f32.into())));
        assert!(number(AnyDistance::new(u128::MAX)).is_err());
        assert!(number(AnyDistance::new((1_u32, 0.5))).is_err());
        let three = AnyDistance::new((1_u32, 2_i8, 2_i8)).three_numbers();
        assert_eq!(three, Ok([1, 2, 2].map(AnyNumber::Integer)));
        let counts = MapDomain::new(AtomDomain::<bool>::default(), AtomDomain::<i8>::default());
        let metric = L0PInfDistance::<1, _>::new(AbsoluteDistance::<i8>::new());
        let space = Space::new(counts, metric).unwrap().erase();
        assert!(space.typed::<MapDomain<AtomDomain<bool>, AtomDomain<i8>>, Parts>().is_ok());
    }
}
