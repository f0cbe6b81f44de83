//! Metrics that users define at run time.

use serde_json::Value as Json;

use crate::arith::Number;
use crate::domains::{UserDomain, described};
use crate::{
    AbsoluteDistance, ChangeOneDistance, Distance, Domain, HammingDistance, InsertDeleteDistance,
    L0PInfDistance, LInfDistance, LpDistance, Metric, MetricOn, RangeDistance, Result,
    SymmetricDistance, TheMetric, named,
};

/// A metric that a user defines only by a name.
///
/// In Rust, prefer your own type that implements [`Metric`]. No property of a `UserDistance` is
/// checked: it can be paired with any domain. Two metrics are equal if they have the same
/// identifier and the same descriptor. Distances are numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct UserDistance {
    identifier: String,
    descriptor: Json,
}
impl UserDistance {
    /// Make a metric with a name.
    pub fn new(identifier: impl Into<String>) -> Self {
        UserDistance { identifier: identifier.into(), descriptor: Json::Null }
    }
    /// Add a descriptor, which distinguishes metrics with the same identifier.
    #[must_use]
    pub fn with_descriptor(mut self, descriptor: Json) -> Self {
        self.descriptor = descriptor;
        self
    }
    /// Return the identifier.
    pub fn identifier(&self) -> &str {
        &self.identifier
    }
}
impl Metric for UserDistance {
    type Distance = f64;
    fn to_json(&self) -> Json {
        described("user_distance", &self.identifier, &self.descriptor)
    }
}
impl<D: Domain> MetricOn<D> for UserDistance {}
named!(UserDistance as "UserDistance");

/// Accept the listed metrics for a domain that a user defined, without a check.
macro_rules! measures_user_domains {
    ($($metric:ty)*) => {
        $(impl MetricOn<UserDomain> for $metric {})*
    };
}
measures_user_domains! {
    SymmetricDistance InsertDeleteDistance ChangeOneDistance HammingDistance
}
impl<Q: Distance + Number> MetricOn<UserDomain> for AbsoluteDistance<Q> {}
impl<Q: Distance + Number> MetricOn<UserDomain> for LInfDistance<Q> {}
impl<Q: Distance + Number> MetricOn<UserDomain> for RangeDistance<Q> {}
impl<const P: usize, Q: Distance + Number> MetricOn<UserDomain> for LpDistance<P, Q> where
    LpDistance<P, Q>: Metric
{
}
impl<const P: usize, M: Metric> MetricOn<UserDomain> for L0PInfDistance<P, M> where
    L0PInfDistance<P, M>: Metric
{
}

/// Make a metric that is defined only by a name.
///
/// # Arguments
/// * `identifier` - the name of the metric
/// * `descriptor` - more information that distinguishes metrics with the same identifier
///
/// # Trust
/// No property is checked. The metric is accepted for any domain, and stability maps that use the
/// metric are not tested.
///
/// # Errors
/// None.
///
/// ```
/// # use opendp_core::{Space, AtomDomain, descriptors::user_distance};
/// let edits = user_distance("edits of a text".into(), None)?.0;
/// assert!(Space::new(AtomDomain::<String>::default(), edits).is_ok());
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn user_distance(
    identifier: String,
    descriptor: Option<Json>,
) -> Result<TheMetric<UserDistance>> {
    let metric = UserDistance::new(identifier);
    Ok(TheMetric(metric.with_descriptor(descriptor.unwrap_or_default())))
}
register! { "user.rs": user_distance(identifier, descriptor = null); }

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{AtomDomain, Space};

    #[test]
    fn is_compared_by_name_and_descriptor() {
        let metric = UserDistance::new("edits");
        assert_eq!(metric, UserDistance::new("edits"));
        assert_ne!(metric, UserDistance::new("moves"));
        assert_ne!(metric, metric.clone().with_descriptor(json!(1)));
        assert_eq!(metric.to_json(), json!({"user_distance": {"identifier": "edits"}}));
    }
    #[test]
    fn measures_any_domain_and_users_domains_have_any_metric() {
        assert!(Space::new(AtomDomain::<f64>::default(), UserDistance::new("edits")).is_ok());
        assert!(Space::new(UserDomain::new("sets", |_| true), ChangeOneDistance).is_ok());
        // The control: other metrics are checked.
        assert!(Space::new(AtomDomain::<f64>::default(), AbsoluteDistance::<f64>::new()).is_err());
    }
}
