//! Distances between the members of a set.

use std::fmt::Debug;

use serde_json::Value as Json;

use crate::erased::AnyMetric;
use crate::{Distance, Domain, Named, Result};

/// A definition of the distance between two values.
///
/// A release never computes the distance between two data sets. The user states a bound on the
/// distance between inputs, and the maps compute all other bounds from this bound. If a distance
/// can be computed, the metric implements [`DistanceOn`].
pub trait Metric: Named + Clone + PartialEq + Debug + Send + Sync {
    /// The type of a distance.
    type Distance: Distance;
    /// Write this metric in the form that pipeline documents use.
    ///
    /// The default is only the type name, which is right for a metric without parameters.
    fn to_json(&self) -> Json {
        Json::String(Self::type_name().to_string())
    }
    /// Decode a distance that was read as JSON before its metric was known. Distances in arguments
    /// of registered functions are read in this way. The default returns the distance unchanged,
    /// because a distance of a known type is already decoded.
    ///
    /// # Errors
    /// `FailedCast` when the JSON is not a distance in this metric.
    fn read_distance(&self, distance: Self::Distance) -> Result<Self::Distance> {
        Ok(distance)
    }
    /// Whether this type stands for several metrics, as
    /// [`AnyDatasetMetric`](crate::AnyDatasetMetric) does.
    #[doc(hidden)]
    const STANDS: bool = false;
    /// Erase the type. If the type stands for several metrics, the result is the metric that the
    /// value represents.
    #[doc(hidden)]
    fn erased(&self) -> AnyMetric {
        AnyMetric::new(self.clone())
    }
    /// Recover an erased metric as this type. Return `None` if the metric has another type. A type
    /// that stands for several metrics accepts each of these metrics.
    #[doc(hidden)]
    fn view(metric: &AnyMetric) -> Option<Self> {
        metric.as_any().downcast_ref().cloned()
    }
}

/// A metric that measures distances between the members of `D`.
///
/// The domain is a type parameter of this trait. So another crate can implement the trait for its
/// own metrics with the domains of this crate. Another crate can also implement the trait for the
/// metrics of this crate with its own domains. `UserDistance` and `DiscreteDistance` already
/// measure every domain.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not measure distances on `{D}`",
    note = "to let your own metric measure this domain, write `impl MetricOn<{D}> for {Self}`"
)]
pub trait MetricOn<D: Domain>: Metric {
    /// Check that the metric and the domain form a metric space. The check can depend on the
    /// parameters of the metric and of the domain, such as the size of the data sets.
    ///
    /// # Errors
    /// `MetricSpace` when the metric and the domain do not form a metric space.
    fn check(&self, domain: &D) -> Result<()> {
        let _ = domain;
        Ok(())
    }
}

/// A metric whose distance between two members can be computed.
///
/// The checks in [`laws`](crate::laws) compute distances to test stability maps.
pub trait DistanceOn<D: Domain>: MetricOn<D> {
    /// Compute the distance between two members, rounded up. Return `None` when the distance is
    /// infinite.
    ///
    /// # Errors
    /// An error when the distance does not fit into the number type of this metric.
    fn distance(&self, left: &D::Carrier, right: &D::Carrier) -> Result<Option<Self::Distance>>;
}

/// A metric that counts the records in which two data sets differ.
pub trait DatasetMetric: Metric<Distance = u32> {
    /// Return whether any two members at a finite distance have the same number of records.
    fn sized(&self) -> bool;
    /// Return whether the order of the records matters.
    fn ordered(&self) -> bool;
    /// Let two data sets have a distance of at most `d_in` in this metric. Return an upper bound on
    /// their symmetric distance.
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds the largest `u32`.
    fn to_symmetric(&self, d_in: u32) -> Result<u32>;
}
