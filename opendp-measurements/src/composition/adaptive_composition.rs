//! Composition of a fixed number of releases. An upper bound on the loss of each release is fixed
//! in advance. Each release can depend on the earlier answers.

use std::sync::atomic::{AtomicUsize, Ordering};

use opendp_core::arith::Exact;
use opendp_core::{
    Allowance, Distance, Domain, Error, Function, Ledger, Measure, Measurement, Metric, PrivacyMap,
    PrivacyMapRef, Result, Session, Space, TheMeasure,
};

use crate::collected::Collected;
use crate::composition::interactive::register_interactive;
use crate::composition::privacy_filter::{of_session, within};

/// Make a measurement that answers a sequence of questions. An upper bound on the loss of each
/// question is fixed in advance.
///
/// # Arguments
/// * `input` - the input space of all questions
/// * `output_measure` - the privacy measure of all questions
/// * `d_in` - the distance between data sets at which the loss of each question is computed
/// * `d_mids` - the upper bound on the loss of each question, in the order of the questions
///
/// # Precondition
/// Losses in the measure [compose](Measure::compose). Losses in the measure can be compared with
/// each other, or have [parts](Measure::parts). `d_in` and all `d_mids` are valid distances. `d_in`
/// is not 0, and there are two members of the input domain at a positive distance of at most
/// `d_in`.
///
/// # Postcondition
/// The release is a [`Session`](opendp_core::Session) that answers as many questions as there are
/// `d_mids`. Question `i` is a measurement on the input space, and can depend on all earlier
/// answers. The session answers question `i` if the loss `map(d_in)` of this question is at most
/// `d_mids[i]`. A question with a larger loss is refused with `BudgetExceeded`. After the last
/// question, every further question is also refused. A refused question changes nothing. If an
/// answer fails, the question still counts: the entry of this question in `d_mids` is not available
/// to another question.
///
/// An answer can be a conversation (an interactive release). Conversations can be interleaved if
/// [the measure](Measure::interaction) allows it. Otherwise, each question ends all conversations
/// that earlier questions opened, directly or indirectly.
///
/// Losses in Renyi divergence are functions of the order. Such losses are compared only at 20
/// orders from 1.125 to 128. A loss has one [part](Measure::parts) for each of these orders. Each
/// loss in `d_mids` is replaced by the step function with the same values at these orders.
///
/// # Map
/// For all distances up to `d_in`, the loss is the composition of all `d_mids` in the measure. A
/// larger distance gives an error. For epsilon and rho, the loss is the exact sum, rounded up once.
/// The sum does not change if the entries of `d_mids` are rearranged.
///
/// # Proof
/// Let `x`, `y` be `d_in`-close. By induction over the questions, the loss of the transcript before
/// question `i` is at most the composition of `d_mids[..i]`. Question `i` is a function of this
/// transcript. By the claim of question `i`, its loss is at most `map(d_in) <= d_mids[i]` for every
/// such transcript. [`compose`](Measure::compose) requires bounds that hold for every transcript.
/// The bounds `d_mids` are fixed before the first question, so no privacy filter is needed. Now let
/// answers be interactive. If the measure does not allow interleaved conversations, each
/// conversation ends before the next conversation begins. The induction above then holds for whole
/// conversations. If the measure allows interleaved conversations, the composition of the losses
/// bounds the loss of these conversations. For pure divergence, see Vadhan and Wang (2021). For
/// approximate and Renyi divergence, see Lyu (2022) and Vadhan and Zhang (2023). Only the questions
/// determine which conversations end, so the end of a conversation reveals nothing about the data.
///
/// # Errors
/// * `MakeMeasurement` when there are no `d_mids`, or losses in the measure do not compose
/// * `NotImplemented` when losses in the measure cannot be compared and have no parts. Privacy
///   profiles are such losses
/// * `FailedMap` when `d_in` or one of `d_mids` is not a distance, or when
///   [`Space::check_neighbours`](opendp_core::Space::check_neighbours) refuses `d_in`
/// * `Overflow` when the composition of `d_mids` exceeds all floats
/// * from the map: `FailedMap` when the distance exceeds `d_in`
/// * from the session: the errors of [`Session::ask`](opendp_core::Session::ask)
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_adaptive_composition, make_laplace};
/// let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let twice =
///     make_adaptive_composition(sums.clone(), TheMeasure(MaxDivergence), 1, vec![1.0, 2.0])?;
/// assert_eq!(twice.map(&1)?, 3.0);
///
/// let session = twice.invoke(&100)?;
/// let rough = session.ask(&make_laplace(sums.clone(), Scale::new(1.0)?, None)?)?;
/// let scale = if 50 < rough { 0.5 } else { 1.0 };
/// session.ask(&make_laplace(sums, Scale::new(scale)?, None)?)?;
/// # Ok::<(), Error>(())
/// ```
pub fn make_adaptive_composition<DI, MI, MO>(
    input: Space<DI, MI>,
    output_measure: TheMeasure<MO>,
    d_in: MI::Distance,
    d_mids: Vec<MO::Distance>,
) -> Result<Measurement<DI, MI, MO, Session<DI, MI, MO>>>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
{
    let measure = output_measure.0;
    if d_mids.is_empty() {
        return Err(Error::MakeMeasurement(
            "d_mids: expected the loss of at least one question, found none".into(),
        ));
    }
    let located = |error: Error| error.at("argument `d_in`");
    let d_in = input.metric().read_distance(d_in).map_err(located)?;
    d_in.check().map_err(located)?;
    input.check_neighbours(&d_in)?;
    let d_mids: Vec<MO::Distance> =
        d_mids.into_iter().map(|d_mid| comparable(&measure, d_mid)).try_collected()?;
    let d_out = measure.compose(&d_mids).map_err(|error| match error {
        Error::NotImplemented(why) => Error::MakeMeasurement(format!("output_measure: {why}")),
        other => other,
    })?;
    let plan = Plan { measure: measure.clone(), d_in: d_in.clone(), d_mids };
    let (space, sessions) = (input.clone(), plan.clone());
    let function = Function::map(move |data| {
        let turns = Slots { plan: sessions.clone(), asked: AtomicUsize::new(0) };
        Ok(Session::new(space.clone(), sessions.measure.clone(), data, turns))
    });
    let (limit, total) = (d_in.clone(), d_out.clone());
    let mut map = PrivacyMap::new(move |d| within(d, &limit).map(|()| total.clone()));
    match plan.sum(&plan.d_mids) {
        Ok(exact) => {
            map = map.with_exact(move |d| within(d, &d_in).map(|()| exact.exact_total().to_vec()));
        }
        // Losses in this measure have no parts, so only the rounded loss is known.
        Err(Error::NotImplemented(_)) => {}
        Err(other) => return Err(other.at("argument `d_mids`")),
    }
    Ok(Measurement::new(of_session(input), measure, function, map))
}
register_interactive! {
    "adaptive_composition.rs": make_adaptive_composition
        as ["make_adaptive_composition", "make_sequential_composition"]
        (input, output_measure, d_in, d_mids);
}

/// Read and check a loss of the plan. If losses in the measure cannot be compared directly, replace
/// the loss by the loss with the same [parts](Measure::parts).
fn comparable<MO: Measure>(measure: &MO, d_mid: MO::Distance) -> Result<MO::Distance> {
    let located = |error: Error| error.at("argument `d_mids`");
    let d_mid = measure.read_loss(d_mid).map_err(located)?;
    d_mid.check().map_err(located)?;
    match d_mid.at_most(&d_mid) {
        Err(Error::NotImplemented(_)) => {
            let parts = measure.split(&d_mid).and_then(|parts| measure.join(&parts));
            parts.map_err(|error| match error {
                Error::NotImplemented(_) => error.at("argument `output_measure`"),
                other => located(other),
            })
        }
        _ => Ok(d_mid),
    }
}

/// The plan for a sequence of questions: the measure, the distance, and the largest allowed loss of
/// each question.
#[derive(Clone)]
struct Plan<MI: Metric, MO: Measure> {
    measure: MO,
    d_in: MI::Distance,
    d_mids: Vec<MO::Distance>,
}
impl<MI: Metric, MO: Measure> Plan<MI, MO> {
    /// Return a ledger with the exact sum of the given losses.
    fn sum(&self, losses: &[MO::Distance]) -> Result<Ledger<MO>> {
        let mut ledger = Ledger::new(self.measure.clone())?;
        for loss in losses {
            ledger.charge(&self.exact(loss)?)?;
        }
        Ok(ledger)
    }
    fn exact(&self, loss: &MO::Distance) -> Result<Vec<Exact>> {
        self.measure.split(loss)?.into_iter().map(Exact::from_f64).try_collected()
    }
    /// Return whether the loss of a question is at most `d_mid`.
    fn allows(&self, loss: &MO::Distance, d_mid: &MO::Distance) -> Result<bool> {
        match loss.at_most(d_mid) {
            Err(Error::NotImplemented(_)) => {
                let (loss, d_mid) = (self.exact(loss)?, self.exact(d_mid)?);
                Ok(loss.iter().zip(&d_mid).all(|(loss, d_mid)| loss <= d_mid))
            }
            decided => decided,
        }
    }
}

/// The allowance of an adaptive composition: a plan, and the number of questions that were charged.
struct Slots<MI: Metric, MO: Measure> {
    plan: Plan<MI, MO>,
    asked: AtomicUsize,
}
impl<MI: Metric, MO: Measure> Slots<MI, MO> {
    /// Check that a loss is at most the loss that the plan allows for the question with the given
    /// index.
    fn admit(&self, index: usize, loss: &MO::Distance) -> Result<()> {
        let Some(d_mid) = self.plan.d_mids.get(index) else {
            return Err(Error::BudgetExceeded(format!(
                "no question is left: `d_mids` allows {} in total",
                self.plan.d_mids.len()
            )));
        };
        if !self.plan.allows(loss, d_mid)? {
            return Err(Error::BudgetExceeded(format!(
                "the query costs {}, and its share of the budget is {}",
                loss.show(),
                d_mid.show()
            )));
        }
        Ok(())
    }
    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}
impl<MI: Metric, MO: Measure> Allowance<MI, MO> for Slots<MI, MO> {
    fn charge(&self, map: PrivacyMapRef<'_, MI, MO>) -> Result<()> {
        let loss = map.eval(&self.plan.d_in)?;
        let mut index = self.asked();
        loop {
            self.admit(index, &loss)?;
            // If another thread has taken this index, try the next index.
            let taken =
                self.asked.compare_exchange(index, index + 1, Ordering::SeqCst, Ordering::SeqCst);
            match taken {
                Ok(_) => return Ok(()),
                Err(next) => index = next,
            }
        }
    }
    fn loss(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        within(d_in, &self.plan.d_in)?;
        self.plan.measure.compose(&self.plan.d_mids[..self.asked()])
    }
    fn left(&self) -> Result<MO::Distance> {
        let left = self.plan.sum(&self.plan.d_mids[self.asked()..])?;
        let down: Vec<f64> = left.exact_total().iter().map(Exact::to_f64_down).collected();
        self.plan.measure.join(&down)
    }
}

#[cfg(test)]
mod tests;
