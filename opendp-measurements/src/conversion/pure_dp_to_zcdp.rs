//! Conversion of pure to zero-concentrated differential privacy.

use opendp_core::erased::{AnyDomain, AnyMetric, AnyValue};
use opendp_core::{
    Carrier, Domain, MaxDivergence, Measurement, Metric, PrivacyMap, Result,
    ZeroConcentratedDivergence,
};

use crate::accounting::concentrated_rho_of_pure;

/// Convert the pure loss of a measurement to a zero-concentrated loss.
///
/// # Arguments
/// * `measurement` - the measurement, in [`MaxDivergence`]
///
/// # Precondition
/// The precondition of the measurement.
///
/// # Postcondition
/// The release does not change.
///
/// # Map
/// `rho = epsilon tanh(epsilon / 2)`, rounded up, for the epsilon of the measurement at `d_in`.
/// Before rounding, this `rho` is at most `epsilon^2 / 2` (Bun, Steinke 2016, Proposition 1.4). No
/// smaller bound is valid for every mechanism with this epsilon.
///
/// # Proof
/// Let `x`, `y` be `d_in`-close. The releases on `x` and `y` are `epsilon`-close in max-divergence,
/// in both directions. So one randomized function can compute both releases from one bit. This bit
/// is the answer of a randomized response to the question whether the data set is `x` or `y`. The
/// answer is truthful with probability `e^epsilon / (1 + e^epsilon)` (Kairouz, Oh, Viswanath 2015,
/// on the dominating mechanism). Renyi divergence does not grow under such a function. The
/// divergence of randomized response is at most `a epsilon tanh(epsilon / 2)` at each order `a`:
/// see [`concentrated_rho_of_pure`]. If the release is interactive, this bound holds for the
/// transcript of its conversation with every analyst.
///
/// # Errors
/// From the map: the errors of the measurement's map.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_laplace, make_pureDP_to_zCDP};
/// let space = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let noise = make_pureDP_to_zCDP(make_laplace(space, Scale::new(1.0)?, None)?)?;
/// assert!(noise.map(&1)? < 0.4622); // the bound `epsilon^2 / 2` is 0.5
/// # Ok::<(), Error>(())
/// ```
#[allow(non_snake_case, reason = "documents use this name")]
pub fn make_pureDP_to_zCDP<DI, MI, TO>(
    measurement: Measurement<DI, MI, MaxDivergence, TO>,
) -> Result<Measurement<DI, MI, ZeroConcentratedDivergence, TO>>
where
    DI: Domain,
    MI: Metric,
    TO: Carrier,
{
    let inner = measurement.clone();
    let map =
        PrivacyMap::new(move |d_in: &MI::Distance| concentrated_rho_of_pure(inner.map(d_in)?));
    Ok(measurement.with_loss(ZeroConcentratedDivergence, map))
}
register! {
    "pure_dp_to_zcdp.rs": make_pureDP_to_zCDP(measurement)
        for DI in [AnyDomain], MI in [AnyMetric], TO in [AnyValue];
}
