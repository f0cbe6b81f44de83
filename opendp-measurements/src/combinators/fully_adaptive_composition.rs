//! Any number of releases, each chosen in view of the earlier ones, and an account of their loss.

use opendp_core::{Domain, Error, Measure, Metric, Odometer, Result, Space, TheMeasure};

use super::interactive::register_interactive;

/// Make an odometer, which answers any measurements and says what they lose together.
///
/// # Arguments
/// * `input` - the space that all measurements will start from
/// * `output_measure` - their privacy measure
///
/// # Precondition
/// Losses in the measure have [parts](Measure::parts): [`MaxDivergence`](opendp_core::MaxDivergence),
/// [`ZeroConcentratedDivergence`](opendp_core::ZeroConcentratedDivergence),
/// [`RenyiDivergence`](opendp_core::RenyiDivergence), or one of them made approximate.
///
/// # Postcondition
/// The odometer opens a [`Session`](opendp_core::Session). Each question to it is a measurement on
/// the input space, and may be chosen, with its loss, in view of all earlier answers. Answers that
/// are themselves conversations may be interleaved where [the measure](Measure::interaction) allows
/// it; elsewhere, each question puts an end to those that earlier questions have opened, and to all
/// that came of them.
///
/// # Map
/// There is none: nothing bounds the number of questions. `loss(d_in)` of the session is the exact
/// sum of the losses so far, part by part, rounded up once. At each distance it costs the time of
/// the questions since it was last asked for there.
///
/// # Proof
/// Let the questions be `M_1, M_2, ...`, each chosen from the answers to those before it, and let
/// `L_t` be the sum of the bounds `map_i(d_in)`, `i <= t`, as the session keeps it: it is never less
/// than the exact sum (see [`Ledger`](opendp_core::Ledger)). The claim of an odometer is that an
/// analyst who stops as soon as `L_t` would exceed a number `b` has lost at most `b`, for each `b`.
/// That is the claim of a privacy filter with the budget `b`; it is proved in
/// [`make_privacy_filter`](crate::make_privacy_filter), and holds for all `b` at once because the
/// odometer's bound is a function of the questions alone, and not of `b`.
///
/// # Errors
/// * `MakeMeasurement` when no odometer is known for the measure
/// * from the session: those of [`Session::ask`](opendp_core::Session::ask)
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
