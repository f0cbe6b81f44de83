//! Conversion of a single pair of epsilon and delta to a privacy profile, which has a delta for
//! each epsilon.

use opendp_core::erased::{AnyDomain, AnyMetric, AnyValue};
use opendp_core::{Approximate, Carrier, Domain, MaxDivergence, Measurement, Metric, Result};

use crate::conversion::profiled::{Profiled, to_profile};

/// A measure of differential privacy. A loss states a single epsilon. In an approximate version,
/// the loss does not cover an exceptional event of probability at most delta.
pub trait FixedMeasure: Profiled {}
impl FixedMeasure for MaxDivergence {}
impl FixedMeasure for Approximate<MaxDivergence> {}

/// Convert the loss of a measurement from a single pair of epsilon and delta to a delta for each
/// epsilon.
///
/// # Arguments
/// * `measurement` - the measurement, in `Approximate<MaxDivergence>`, or in `MaxDivergence` with
///   delta 0
///
/// # Precondition
/// The precondition of the measurement.
///
/// # Postcondition
/// The release does not change.
///
/// # Map
/// Let `(epsilon, delta)` be the loss of the measurement at `d_in`. At each `x` below epsilon, the
/// profile is `1 - (1 - delta)(1 + e^x) / (1 + e^epsilon)`. At each `x` of at least epsilon, the
/// profile is delta. No smaller profile is valid for every mechanism with this loss. The profile
/// contains the distribution of the privacy loss in the worst case, so compositions are tight.
///
/// # Proof
/// Take any pair of distributions that is `(epsilon, delta)`-close in both directions. Consider a
/// mechanism with four outcomes on two data sets. With probability delta, the outcome reveals which
/// of the two data sets is used. Otherwise, the outcome is a randomized response with the loss
/// epsilon. There is a randomized function of the outcome whose result has the given distributions
/// on the two data sets (Kairouz, Oh, Viswanath 2015, the dominating mechanism of their composition
/// theorem). The profile above is the profile of this mechanism. A function of an outcome cannot
/// increase the profile.
///
/// # Errors
/// From the map: the errors of the measurement's map.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_fixed_approxDP_to_approxDP, make_laplace};
/// let space = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let noise = make_fixed_approxDP_to_approxDP(make_laplace(space, Scale::new(1.0)?, None)?)?;
/// let profile = noise.map(&1)?;
/// assert_eq!(profile.delta(1.0)?, 0.0);
/// assert!(profile.delta(0.5)? < 0.3);
/// # Ok::<(), Error>(())
/// ```
#[allow(non_snake_case, reason = "documents use this name")]
pub fn make_fixed_approxDP_to_approxDP<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
) -> Result<Measurement<DI, MI, MO::Profile, TO>>
where
    DI: Domain,
    MI: Metric,
    MO: FixedMeasure,
    TO: Carrier,
{
    Ok(to_profile(&measurement))
}
register! {
    "fixed_approx_dp_to_approx_dp.rs": make_fixed_approxDP_to_approxDP(measurement)
        for DI in [AnyDomain], MI in [AnyMetric],
            MO in [MaxDivergence, Approximate<MaxDivergence>], TO in [AnyValue];
}
