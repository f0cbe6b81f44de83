//! A measurement that repeats another measurement until the score of the release is good enough.

use opendp_core::arith::{Directed, DirectedFloat, Exact, InfCast, shown};
use opendp_core::erased::{AnyDomain, AnyMeasure, AnyMetric, AnyValue};
use opendp_core::random::with_secure;
use opendp_core::{
    Approximate, Carrier, Domain, Error, Function, MaxDivergence, Measure, Measurement, Metric,
    PrivacyMap, Result,
};

use crate::collected::Collected;
use crate::samplers::Geometric;

/// A type of releases that have a score. Such a release is a pair of a score and a value of any
/// type.
///
/// An erased release is an [`AnyValue`], whose type is known only at run time. An erased release
/// has a score if the erased value is such a pair, or a list that begins with the score. The
/// release of a composition can be such a list. The score of an erased release can also be an
/// integer.
pub trait Candidate: Carrier {
    /// Return the score of the release.
    ///
    /// # Errors
    /// `FailedCast` when an erased release has no score.
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
            return number(&score);
        }
        match self.downcast_ref::<Vec<AnyValue>>()?.first() {
            Some(score) => number(score),
            None => Err(Error::FailedCast("expected a score, found an empty list".into())),
        }
    }
}
/// Return the largest float that is at most `score`. The threshold is a float. So the returned
/// float reaches the threshold if and only if `score` reaches the threshold.
fn number(score: &AnyValue) -> Result<f64> {
    macro_rules! integers {
        ($($T:ty)*) => {
            $(if let Ok(score) = score.downcast_ref::<$T>() {
                return f64::neg_inf_cast(*score);
            })*
        };
    }
    integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 usize);
    match score.downcast_ref::<f32>() {
        Ok(score) => Ok(f64::from(*score)),
        Err(_) => score.downcast_ref::<f64>().copied(),
    }
}

/// A privacy measure in which the choice of a candidate has a proven loss.
///
/// An implementation claims that a loss in the measure has one or two [parts](Measure::parts). A
/// single part is the epsilon of differential privacy. Two parts are epsilon and delta.
pub trait CandidateMeasure: Measure {
    /// Check that the [parts](Measure::parts) of a loss in this measure are epsilon, or epsilon and
    /// delta. Some erased measures have other parts.
    ///
    /// # Errors
    /// `NotImplemented` when the measure has other parts.
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

/// Make a measurement that repeats another measurement until the score of its release reaches a
/// threshold.
///
/// # Arguments
/// * `measurement` - the measurement to repeat. This measurement releases pairs of a score and any
///   value
/// * `stop_probability` - the probability of giving up after each failed round. There are at most
///   `1 / stop_probability` rounds on average
/// * `threshold` - the least score that is good enough
///
/// # Precondition
/// `0 <= stop_probability <= 1`, and `threshold` is finite. Losses are measured in max-divergence,
/// or in approximate max-divergence. The threshold is public. If the threshold is computed from the
/// same data, also count the loss of this computation.
///
/// With a `stop_probability` of 0, the function never gives up. So if no score of `measurement` on
/// the data can reach the threshold, the function never returns. Under max-divergence with a finite
/// loss, the function returns for both of two neighbours, or for neither of them. So a function
/// that never returns reveals nothing. Under approximate max-divergence, a function that never
/// returns can reveal something about the data. So with a `stop_probability` of 0, the map returns
/// an error if delta is above 0.
///
/// # Postcondition
/// Each round runs the measurement again. The release is the first pair whose score is at least the
/// threshold. If the function gives up before such a pair, the release is empty. A NaN score never
/// reaches the threshold. The map does *not* bound what the number of rounds or the running time
/// reveals.
///
/// # Map
/// If the loss of `measurement` is `epsilon`, the loss of the selection is `2 epsilon`. Let `g` be
/// `stop_probability`. If the loss of `measurement` is `(epsilon, delta)`, the loss of the
/// selection is `(2 epsilon, min(1, delta (1 + exp(epsilon) (1 - g)) / g))`, rounded up.
///
/// # Proof
/// Let `x`, `y` be neighbours. A round passes if its score reaches the threshold. Let `p` be the
/// probability that a round on `x` passes, and `q` the probability that a round on `y` passes.
/// Round `i + 1` takes place if the first `i` rounds fail, and the function does not give up after
/// any of these rounds. After each failed round, the function gives up with probability `g`.
/// [`Geometric`] draws how many more rounds are allowed after the first round. The distribution of
/// this number is exact for the rational value of `g`. Rounds are independent. So on `x`, round
/// `i + 1` takes place with probability `((1 - p)(1 - g))^i`. Take a set `S` of releases. Let `f`
/// be the following function of the pair that a round releases. If the pair passes and is in `S`,
/// `f` is 1. If the pair fails and `S` contains the empty release, `f` is `g`. In all other cases,
/// `f` is 0. Let `P` be the mean of `f` in one round on `x`, and `Q` the mean in one round on `y`.
/// For each round, multiply the mean of `f` by the probability that the round takes place. The sum
/// of these products is the probability that the release is in `S`. This probability is
///
/// `P / D` on `x`, with `D = 1 - (1 - p)(1 - g) = g + (1 - g) p`, and `Q / E` on `y`, with
/// `E = g + (1 - g) q`.
///
/// *Pure.* `f` is at least 0, so `P <= e^epsilon Q`. Also, `q <= e^epsilon p`, so
/// `E <= e^epsilon D`. So `P / D <= e^(2 epsilon) Q / E`. `D` is 0 only if `g = 0` and `p = 0`.
/// Then `q` is also 0, and the function returns neither for `x` nor for `y`. (This is the algorithm
/// of Liu, Talwar 2019 for a known threshold, with no limit on the number of rounds.)
///
/// *Approximate.* `f` is between 0 and 1, so `P <= e^epsilon Q + delta`, and
/// `E <= g + (1 - g) (e^epsilon p + delta) <= e^epsilon D + (1 - g) delta`. Because `D >= g`,
///
/// `P / D <= e^epsilon Q / D + delta / g`
/// `= e^epsilon (Q / E) (E / D) + delta / g`
/// `<= e^(2 epsilon) Q / E + e^epsilon (Q / E) (1 - g) delta / g + delta / g`,
///
/// and the probability `Q / E` is at most 1. (The theorem of Liu, Talwar 2019 has the larger bound
/// `3 e^(2 epsilon) delta / g`.)
///
/// *Conversations.* The value of a released pair can be a queryable, which answers questions of an
/// analyst. Then fix the strategy of the analyst. In the proof, a release consists of its score and
/// of all its answers to this analyst. The analyst can send questions to the released pair, but not
/// to the pairs of failed rounds.
///
/// This proof does not apply to other measures. The proof does not cover a release of the number of
/// rounds, or a threshold that depends on the releases. Other bounds exist for these cases
/// (Papernot, Steinke 2022).
///
/// # Errors
/// * `MakeMeasurement` when an argument is out of range, or when the proof does not apply to the
///   measure
/// * from the function: the errors of the measurement; `FailedCast` when the erased release of the
///   measurement has no score
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
    let refused = |reason: String| Err(Error::MakeMeasurement(reason));
    if !(0.0..=1.0).contains(&stop_probability) {
        return refused(format!(
            "stop_probability: expected a number from 0 to 1, found {}",
            shown(stop_probability)
        ));
    }
    if !threshold.is_finite() {
        let found = shown(threshold);
        return refused(format!("threshold: expected a finite number, found {found}"));
    }
    if let Err(error) = measurement.measure().has_candidates() {
        return refused(format!("measurement: {error}"));
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
        let parts: Vec<f64> = parts.iter().map(Exact::to_f64_up).collected();
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

/// Compute the loss of the choice from the loss of one round. The result contains an upper bound on
/// epsilon, or upper bounds on epsilon and delta.
fn repeated(loss: Vec<Exact>, stop_probability: f64) -> Result<Vec<Exact>> {
    let mut parts = loss.into_iter();
    let Some(epsilon) = parts.next() else {
        return Err(Error::FailedMap(
            "measurement: its map returned a loss without an epsilon".into(),
        ));
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
            "stop_probability: expected a number above 0, because delta is above 0; with 0, \
             a run may never end, and this may reveal data"
                .into(),
        ));
    }
    let unit = Exact::from_f64(1.0)?;
    // If `exp(epsilon)` does not fit a float, the bound on delta is 1.
    let Ok(ratio) = epsilon.inf_exp() else { return Ok(unit) };
    let ratio = Exact::from_f64(ratio)?.times(&Exact::from_f64(1.0.inf_sub(g)?)?);
    let total = delta.times(&unit.plus(&ratio)).over(&Exact::from_f64(g)?);
    if unit < total { Ok(unit) } else { Exact::from_f64(total.to_f64_up()) }
}

#[cfg(test)]
mod tests;
