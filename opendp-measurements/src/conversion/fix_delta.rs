//! Conversion of a privacy profile to one of its points.

use opendp_core::arith::{Directed, shown};
use opendp_core::erased::{AnyDomain, AnyMetric, AnyValue};
use opendp_core::{
    Approximate, Carrier, Domain, Error, MaxDivergence, Measure, Measurement, Metric, PrivacyMap,
    PrivacyProfile, Result, SmoothedMaxDivergence,
};

/// A measure whose losses give an upper bound on epsilon at a given delta.
///
/// An implementation makes the following claim. Let [`epsilon`](ProfileMeasure::epsilon) return an
/// epsilon for a loss and a delta. Then every mechanism with this loss is (epsilon,
/// delta)-differentially private.
pub trait ProfileMeasure: Measure {
    /// Return an upper bound on epsilon at the given delta, rounded up.
    ///
    /// # Errors
    /// `FailedMap` when the loss has no epsilon at this delta.
    fn epsilon(loss: &Self::Distance, delta: f64) -> Result<f64>;
}
impl ProfileMeasure for SmoothedMaxDivergence {
    fn epsilon(loss: &PrivacyProfile, delta: f64) -> Result<f64> {
        loss.epsilon(delta)
    }
}
impl ProfileMeasure for Approximate<SmoothedMaxDivergence> {
    fn epsilon((loss, spent): &(PrivacyProfile, f64), delta: f64) -> Result<f64> {
        if !(*spent <= delta) {
            return Err(Error::FailedMap(format!(
                "delta: expected at least {}, because the loss has at least this delta at every \
                 epsilon, found {}",
                shown(*spent),
                shown(delta)
            )));
        }
        loss.epsilon(delta.neg_inf_sub(*spent)?)
    }
}

/// Convert a measurement with a privacy profile to a measurement that states its loss at one delta.
///
/// # Arguments
/// * `measurement` - the measurement, in `SmoothedMaxDivergence` or its approximate version
/// * `delta` - the delta at which the profile is evaluated
///
/// # Precondition
/// `delta` is from 0 to 1.
///
/// # Postcondition
/// The release does not change. The release is (epsilon, delta)-differentially private.
///
/// # Map
/// The loss is `(epsilon, delta)`. If the measurement's loss is approximate, let `d` be the delta
/// of this loss. Otherwise, let `d` be 0. The epsilon is an upper bound on the least epsilon at
/// which the measurement's profile is at most `delta - d`.
///
/// # Proof
/// Each point of a profile is a valid pair of epsilon and delta. This fact proves the claim if `d`
/// is 0. Now consider an approximate loss with the delta `d`. Let `P` and `Q` be the distributions
/// of the releases on two `d_in`-close data sets. Each of the two data sets has an exceptional
/// event. The probability of each event is at most `d`. Enlarge both events to the probability `d`:
/// outside of the event, an independent coin decides whether a release also counts as exceptional.
/// The coin does not depend on the release, so the distribution of the other releases stays the
/// same. Let `P'` and `Q'` be the distributions `P` and `Q` conditioned on the complements of these
/// events. Let `delta' = delta - d`, rounded down. Let `epsilon` be the epsilon of the profile at
/// `delta'`. For every event `S`, `P(S) <= (1 - d) P'(S) + d`. The right side is at most
/// `(1 - d)(e^epsilon Q'(S) + delta') + d`. This number is at most `e^epsilon Q(S) + delta' + d`,
/// and `delta' + d <= delta`.
///
/// # Errors
/// * `MakeMeasurement` when `delta` is not from 0 to 1
/// * from the map: `FailedMap` when the loss of the measurement has no epsilon at `delta`; the
///   errors of the measurement's own map
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_fix_delta, make_gaussian, make_zCDP_to_approxDP};
/// let space = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
/// let noise = make_zCDP_to_approxDP(make_gaussian(space, Scale::new(1.0)?, None)?)?;
/// let (epsilon, delta) = make_fix_delta(noise, 1e-6)?.map(&1.0)?;
/// assert!((epsilon - 5.22153444453017).abs() < 1e-12 && delta == 1e-6);
/// # Ok::<(), Error>(())
/// ```
pub fn make_fix_delta<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
    delta: f64,
) -> Result<Measurement<DI, MI, Approximate<MaxDivergence>, TO>>
where
    DI: Domain,
    MI: Metric,
    MO: ProfileMeasure,
    TO: Carrier,
{
    if !(0.0..=1.0).contains(&delta) {
        let reason = format!("delta: expected a number from 0 to 1, found {}", shown(delta));
        return Err(Error::MakeMeasurement(reason));
    }
    let delta = delta.abs(); // convert -0.0 to 0.0
    let inner = measurement.clone();
    let map = PrivacyMap::new(move |d_in: &MI::Distance| {
        Ok((MO::epsilon(&inner.map(d_in)?, delta)?, delta))
    });
    Ok(measurement.with_loss(Approximate(MaxDivergence), map))
}
register! {
    "fix_delta.rs": make_fix_delta(measurement, delta)
        for DI in [AnyDomain], MI in [AnyMetric],
            MO in [SmoothedMaxDivergence, Approximate<SmoothedMaxDivergence>], TO in [AnyValue];
}
