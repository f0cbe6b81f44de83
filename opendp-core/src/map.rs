//! Maps between distances: what a function's outputs owe to its inputs.

use std::{fmt, sync::Arc};

use crate::arith::{Directed, Exact, InfCast, Number};
use crate::erased::{AnyDistance, AnyMeasure, AnyMetric};
use crate::{Distance, Measure, Metric, Result};

type Closure<I, O> = Arc<dyn Fn(&I) -> Result<O> + Send + Sync>;

/// An upper bound on the distance between outputs, given one on the distance between inputs.
pub struct StabilityMap<MI: Metric, MO: Metric>(pub(crate) Closure<MI::Distance, MO::Distance>);

/// An upper bound on the privacy loss, given a bound on the distance between inputs.
///
/// The bound is a [`Distance`](crate::Distance), such as a float, which is rounded up. Where the
/// exact bound is known it may be [given](PrivacyMap::with_exact) too; it is what counts against a
/// budget, so that ten losses of a tenth are one.
pub struct PrivacyMap<MI: Metric, MO: Measure> {
    bound: Closure<MI::Distance, MO::Distance>,
    exact: Option<Closure<MI::Distance, Vec<Exact>>>,
}

impl<MI: Metric, MO: Metric> StabilityMap<MI, MO> {
    /// Make a map from a function, which must compute through [`arith`](crate::arith) so that
    /// every rounding is upward. The caller vouches for the bound.
    pub fn new(
        map: impl Fn(&MI::Distance) -> Result<MO::Distance> + Send + Sync + 'static,
    ) -> Self {
        StabilityMap(Arc::new(map))
    }
    /// Make the map `d_out = constant * d_in`, rounded up.
    pub fn from_constant(constant: MO::Distance) -> Self
    where
        MO::Distance: Number + InfCast<MI::Distance>,
    {
        StabilityMap::new(move |d_in: &MI::Distance| {
            MO::Distance::inf_cast(d_in.clone())?.inf_mul(constant)
        })
    }
    /// Evaluate the map at a distance, which must not be negative or NaN.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` is not a distance, and those of the map.
    pub fn eval(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        d_in.check()?;
        (self.0)(d_in)
    }
    /// Append a map: this one, then `next`.
    pub fn then<MX: Metric>(&self, next: &StabilityMap<MO, MX>) -> StabilityMap<MI, MX> {
        let (first, second) = (self.0.clone(), next.0.clone());
        StabilityMap::new(move |d_in| second(&first(d_in)?))
    }
    /// Append the privacy map of a measurement.
    pub fn then_privacy<MX: Measure>(&self, next: &PrivacyMap<MO, MX>) -> PrivacyMap<MI, MX> {
        let (first, second) = (self.0.clone(), next.bound.clone());
        let map = PrivacyMap::new(move |d_in| second(&first(d_in)?));
        let first = self.0.clone();
        map.exact_as(next, move |d_in| first(d_in))
    }
}

impl<MI: Metric, MO: Metric> StabilityMap<MI, MO> {
    /// Erase the types of both distances.
    pub fn erase(&self) -> StabilityMap<AnyMetric, AnyMetric> {
        let map = self.clone();
        StabilityMap::new(move |d: &AnyDistance| Ok(AnyDistance::new(map.eval(d.downcast_ref()?)?)))
    }
}

impl<MI: Metric, MO: Measure> PrivacyMap<MI, MO> {
    /// Erase the types of the distance and of the loss.
    pub fn erase(&self) -> PrivacyMap<AnyMetric, AnyMeasure> {
        let map = self.clone();
        PrivacyMap::new(move |d: &AnyDistance| Ok(AnyDistance::new(map.eval(d.downcast_ref()?)?)))
            .exact_as(self, |d: &AnyDistance| d.downcast_ref().cloned())
    }
    /// Make a map from a function, which must compute through [`arith`](crate::arith) so that
    /// every rounding is upward. The caller vouches for the bound.
    pub fn new(
        map: impl Fn(&MI::Distance) -> Result<MO::Distance> + Send + Sync + 'static,
    ) -> Self {
        PrivacyMap { bound: Arc::new(map), exact: None }
    }
    /// Give the exact bound, one number for each [part](Measure::parts) of a loss. The caller
    /// vouches for it, as for the map.
    #[must_use]
    pub fn with_exact(
        mut self,
        exact: impl Fn(&MI::Distance) -> Result<Vec<Exact>> + Send + Sync + 'static,
    ) -> Self {
        self.exact = Some(Arc::new(exact));
        self
    }
    /// Take over the exact bound of another map, where there is one.
    pub(crate) fn exact_as<MX: Metric, MY: Measure>(
        mut self,
        other: &PrivacyMap<MX, MY>,
        distance: impl Fn(&MI::Distance) -> Result<MX::Distance> + Send + Sync + 'static,
    ) -> Self {
        if let Some(exact) = other.exact.clone() {
            self.exact = Some(Arc::new(move |d_in| exact(&distance(d_in)?)));
        }
        self
    }
    /// Evaluate the map at a distance as exact numbers, which add up when releases do: the exact
    /// bound where it is known, and otherwise the floats of the rounded one, for what they are.
    ///
    /// # Errors
    /// Those of [`eval`](PrivacyMap::eval) and of [`Measure::split`].
    pub fn eval_exact(&self, measure: &MO, d_in: &MI::Distance) -> Result<Vec<Exact>> {
        match &self.exact {
            Some(exact) => {
                d_in.check()?;
                exact(d_in)
            }
            None => measure.split(&self.eval(d_in)?)?.into_iter().map(Exact::from_f64).collect(),
        }
    }
    /// Evaluate the map at a distance, which must not be negative or NaN.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` is not a distance, and those of the map.
    pub fn eval(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        d_in.check()?;
        (self.bound)(d_in)
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
