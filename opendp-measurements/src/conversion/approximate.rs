//! Add a delta of 0 to the loss of a measurement.

use opendp_core::arith::Exact;
use opendp_core::erased::{AnyDomain, AnyMetric, AnyValue};
use opendp_core::{
    Approximate, Carrier, Domain, MaxDivergence, Measure, Measurement, Metric, PrivacyMap,
    RenyiDivergence, Result, SmoothedMaxDivergence, ZeroConcentratedDivergence,
};

/// Make a measurement that states the loss of `measurement` as an approximate loss with delta = 0.
///
/// The new measurement composes with approximate measurements.
///
/// # Arguments
/// * `measurement` - the measurement, in any measure
///
/// # Precondition
/// The precondition of the measurement.
///
/// # Postcondition
/// The release does not change.
///
/// # Map
/// The loss is the loss of the measurement at `d_in`, with a delta of 0. If the measurement states
/// an exact loss, the new loss is also exact.
///
/// # Proof
/// A loss in [`Approximate`] is a bound outside of exceptional events of probability at most delta.
/// The loss of the given measurement is a bound without exceptional events. So this loss is also a
/// bound outside of exceptional events of probability 0.
///
/// # Errors
/// From the map: the errors of the measurement's map.
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_approximate, make_laplace};
/// let space = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let noise = make_approximate(make_laplace(space, Scale::new(1.0)?, None)?)?;
/// assert_eq!(noise.map(&1)?, (1.0, 0.0));
/// # Ok::<(), Error>(())
/// ```
pub fn make_approximate<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
) -> Result<Measurement<DI, MI, Approximate<MO>, TO>>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Carrier,
{
    let (inner, measure) = (measurement.clone(), Approximate(measurement.measure().clone()));
    let mut map = PrivacyMap::new(move |d_in: &MI::Distance| Ok((inner.map(d_in)?, 0.0)));
    if measure.parts().is_ok() {
        let inner = measurement.clone();
        map = map.with_exact(move |d_in: &MI::Distance| {
            let mut parts = inner.exact_map(d_in)?;
            parts.push(Exact::from_f64(0.0)?);
            Ok(parts)
        });
    }
    Ok(measurement.with_loss(measure, map))
}
register! {
    "approximate.rs": make_approximate(measurement)
        for DI in [AnyDomain], MI in [AnyMetric],
            MO in [
                MaxDivergence,
                RenyiDivergence,
                SmoothedMaxDivergence,
                ZeroConcentratedDivergence,
            ],
            TO in [AnyValue];
}
