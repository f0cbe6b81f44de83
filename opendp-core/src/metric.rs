//! Distances between the members of a set.

use std::fmt::Debug;

use serde_json::Value as Json;

use crate::erased::AnyMetric;
use crate::{Distance, Domain, Named, Result};

/// A way to measure the distance between two values.
///
/// A release never computes the distance of two data sets. The user states a bound on the distance
/// of inputs, and the maps compute bounds from it. The documentation of each metric defines it, and
/// so does [`DistanceOn`] for metrics that can be computed.
pub trait Metric: Named + Clone + PartialEq + Debug + Send + Sync {
    /// The type of a distance.
    type Distance: Distance;
    /// Write this metric in the form that pipeline documents use.
    ///
    /// The default is the bare type name, which is right for a metric without descriptors.
    fn to_json(&self) -> Json {
        Json::String(Self::type_name().to_string())
    }
    /// Decode a distance that was read as JSON before its metric was known, as in the arguments of
    /// a registered function. By default return the distance unchanged, because its type is known.
    ///
    /// # Errors
    /// `FailedCast` when it is not a distance in this metric.
    fn read_distance(&self, distance: Self::Distance) -> Result<Self::Distance> {
        Ok(distance)
    }
    /// Whether this metric stands for others.
    #[doc(hidden)]
    const STANDS: bool = false;
    /// Erase the type. A metric type that stands for several metrics erases to the metric that its
    /// value represents.
    #[doc(hidden)]
    fn erased(&self) -> AnyMetric {
        AnyMetric::new(self.clone())
    }
    /// Recover the metric as this type, if it has this type, or if this type stands for its type.
    #[doc(hidden)]
    fn view(metric: &AnyMetric) -> Option<Self> {
        metric.as_any().downcast_ref().cloned()
    }
}

/// A metric that measures distances between the members of `D`.
///
/// The metric implements this trait, so a crate can combine its own metrics with our domains, and
/// our metrics with its own domains.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not measure distances on `{D}`",
    note = "to let your own metric measure this domain, write `impl MetricOn<{D}> for {Self}`"
)]
pub trait MetricOn<D: Domain>: Metric {
    /// Check that the two form a metric space, given their descriptors.
    ///
    /// # Errors
    /// `MetricSpace` when they do not.
    fn check(&self, domain: &D) -> Result<()> {
        let _ = domain;
        Ok(())
    }
}

/// A metric whose distance between two members can be computed.
///
/// No release uses it. [`laws`](crate::laws) uses it to test a stability map on neighbouring
/// members, for the constructors of any crate.
pub trait DistanceOn<D: Domain>: MetricOn<D> {
    /// Compute the distance, rounded up, or `None` when the two are infinitely far apart.
    ///
    /// # Errors
    /// When the distance does not fit its type.
    fn distance(&self, left: &D::Carrier, right: &D::Carrier) -> Result<Option<Self::Distance>>;
}

/// A metric that counts the records in which two data sets differ.
pub trait DatasetMetric: Metric<Distance = u32> {
    /// Whether members at a finite distance have the same number of records.
    fn sized(&self) -> bool;
    /// Whether the order of the records matters.
    fn ordered(&self) -> bool;
    /// Bound the symmetric distance of two data sets that are `d_in`-close in this metric.
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds `u32`.
    fn to_symmetric(&self, d_in: u32) -> Result<u32>;
}
