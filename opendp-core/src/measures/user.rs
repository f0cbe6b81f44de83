//! Privacy measures that users define at run time.

use serde_json::Value as Json;

use crate::domains::described;
use crate::{Measure, Result, TheMeasure, named};

/// A privacy measure that a user defines only by a name.
///
/// In Rust, prefer your own type that implements [`Measure`], because losses in your own measure
/// can compose. The losses of a `UserDivergence` are numbers. These losses do not compose and have
/// no profile. Two measures are equal if they have the same identifier and the same descriptor.
#[derive(Clone, Debug, PartialEq)]
pub struct UserDivergence {
    identifier: String,
    descriptor: Json,
}
impl UserDivergence {
    /// Make a measure with a name.
    pub fn new(identifier: impl Into<String>) -> Self {
        UserDivergence { identifier: identifier.into(), descriptor: Json::Null }
    }
    /// Add a descriptor, which distinguishes measures with the same identifier.
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
impl Measure for UserDivergence {
    type Distance = f64;
    fn to_json(&self) -> Json {
        described("user_divergence", &self.identifier, &self.descriptor)
    }
}
named!(UserDivergence as "UserDivergence");

/// Make a privacy measure that is defined only by a name.
///
/// # Arguments
/// * `identifier` - the name of the measure
/// * `descriptor` - more information that distinguishes measures with the same identifier
///
/// # Trust
/// No property is checked. Losses do not compose. Only user-defined measurements have a loss in
/// this measure.
///
/// # Errors
/// None.
///
/// ```
/// # use opendp_core::{Measure, descriptors::user_divergence};
/// let measure = user_divergence("bits of mutual information".into(), None)?.0;
/// assert_eq!(measure.compose(&[0.5]).unwrap_err().kind(), "NotImplemented");
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn user_divergence(
    identifier: String,
    descriptor: Option<Json>,
) -> Result<TheMeasure<UserDivergence>> {
    let measure = UserDivergence::new(identifier);
    Ok(TheMeasure(measure.with_descriptor(descriptor.unwrap_or_default())))
}
register! { "user.rs": user_divergence(identifier, descriptor = null); }

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Ledger, Sampled};

    #[test]
    fn is_compared_by_name_and_descriptor() {
        let measure = UserDivergence::new("bits");
        assert_eq!(measure, UserDivergence::new("bits"));
        assert_ne!(measure, UserDivergence::new("bits").with_descriptor(json!([1])));
        assert_eq!(measure.to_json(), json!({"user_divergence": {"identifier": "bits"}}));
    }
    #[test]
    fn nothing_adds_it_up() {
        assert_eq!(Ledger::new(UserDivergence::new("x")).unwrap_err().kind(), "NotImplemented");
        assert!(Sampled(UserDivergence::new("x")).profile(&1.0).is_err());
    }
}
