//! The composition of several releases of the same data.

mod adaptive_composition;
mod fully_adaptive_composition;
mod parallel_composition;
pub(crate) mod privacy_filter;

// The module `interactive` lists the types for which interactive constructors are registered.
mod interactive;

use std::sync::Arc;

use opendp_core::erased::{AnyDomain, AnyMeasure, AnyMetric, AnyValue};
use opendp_core::{
    Carrier, Domain, Error, Function, Ledger, Measure, Measurement, Metric, PrivacyMap, Result,
    in_turn,
};

pub use adaptive_composition::make_adaptive_composition;
pub use fully_adaptive_composition::make_fully_adaptive_composition;
pub use parallel_composition::{Parts, make_parallel_composition};
pub use privacy_filter::make_privacy_filter;

/// Make a measurement that releases the answers of several measurements on the same data.
///
/// # Arguments
/// * `measurements` - the members, at least one; their answers are released in this order
///
/// # Precondition
/// All members have the same input space and the same privacy measure. Losses in this measure must
/// compose. Losses compose in the measures [`MaxDivergence`](opendp_core::MaxDivergence),
/// [`ZeroConcentratedDivergence`](opendp_core::ZeroConcentratedDivergence),
/// [`RenyiDivergence`](opendp_core::RenyiDivergence),
/// [`SmoothedMaxDivergence`](opendp_core::SmoothedMaxDivergence), and the approximate versions of
/// these measures.
///
/// # Postcondition
/// The release is the list of the releases of all members. Each member draws its noise
/// independently. The accuracy at `alpha` is the list of the members' bounds, in the same order.
/// Each bound is for one member alone, and fails with probability at most `alpha`.
///
/// If concurrent composition is proved for the [measure](Measure::interaction), interactive members
/// can answer questions in any order. Otherwise, when a member starts, all earlier members end. So
/// only the last member answers questions.
///
/// The function runs the members one after the other, each on all data. So all data must be in
/// memory.
///
/// # Map
/// Take the losses of the members at `d_in`. The loss is the composition of these losses in the
/// measure. For epsilon or rho, the losses are added exactly, and the sum is rounded up once. For
/// privacy profiles, the distributions of the members' losses are convolved, and the result is the
/// profile of the convolution. The [accounting](crate::accounting) computes this profile.
///
/// # Proof
/// Let `x`, `y` be `d_in`-close elements of the common input domain. Let `map_i` be the map of
/// member `i`. By the claim of this member, its releases on `x` and `y` are at most `map_i(d_in)`
/// apart. The members draw independent randomness. For pure differential privacy, take the
/// probability (or density) of a list of releases. This probability is the product of the
/// probabilities of the releases. So the ratio for `x` and `y` is at most
/// `prod_i exp(map_i(d_in)) = exp(sum_i map_i(d_in))` (Dwork, McSherry, Nissim, Smith 2006). For
/// zero-concentrated differential privacy, Renyi divergences of product distributions add up (Bun,
/// Steinke 2016, on composition). The documentation of each measure states the composition of
/// losses, with a citation.
///
/// # Errors
/// * `MakeMeasurement` when there are no members or the measure does not compose
/// * `DomainMismatch`, `MetricMismatch` or `MeasureMismatch` when the domain, the metric or the
///   measure of a member differs from that of the first member
/// * from the function and the map: the errors of the members, and `Overflow` when the total
///   exceeds all floats
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_composition, make_laplace};
/// let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let rough = make_laplace(sums.clone(), Scale::new(2.0)?, None)?;
/// let fine = make_laplace(sums, Scale::new(1.0)?, None)?;
/// let both = make_composition(vec![rough, fine])?;
/// assert_eq!(both.map(&1)?, 1.5);
/// assert_eq!(both.invoke(&100)?.len(), 2);
/// # Ok::<(), Error>(())
/// ```
pub fn make_composition<DI, MI, MO, TO>(
    measurements: Vec<Measurement<DI, MI, MO, TO>>,
) -> Result<Measurement<DI, MI, MO, Vec<TO>>>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Carrier,
{
    let Some((first, others)) = measurements.split_first() else {
        return Err(Error::MakeMeasurement(
            "measurements: expected at least one measurement, found none".into(),
        ));
    };
    // If the input space of a member states that the member selects the highest score, the
    // composition uses this input space. Then the composition also states that it selects the
    // highest score.
    let inputs = measurements.iter().map(Measurement::input);
    let input =
        inputs.fold(first.input(), |all, input| if input.selects_highest() { input } else { all });
    let (input, measure) = (input.clone(), first.measure().clone());
    for (other, place) in others.iter().zip(1..) {
        same(first, other).map_err(|error| error.at(format!("measurements[{place}]")))?;
    }
    // In each measure, either all losses compose, or no losses compose. So the composition of an
    // empty list shows whether losses in this measure compose.
    measure.compose(&[]).map_err(|error| match error {
        Error::NotImplemented(reason) => Error::MakeMeasurement(format!("measurements: {reason}")),
        other => other,
    })?;

    let measurements: Arc<[_]> = measurements.into();
    let (members, interaction) = (measurements.clone(), measure.interaction());
    let function = Function::map(move |data| {
        in_turn(interaction, members.iter().map(|member| || member.invoke(data)))
    });
    let map = total(&measure, &measurements);
    Ok(Measurement::new(input, measure, function, map).with_accuracy_of(measurements))
}
register! {
    "composition.rs": make_composition as ["make_composition", "make_basic_composition"]
        (measurements)
        for DI in [AnyDomain], MI in [AnyMetric], MO in [AnyMeasure], TO in [AnyValue];
}

/// Return the map that composes the rounded losses of the members. If losses in the measure add up,
/// the map also has an exact version, which adds up the exact losses.
fn total<DI, MI, MO, TO>(
    measure: &MO,
    measurements: &Arc<[Measurement<DI, MI, MO, TO>]>,
) -> PrivacyMap<MI, MO>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Carrier,
{
    let (members, all) = (measurements.clone(), measure.clone());
    let map =
        PrivacyMap::new(move |d_in| all.compose(&once_each(&members, |member| member.map(d_in))?));
    if measure.parts().is_err() {
        return map;
    }
    let (members, measure) = (measurements.clone(), measure.clone());
    map.with_exact(move |d_in| {
        let mut ledger = Ledger::new(measure.clone())?;
        for loss in once_each(&members, |member| member.exact_map(d_in))? {
            ledger.charge(&loss)?;
        }
        Ok(ledger.exact_total().to_vec())
    })
}

/// Return the loss of each member. If a member is a copy of the previous member, reuse the loss of
/// the previous member.
fn once_each<DI, MI, MO, TO, L>(
    members: &[Measurement<DI, MI, MO, TO>],
    loss: impl Fn(&Measurement<DI, MI, MO, TO>) -> Result<L>,
) -> Result<Vec<L>>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Carrier,
    L: Clone,
{
    let mut losses: Vec<L> = Vec::with_capacity(members.len());
    for (place, member) in members.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|place| members.get(place).zip(losses.last()));
        losses.push(match before {
            Some((copy, known)) if copy.shares_map(member) => known.clone(),
            _ => loss(member)?,
        });
    }
    Ok(losses)
}

/// Check that two members have the same input space and measure.
pub(crate) fn same<DI, MI, MO, TO>(
    first: &Measurement<DI, MI, MO, TO>,
    other: &Measurement<DI, MI, MO, TO>,
) -> Result<()>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
    TO: Carrier,
{
    let (left, right) = (first.input(), other.input());
    if left.domain() != right.domain() {
        return Err(Error::DomainMismatch {
            expected: left.domain().to_json().to_string(),
            found: right.domain().to_json().to_string(),
        });
    }
    if left.metric() != right.metric() {
        return Err(Error::MetricMismatch {
            expected: left.metric().to_json().to_string(),
            found: right.metric().to_json().to_string(),
        });
    }
    if first.measure() != other.measure() {
        return Err(Error::MeasureMismatch {
            expected: first.measure().to_json().to_string(),
            found: other.measure().to_json().to_string(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
