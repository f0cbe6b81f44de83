//! Distances between the distributions of releases.

use std::any::Any;
use std::fmt::Debug;

use serde_json::Value as Json;

use crate::erased::AnyMeasure;
use crate::{Distance, Error, Named, PrivacyProfile, Result};

/// The order in which several interactive mechanisms on the same data may be queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interaction {
    /// The mechanisms run one after the other. When the next mechanism begins, all earlier
    /// mechanisms refuse further queries.
    Sequential,
    /// The mechanisms run in any order. Queries to all mechanisms can be interleaved.
    Concurrent,
}

/// A measure of the distance between two distributions. This distance is the privacy loss.
pub trait Measure: Named + Clone + PartialEq + Debug + Send + Sync {
    /// The type of a privacy loss.
    type Distance: Distance;
    /// Write this measure in the form that pipeline documents use.
    ///
    /// The default is only the type name, which is right for a measure without parameters.
    fn to_json(&self) -> Json {
        Json::String(Self::type_name().to_string())
    }
    /// Decode a loss that was read as JSON before its measure was known. Losses in arguments of
    /// registered functions are read in this way. The default returns the loss unchanged, because a
    /// loss of a known type is already decoded. An erased measure also checks the type of the loss,
    /// and checks that no number in the loss is negative or NaN.
    ///
    /// # Errors
    /// `FailedCast` when the loss is not a loss in this measure. `InvalidDistance` when a number in
    /// the loss is negative or NaN, or when the points in the JSON do not form a privacy profile.
    fn read_loss(&self, loss: Self::Distance) -> Result<Self::Distance> {
        Ok(loss)
    }
    /// Return an upper bound on the total loss of several mechanisms on the same data. `losses` has
    /// the loss of each mechanism. An analyst can choose each mechanism after seeing the answers of
    /// earlier mechanisms.
    ///
    /// # Errors
    /// `NotImplemented` if losses in the measure do not compose. `FailedMap` when a loss is
    /// negative or NaN. `Overflow` when all losses are finite, and their total exceeds the largest
    /// float.
    fn compose(&self, losses: &[Self::Distance]) -> Result<Self::Distance> {
        let _ = losses;
        Err(Error::NotImplemented(format!("losses in {} do not compose", Self::type_name())))
    }
    /// Return the order in which several interactive mechanisms on the same data may be queried. In
    /// this order, the losses of the mechanisms [compose](Measure::compose).
    ///
    /// Defaults to [`Interaction::Sequential`]. This order needs only the claim of
    /// [`compose`](Measure::compose), and no other theorem.
    fn interaction(&self) -> Interaction {
        Interaction::Sequential
    }
    /// Return the number of parts of a loss. Each part is a number. In each part, the losses of
    /// several mechanisms add up separately. This also holds if an analyst sees earlier answers and
    /// then chooses the next mechanism.
    ///
    /// A measure with parts makes a stronger claim than [`compose`](Measure::compose). In
    /// `compose`, the losses are fixed before the first answer. In a measure with parts, each loss,
    /// and the decision to continue, can depend on earlier answers. A budget has the same parts as
    /// a loss. Suppose that, in each part, the sum of the losses does not exceed the budget. Then
    /// the budget bounds the loss of the whole interaction. Odometers and privacy filters rely on
    /// this claim. A measure with parts implements `parts`, [`split`](Measure::split) and
    /// [`join`](Measure::join).
    ///
    /// # Errors
    /// `NotImplemented` if the measure does not make this claim.
    fn parts(&self) -> Result<usize> {
        Err(Error::NotImplemented(format!(
            "there is no odometer and no privacy filter for losses in {}",
            Self::type_name()
        )))
    }
    /// Split a loss into its parts. Round each part up.
    ///
    /// # Errors
    /// `NotImplemented` if losses have no parts.
    fn split(&self, loss: &Self::Distance) -> Result<Vec<f64>> {
        let _ = loss;
        self.parts().map(|_| Vec::new())
    }
    /// Build a loss from its parts, and round the loss up.
    ///
    /// # Errors
    /// `NotImplemented` if losses have no parts. `FailedMap` when the number of parts is wrong.
    fn join(&self, parts: &[f64]) -> Result<Self::Distance> {
        Err(self.parts().err().unwrap_or_else(|| {
            Error::FailedMap(format!(
                "the number of parts of a loss in this measure is not {}",
                parts.len()
            ))
        }))
    }
    /// Whether this type stands for several measures.
    #[doc(hidden)]
    const STANDS: bool = false;
    /// Erase the type. If the type stands for several measures, the result is the measure that the
    /// value represents.
    #[doc(hidden)]
    fn erased(&self) -> AnyMeasure {
        AnyMeasure::new(self.clone())
    }
    /// Recover a measure of a type known only at run time. Return `None` if it has another type. A
    /// type that stands for several measures accepts each of these measures.
    #[doc(hidden)]
    fn view(measure: &dyn Any) -> Option<Self> {
        measure.downcast_ref().cloned()
    }
    /// Return upper bounds on delta as a function of epsilon, for a mechanism with this loss.
    ///
    /// # Errors
    /// `NotImplemented` if the measure has no profile.
    fn profile(&self, loss: &Self::Distance) -> Result<PrivacyProfile> {
        let _ = loss;
        Err(Error::NotImplemented(format!("{} has no privacy profile", Self::type_name())))
    }
}
