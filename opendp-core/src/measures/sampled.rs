//! The loss for a population when the data is a secret sample.

use serde_json::Value as Json;

use super::approximate::Approximate;
use super::divergence::MaxDivergence;
use crate::domain::descriptor;
use crate::{Measure, PrivacyProfile, Result, TheMeasure, named};

/// The loss in `M` for a population. The data is a simple random sample of the population without
/// replacement, and the sample is secret.
///
/// Such losses do not compose. Two releases from the *same* sample depend on the same secret, which
/// is the sample. So the loss of both releases together, for the population, can exceed the sum of
/// the losses of the single releases. First compose, in `M`, the losses of all releases from a
/// sample. Then convert the total loss, only once, to a loss for the population. A loss in this
/// measure has the same type and the same profile as a loss in `M`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampled<M>(pub M);

impl<M: Measure> Measure for Sampled<M> {
    type Distance = M::Distance;
    fn to_json(&self) -> Json {
        descriptor("sampled", [("measure", Some(self.0.to_json()))])
    }
    fn profile(&self, loss: &Self::Distance) -> Result<PrivacyProfile> {
        self.0.profile(loss)
    }
}
named!(Sampled<M> as "Sampled");

/// Measure the loss for a population. The data is a secret sample of this population.
///
/// # Arguments
/// * `measure` - the measure of the loss
pub fn sampled<M: Measure>(measure: TheMeasure<M>) -> Result<TheMeasure<Sampled<M>>> {
    Ok(TheMeasure(Sampled(measure.0)))
}
register! {
    "sampled.rs": sampled(measure) for M in [MaxDivergence, Approximate<MaxDivergence>];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_not_compose() {
        let error = Sampled(MaxDivergence).compose(&[0.1, 0.1]).unwrap_err();
        assert_eq!(error.kind(), "NotImplemented");
        assert!(Sampled(MaxDivergence).parts().is_err());
        assert!(MaxDivergence.compose(&[0.1, 0.1]).is_ok());
        assert_eq!(Sampled(MaxDivergence).profile(&1.0).unwrap().delta(1.0).unwrap(), 0.0);
    }
}
