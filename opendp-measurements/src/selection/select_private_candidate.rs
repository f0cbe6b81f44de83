//! The first of many releases with a score that is good enough.

use opendp_core::arith::{Directed, DirectedFloat, Exact};
use opendp_core::erased::{AnyDomain, AnyMeasure, AnyMetric, AnyValue};
use opendp_core::random::with_secure;
use opendp_core::{
    Approximate, Carrier, Domain, Error, Function, MaxDivergence, Measure, Measurement, Metric,
    PrivacyMap, Result,
};

use crate::samplers::Geometric;

/// A release that has a score: a pair of the score and any value.
///
/// An erased release has a score if it is such a pair, or a list that begins with the score, as the
/// release of a composition does.
pub trait Candidate: Carrier {
    /// The score.
    ///
    /// # Errors
    /// `FailedCast` when its type has no score.
    fn score(&self) -> Result<f64>;
}
impl<T: Carrier> Candidate for (f64, T) {
    fn score(&self) -> Result<f64> {
        Ok(self.0)
    }
}
impl Candidate for AnyValue {
    fn score(&self) -> Result<f64> {
        if let Some((score, _)) = self.pair() {
            return score.downcast();
        }
        match self.downcast_ref::<Vec<AnyValue>>()?.first() {
            Some(score) => score.clone().downcast(),
            None => Err(Error::FailedCast("expected a score, found an empty list".into())),
        }
    }
}

/// A privacy measure with a proved loss for the choice of a candidate.
///
/// An implementation claims that a loss in the measure has the [parts](Measure::parts) epsilon, or
/// epsilon and delta, of differential privacy.
pub trait CandidateMeasure: Measure {
    /// Check that the claim is made. For some erased measures it is not.
    ///
    /// # Errors
    /// `NotImplemented` when it does not.
    fn has_candidates(&self) -> Result<()> {
        Ok(())
    }
}
impl CandidateMeasure for MaxDivergence {}
impl CandidateMeasure for Approximate<MaxDivergence> {}
impl CandidateMeasure for AnyMeasure {
    fn has_candidates(&self) -> Result<()> {
        if self.is::<MaxDivergence>() || self.is::<Approximate<MaxDivergence>>() {
            return Ok(());
        }
        Err(Error::NotImplemented(format!(
            "the loss of choosing a candidate is not known for {}",
            self.inner_type()
        )))
    }
}

/// Make a measurement that repeats another one until the score of its release reaches a threshold.
///
/// # Arguments
/// * `measurement` - the measurement to repeat; it releases pairs of a score and any value
/// * `stop_probability` - the probability of giving up after each failed round; there are at most
///   `1 / stop_probability` rounds on average
/// * `threshold` - the least score that is good enough
///
/// # Precondition
/// `0 <= stop_probability <= 1`, and `threshold` is finite. Losses are measured in max-divergence,
/// or in approximate max-divergence. The threshold is public. If it depends on the same data,
/// account for the loss of computing it.
///
/// With a `stop_probability` of 0 the function never gives up. Then it does not return on data for
/// which no release ever reaches the threshold. Under max-divergence this reveals nothing: at a
/// finite loss it returns either for all data or for none. Under approximate max-divergence it may
/// reveal something about the data, so the map is an error unless delta is 0.
///
/// # Postcondition
/// Each round runs the measurement anew. The release is the first pair whose score is at least the
/// threshold, or nothing. A NaN score never passes. The map does *not* cover the number of rounds,
/// and so does not cover their time.
///
/// # Map
/// For a loss of `epsilon`, `2 epsilon`. For a loss of `(epsilon, delta)` and the probability `g`
/// of giving up, `(2 epsilon, min(1, delta (1 + exp(epsilon) (1 - g)) / g))`, rounded up.
///
/// # Proof
/// Let `x`, `y` be neighbours, and let a round pass (reach the threshold) with probability `p` on
/// `x` and `q` on `y`. Round `i + 1` takes place if the first `i` have failed without giving
/// up, with probability `((1 - p)(1 - g))^i`: [`Geometric`] draws the number of rounds before one
/// that gives up, exactly for the rational value of `g`, and rounds are independent. Take a set `S`
/// of releases, and let `f` be 1 for a pair in `S` that passes, `g` for any pair that fails if `S`
/// contains the empty release, and 0 otherwise. Let `P` be the mean of `f` in one round on `x`, and
/// `Q` on `y`. Adding up over the rounds, the release is in `S` with probability
///
/// `P / D` with `D = 1 - (1 - p)(1 - g) = g + (1 - g) p` on `x`, and `Q / E`,
/// `E = g + (1 - g) q`, on `y`.
///
/// *Pure.* `f` is at least 0, so `P <= e^epsilon Q`. And `q <= e^epsilon p`, so `E <= e^epsilon D`.
/// So `P / D <= e^(2 epsilon) Q / E`. With `g = 0` this assumes that `D` is not 0; it is 0 only if
/// `p = 0`, and then it is 0 for both `x` and `y`. (Liu, Talwar 2019, their algorithm for a known
/// threshold, with no limit on the number of rounds.)
///
/// *Approximate.* `f` is within 0 and 1, so `P <= e^epsilon Q + delta`, and
/// `E <= g + (1 - g) (e^epsilon p + delta) <= e^epsilon D + (1 - g) delta`. Since `D >= g`,
///
/// `P / D <= e^epsilon Q / D + delta / g`
/// `= e^epsilon (Q / E) (E / D) + delta / g`
/// `<= e^(2 epsilon) Q / E + e^epsilon (Q / E) (1 - g) delta / g + delta / g`,
///
/// and `Q / E`, a probability, is at most 1. (The same theorem has `3 e^(2 epsilon) delta / g`,
/// which is more.)
///
/// *Conversations.* If the releases answer questions, consider a release to be its score and all
/// its answers to a given analyst. Only the released pair is ever asked.
///
/// This proof does not apply to other measures. It does not cover a release of the number of
/// rounds, or a threshold that depends on the releases; other bounds exist for these (Papernot,
/// Steinke 2022).
///
/// # Errors
/// * `MakeMeasurement` when an argument is out of range, or the measure is another one
/// * from the function: the errors of the measurement; `FailedCast` when its erased release has no
///   score
/// * from the map: the errors of the measurement; `FailedMap` when delta is not 0 and
///   `stop_probability` is 0
///
/// # Example
/// ```
/// use opendp_core::*;
/// use opendp_measurements::{Scale, make_laplace, make_select_private_candidate};
/// let sums = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new())?;
/// // The noisy sum is its own score.
/// let noisy = make_laplace(sums, Scale::new(1.0)?, None)?;
/// let scored = noisy.then(|| Ok(Function::map(|sum: &f64| Ok((*sum, "sum".to_owned())))))?;
/// let large = make_select_private_candidate(scored, 0.01, 5.0)?;
/// assert_eq!(large.map(&1.0)?, 2.0);
/// if let Some((score, _)) = large.invoke(&4.0)? {
///     assert!(5.0 <= score);
/// }
/// # Ok::<(), Error>(())
/// ```
pub fn make_select_private_candidate<DI, MI, MO, TO>(
    measurement: Measurement<DI, MI, MO, TO>,
    stop_probability: f64,
    threshold: f64,
) -> Result<Measurement<DI, MI, MO, Option<TO>>>
where
    DI: Domain,
    MI: Metric,
    MO: CandidateMeasure,
    TO: Candidate,
{
    let no = |reason: String| Err(Error::MakeMeasurement(reason));
    if !(0.0..=1.0).contains(&stop_probability) {
        return no(format!(
            "stop_probability: expected a number from 0 to 1, found {stop_probability}"
        ));
    }
    if !threshold.is_finite() {
        return no(format!("threshold: must be finite, found {threshold}"));
    }
    if let Err(error) = measurement.measure().has_candidates() {
        return no(format!("measurement: {error}"));
    }
    let stop = Geometric::from_probability(stop_probability);
    let candidates = measurement.function().clone();
    let function = Function::map(move |data| {
        let mut further = with_secure(|source| stop.draw_unbounded(source))?;
        let forever = stop_probability == 0.0;
        loop {
            let candidate = candidates.eval(data)?;
            if threshold <= candidate.score()? {
                return Ok(Some(candidate));
            }
            if further.is_zero() {
                return Ok(None);
            }
            if !forever {
                further -= 1_u8;
            }
        }
    });
    let (input, measure) = (measurement.input().clone(), measurement.measure().clone());
    let (loss, whole) = (measurement.clone(), measure.clone());
    let map = PrivacyMap::new(move |d_in: &MI::Distance| {
        let parts = repeated(loss.exact_map(d_in)?, stop_probability)?;
        let parts: Vec<f64> = parts.iter().map(Exact::to_f64_up).collect();
        whole.join(&parts)
    })
    .with_exact(move |d_in| repeated(measurement.exact_map(d_in)?, stop_probability));
    Ok(Measurement::new(input, measure, function, map))
}
register! {
    "select_private_candidate.rs": make_select_private_candidate
        (measurement, stop_probability, threshold)
        for DI in [AnyDomain], MI in [AnyMetric], MO in [AnyMeasure], TO in [AnyValue];
}

/// Bound epsilon, or epsilon and delta, of the choice.
fn repeated(loss: Vec<Exact>, stop_probability: f64) -> Result<Vec<Exact>> {
    let mut parts = loss.into_iter();
    let Some(epsilon) = parts.next() else {
        return Err(Error::FailedMap("a loss without parts".into()));
    };
    let mut repeated = vec![epsilon.plus(&epsilon)];
    if let Some(delta) = parts.next() {
        repeated.push(failure(epsilon.to_f64_up(), &delta, stop_probability)?);
    }
    Ok(repeated)
}

/// Compute `min(1, delta (1 + exp(epsilon) (1 - g)) / g)`, rounding up.
fn failure(epsilon: f64, delta: &Exact, g: f64) -> Result<Exact> {
    if delta.is_zero() {
        return Ok(Exact::ZERO);
    }
    if !(0.0 < g) {
        return Err(Error::FailedMap(
            "stop_probability: expected a number above 0, because delta is above 0: without it, \
             whether there is ever a release may reveal data"
                .into(),
        ));
    }
    let one = Exact::from_f64(1.0)?;
    // A ratio that does not fit a float is more than 1.
    let Ok(ratio) = epsilon.inf_exp() else { return Ok(one) };
    let ratio = Exact::from_f64(ratio)?.times(&Exact::from_f64(1.0.inf_sub(g)?)?);
    let total = delta.times(&one.plus(&ratio)).over(&Exact::from_f64(g)?);
    if one < total { Ok(one) } else { Exact::from_f64(total.to_f64_up()) }
}

#[cfg(test)]
mod tests;
