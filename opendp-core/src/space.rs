//! Metric spaces.

use std::{fmt, marker::PhantomData, ops::Deref, sync::Arc};

use serde_json::{Value as Json, json};

use crate::erased::{AnyDomain, AnyMetric};
use crate::{DistanceOn, Domain, Error, Metric, MetricOn, Result};

/// A domain and a metric on this domain.
///
/// A space exists only if its domain and its metric fit together. [`Space::new`] checks this
/// condition. An erased space comes from [`Space::erase`], or from a pipeline document after the
/// same check.
///
/// ```
/// # use opendp_core::{AtomDomain, ChangeOneDistance, Space, VectorDomain};
/// let records = VectorDomain::new(AtomDomain::<i32>::default());
/// assert_eq!(Space::new(records.clone(), ChangeOneDistance).unwrap_err().kind(), "MetricSpace");
/// assert!(Space::new(records.with_size(100), ChangeOneDistance).is_ok());
/// ```
pub struct Space<D, M> {
    /// The domain of type `D` and the metric of type `M`.
    pub(crate) untyped: Untyped,
    pub(crate) types: PhantomData<fn() -> (D, M)>,
}
/// A space whose types are erased. So code that moves, copies, compares or drops spaces is compiled
/// only once. Copies share one [`Pair`].
#[derive(Clone)]
pub(crate) struct Untyped(Arc<Pair>);
pub(crate) struct Pair {
    pub(crate) domain: AnyDomain,
    pub(crate) metric: AnyMetric,
    best: Best,
}
/// What a space states about scores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Best {
    Unknown,
    /// The lowest score is the best.
    Lowest,
    /// The step on this space selects the highest score.
    Highest,
}
impl Deref for Untyped {
    type Target = Pair;
    fn deref(&self) -> &Pair {
        &self.0
    }
}

impl<D: Domain, M: MetricOn<D>> Space<D, M> {
    /// Pair a domain with a metric.
    ///
    /// # Errors
    /// `MetricSpace` when the domain and the metric do not form a metric space.
    pub fn new(domain: D, metric: M) -> Result<Self> {
        match Untyped::fitting(AnyDomain::new(domain), AnyMetric::new(metric), fits::<D, M>) {
            Ok(untyped) => Ok(Space { untyped, types: PhantomData }),
            Err(error) => Err(error),
        }
    }
}
impl Untyped {
    pub(crate) fn new(domain: AnyDomain, metric: AnyMetric, best: Best) -> Self {
        Untyped(Arc::new(Pair { domain, metric, best }))
    }
    pub(crate) fn best(&self) -> Best {
        self.best
    }
    pub(crate) fn fitting(
        domain: AnyDomain,
        metric: AnyMetric,
        fits: fn(&Self) -> Result<()>,
    ) -> Result<Self> {
        Untyped::new(domain, metric, Best::Unknown).checked(fits)
    }
    /// Check the space with the function `fits`, which is compiled for the types of the domain and
    /// the metric.
    pub(crate) fn checked(self, fits: fn(&Self) -> Result<()>) -> Result<Self> {
        match fits(&self) {
            Ok(()) => Ok(self),
            Err(error) => Err(error),
        }
    }
    /// Erase the types. If the type of the metric stands for several metrics, the erased space has
    /// the metric that the value represents.
    pub(crate) fn erased(&self) -> Space<AnyDomain, AnyMetric> {
        let space = match self.metric.stands_for() {
            Some(metric) => Untyped::new(self.domain.clone(), metric, self.best),
            None => self.clone(),
        };
        space.typed()
    }
    /// Return the space with the types `D` and `M`. The caller must have checked that the domain
    /// has the type `D` and the metric has the type `M`.
    pub(crate) fn typed<D, M>(self) -> Space<D, M> {
        Space { untyped: self, types: PhantomData }
    }
    fn with_records(&self, records: usize) -> Option<Self> {
        let domain = self.domain.with_records(records)?;
        Some(Untyped::new(domain, self.metric.clone(), self.best))
    }
    fn to_json(&self) -> Json {
        json!({"domain": self.domain.to_json(), "metric": self.metric.to_json()})
    }
    pub(crate) fn follows(&self, found: &Self) -> Result<()> {
        if Arc::ptr_eq(&self.0, &found.0) {
            return Ok(());
        }
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
        if (self.best, found.best) == (Best::Highest, Best::Lowest) {
            return Err(worst_selected());
        }
        Ok(())
    }
}
#[cold]
fn worst_selected() -> Error {
    let reason = "these scores are distances, so the lowest score is the best, but the next step \
                  selects the highest score or permits questions that select it: select the lowest \
                  score, or make the next step on the output space of this step";
    Error::argument("input", reason)
}
pub(crate) fn fits<D: Domain, M: MetricOn<D>>(space: &Untyped) -> Result<()> {
    space.metric.known::<M>().check(space.domain.known())
}
impl<D, M: Metric> Space<D, M> {
    /// Make a space from a domain and a metric. The caller must have checked that the domain and
    /// the metric fit together, and that the domain has the type `D`.
    pub(crate) fn of(domain: AnyDomain, metric: M) -> Self {
        Untyped::new(domain, AnyMetric::new(metric), Best::Unknown).typed()
    }
}
impl<D, M> Space<D, M> {
    /// State that members are vectors of scores, and that the lowest score is the best. Distances
    /// from a quantile are such scores. On such a space, a constructor that selects the highest
    /// score returns an error.
    ///
    /// Two spaces that differ only in this statement are equal.
    #[must_use]
    pub fn with_lowest_best(self) -> Self {
        self.with_best(Best::Lowest)
    }
    /// State that the step on this space selects the highest score. The step then cannot follow a
    /// step whose [lowest score is the best](Space::with_lowest_best). A constructor that selects
    /// the highest score calls this function on its input space. A constructor of a session also
    /// calls this function if the questions of the session can select the highest score.
    #[must_use]
    pub fn with_highest_best(self) -> Self {
        self.with_best(Best::Highest)
    }
    fn with_best(self, best: Best) -> Self {
        Untyped::new(self.untyped.domain.clone(), self.untyped.metric.clone(), best).typed()
    }
    /// Return whether this space states that the next step [selects the highest
    /// score](Space::with_highest_best).
    pub fn selects_highest(&self) -> bool {
        self.untyped.best == Best::Highest
    }
    /// Return whether the space states that the lowest score is the best.
    pub fn lowest_is_best(&self) -> bool {
        self.untyped.best == Best::Lowest
    }
}
impl<D: Domain, M: DistanceOn<D>> Space<D, M> {
    /// Compute the distance between two members, rounded up. Return `None` when the distance is
    /// infinite. Only tests use this function, because a release never computes a distance.
    ///
    /// # Errors
    /// An error when the distance does not fit into the number type of the metric.
    pub fn distance(&self, left: &D::Carrier, right: &D::Carrier) -> Result<Option<M::Distance>> {
        self.metric().distance(left, right)
    }
}
impl<D: Domain, M: Metric> Space<D, M> {
    /// Return the domain.
    pub fn domain(&self) -> &D {
        self.untyped.domain.known()
    }
    /// Return the metric.
    pub fn metric(&self) -> &M {
        self.untyped.metric.known()
    }
    /// Restrict this space to data sets of `records` records. Return `None` when the domain cannot
    /// state a number of records. The metric must fit every domain of known size. This function
    /// does not check this condition. All metrics of this crate that depend on the size meet this
    /// condition.
    pub fn with_records(&self, records: usize) -> Option<Self> {
        self.untyped.with_records(records).map(Untyped::typed)
    }
    /// Write the space as `{"domain": ..., "metric": ...}`.
    pub fn to_json(&self) -> Json {
        self.untyped.to_json()
    }
    /// Check that a second step can follow a first step. This space is the input space of the
    /// second step. This space must equal `found`, the output space of the first step.
    ///
    /// # Errors
    /// `DomainMismatch` when the domains differ, and `MetricMismatch` when the metrics differ. The
    /// message contains the two different objects as JSON. `Argument` when this space states that
    /// the second step selects the highest score, but `found` states that low scores are best.
    pub fn follows(&self, found: &Space<D, M>) -> Result<()> {
        self.untyped.follows(&found.untyped)
    }
}
impl<D: Domain, M: Metric> Space<D, M> {
    /// Erase the types of the domain and the metric.
    pub fn erase(&self) -> Space<AnyDomain, AnyMetric> {
        self.untyped.erased()
    }
}
impl Space<AnyDomain, AnyMetric> {
    /// Recover the types of the domain and the metric.
    ///
    /// # Errors
    /// `FailedCast` when the domain or the metric has another type.
    pub fn typed<D: Domain, M: Metric>(&self) -> Result<Space<D, M>> {
        let domain = self.untyped.domain.of_type::<D>()?.clone();
        let metric = AnyMetric::new(self.untyped.metric.typed::<M>()?);
        Ok(Untyped::new(domain, metric, self.untyped.best()).typed())
    }
}
impl AnyDomain {
    /// Check that the domain has the type `D`.
    ///
    /// # Errors
    /// `FailedCast` when the domain has another type.
    pub(crate) fn of_type<D: Domain>(&self) -> Result<&Self> {
        self.downcast_ref::<D>().map(|_| self)
    }
}
impl AnyMetric {
    /// Recover the type of a metric. `M` can also be a type that stands for several metrics.
    ///
    /// # Errors
    /// `FailedCast` when the metric has another type.
    pub(crate) fn typed<M: Metric>(&self) -> Result<M> {
        M::view(self)
            .ok_or_else(|| Error::Downcast { expected: M::type_name(), found: self.inner_type() })
    }
}

impl<D, M: Clone> Clone for Space<D, M> {
    fn clone(&self) -> Self {
        Space { untyped: self.untyped.clone(), types: PhantomData }
    }
}
impl<D, M: PartialEq> PartialEq for Space<D, M> {
    fn eq(&self, other: &Self) -> bool {
        self.untyped == other.untyped
    }
}
impl PartialEq for Untyped {
    /// Compare only the domains and the metrics. So equal spaces can differ in the statement about
    /// scores.
    fn eq(&self, other: &Self) -> bool {
        self.domain == other.domain && self.metric == other.metric
    }
}
impl<D, M: fmt::Debug> fmt::Debug for Space<D, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pair { domain, metric, .. } = &*self.untyped;
        f.debug_struct("Space").field("domain", domain).field("metric", metric).finish()
    }
}
