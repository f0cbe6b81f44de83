//! Conversion of zero-concentrated to approximate differential privacy.

use opendp_core::erased::{AnyDomain, AnyMetric, AnyValue};
use opendp_core::{
    Approximate, Carrier, Domain, Measurement, Metric, Result, ZeroConcentratedDivergence,
};

use crate::conversion::profiled::{Profiled, to_profile};

/// A measure of zero-concentrated differential privacy. In an approximate version, the loss does
/// not cover an exceptional event of probability at most delta.
pub trait ConcentratedMeasure: Profiled {}
impl ConcentratedMeasure for ZeroConcentratedDivergence {}
impl ConcentratedMeasure for Approximate<ZeroConcentratedDivergence> {}

/// Convert the zero-concentrated loss of a measurement to a delta for each epsilon.
///
/// # Arguments
/// * `measurement` - the measurement, in `ZeroConcentratedDivergence` or its approximate version
///
/// # Precondition
/// The precondition of the measurement.
///
/// # Postcondition
/// The release does not change. The loss is in `SmoothedMaxDivergence`, or in
/// `Approximate<SmoothedMaxDivergence>` with the delta of the measurement.
///
/// # Map
/// Let `rho` be the loss of the given measurement at `d_in`. The loss of the result is a profile.
/// At each epsilon, delta is the least value of
/// `e^((a - 1)(a rho - epsilon)) / (a - 1) * (1 - 1/a)^a` over all orders `a > 1`, rounded up.
/// [`make_fix_delta`](crate::make_fix_delta) converts this profile to one of its points. For
/// Gaussian noise, the exact profile is lower. [`make_gaussian_in`](crate::make_gaussian_in) states
/// this exact profile. This conversion cannot use the exact profile, because a `rho` does not show
/// that the noise is Gaussian.
///
/// # Proof
/// At every order `a`, the divergence of releases on `d_in`-close data is at most `a rho`. So every
/// order gives a bound on delta (Canonne, Kamath, Steinke 2020, on concentrated privacy). In an
/// approximate version of the measure, the bound holds outside of the exceptional events, and the
/// delta of these events is kept separately. The function
/// [`concentrated_delta`](crate::accounting::concentrated_delta) finds the order of the least
/// bound.
///
/// # Errors
/// From the map: the errors of the measurement's map.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_gaussian, make_zCDP_to_approxDP};
/// let space = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
/// let noise = make_zCDP_to_approxDP(make_gaussian(space, Scale::new(4.0)?, None)?)?;
/// let epsilon = noise.map(&1.0)?.epsilon(1e-3)?;
/// assert!((epsilon - 0.6880024554878085).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[allow(non_snake_case, reason = "documents use this name")]
pub fn make_zCDP_to_approxDP<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
) -> Result<Measurement<DI, MI, MO::Profile, TO>>
where
    DI: Domain,
    MI: Metric,
    MO: ConcentratedMeasure,
    TO: Carrier,
{
    Ok(to_profile(&measurement))
}
register! {
    "zcdp_to_approx_dp.rs": make_zCDP_to_approxDP(measurement)
        for DI in [AnyDomain], MI in [AnyMetric],
            MO in [ZeroConcentratedDivergence, Approximate<ZeroConcentratedDivergence>], TO in [AnyValue];
}
