//! Metric spaces.

use std::{fmt, marker::PhantomData};

use serde_json::{Value as Json, json};

use crate::erased::AnyDomain;
use crate::{DistanceOn, Domain, Error, Metric, MetricOn, Result};

/// A domain together with a metric on it.
///
/// A space exists only if its domain and metric fit. Only [`Space::new`] builds a space, and it
/// checks this once. An erased space comes only from [`Space::erase`].
///
/// ```
/// # use opendp_core::{AtomDomain, ChangeOneDistance, Space, VectorDomain};
/// let records = VectorDomain::new(AtomDomain::<i32>::default());
/// assert_eq!(Space::new(records.clone(), ChangeOneDistance).unwrap_err().kind(), "MetricSpace");
/// assert!(Space::new(records.with_size(100), ChangeOneDistance).is_ok());
/// ```
pub struct Space<D, M> {
    /// The domain, a `D`, is stored erased, so code that holds spaces is not compiled for each
    /// domain.
    pub(crate) domain: AnyDomain,
    pub(crate) metric: M,
    lowest_is_best: bool,
    domain_type: PhantomData<fn() -> D>,
}

impl<D: Domain, M: MetricOn<D>> Space<D, M> {
    /// Pair a domain with a metric.
    ///
    /// # Errors
    /// `MetricSpace` when they do not form a metric space.
    pub fn new(domain: D, metric: M) -> Result<Self> {
        metric.check(&domain)?;
        Ok(Space::of(AnyDomain::new(domain), metric))
    }
}
impl<D, M> Space<D, M> {
    /// Build a space from checked parts. The domain must be a `D`.
    pub(crate) fn of(domain: AnyDomain, metric: M) -> Self {
        Space { domain, metric, lowest_is_best: false, domain_type: PhantomData }
    }
    /// State whether the lowest scores are the best.
    pub(crate) fn with_best(self, lowest_is_best: bool) -> Self {
        Space { lowest_is_best, ..self }
    }
    /// State that members are vectors of scores, and that the lowest score is the best. Distances
    /// from a quantile are such scores. A constructor that selects a score refuses to select the
    /// highest one.
    ///
    /// This is a note to the next step. Two spaces that differ only in it are equal.
    #[must_use]
    pub fn with_lowest_best(self) -> Self {
        self.with_best(true)
    }
    /// Whether the space states that the lowest score is the best.
    pub fn lowest_is_best(&self) -> bool {
        self.lowest_is_best
    }
}
impl<D: Domain, M: DistanceOn<D>> Space<D, M> {
    /// Compute the distance of two members, rounded up, or `None` when they are infinitely far
    /// apart. Only tests use it: no release computes a distance.
    ///
    /// # Errors
    /// When the distance does not fit its type.
    pub fn distance(&self, left: &D::Carrier, right: &D::Carrier) -> Result<Option<M::Distance>> {
        self.metric.distance(left, right)
    }
}
impl<D: Domain, M: Metric> Space<D, M> {
    /// The domain.
    pub fn domain(&self) -> &D {
        self.domain.known()
    }
    /// The metric.
    pub fn metric(&self) -> &M {
        &self.metric
    }
    /// Return this space restricted to data sets of `records` records, or `None` when the domain
    /// cannot state its number of records. Use it only with a metric that fits every domain of
    /// known size. This holds for every metric of this crate that depends on the size.
    pub fn with_records(&self, records: usize) -> Option<Self> {
        let space = Space::of(self.domain.with_records(records)?, self.metric.clone());
        Some(space.with_best(self.lowest_is_best))
    }
    /// Write as `{"domain": ..., "metric": ...}`.
    pub fn to_json(&self) -> Json {
        json!({"domain": self.domain.to_json(), "metric": self.metric.to_json()})
    }
    /// Check that `found`, the space in which a step ends, equals this space, from which the next
    /// step starts.
    ///
    /// # Errors
    /// `DomainMismatch` or `MetricMismatch`, with both sides as documents write them.
    pub fn follows(&self, found: &Space<D, M>) -> Result<()> {
        if self.domain != found.domain {
            return Err(Error::DomainMismatch {
                expected: self.domain.to_json().to_string(),
                found: found.domain.to_json().to_string(),
            });
        }
        if self.metric != found.metric {
            return Err(other_metric(&self.metric.to_json(), &found.metric.to_json()));
        }
        Ok(())
    }
}
#[cold]
fn other_metric(expected: &Json, found: &Json) -> Error {
    Error::MetricMismatch { expected: expected.to_string(), found: found.to_string() }
}

impl<D, M: Clone> Clone for Space<D, M> {
    fn clone(&self) -> Self {
        Space::of(self.domain.clone(), self.metric.clone()).with_best(self.lowest_is_best)
    }
}
impl<D, M: PartialEq> PartialEq for Space<D, M> {
    fn eq(&self, other: &Self) -> bool {
        self.domain == other.domain && self.metric == other.metric
    }
}
impl<D, M: fmt::Debug> fmt::Debug for Space<D, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space").field("domain", &self.domain).field("metric", &self.metric).finish()
    }
}
