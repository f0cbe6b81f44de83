//! Metric spaces.

use serde_json::{Value as Json, json};

use crate::{DistanceOn, Domain, Error, Metric, MetricOn, Result};

/// A domain together with a metric on it.
///
/// Holding a space is the proof that the two fit: it can only be built by [`Space::new`], which
/// runs the check once. An erased space comes only from [`Space::erase`].
///
/// ```
/// # use opendp_core::{AtomDomain, ChangeOneDistance, Space, VectorDomain};
/// let records = VectorDomain::new(AtomDomain::<i32>::default());
/// assert_eq!(Space::new(records.clone(), ChangeOneDistance).unwrap_err().kind(), "MetricSpace");
/// assert!(Space::new(records.with_size(100), ChangeOneDistance).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Space<D, M> {
    pub(crate) domain: D,
    pub(crate) metric: M,
}

impl<D: Domain, M: MetricOn<D>> Space<D, M> {
    /// Pair a domain with a metric.
    ///
    /// # Errors
    /// `MetricSpace` when they do not form a metric space.
    pub fn new(domain: D, metric: M) -> Result<Self> {
        metric.check(&domain)?;
        Ok(Space { domain, metric })
    }
}
impl<D: Domain, M: DistanceOn<D>> Space<D, M> {
    /// Compute the distance of two members, rounded up, or `None` when they are infinitely far
    /// apart. It is for tests: no release computes a distance.
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
        &self.domain
    }
    /// The metric.
    pub fn metric(&self) -> &M {
        &self.metric
    }
    /// The space of data sets of one size, or of another one: nothing when the number of records is
    /// never part of the domain. It is for a metric that fits whenever that number is known, as every
    /// metric here that looks at it does.
    pub fn with_records(&self, records: usize) -> Option<Self> {
        let domain = self.domain.with_records(records)?;
        Some(Space { domain, metric: self.metric.clone() })
    }
    /// Write as `{"domain": ..., "metric": ...}`.
    pub fn to_json(&self) -> Json {
        json!({"domain": self.domain.to_json(), "metric": self.metric.to_json()})
    }
    /// Check that a step which starts from this space can follow one that ends in `found`.
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
            return Err(Error::MetricMismatch {
                expected: self.metric.to_json().to_string(),
                found: found.metric.to_json().to_string(),
            });
        }
        Ok(())
    }
}
