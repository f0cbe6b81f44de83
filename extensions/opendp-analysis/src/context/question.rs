//! Questions whose noise is known: what they cost, how accurate they are, and their answers.

use std::fmt;

use opendp_core::arith::Exact;
use opendp_core::search::binary_search;
use opendp_core::{Carrier, Error, Measurement, Result, SymmetricDistance};
use opendp_measurements::{Released, Scale, confidence_interval};

use super::report::{Entry, ErrorIn};
use super::{Accounted, Context, TableDomain};

/// A measurement of a table.
pub(crate) type OfTable<MO, TO> = Measurement<TableDomain, SymmetricDistance, MO, TO>;
/// Makes the measurement of a query from its free parameters.
pub(crate) type Build<MO, TO> = Box<dyn Fn(Dials) -> Result<OfTable<MO, TO>> + Send + Sync>;
/// Bounds the error of answers from the scale of noise, where the measurement does not.
pub(crate) type Bound = Box<dyn Fn(Scale, f64) -> Result<f64> + Send + Sync>;

/// The free parameters of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dials {
    pub(crate) scale: Scale,
    pub(crate) threshold: i64,
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
    /// Whether there is a threshold to be found, too.
    pub(crate) threshold: bool,
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
            let dials = Dials { scale: Scale::new(scale)?, threshold: HIGH };
            Ok(fits(&loss(dials)?, parts))
        };
        let scale =
            if enough(0.0)? { 0.0 } else { binary_search(enough, None).map_err(too_small)? };
        let mut dials = Dials { scale: Scale::new(scale)?, threshold: HIGH };
        // Where the account has to round the loss, a little more noise makes up for it.
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
        })
    }
    /// Take the noise that the analyst says, if it fits the share.
    pub(crate) fn of_scale(self, scale: f64) -> Result<Question<'c, MO, TO>> {
        let (build, share) = (self.build?, self.share?);
        let mut dials = Dials { scale: Scale::new(scale)?, threshold: HIGH };
        let loss = |dials| build(dials)?.exact_map(&self.context.unit().distance());
        let fits = |loss: &[Exact]| loss.iter().zip(&share).all(|(loss, share)| loss <= share);
        if self.threshold {
            let enough = |threshold| Ok(fits(&loss(Dials { threshold, ..dials })?));
            // Where none is enough, the highest is refused below.
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

/// A question that is ready to be asked: its noise fits its share of the budget, and nothing has
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
            exact,
        };
        finish(&mut question);
        Ok(question)
    }
    /// The scale of the noise.
    pub fn scale(&self) -> f64 {
        self.scale.value()
    }
    /// The threshold that the noisy count of a key must reach, where there is one.
    pub fn threshold(&self) -> Option<i64> {
        self.threshold
    }
    /// What an answer costs, rounded up.
    ///
    /// # Errors
    /// Those of the map.
    pub fn loss(&self) -> Result<MO::Distance> {
        self.measurement.map(&self.context.unit().distance())
    }
    /// What an answer costs, exactly, part by part.
    pub fn exact_loss(&self) -> &[Exact] {
        &self.exact
    }
    /// The measurement itself, for whoever wants to look inside.
    pub fn measurement(&self) -> &OfTable<MO, TO> {
        &self.measurement
    }
    /// Bound how far the answer will be from the truth, except with probability `alpha`: each number
    /// for itself, if there are several; for a quantile in ranks, beyond what the best candidate
    /// misses. This costs nothing.
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
    /// Spend what it costs, and then answer.
    ///
    /// # Errors
    /// * `BudgetExceeded` when it no longer fits the budget: nothing is run, and nothing spent
    /// * those of the [`Journal`](super::Journal), and `NoEntropy`: nothing is released, and the
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
        Ok(Answer { value, accuracy, measurement: self.measurement })
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

/// An answer that has been released, and paid for.
#[derive(Clone, Debug)]
pub struct Answer<MO: Accounted, TO: Carrier> {
    /// What was released.
    pub value: TO,
    /// How far it is from the truth, except with probability [`Context::ALPHA`], if a bound is
    /// known; see [`Question::accuracy`].
    pub accuracy: Option<f64>,
    measurement: OfTable<MO, TO>,
}
impl<MO: Accounted, TO: Released> Answer<MO, TO> {
    /// Put an interval around the number that holds the true one except with probability `alpha`;
    /// around several, intervals that all do. Only the noise is counted, and not what clamping has
    /// changed.
    ///
    /// # Errors
    /// Those of [`confidence_interval`].
    pub fn interval(&self, alpha: f64) -> Result<TO::Intervals> {
        confidence_interval(&self.measurement, &self.value, alpha)
    }
}
