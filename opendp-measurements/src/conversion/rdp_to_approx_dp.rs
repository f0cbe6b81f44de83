//! Conversion of Renyi to approximate differential privacy.

use opendp_core::erased::{AnyDomain, AnyMetric, AnyValue};
use opendp_core::{Approximate, Carrier, Domain, Measurement, Metric, RenyiDivergence, Result};

use crate::conversion::profiled::{Profiled, to_profile};

/// A measure of Renyi differential privacy. In an approximate version, the loss does not cover an
/// exceptional event of probability at most delta.
pub trait RenyiMeasure: Profiled {}
impl RenyiMeasure for RenyiDivergence {}
impl RenyiMeasure for Approximate<RenyiDivergence> {}

/// Convert the Renyi divergences of a measurement to a delta for each epsilon.
///
/// # Arguments
/// * `measurement` - the measurement, in `RenyiDivergence` or its approximate version
///
/// # Precondition
/// The precondition of the measurement.
///
/// # Postcondition
/// The release does not change. The loss is in `SmoothedMaxDivergence`, or in
/// `Approximate<SmoothedMaxDivergence>` with the delta of the measurement.
///
/// # Map
/// Let `r` be the loss of the measurement at `d_in`. This loss is a function: `r(a)` bounds the
/// Renyi divergence of order `a`. For each epsilon, each order gives the bound
/// `e^((a - 1)(r(a) - epsilon)) / (a - 1) * (1 - 1/a)^a` on delta, rounded up. A search between the
/// orders `1 + e^-10.25` and `1 + e^20.25` returns the smallest bound that it finds. If `r` fails
/// at an order, this order is ignored.
///
/// # Proof
/// Every order gives a bound on delta (Canonne, Kamath, Steinke 2020, Proposition 12). So the
/// result is an upper bound on delta, even if the search does not find the best order.
///
/// # Errors
/// From the map: the errors of the measurement's map.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::make_RDP_to_approxDP;
/// let space = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let map = PrivacyMap::new(|d: &i32| {
///     let rho = f64::from(*d) / 32.0;
///     Ok(RenyiCurve::new(move |order| Ok(order * rho)))
/// });
/// let function = Function::map(|_: &i32| Ok(0));
/// let told = Measurement::new(space, RenyiDivergence, function, map);
/// let epsilon = make_RDP_to_approxDP(told)?.map(&1)?.epsilon(1e-3)?;
/// assert!((epsilon - 0.6880024554878085).abs() < 1e-9);
/// # Ok::<(), Error>(())
/// ```
#[allow(non_snake_case, reason = "documents use this name")]
pub fn make_RDP_to_approxDP<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
) -> Result<Measurement<DI, MI, MO::Profile, TO>>
where
    DI: Domain,
    MI: Metric,
    MO: RenyiMeasure,
    TO: Carrier,
{
    Ok(to_profile(&measurement))
}
register! {
    "rdp_to_approx_dp.rs": make_RDP_to_approxDP(measurement)
        for DI in [AnyDomain], MI in [AnyMetric],
            MO in [RenyiDivergence, Approximate<RenyiDivergence>], TO in [AnyValue];
}
