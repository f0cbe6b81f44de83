//! Distances between the distributions of releases.

use std::fmt::Debug;

use serde_json::Value as Json;

use crate::{Distance, Error, Named, PrivacyProfile, Result};

/// A way to measure the distance between two distributions: a notion of privacy loss.
pub trait Measure: Named + Clone + PartialEq + Debug + Send + Sync {
    /// The type of a privacy loss.
    type Distance: Distance;
    /// Write this measure as it stands in a pipeline document.
    ///
    /// The default is the bare type name, which is right for a measure without descriptors.
    fn to_json(&self) -> Json {
        Json::String(Self::type_name().to_string())
    }
    /// Bound the loss of releasing all answers of mechanisms with these losses on the same data,
    /// whether or not a later mechanism is chosen in view of earlier answers.
    ///
    /// # Errors
    /// `NotImplemented` unless the measure composes; `Overflow` when the total is not finite.
    fn compose(&self, losses: &[Self::Distance]) -> Result<Self::Distance> {
        let _ = losses;
        Err(Error::NotImplemented(format!("losses in {} do not compose", Self::type_name())))
    }
    /// Bound delta as a function of epsilon for a mechanism of this loss.
    ///
    /// # Errors
    /// `NotImplemented` unless the measure has a profile.
    fn profile(&self, loss: &Self::Distance) -> Result<PrivacyProfile> {
        let _ = loss;
        Err(Error::NotImplemented(format!("{} has no privacy profile", Self::type_name())))
    }
}
