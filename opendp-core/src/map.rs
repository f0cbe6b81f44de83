//! Maps between distances: what a function's outputs owe to its inputs.

use std::{fmt, sync::Arc};

use crate::arith::{Directed, InfCast, Number};
use crate::{Distance, Measure, Metric, Result};

type Closure<I, O> = Arc<dyn Fn(&I) -> Result<O> + Send + Sync>;

/// An upper bound on the distance between outputs, given one on the distance between inputs.
pub struct StabilityMap<MI: Metric, MO: Metric>(pub(crate) Closure<MI::Distance, MO::Distance>);

/// An upper bound on the privacy loss, given a bound on the distance between inputs.
pub struct PrivacyMap<MI: Metric, MO: Measure>(pub(crate) Closure<MI::Distance, MO::Distance>);

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
        let (first, second) = (self.0.clone(), next.0.clone());
        PrivacyMap::new(move |d_in| second(&first(d_in)?))
    }
}

impl<MI: Metric, MO: Measure> PrivacyMap<MI, MO> {
    /// Make a map from a function, which must compute through [`arith`](crate::arith) so that
    /// every rounding is upward. The caller vouches for the bound.
    pub fn new(
        map: impl Fn(&MI::Distance) -> Result<MO::Distance> + Send + Sync + 'static,
    ) -> Self {
        PrivacyMap(Arc::new(map))
    }
    /// Evaluate the map at a distance, which must not be negative or NaN.
    ///
    /// # Errors
    /// `FailedMap` when `d_in` is not a distance, and those of the map.
    pub fn eval(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        d_in.check()?;
        (self.0)(d_in)
    }
}

impl<MI: Metric, MO: Metric> Clone for StabilityMap<MI, MO> {
    fn clone(&self) -> Self {
        StabilityMap(self.0.clone())
    }
}
impl<MI: Metric, MO: Measure> Clone for PrivacyMap<MI, MO> {
    fn clone(&self) -> Self {
        PrivacyMap(self.0.clone())
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
