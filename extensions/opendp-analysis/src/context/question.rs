//! Questions with known noise: their costs, their accuracies and their answers.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use opendp_core::arith::{Directed, Exact, shown};
use opendp_core::{Carrier, Error, Result, TypeName};
use opendp_measurements::accuracy::{Estimate, Noise};
use opendp_measurements::{Intervals, Released, Scale, confidence_interval, is_near_end};

use super::account::Cost;
use super::draft::{Bound, OfTable};
use super::groups::Subject;
use super::possible::{move_into, released};
use super::report::{Entry, ErrorIn};
use super::terms::DISCRETE;
use super::{Accounted, Context, Noised};

/// A question that is ready to be asked. Its noise is known, and its cost fits its share of the
/// budget. Nothing has been spent.
pub struct Question<'c, MO: Accounted, TO: Carrier> {
    pub(super) known: Known<'c, MO>,
    pub(super) measurement: OfTable<MO, TO>,
}
impl<MO: Accounted, TO: Carrier> Question<'_, MO, TO> {
    /// Return the scale of the noise.
    pub fn scale(&self) -> f64 {
        self.known.scale.value()
    }
    /// Return the kind of noise: "Laplace", "Gaussian" or "discrete Gaussian". For a choice among
    /// candidates, return "selection". For counts of keys that are found, return "Laplace,
    /// threshold". For a [mechanism of another crate](super::Rows::mechanism), return "other".
    pub fn mechanism(&self) -> &'static str {
        self.known.mechanism
    }
    /// Return the threshold that the noisy count of a key must reach, if the question has a
    /// threshold. A threshold that is not a whole number is rounded at random, separately for each
    /// key.
    pub fn threshold(&self) -> Option<f64> {
        self.known.threshold
    }
    /// Return the cost that the answer has if it is the only release, rounded up. If the budget is
    /// an epsilon and a delta, the composed cost of several answers can be less than the sum of
    /// their costs. [`Context::remaining`] returns the budget that is left.
    ///
    /// # Errors
    /// The errors of the map.
    pub fn loss(&self) -> Result<MO::Distance> {
        self.measurement.map(&self.known.context.unit().distance())
    }
    /// Return the exact cost that the answer has if it is the only release: one number for each
    /// part of the budget, such as epsilon and delta.
    pub fn exact_loss(&self) -> &[Exact] {
        &self.known.cost.parts
    }
    /// Return the measurement that a release runs.
    pub fn measurement(&self) -> &OfTable<MO, TO> {
        &self.measurement
    }
    /// Bound the distance of the answer from the truth, except with probability `alpha`. For
    /// several numbers, the bound holds for each number separately. For a quantile, the bound is in
    /// ranks, and does not include the distance in ranks between the quantile and the best
    /// candidate. [`Rows::quantiles`](super::Rows::quantiles) states the bound for several
    /// quantiles. The bound does not include the error of a sum of integers that saturates at an
    /// end of its type. For counts of keys that are found, consider each key separately: `alpha`
    /// bounds the probability that this key is found and that its error exceeds the bound. Among
    /// the found keys alone, errors can exceed the bound more often, because noise can raise a
    /// count above the threshold. This function spends nothing.
    ///
    /// # Errors
    /// `InvalidDistance` when `alpha` is not in `(0, 1]`; `NotImplemented` when no bound is known.
    pub fn accuracy(&self, alpha: f64) -> Result<f64> {
        self.known.accuracy(alpha, &|alpha| self.measurement.accuracy(alpha))
    }
    /// Return the unit of the [accuracy](Question::accuracy).
    pub fn error_in(&self) -> ErrorIn {
        self.known.error_in
    }
    /// Describe the noise of the question. The description includes a bound on the error, if a
    /// bound is known. The bound holds except with probability `alpha`.
    pub fn noised(&self, alpha: f64) -> Noised {
        self.known.noised(self.accuracy(alpha).ok())
    }
    /// Spend the cost of the answer, but release nothing. This function is for rehearsals: ask all
    /// questions in a separate context, and call this function instead of `release`. You then know
    /// the noise of all questions before you release an answer.
    ///
    /// # Errors
    /// The errors of [`release`](Question::release).
    pub fn forgo(self) -> Result<()> {
        self.known.charge(self.accuracy(Context::<MO>::ALPHA).ok())
    }
    /// Spend the cost of the answer, then answer.
    ///
    /// # Errors
    /// * `BudgetExceeded` when the cost does not fit the remaining budget, or when the split has no
    ///   share for another query: nothing is run, and nothing is spent
    /// * `FailedFunction` when a journal panicked in an earlier release: nothing is run
    /// * the errors of the [`Journal`](super::Journal), and `NoEntropy`: nothing is released, but
    ///   the charge stays
    pub fn release(self) -> Result<Answer<MO, TO>> {
        let accuracy = self.accuracy(Context::<MO>::ALPHA).ok();
        self.known.charge(accuracy)?;
        self.answer(accuracy)
    }
    /// Run the measurement. The caller must charge the cost of the question before this call.
    pub(super) fn answer(self, accuracy: Option<f64>) -> Result<Answer<MO, TO>> {
        let Question { known, measurement } = self;
        let mut value = measurement.invoke(known.context.table())?;
        // If `alpha` is 1, the noise is not part of the bound, so the bound is only the error of
        // rounding.
        let bounds = measurement.accuracy(1.0).ok();
        let near_end = &|| is_near_end(&measurement, &value.to_json());
        let (mut about, accuracy) = known.about(bounds, accuracy, near_end);
        about.replaced = move_into(about.range, &mut value);
        Ok(Answer { value, accuracy, measurement, about })
    }
}
impl<MO: Accounted, TO: Carrier> fmt::Debug for Question<'_, MO, TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("query", &self.known.words)
            .field("scale", &self.known.scale)
            .field("threshold", &self.known.threshold)
            .finish_non_exhaustive()
    }
}

/// The properties of a question that are known before its release, and that do not depend on the
/// type of its answer.
pub(crate) struct Known<'c, MO: Accounted> {
    pub(super) context: &'c Context<MO>,
    pub(super) words: String,
    pub(super) mechanism: &'static str,
    pub(super) scale: Scale,
    pub(super) threshold: Option<f64>,
    pub(super) error_in: ErrorIn,
    pub(super) bound: Option<Bound>,
    pub(super) noise: Option<fn(Scale, bool) -> Noise>,
    /// Whether the noisy number can be cut off at the smallest or the largest number of its type.
    pub(super) cut_off: bool,
    /// The range of the possible values of the statistic, if this range is known.
    pub(super) range: Option<(f64, f64)>,
    /// The groups of rows that the answer is about, if the question finds the keys of groups.
    pub(super) subject: Option<Subject>,
    pub(super) cost: Cost,
}
impl<MO: Accounted> Known<'_, MO> {
    /// Bound the distance of the answer from the truth. `stated` returns the accuracies that the
    /// measurement states.
    fn accuracy(
        &self,
        alpha: f64,
        stated: &dyn Fn(f64) -> Result<Vec<Option<f64>>>,
    ) -> Result<f64> {
        if !(0.0 < alpha && alpha <= 1.0) {
            return Err(Error::InvalidDistance(format!(
                "alpha: expected a probability above 0 and at most 1, found {}",
                shown(alpha)
            )));
        }
        let stated = stated(alpha)?;
        if let Some(bound) = &self.bound {
            return bound(self.scale, alpha);
        }
        let worst = stated.into_iter().try_fold(0.0, |worst: f64, each| Some(worst.max(each?)));
        worst.ok_or_else(|| {
            Error::NotImplemented(format!("no bound on the error is known for: {}", self.words))
        })
    }
    fn noised(&self, accuracy: Option<f64>) -> Noised {
        Noised {
            query: self.words.clone(),
            mechanism: self.mechanism.to_owned(),
            scales: vec![self.scale.value()],
            accuracy,
            error_in: self.error_in,
        }
    }
    fn charge(&self, accuracy: Option<f64>) -> Result<()> {
        let entries = &|left, _| vec![self.entry(accuracy, left)];
        self.context.charge(None, &[&self.cost], &[None], entries)
    }
    pub(super) fn entry(&self, accuracy: Option<f64>, left: Vec<Exact>) -> Entry {
        Entry {
            query: self.words.clone(),
            measure: MO::type_name().to_string(),
            unit: self.context.unit(),
            mechanism: self.mechanism.to_owned(),
            scale: self.scale.value(),
            threshold: self.threshold,
            plan: None,
            loss: self.cost.parts.clone(),
            mu_squared: self.cost.mu_squared.clone(),
            rho: self.cost.rho.clone(),
            share: self.context.has_shares().then(|| self.cost.pair()),
            reserved: None,
            shares: None,
            accuracy,
            error_in: self.error_in,
            left,
        }
    }
    /// Return what is known about the answer, and the bound `accuracy` on its error. If the answer
    /// is near an end of its type, it has no bound. `bounds` are bounds on the error of rounding,
    /// one for each number of the answer.
    fn about(
        self,
        bounds: Option<Vec<Option<f64>>>,
        accuracy: Option<f64>,
        near_end: &dyn Fn() -> bool,
    ) -> (About, Option<f64>) {
        let unbounded = self.error_in == ErrorIn::Value && accuracy.is_some() && near_end();
        let accuracy = accuracy.filter(|_| !unbounded);
        let noise = self.noise.map(|noise| match self.mechanism {
            DISCRETE => Noise::discrete_gaussian(self.scale),
            mechanism => noise(self.scale, mechanism == "Gaussian"),
        });
        let noise = noise.map(|noise| if self.cut_off { noise.cut_off() } else { noise });
        let slack = bounds.and_then(|bounds| bounds.first().copied());
        let noise = noise.zip(slack.flatten()).map(|(noise, slack)| noise.and_at_most(slack));
        let Known { mechanism, scale, range, subject, .. } = self;
        let estimates = Arc::new(OnceLock::new());
        let replaced = None;
        (About { mechanism, scale, noise, range, replaced, subject, estimates }, accuracy)
    }
}

/// An answer that was charged and released.
#[derive(Clone, Debug)]
pub struct Answer<MO: Accounted, TO: Carrier> {
    /// The released value. A mean outside of the bounds of its rows, or a variance that rows within
    /// these bounds cannot have, is replaced by the nearest possible number.
    pub value: TO,
    /// A bound on the distance between the answer and the true answer, if a bound is known. The
    /// bound holds except with probability [`Context::ALPHA`]. See [`Question::accuracy`]. There is
    /// no bound if a released integer is so near to an end of its type that the true sum may be
    /// beyond this end.
    pub accuracy: Option<f64>,
    measurement: OfTable<MO, TO>,
    about: About,
}
/// What is known about an answer, without the type of the answer.
#[derive(Clone, Debug)]
struct About {
    mechanism: &'static str,
    scale: Scale,
    /// The distribution of the noise on each number of the answer.
    noise: Option<Noise>,
    /// The range of the possible values of the statistic, if this range is known.
    range: Option<(f64, f64)>,
    /// The released number, if it was outside of the range. The value of the answer is then the
    /// nearest end of the range.
    replaced: Option<f64>,
    /// The groups of rows that the answer is about, if the question found the keys of groups.
    subject: Option<Subject>,
    /// The estimates of the released numbers, made by the first call that needs them. Later calls
    /// return the same estimates. So computations know that copies of an estimate have the same
    /// noise.
    estimates: Arc<OnceLock<Vec<Estimate>>>,
}
impl<MO: Accounted, TO: Carrier> Answer<MO, TO> {
    /// Return the kind of noise: "Laplace", "Gaussian" or "discrete Gaussian". For a choice among
    /// candidates, return "selection". For counts of keys that are found, return "Laplace,
    /// threshold". For a [mechanism of another crate](super::Rows::mechanism), return "other".
    pub fn mechanism(&self) -> &'static str {
        self.about.mechanism
    }
    /// Return the scale of the noise.
    pub fn scale(&self) -> f64 {
        self.about.scale.value()
    }
    pub(super) fn noise(&self) -> Option<Noise> {
        self.about.noise
    }
    pub(super) fn subject(&self) -> Option<&Subject> {
        self.about.subject.as_ref()
    }
    fn estimates_of(&self, numbers: &[(f64, f64)]) -> Result<&[Estimate]> {
        estimates_of(self.about.noise, &self.about.estimates, numbers)
    }
    /// Return the released value, before a number outside of the range was replaced.
    fn released(&self) -> Cow<'_, TO> {
        released(&self.value, self.about.replaced)
    }
    /// Check that no released integer is near an end of its type: the smallest or the largest
    /// number of the type. If an integer is near an end, the true sum may be beyond this end. Then
    /// the error of the answer has no bound.
    fn check_ends(&self) -> Result<()> {
        match is_near_end(&self.measurement, &self.value.to_json()) {
            true => Err(near_end(&TO::type_name())),
            false => Ok(()),
        }
    }
}
#[cold]
fn near_end(kind: &TypeName) -> Error {
    Error::NotImplemented(format!(
        "the answer is so near to an end of the type `{kind}` that the true sum may be beyond this \
         end, so the error has no bound: clamp the rows to narrower bounds"
    ))
}
/// Combine released numbers with the distribution of their noise. If `made` already contains
/// estimates, return these estimates. Each element of `numbers` is an interval of floats that
/// contains one released number.
fn estimates_of<'a>(
    noise: Option<Noise>,
    made: &'a OnceLock<Vec<Estimate>>,
    numbers: &[(f64, f64)],
) -> Result<&'a [Estimate]> {
    let Some(noise) = noise else {
        return Err(Error::NotImplemented(
            "the distribution of this answer's error is not known, so the answer cannot be \
             combined with others"
                .into(),
        ));
    };
    if let Some(made) = made.get() {
        return Ok(made);
    }
    let mut estimates = Vec::with_capacity(numbers.len());
    for (low, high) in numbers {
        let value = low + (high - low) / 2.0;
        // A released float stands for all numbers that are rounded to this float.
        let rounding = high.inf_sub(value)?.max(value.inf_sub(*low)?);
        let rounding = noise.slack().inf_add(rounding)?;
        estimates.push(Estimate::released(value, noise.and_at_most(rounding)));
    }
    Ok(made.get_or_init(|| estimates))
}
impl<MO: Accounted, TO: Released<Intervals = (f64, f64)>> Answer<MO, TO> {
    /// Return the released number together with the distribution of its noise, as an estimate for
    /// further computations. The estimate is the number before an impossible value was replaced, so
    /// the distribution is exact. Sums, differences, multiples and quotients of estimates also have
    /// intervals.
    ///
    /// ```
    /// # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
    /// # let table = Table::new().with("income", vec![3e4; 1000])?;
    /// # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon_delta(1.0, 1e-6)?);
    /// let context = Context::new(table, unit, budget, Split::evenly(2)?)?;
    /// let incomes = context.query().column("income").impute(0.0).clamp(0.0, 50_000.0);
    /// let total = incomes.sum().gaussian()?.release()?.estimate()?;
    /// let people = context.query().count().gaussian()?.release()?.estimate()?;
    /// let (lower, upper) = total.quotient(&people, 1e-9)?;
    /// assert!(lower < 3e4 && 3e4 < upper); // except with probability 1e-9
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotImplemented` when the answer was chosen among candidates, or when
    /// [`interval`](Answer::interval) refuses an integer near an end of its type.
    pub fn estimate(&self) -> Result<Estimate> {
        self.check_ends()?;
        let released = self.released();
        let made = self.estimates_of(&[released.intervals(&[Some(0.0)])?])?;
        made.first().cloned().ok_or_else(|| Error::FailedFunction("there is no number".into()))
    }
}
impl<MO: Accounted, TO: Released<Intervals = Vec<(f64, f64)>>> Answer<MO, TO> {
    /// Return the released numbers together with the distribution of their noise, as estimates for
    /// further computations.
    ///
    /// # Errors
    /// `NotImplemented` when the answers were chosen among candidates.
    pub fn estimates(&self) -> Result<&[Estimate]> {
        self.estimates_of(&self.value.intervals(&[Some(0.0)])?)
    }
}
impl<MO: Accounted, TO: Released> Answer<MO, TO> {
    /// Return an interval that contains the true number except with probability `alpha`. For
    /// several numbers, return one interval for each number. Except with probability `alpha`, all
    /// of these intervals contain their true numbers. Intervals include the error of noise, and
    /// exclude the error of clamping. They also exclude the rounding of the mechanism before the
    /// noise. This rounding is far below the noise, with one exception: a float sum of more than
    /// four billion rows can be reduced, as [`make_sum`](opendp_transformations::make_sum) states.
    /// For a mean and a variance, an end that is not a possible value is replaced by the nearest
    /// possible value. The true number is possible, so the interval still contains it. If the
    /// whole interval is beyond an end of the possible values, it becomes this end alone.
    ///
    /// # Errors
    /// The errors of [`confidence_interval`]. `NotImplemented` when an integer is near an end of
    /// its type. Sums of integers saturate at the ends of their type. So the true sum may be beyond
    /// the end, and then the error has no bound.
    pub fn interval(&self, alpha: f64) -> Result<TO::Intervals> {
        self.check_ends()?;
        let intervals = confidence_interval(&self.measurement, &self.released(), alpha)?;
        Ok(match self.about.range {
            Some(range) => intervals.within(range),
            None => intervals,
        })
    }
}
