//! Measures whose losses have a privacy profile, and the conversion to this profile.

use opendp_core::{
    Approximate, Carrier, Domain, MaxDivergence, Measure, Measurement, Metric, PrivacyMap,
    PrivacyProfile, RenyiDivergence, Result, SmoothedMaxDivergence, ZeroConcentratedDivergence,
};

use crate::accounting::{profile_of_concentrated, profile_of_private, profile_of_renyi};

/// A measure whose losses give an upper bound on delta at every epsilon.
///
/// An implementation makes the following claim. Let a mechanism have a loss in this measure. Then
/// the [profile](Profiled::profiled) of this loss is also a loss of the mechanism, in the measure
/// [`Profile`](Profiled::Profile).
pub trait Profiled: Measure {
    /// The measure of the converted losses.
    type Profile: Measure + Default;
    /// Convert a loss to a profile, rounded up.
    ///
    /// # Errors
    /// The errors of the function in [`accounting`](crate::accounting) that converts the loss.
    fn profiled(loss: &Self::Distance) -> Result<<Self::Profile as Measure>::Distance>;
}
impl Profiled for MaxDivergence {
    type Profile = SmoothedMaxDivergence;
    fn profiled(epsilon: &f64) -> Result<PrivacyProfile> {
        profile_of_private(*epsilon, 0.0)
    }
}
impl Profiled for Approximate<MaxDivergence> {
    type Profile = SmoothedMaxDivergence;
    fn profiled((epsilon, delta): &(f64, f64)) -> Result<PrivacyProfile> {
        profile_of_private(*epsilon, delta.min(1.0))
    }
}
impl Profiled for ZeroConcentratedDivergence {
    type Profile = SmoothedMaxDivergence;
    fn profiled(rho: &f64) -> Result<PrivacyProfile> {
        profile_of_concentrated(*rho)
    }
}
impl Profiled for RenyiDivergence {
    type Profile = SmoothedMaxDivergence;
    fn profiled(curve: &opendp_core::RenyiCurve) -> Result<PrivacyProfile> {
        profile_of_renyi(curve.clone())
    }
}
macro_rules! approximate {
    ($($inner:ty),*) => {$(
        /// Keep the delta of the exceptional events, and convert the inner loss, which is a bound
        /// outside of these events.
        impl Profiled for Approximate<$inner> {
            type Profile = Approximate<SmoothedMaxDivergence>;
            fn profiled((loss, delta): &Self::Distance) -> Result<(PrivacyProfile, f64)> {
                Ok((<$inner>::profiled(loss)?, *delta))
            }
        }
    )*};
}
approximate!(ZeroConcentratedDivergence, RenyiDivergence);

/// Make a measurement that states the loss of `measurement` as a profile.
pub(super) fn to_profile<DI, MI, MO, TO>(
    measurement: &Measurement<DI, MI, MO, TO>,
) -> Measurement<DI, MI, MO::Profile, TO>
where
    DI: Domain,
    MI: Metric,
    MO: Profiled,
    TO: Carrier,
{
    let inner = measurement.clone();
    let map = PrivacyMap::new(move |d_in: &MI::Distance| MO::profiled(&inner.map(d_in)?));
    measurement.with_loss(MO::Profile::default(), map)
}
