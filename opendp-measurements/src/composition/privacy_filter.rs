//! Composition of any number of releases within a budget. Each release can depend on the earlier
//! answers.

use std::sync::Mutex;

use opendp_core::{
    Allowance, Distance, Domain, Error, Function, Ledger, Measure, Measurement, Metric, Odometer,
    PrivacyMap, PrivacyMapRef, Result, Session, Space,
};

use crate::composition::interactive::register_interactive;

/// Make a measurement that answers questions while their total loss is within a budget.
///
/// # Arguments
/// * `odometer` - the odometer that answers the questions
/// * `d_in` - the distance between data sets at which the loss of each question is computed
/// * `d_out` - the budget
///
/// # Precondition
/// `d_in` and `d_out` are not negative and not NaN. `d_in` is not 0, and there are two members of
/// the input domain at a positive distance of at most `d_in`.
///
/// # Postcondition
/// The release is a [`Session`](opendp_core::Session). A question is a measurement. For each
/// question, the session adds the loss of this question at `d_in` to the charged losses of the
/// earlier questions. The question is answered if each part of the sum (for example epsilon and
/// delta) is at most the corresponding part of the budget. The loss is charged before the answer is
/// drawn, and stays charged if the answer fails. A question that exceeds the budget is refused with
/// `BudgetExceeded`, and changes nothing. After a refusal, a question with a smaller loss can still
/// be answered. `left()` is the remaining budget.
///
/// The budget and the sum of the losses are exact numbers. If the denominator of the sum would
/// become too large, a loss is rounded up before it is added. `d_out` states the budget as a float.
/// The budget is the larger of two numbers: this float, and the shortest decimal number whose
/// nearest float is this float. So a budget of `0.3` allows three losses of exactly 1/10. If a
/// mechanism states its exact bound, such as the fraction `d_in / scale`, this exact bound is
/// charged. Otherwise, the float that the mechanism's map returns is charged. The time to charge a
/// question does not depend on the number of earlier questions.
///
/// Losses in Renyi divergence are compared at 20 orders from 1.125 to 128. The budget is replaced
/// by the step function with the same values at these orders.
///
/// # Map
/// For all distances up to `d_in`, the loss is the exact budget, rounded up to a float. A larger
/// distance gives an error.
///
/// # Proof
/// Let `b_i = map_i(d_in)` be the exact bound on the loss of the answered question `i`. These
/// bounds are functions of the questions. The charge for question `i` is at least `b_i` in each
/// part. The sum of the charges never exceeds the budget `B` ([`Ledger`](opendp_core::Ledger)). So
/// `sum_i b_i <= B` for every transcript. Charges are made one at a time, and each charge is made
/// before the answer to its question is drawn. So this bound also holds if threads interleave in
/// any way, or if an answer fails.
///
/// *Pure.* Let `x` and `y` be two inputs at distance at most `d_in`. The analyst's choices depend
/// only on the earlier answers. So the probability (or density) of a transcript is a product over
/// `i`. Factor `i` is the probability of answer `i` given the earlier answers. The ratio of factor
/// `i` for `x` to factor `i` for `y` is at most `exp(b_i)`. So the ratio of the two products is at
/// most `exp(sum_i b_i) <= exp(B)`.
///
/// *Approximate.* See Rogers, Roth, Ullman and Vadhan (2016), for sums of epsilon and of delta.
///
/// *Renyi divergence of order alpha.* See Feldman and Zrnic (2021).
///
/// *Zero-concentrated divergence.* A loss `rho` in this divergence is the loss `alpha rho` in Renyi
/// divergence of every order `alpha`, so the previous theorem applies. With a delta, see
/// Whitehouse, Ramdas, Rogers and Wu (2023).
///
/// *Interactive questions.* A question can open a conversation (an interactive release). When the
/// conversation begins, the whole bound that the question's map states is charged. For (epsilon,
/// delta), and for Renyi divergence of each order, the bounds above also hold for interleaved
/// conversations (Haney, Shoemate, Tian, Vadhan, Vyrros, Xu, Zhang 2023). For measures without such
/// a theorem, the session does not allow interleaved conversations.
///
/// *Refusals.* The refusal of a question depends only on the questions so far. The analyst chose
/// these questions, so a refusal reveals nothing about the data.
///
/// # Errors
/// * `FailedMap` when `d_in` is not a distance, or when
///   [`Space::check_neighbours`](opendp_core::Space::check_neighbours) refuses `d_in`;
///   `InvalidDistance` when `d_out` is not a distance
/// * from the map: `FailedMap` when the distance exceeds `d_in`
/// * from the session: the errors of [`Session::ask`](opendp_core::Session::ask)
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::*;
/// let sums = Space::new(AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::new())?;
/// let odometer = make_fully_adaptive_composition(sums.clone(), TheMeasure(MaxDivergence))?;
/// let filter = make_privacy_filter(odometer, 1, 1.0)?;
/// assert_eq!(filter.map(&1)?, 1.0);
///
/// let session = filter.invoke(&100)?;
/// let tenth = make_laplace(sums, Scale::new(10.0)?, None)?;
/// for _ in 0..10 {
///     session.ask(&tenth)?;
/// }
/// assert_eq!(session.left()?, 0.0);
/// assert_eq!(session.ask(&tenth).unwrap_err().kind(), "BudgetExceeded");
/// # Ok::<(), Error>(())
/// ```
pub fn make_privacy_filter<DI, MI, MO>(
    odometer: Odometer<DI, MI, MO>,
    d_in: MI::Distance,
    d_out: MO::Distance,
) -> Result<Measurement<DI, MI, MO, Session<DI, MI, MO>>>
where
    DI: Domain,
    MI: Metric,
    MO: Measure,
{
    let located = |error: Error| error.at("argument `d_in`");
    let d_in = odometer.input().metric().read_distance(d_in).map_err(located)?;
    let d_out =
        odometer.measure().read_loss(d_out).map_err(|error| error.at("argument `d_out`"))?;
    d_in.check().map_err(located)?;
    odometer.input().check_neighbours(&d_in)?;
    let account = Ledger::with_budget(odometer.measure().clone(), &d_out)
        .map_err(|error| error.at("argument `d_out`"))?;
    let (promise, exact) = (account.budget()?, account.exact_budget().map(<[_]>::to_vec));
    let (input, measure) = (odometer.input().clone(), odometer.measure().clone());

    let largest = d_in.clone();
    let function = Function::map(move |data| {
        let (measure, d_in) = (odometer.measure().clone(), d_in.clone());
        let account = Mutex::new(account.clone());
        let budget = Budget { measure: measure.clone(), d_in, account };
        Ok(Session::new(odometer.input().clone(), measure, data, budget))
    });
    let limit = largest.clone();
    let map = PrivacyMap::new(move |d_in| within(d_in, &limit).map(|()| promise.clone()))
        .with_exact(move |d_in| within(d_in, &largest).map(|()| exact.clone().unwrap_or_default()));
    Ok(Measurement::new(of_session(input), measure, function, map))
}
register_interactive! {
    "privacy_filter.rs": make_privacy_filter(odometer, d_in, d_out);
}

/// Return the input space of a measurement whose release is a session. Questions to the session can
/// select the highest score, so the returned space states that a session selects the highest score.
/// There is one exception: if the given space states that the lowest score is the best, the space
/// does not change. On such a space, the session refuses questions that select the highest score.
pub(crate) fn of_session<D, M>(input: Space<D, M>) -> Space<D, M> {
    if input.lowest_is_best() { input } else { input.with_highest_best() }
}
/// Check that a distance is at most the largest distance for which the mechanism states a loss.
pub(crate) fn within<Q: Distance>(d_in: &Q, largest: &Q) -> Result<()> {
    if d_in.at_most(largest)? {
        return Ok(());
    }
    Err(Error::FailedMap(format!(
        "d_in: expected at most {}, the largest distance that the mechanism covers, found {}",
        largest.show(),
        d_in.show()
    )))
}

/// The allowance of a filter: one budget for all questions to a session.
struct Budget<MI: Metric, MO: Measure> {
    measure: MO,
    d_in: MI::Distance,
    account: Mutex<Ledger<MO>>,
}
impl<MI: Metric, MO: Measure> Budget<MI, MO> {
    fn with<R>(&self, run: impl FnOnce(&mut Ledger<MO>) -> Result<R>) -> Result<R> {
        match self.account.lock() {
            Ok(mut account) => run(&mut account),
            Err(_) => Err(Error::FailedFunction("an earlier query panicked".into())),
        }
    }
}
impl<MI: Metric, MO: Measure> Allowance<MI, MO> for Budget<MI, MO> {
    fn charge(&self, map: PrivacyMapRef<'_, MI, MO>) -> Result<()> {
        // The map can be user code, which can panic or take a long time. So the map runs before the
        // lock is taken.
        let loss = map.eval_exact(&self.measure, &self.d_in)?;
        self.with(|account| account.charge(&loss))
    }
    fn loss(&self, d_in: &MI::Distance) -> Result<MO::Distance> {
        within(d_in, &self.d_in)?;
        self.with(|account| account.total())
    }
    fn left(&self) -> Result<MO::Distance> {
        self.with(|account| account.left())
    }
}

#[cfg(test)]
mod tests;
