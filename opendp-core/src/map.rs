//! Maps between distances. A map takes a bound on the inputs and returns a bound on the outputs.

use std::{fmt, sync::Arc};

use crate::arith::{Exact, InfCast, Number};
use crate::erased::{AnyDistance, AnyMeasure, AnyMetric};
use crate::{Distance, Measure, Metric, Result};

/// A function of a distance. The operations on such functions are compiled for each pair of
/// distance types, and not for each metric and measure.
trait Bound<I, O>: Send + Sync {
    fn at(&self, d_in: &I) -> Result<O>;
}
impl<I, O, F: Fn(&I) -> Result<O> + Send + Sync> Bound<I, O> for F {
    fn at(&self, d_in: &I) -> Result<O> {
        self(d_in)
    }
}
type Shared<I, O> = Arc<dyn Bound<I, O>>;

fn same<Q: Distance>() -> Shared<Q, Q> {
    Arc::new(|d: &Q| Ok(d.clone()))
}
fn times<I: Distance, O: Number + InfCast<I>>(constant: O) -> Shared<I, O> {
    Arc::new(move |d_in: &I| O::inf_cast(d_in.clone())?.inf_mul(constant))
}
fn chained<I: Distance, X: Distance, O: Send + Sync + 'static>(
    first: &Shared<I, X>,
    second: &Shared<X, O>,
) -> Shared<I, O> {
    let (first, second) = (first.clone(), second.clone());
    Arc::new(move |d_in: &I| second.at(&first.at(d_in)?))
}
fn checked<I: Distance, O>(bound: &Shared<I, O>, d_in: &I) -> Result<O> {
    d_in.check()?;
    bound.at(d_in)
}
/// Recover a typed distance from an erased distance.
fn inside<Q: Distance>() -> Shared<AnyDistance, Q> {
    Arc::new(|d: &AnyDistance| d.downcast_ref::<Q>().cloned())
}
type ExactBound<I> = Shared<I, Vec<Exact>>;
fn taken_out<Q: Distance>(exact: Option<&ExactBound<Q>>) -> Option<ExactBound<AnyDistance>> {
    exact.map(|exact| chained(&inside(), exact))
}
/// Erase the type of a distance.
fn outside<Q: Distance>() -> Shared<Q, AnyDistance> {
    Arc::new(|d: &Q| Ok(AnyDistance::new(d.clone())))
}
fn erased<I: Distance, O: Distance>(bound: &Shared<I, O>) -> Shared<AnyDistance, AnyDistance> {
    let bound = bound.clone();
    Arc::new(move |d: &AnyDistance| Ok(AnyDistance::new(checked(&bound, d.downcast_ref()?)?)))
}
/// A dyn-compatible view of a map.
pub(crate) trait ErasedMap {
    fn erased(&self) -> StabilityMap<AnyMetric, AnyMetric>;
}
impl<I: Distance, O: Distance> ErasedMap for Shared<I, O> {
    fn erased(&self) -> StabilityMap<AnyMetric, AnyMetric> {
        StabilityMap(erased(self))
    }
}
fn typed<I: Distance, O: Distance>(bound: &Shared<AnyDistance, AnyDistance>) -> Shared<I, O> {
    let bound = bound.clone();
    Arc::new(move |d: &I| checked(&bound, &AnyDistance::new(d.clone()))?.downcast_ref().cloned())
}

/// An upper bound on the distance between outputs, given an upper bound on the distance between
/// inputs.
pub struct StabilityMap<MI: Metric, MO: Metric>(Shared<MI::Distance, MO::Distance>);

/// An upper bound on the privacy loss, given a bound on the distance between inputs.
///
/// The bound is a [`Distance`](crate::Distance), such as a float, and is rounded up. The map can
/// also [state](PrivacyMap::with_exact) an exact bound. The exact bound is charged to budgets, so
/// ten losses of a tenth add up to one.
pub struct PrivacyMap<MI: Metric, MO: Measure> {
    bound: Shared<MI::Distance, MO::Distance>,
    exact: Option<Shared<MI::Distance, Vec<Exact>>>,
}

impl<MI: Metric, MO: Metric> StabilityMap<MI, MO> {
    /// Make a map from a function. The function must compute through [`arith`](crate::arith), so
    /// that every rounding is upward. The caller is responsible for the bound.
    pub fn new(
        map: impl Fn(&MI::Distance) -> Result<MO::Distance> + Send + Sync + 'static,
    ) -> Self {
        StabilityMap(Arc::new(map))
    }
    /// Make the map `d_out = d_in`.
    pub fn identity() -> Self
    where
        MO: Metric<Distance = MI::Distance>,
    {
        StabilityMap(same())
    }
    /// Make the map `d_out = constant * d_in`, rounded up.
    pub fn from_constant(constant: MO::Distance) -> Self
    where
        MO::Distance: Number + InfCast<MI::Distance>,
    {
        StabilityMap(times(constant))
    }
    /// Evaluate the map at a distance. The distance must not be negative or NaN.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` is not a distance, and the errors of the map.
    pub fn eval(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        checked(&self.0, d_in)
    }
    /// Append a map. The result applies `next` to the bound of this map.
    pub fn then<MX: Metric>(&self, next: &StabilityMap<MO, MX>) -> StabilityMap<MI, MX> {
        StabilityMap(chained(&self.0, &next.0))
    }
    /// Append the privacy map of a measurement.
    pub fn then_privacy<MX: Measure>(&self, next: &PrivacyMap<MO, MX>) -> PrivacyMap<MI, MX> {
        PrivacyMap {
            bound: chained(&self.0, &next.bound),
            exact: next.exact.as_ref().map(|exact| chained(&self.0, exact)),
        }
    }
    /// Erase the types of both distances.
    pub fn erase(&self) -> StabilityMap<AnyMetric, AnyMetric> {
        self.0.erased()
    }
    pub(crate) fn bound(&self) -> &dyn ErasedMap {
        &self.0
    }
}
impl StabilityMap<AnyMetric, AnyMetric> {
    /// Set the types of both distances. The types are checked when the map is evaluated.
    pub(crate) fn typed<MI: Metric, MO: Metric>(&self) -> StabilityMap<MI, MO> {
        StabilityMap(typed(&self.0))
    }
}

impl<MI: Metric, MO: Measure> PrivacyMap<MI, MO> {
    /// Make a map from a function. The function must compute through [`arith`](crate::arith), so
    /// that every rounding is upward. The caller is responsible for the bound.
    pub fn new(
        map: impl Fn(&MI::Distance) -> Result<MO::Distance> + Send + Sync + 'static,
    ) -> Self {
        PrivacyMap { bound: Arc::new(map), exact: None }
    }
    /// Add the exact bound: one number for each [part](Measure::parts) of a loss. The caller is
    /// responsible for this bound, as for the map.
    #[must_use]
    pub fn with_exact(
        mut self,
        exact: impl Fn(&MI::Distance) -> Result<Vec<Exact>> + Send + Sync + 'static,
    ) -> Self {
        self.exact = Some(Arc::new(exact));
        self
    }
    /// Erase the types of the distance and of the loss.
    pub fn erase(&self) -> PrivacyMap<AnyMetric, AnyMeasure> {
        PrivacyMap { bound: erased(&self.bound), exact: taken_out(self.exact.as_ref()) }
    }
    /// Return whether another map is the same object. If so, both maps have equal values at every
    /// distance.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let exact = match (&self.exact, &other.exact) {
            (None, None) => true,
            (Some(one), Some(two)) => std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(two)),
            _ => false,
        };
        exact && std::ptr::addr_eq(Arc::as_ptr(&self.bound), Arc::as_ptr(&other.bound))
    }
    /// Evaluate the map at a distance. Return exact numbers, which can be added over several
    /// releases. If the exact bound is known, return it. Otherwise return the exact values of the
    /// floats in the rounded bound.
    ///
    /// # Errors
    /// The errors of [`eval`](PrivacyMap::eval) and of [`Measure::split`].
    pub fn eval_exact(&self, measure: &MO, d_in: &MI::Distance) -> Result<Vec<Exact>> {
        match &self.exact {
            Some(exact) => checked(exact, d_in),
            None => measure.split(&self.eval(d_in)?)?.into_iter().map(Exact::from_f64).collect(),
        }
    }
    /// Evaluate the map at a distance. The distance must not be negative or NaN.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` is not a distance, and the errors of the map.
    pub fn eval(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        checked(&self.bound, d_in)
    }
}
/// A dyn-compatible view of a privacy map.
pub(crate) trait ErasedPrivacyMap {
    fn erased(&self) -> PrivacyMap<AnyMetric, AnyMeasure>;
}
impl<MI: Metric, MO: Measure> ErasedPrivacyMap for PrivacyMap<MI, MO> {
    fn erased(&self) -> PrivacyMap<AnyMetric, AnyMeasure> {
        self.erase()
    }
}
impl PrivacyMap<AnyMetric, AnyMeasure> {
    /// Set the types of the distance and of the loss. The types are checked when the map is
    /// evaluated.
    pub(crate) fn typed<MI: Metric, MO: Measure>(&self) -> PrivacyMap<MI, MO> {
        PrivacyMap {
            bound: typed(&self.bound),
            exact: self.exact.as_ref().map(|exact| chained(&outside(), exact)),
        }
    }
    /// Set only the type of the loss.
    pub(crate) fn in_measure<MO: Measure>(&self) -> PrivacyMap<AnyMetric, MO> {
        PrivacyMap { bound: chained(&self.bound, &inside()), exact: self.exact.clone() }
    }
}

impl<MI: Metric, MO: Metric> Clone for StabilityMap<MI, MO> {
    fn clone(&self) -> Self {
        StabilityMap(self.0.clone())
    }
}
impl<MI: Metric, MO: Measure> Clone for PrivacyMap<MI, MO> {
    fn clone(&self) -> Self {
        PrivacyMap { bound: self.bound.clone(), exact: self.exact.clone() }
    }
}
impl<MI: Metric, MO: Metric> fmt::Debug for StabilityMap<MI, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StabilityMap({} -> {})", MI::type_name(), MO::type_name())
    }
}
impl<MI: Metric, MO: Measure> fmt::Debug for PrivacyMap<MI, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivacyMap({} -> {})", MI::type_name(), MO::type_name())
    }
}
