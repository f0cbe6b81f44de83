//! Distances between the distributions of releases.

use std::fmt::Debug;

use serde_json::Value as Json;

use crate::{Distance, Error, Named, PrivacyProfile, Result};

/// How several interactive mechanisms on the same data may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interaction {
    /// One after the other: when the next mechanism begins, all earlier ones refuse further
    /// queries.
    Sequential,
    /// In any order: queries to all of them may be interleaved.
    Concurrent,
}

/// A way to measure the distance between two distributions: a notion of privacy loss.
pub trait Measure: Named + Clone + PartialEq + Debug + Send + Sync {
    /// The type of a privacy loss.
    type Distance: Distance;
    /// Write this measure in the form that pipeline documents use.
    ///
    /// The default is the bare type name, which is right for a measure without descriptors.
    fn to_json(&self) -> Json {
        Json::String(Self::type_name().to_string())
    }
    /// Decode a loss that was read as JSON before its measure was known, as in the arguments of a
    /// registered function. By default return the loss unchanged, because its type is known.
    ///
    /// # Errors
    /// `FailedCast` when it is not a loss in this measure.
    fn read_loss(&self, loss: Self::Distance) -> Result<Self::Distance> {
        Ok(loss)
    }
    /// Bound the total loss of mechanisms with these losses on the same data, even if a later
    /// mechanism is chosen after seeing earlier answers.
    ///
    /// # Errors
    /// `NotImplemented` unless the measure composes; `Overflow` when the total is not finite.
    fn compose(&self, losses: &[Self::Distance]) -> Result<Self::Distance> {
        let _ = losses;
        Err(Error::NotImplemented(format!("losses in {} do not compose", Self::type_name())))
    }
    /// How several interactive mechanisms on the same data may be used, so that their losses still
    /// [compose](Measure::compose).
    ///
    /// Defaults to [`Interaction::Sequential`], which needs no further theorem.
    fn interaction(&self) -> Interaction {
        Interaction::Sequential
    }
    /// Count the parts of a loss. An analyst may choose each mechanism after seeing earlier
    /// answers. The losses of all these mechanisms then add up, separately in each part.
    ///
    /// This claims more than [`compose`](Measure::compose), where the losses are fixed before the
    /// first answer. Here each loss, and the decision to continue, may depend on earlier answers.
    /// The claim is: if no part of the sum exceeds the same part of a budget, the budget bounds the
    /// loss of the whole interaction. Odometers and privacy filters rely on it. A measure that has
    /// parts implements all three of `parts`, [`split`](Measure::split) and
    /// [`join`](Measure::join).
    ///
    /// # Errors
    /// `NotImplemented` unless the claim is made.
    fn parts(&self) -> Result<usize> {
        Err(Error::NotImplemented(format!(
            "there is no odometer and no privacy filter for losses in {}",
            Self::type_name()
        )))
    }
    /// Split a loss into its parts, rounding up.
    ///
    /// # Errors
    /// `NotImplemented` unless losses have parts.
    fn split(&self, loss: &Self::Distance) -> Result<Vec<f64>> {
        let _ = loss;
        self.parts().map(|_| Vec::new())
    }
    /// Build a loss from its parts, rounding up.
    ///
    /// # Errors
    /// `NotImplemented` unless losses have parts; `FailedMap` when the number of parts is wrong.
    fn join(&self, parts: &[f64]) -> Result<Self::Distance> {
        Err(self.parts().err().unwrap_or_else(|| {
            Error::FailedMap(format!("a loss in this measure does not have {} parts", parts.len()))
        }))
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
