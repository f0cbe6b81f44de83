//! Composition of any number of releases, with an account of their total loss. Each release can
//! depend on the earlier releases.

use opendp_core::{Domain, Error, Measure, Metric, Odometer, Result, Space, TheMeasure};

use crate::composition::interactive::register_interactive;

/// Make an odometer, which answers any number of questions and reports their total loss.
///
/// # Arguments
/// * `input` - the input space of all measurements
/// * `output_measure` - the privacy measure of all measurements
///
/// # Precondition
/// Losses in the measure have [parts](Measure::parts). Losses have parts in the measures
/// [`MaxDivergence`](opendp_core::MaxDivergence),
/// [`ZeroConcentratedDivergence`](opendp_core::ZeroConcentratedDivergence),
/// [`RenyiDivergence`](opendp_core::RenyiDivergence), and the approximate versions of these
/// measures.
///
/// # Postcondition
/// The odometer opens a [`Session`](opendp_core::Session). Each question to the session is a
/// measurement on the input space. The question and its loss can depend on all earlier answers. An
/// answer can be a conversation (an interactive release). Conversations can be interleaved if [the
/// measure](Measure::interaction) allows it. Otherwise, each question ends all conversations that
/// earlier questions opened, directly or indirectly.
///
/// # Map
/// An odometer has no map, because the number of questions is unbounded. `loss(d_in)` of the
/// session is the sum of the losses so far. Each part of the losses is added exactly, and the sum
/// is rounded up once. There is one exception: if the denominator of the sum would become too
/// large, a loss is rounded up before it is added. The session stores the sums for the distances of
/// the most recent calls of `loss`. For such a distance, a call takes time in proportion to the
/// number of questions since the previous call at the same distance.
///
/// # Proof
/// Let the questions be `M_1, M_2, ...`. Each question is chosen after the answers to the earlier
/// questions. Let `map_i` be the map of `M_i`. Let `L_t` be the session's sum of the bounds
/// `map_i(d_in)` for all `i <= t`. `L_t` is never less than the exact sum (see
/// [`Ledger`](opendp_core::Ledger)). An odometer makes one claim for each loss `b`: if the analyst
/// stops before `L_t` exceeds `b`, the total loss is at most `b`. A privacy filter with the budget
/// `b` makes the same claim. The proof is at [`make_privacy_filter`](crate::make_privacy_filter).
/// The claim holds for all `b` at the same time, because the odometer's bound `L_t` depends only on
/// the questions.
///
/// # Errors
/// * `MakeMeasurement` when no odometer is known for the measure
/// * from the session: the errors of [`Session::ask`](opendp_core::Session::ask)
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_fully_adaptive_composition, make_laplace};
/// let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let odometer = make_fully_adaptive_composition(sums.clone(), TheMeasure(MaxDivergence))?;
/// let session = odometer.invoke(&100)?;
/// for _ in 0..10 {
///     session.ask(&make_laplace(sums.clone(), Scale::new(10.0)?, None)?)?;
/// }
/// assert_eq!(session.loss(&1)?, 1.0); // ten times a tenth, not ten times the float 0.1
/// assert_eq!(session.loss(&2)?, 2.0);
/// # Ok::<(), Error>(())
/// ```
pub fn make_fully_adaptive_composition<DI, MI, MO>(
    input: Space<DI, MI>,
    output_measure: TheMeasure<MO>,
) -> Result<Odometer<DI, MI, MO>>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
{
    Odometer::new(input, output_measure.0).map_err(|error| match error {
        Error::NotImplemented(reason) => {
            Error::MakeMeasurement(format!("output_measure: {reason}"))
        }
        other => other,
    })
}
register_interactive! {
    "fully_adaptive_composition.rs": make_fully_adaptive_composition(input, output_measure);
}

#[cfg(test)]
mod tests;
