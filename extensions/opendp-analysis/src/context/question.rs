//! Questions whose noise is known: what they cost, how accurate they are, and their answers.

use std::fmt;
use std::sync::{Arc, OnceLock};

use opendp_core::arith::{Directed, Exact};
use opendp_core::search::binary_search;
use opendp_core::{Carrier, Error, Measurement, Result, SymmetricDistance};
use opendp_measurements::accuracy::{Estimate, Noise};
use opendp_measurements::{Released, Scale, confidence_interval};

use super::report::{Entry, ErrorIn};
use super::{Accounted, Context, TableDomain};

/// A measurement of a table.
pub(crate) type OfTable<MO, TO> = Measurement<TableDomain, SymmetricDistance, MO, TO>;
/// Make the measurement of a query from its free parameters.
pub(crate) type Build<MO, TO> = Box<dyn Fn(Dials) -> Result<OfTable<MO, TO>> + Send + Sync>;
/// Bound the error of answers from the scale of noise, for measurements that do not do so
/// themselves.
pub(crate) type Bound = Box<dyn Fn(Scale, f64) -> Result<f64> + Send + Sync>;

/// The free parameters of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dials {
    pub(crate) scale: Scale,
    pub(crate) threshold: i64,
    /// The delta that Gaussian noise uses, if the budget has one.
    pub(crate) delta: Option<f64>,
}
/// A threshold that hides all keys, and costs no delta.
const HIGH: i64 = 1 << 53;

/// A query without its noise.
pub(crate) struct Plan<'c, MO: Accounted, TO: Carrier> {
    pub(crate) context: &'c Context<MO>,
    pub(crate) share: Result<Vec<Exact>>,
    pub(crate) words: String,
    pub(crate) mechanism: &'static str,
    pub(crate) error_in: ErrorIn,
    /// Whether to find a threshold, too.
    pub(crate) threshold: bool,
    /// The distribution of the noise on each number, if the answer is a number with noise.
    pub(crate) noise: Option<fn(Scale, bool) -> Noise>,
    pub(crate) bound: Option<Bound>,
    pub(crate) build: Result<Build<MO, TO>>,
}
impl<'c, MO: Accounted, TO: Carrier> Plan<'c, MO, TO> {
    /// Find the least noise that fits the share.
    pub(crate) fn solve(self) -> Result<Question<'c, MO, TO>> {
        let (build, share) = (self.build?, self.share?);
        let loss = |dials| build(dials)?.exact_map(&self.context.unit().distance());
        let fits = |loss: &[Exact], parts: usize| {
            loss.iter().zip(&share).take(parts).all(|(loss, share)| loss <= share)
        };
        let parts = if self.threshold { 1 } else { share.len() };
        let enough = |scale: f64| {
            let dials = Dials { scale: Scale::new(scale)?, threshold: HIGH, delta: None };
            Ok(fits(&loss(dials)?, parts))
        };
        let scale =
            if enough(0.0)? { 0.0 } else { binary_search(enough, None).map_err(too_small)? };
        let mut dials = Dials { scale: Scale::new(scale)?, threshold: HIGH, delta: None };
        // If the account rounds the loss up, increase the noise a little to compensate.
        for _ in 0..64 {
            if self.context.would_admit(&loss(dials)?) {
                break;
            }
            dials.scale = Scale::new(dials.scale.value().next_up())?;
        }
        if self.threshold {
            dials.threshold = least_threshold(|threshold| {
                Ok(fits(&loss(Dials { threshold, ..dials })?, share.len()))
            })?;
        }
        let threshold = self.threshold.then_some(dials.threshold);
        Question::new(self.context, build(dials)?, self.words, self.mechanism, |question| {
            question.scale = dials.scale;
            question.threshold = threshold;
            question.bound = self.bound;
            question.error_in = self.error_in;
            question.noise = self.noise;
        })
    }
    /// Find the least Gaussian noise, to four digits, that fits the share with all of its delta.
    pub(crate) fn solve_at_delta(self) -> Result<Question<'c, MO, TO>> {
        let (build, share) = (self.build?, self.share?);
        let delta = share.get(1).map_or(0.0, Exact::to_f64_down);
        if !(0.0 < delta) {
            return Err(Error::BudgetExceeded(
                "Gaussian noise takes some delta, and none is left to this query; nothing was run. \
                 Or take `.laplace()`, which takes none"
                    .into(),
            ));
        }
        let dials = |scale: f64| -> Result<Dials> {
            Ok(Dials { scale: Scale::new(scale)?, threshold: HIGH, delta: Some(delta) })
        };
        let loss = |scale| build(dials(scale)?)?.exact_map(&self.context.unit().distance());
        // For very small noise the loss may not be a number.
        let fits = |scale: f64| {
            loss(scale).is_ok_and(|loss| loss.iter().zip(&share).all(|(loss, share)| loss <= share))
        };
        let (mut low, mut high) = (1.0, 1.0);
        if fits(high) {
            while 1e-150 < low && fits(low) {
                (low, high) = (low / 4.0, low);
            }
        } else {
            while !fits(high) {
                if 1e150 < high {
                    loss(high)?;
                    return Err(too_small(Error::Search(String::new())));
                }
                (low, high) = (high, high * 4.0);
            }
        }
        while low * 1.0001 < high {
            let middle = low + (high - low) / 2.0;
            if fits(middle) { high = middle } else { low = middle }
        }
        let noise = self.noise;
        Question::new(self.context, build(dials(high)?)?, self.words, "Gaussian", |question| {
            question.scale = Scale::new(high).unwrap_or(question.scale);
            question.error_in = self.error_in;
            question.noise = noise;
        })
    }
    /// Use the noise scale that the analyst gives, if it fits the share.
    pub(crate) fn of_scale(self, scale: f64) -> Result<Question<'c, MO, TO>> {
        let (build, share) = (self.build?, self.share?);
        let mut dials = Dials { scale: Scale::new(scale)?, threshold: HIGH, delta: None };
        let loss = |dials| build(dials)?.exact_map(&self.context.unit().distance());
        let fits = |loss: &[Exact]| loss.iter().zip(&share).all(|(loss, share)| loss <= share);
        if self.threshold {
            let enough = |threshold| Ok(fits(&loss(Dials { threshold, ..dials })?));
            // If no threshold is high enough, the check below refuses the highest one.
            dials.threshold = least_threshold(enough).unwrap_or(HIGH);
        }
        let cost = loss(dials)?;
        if !fits(&cost) {
            return Err(Error::BudgetExceeded(format!(
                "noise of scale {scale} costs {}, and the share of this query is {}; nothing was run",
                show::<MO>(&cost, Exact::to_f64_up),
                show::<MO>(&share, Exact::to_f64_down),
            )));
        }
        let threshold = self.threshold.then_some(dials.threshold);
        Question::new(self.context, build(dials)?, self.words, self.mechanism, |question| {
            question.scale = dials.scale;
            question.threshold = threshold;
            question.bound = self.bound;
            question.error_in = self.error_in;
            question.noise = self.noise;
        })
    }
}
/// Find the least threshold whose delta fits.
fn least_threshold(enough: impl Fn(i64) -> Result<bool>) -> Result<i64> {
    binary_search(enough, Some((0, HIGH))).map_err(|_| no_delta())
}
fn too_small(error: Error) -> Error {
    match error {
        Error::Search(_) => Error::BudgetExceeded(
            "no amount of noise is enough for what is left to this query; nothing was run".into(),
        ),
        other => other,
    }
}
fn no_delta() -> Error {
    Error::BudgetExceeded(
        "to count by keys that are not public takes some delta, and too little is left to this \
         query; nothing was run. Or list the keys, which takes none: `.histogram(keys)`"
            .into(),
    )
}
/// Write a loss with the names of its parts.
pub(crate) fn show<MO: Accounted>(parts: &[Exact], float: fn(&Exact) -> f64) -> String {
    let named = MO::PARTS.iter().zip(parts).map(|(name, part)| format!("{name} {}", float(part)));
    named.collect::<Vec<_>>().join(", ")
}

/// A question that is ready to be asked. Its noise fits its share of the budget, and nothing has
/// been spent.
pub struct Question<'c, MO: Accounted, TO: Carrier> {
    context: &'c Context<MO>,
    measurement: OfTable<MO, TO>,
    words: String,
    mechanism: &'static str,
    scale: Scale,
    threshold: Option<i64>,
    error_in: ErrorIn,
    bound: Option<Bound>,
    noise: Option<fn(Scale, bool) -> Noise>,
    exact: Vec<Exact>,
}
impl<'c, MO: Accounted, TO: Carrier> Question<'c, MO, TO> {
    fn new(
        context: &'c Context<MO>,
        measurement: OfTable<MO, TO>,
        words: String,
        mechanism: &'static str,
        finish: impl FnOnce(&mut Self),
    ) -> Result<Self> {
        let exact = measurement.exact_map(&context.unit().distance())?;
        let (scale, error_in) = (Scale::new(0.0)?, ErrorIn::Value);
        let mut question = Question {
            context,
            measurement,
            words,
            mechanism,
            scale,
            threshold: None,
            error_in,
            bound: None,
            noise: None,
            exact,
        };
        finish(&mut question);
        Ok(question)
    }
    /// Return the scale of the noise.
    pub fn scale(&self) -> f64 {
        self.scale.value()
    }
    /// Return the threshold that the noisy count of a key must reach, if there is one.
    pub fn threshold(&self) -> Option<i64> {
        self.threshold
    }
    /// Return what an answer costs, rounded up.
    ///
    /// # Errors
    /// Those of the map.
    pub fn loss(&self) -> Result<MO::Distance> {
        self.measurement.map(&self.context.unit().distance())
    }
    /// Return what an answer costs, exactly, part by part.
    pub fn exact_loss(&self) -> &[Exact] {
        &self.exact
    }
    /// Return the measurement itself, for inspection.
    pub fn measurement(&self) -> &OfTable<MO, TO> {
        &self.measurement
    }
    /// Bound the distance of the answer from the truth, except with probability `alpha`. If there
    /// are several numbers, the bound is for each one separately. For a quantile it is in ranks, in
    /// addition to the error of the best candidate. This costs nothing.
    ///
    /// # Errors
    /// `InvalidDistance` when `alpha` is not in `(0, 1]`; `NotImplemented` when no bound is known.
    pub fn accuracy(&self, alpha: f64) -> Result<f64> {
        if !(0.0 < alpha && alpha <= 1.0) {
            return Err(Error::InvalidDistance(format!(
                "alpha: expected a probability above 0 and at most 1, found {alpha}"
            )));
        }
        let known = self.measurement.accuracy(alpha)?;
        if let Some(bound) = &self.bound {
            return bound(self.scale, alpha);
        }
        let worst = known.into_iter().try_fold(0.0, |worst: f64, each| Some(worst.max(each?)));
        worst.ok_or_else(|| {
            Error::NotImplemented(format!("no bound on the error is known for: {}", self.words))
        })
    }
    /// Spend what the answer costs, then answer.
    ///
    /// # Errors
    /// * `BudgetExceeded` when it no longer fits the budget: nothing is run, and nothing is spent
    /// * those of the [`Journal`](super::Journal), and `NoEntropy`: nothing is released, but the
    ///   charge stays
    pub fn release(self) -> Result<Answer<MO, TO>> {
        let accuracy = self.accuracy(Context::<MO>::ALPHA).ok();
        self.context.charge(&self.exact, |left| Entry {
            query: self.words.clone(),
            mechanism: self.mechanism.to_owned(),
            scale: self.scale.value(),
            threshold: self.threshold,
            loss: self.exact.clone(),
            accuracy,
            error_in: self.error_in,
            left,
        })?;
        let value = self.measurement.invoke(self.context.table())?;
        let noise = self.noise.map(|noise| noise(self.scale, self.mechanism == "Gaussian"));
        // At `alpha` = 1 the bound contains only the error of rounding.
        let slack = self.measurement.accuracy(1.0).ok().and_then(|bounds| bounds.first().copied());
        let noise = noise.zip(slack.flatten()).map(|(noise, slack)| noise.and_at_most(slack));
        let estimates = Arc::new(OnceLock::new());
        Ok(Answer { value, accuracy, measurement: self.measurement, noise, estimates })
    }
}
impl<MO: Accounted, TO: Carrier> fmt::Debug for Question<'_, MO, TO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("query", &self.words)
            .field("scale", &self.scale)
            .field("threshold", &self.threshold)
            .finish_non_exhaustive()
    }
}

/// An answer that has been released and paid for.
#[derive(Clone, Debug)]
pub struct Answer<MO: Accounted, TO: Carrier> {
    /// What was released.
    pub value: TO,
    /// A bound on the distance from the truth, except with probability [`Context::ALPHA`], if one
    /// is known; see [`Question::accuracy`].
    pub accuracy: Option<f64>,
    measurement: OfTable<MO, TO>,
    noise: Option<Noise>,
    /// Made once, so every copy of an estimate shares the same noise.
    estimates: Arc<OnceLock<Vec<Estimate>>>,
}
impl<MO: Accounted, TO: Carrier> Answer<MO, TO> {
    /// Combine the numbers, each given as an interval of floats, with their noise.
    fn estimates_of(&self, numbers: &[(f64, f64)]) -> Result<&[Estimate]> {
        let Some(noise) = self.noise else {
            return Err(Error::NotImplemented(
                "the error of this answer has no distribution that could be added to others".into(),
            ));
        };
        if let Some(made) = self.estimates.get() {
            return Ok(made);
        }
        let made = numbers.iter().map(|(low, high)| {
            let value = low + (high - low) / 2.0;
            // A released float represents all numbers that round to it.
            let rounding = high.inf_sub(value)?.max(value.inf_sub(*low)?);
            let rounding = noise.slack().inf_add(rounding)?;
            Ok(Estimate::released(value, noise.and_at_most(rounding)))
        });
        let made = made.collect::<Result<Vec<_>>>()?;
        Ok(self.estimates.get_or_init(|| made))
    }
}
impl<MO: Accounted, TO: Released<Intervals = (f64, f64)>> Answer<MO, TO> {
    /// Return the number together with its noise, for computing: sums, differences, multiples and
    /// quotients of answers have intervals, too.
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
    /// assert!(lower < 3e4 && 3e4 < upper); // but with probability 1e-9
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotImplemented` when it was chosen among candidates.
    pub fn estimate(&self) -> Result<Estimate> {
        let made = self.estimates_of(&[self.value.intervals(&[Some(0.0)])?])?;
        made.first().cloned().ok_or_else(|| Error::FailedFunction("there is no number".into()))
    }
}
impl<MO: Accounted, TO: Released<Intervals = Vec<(f64, f64)>>> Answer<MO, TO> {
    /// Return the numbers together with their noise, for computing.
    ///
    /// # Errors
    /// `NotImplemented` when they were chosen among candidates.
    pub fn estimates(&self) -> Result<&[Estimate]> {
        self.estimates_of(&self.value.intervals(&[Some(0.0)])?)
    }
}
impl<MO: Accounted, TO: Released> Answer<MO, TO> {
    /// Return an interval that contains the true number except with probability `alpha`. For
    /// several numbers, all intervals hold together. Only the noise is counted, and not what
    /// clamping has changed.
    ///
    /// # Errors
    /// Those of [`confidence_interval`].
    pub fn interval(&self, alpha: f64) -> Result<TO::Intervals> {
        confidence_interval(&self.measurement, &self.value, alpha)
    }
}
