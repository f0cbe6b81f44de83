//! Measures whose bound on the loss can fail with a small probability.

use serde_json::Value as Json;

use super::curve::PrivacyProfile;
use super::divergence::{MaxDivergence, ZeroConcentratedDivergence, total, wrong_parts};
use crate::arith::Directed;
use crate::domain::descriptor;
use crate::{Interaction, Measure, Result, TheMeasure, named};

/// A bound on the loss in the measure `M`. The bound can fail with probability at most delta.
///
/// The loss is the pair `(d, delta)`. For each pair of neighbours `x` and `x'`, there are two
/// events: `E` for the release on `x`, and `E'` for the release on `x'`. Each event has a
/// probability of at least `1 - delta`. Take the release on `x` given `E`, and the release on `x'`
/// given `E'`. The distance in `M` between the two conditional distributions is at most `d`.
///
/// `Approximate<MaxDivergence>` is (epsilon, delta)-differential privacy at one fixed pair of
/// epsilon and delta. The older name of `Approximate<MaxDivergence>` is
/// `fixed_smoothed_max_divergence`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Approximate<M>(pub M);

impl<M: Measure> Measure for Approximate<M> {
    type Distance = (M::Distance, f64);
    fn to_json(&self) -> Json {
        descriptor("approximate", [("measure", Some(self.0.to_json()))])
    }
    /// Compose the losses in `M`, and add the deltas. The sum of the deltas is a union bound: the
    /// bound on each loss fails with probability at most the delta of this loss.
    fn compose(&self, losses: &[Self::Distance]) -> Result<Self::Distance> {
        let (inner, deltas): (Vec<M::Distance>, Vec<f64>) = losses.iter().cloned().unzip();
        Ok((self.0.compose(&inner)?, total(&deltas)?))
    }
    /// Return `Concurrent` for (epsilon, delta)-differential privacy (Lyu 2022; Vadhan, Zhang
    /// 2023). Return `Sequential` otherwise. For example, no theorem covers the concurrent
    /// composition of zero-concentrated differential privacy with a delta.
    fn interaction(&self) -> Interaction {
        let pure = (&self.0 as &dyn std::any::Any).is::<MaxDivergence>();
        if pure { Interaction::Concurrent } else { Interaction::Sequential }
    }
    /// Return the number of parts of the inner measure `M`, plus 1 for delta. For (epsilon,
    /// delta)-differential privacy, the sum of the epsilons and the sum of the deltas form a
    /// privacy filter (Rogers, Roth, Ullman, Vadhan 2016). The filter is valid even when the
    /// mechanisms are interactive and concurrent (Haney and others 2023). For zero-concentrated
    /// differential privacy with a delta, the sum of the rhos and the sum of the deltas form a
    /// filter too (Whitehouse, Ramdas, Rogers, Wu 2023). The proof is as follows. The bound on the
    /// loss of each query can fail in an exceptional event. The exceptional event of a query has
    /// probability at most the delta of this query. Let `E` be the event that none of the
    /// exceptional events occurs. The probability of `E` is at least 1 minus the sum of the deltas.
    /// Conditioned on `E`, the filter of the inner measure applies.
    fn parts(&self) -> Result<usize> {
        Ok(self.0.parts()? + 1)
    }
    fn split(&self, (loss, delta): &Self::Distance) -> Result<Vec<f64>> {
        let mut parts = self.0.split(loss)?;
        parts.push(*delta);
        Ok(parts)
    }
    fn join(&self, parts: &[f64]) -> Result<Self::Distance> {
        match parts.split_last() {
            Some((delta, inner)) => Ok((self.0.join(inner)?, *delta)),
            None => Err(wrong_parts(parts)),
        }
    }
    fn profile(&self, (loss, delta): &Self::Distance) -> Result<PrivacyProfile> {
        let (inner, delta) = (self.0.profile(loss)?, *delta);
        Ok(PrivacyProfile::new(move |epsilon| inner.delta(epsilon)?.inf_add(delta)))
    }
}
named!(Approximate<M> as "Approximate");

/// Measure loss as a pair `(loss, delta)`. The bound on the loss can fail with probability at most
/// delta.
///
/// # Arguments
/// * `measure` - the measure of the loss
pub fn approximate<M: Measure>(measure: TheMeasure<M>) -> Result<TheMeasure<Approximate<M>>> {
    Ok(TheMeasure(Approximate(measure.0)))
}
/// Measure loss as (epsilon, delta)-differential privacy at one fixed pair of epsilon and delta.
pub fn fixed_smoothed_max_divergence() -> Result<TheMeasure<Approximate<MaxDivergence>>> {
    Ok(TheMeasure(Approximate(MaxDivergence)))
}
register! {
    "approximate.rs": approximate(measure) for M in [MaxDivergence, ZeroConcentratedDivergence];
}
register! { "approximate.rs": fixed_smoothed_max_divergence(); }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composes_each_part() {
        let total = Approximate(MaxDivergence).compose(&[(1.0, 1e-6), (0.5, 1e-6)]).unwrap();
        assert_eq!(total, (1.5, 2e-6));
    }
    #[test]
    fn has_the_profile_of_its_pair() {
        let profile = Approximate(MaxDivergence).profile(&(1.0, 0.25)).unwrap();
        assert_eq!(profile.delta(1.0).unwrap(), 0.25);
        assert_eq!(profile.delta(0.5).unwrap(), 1.0);
    }
}
