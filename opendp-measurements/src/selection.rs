//! The random choice of candidates under each privacy measure, with the privacy loss of this
//! choice.

pub(crate) mod gumbel_max;
mod noisy_max;
mod noisy_top_k;
mod select_private_candidate;

mod any_score_metric;
mod any_selection_measure;
mod temperature;

use std::cmp::Ordering;

use opendp_core::arith::{Directed, DirectedFloat, Exact, InfCast, Number};
use opendp_core::random::{NoEntropy, RandomSource, securely};
use opendp_core::{
    Atom, AtomDomain, Error, Function, MaxDivergence, Measure, Measurement, MetricOn, PrivacyMap,
    Result, Space, VectorDomain, ZeroConcentratedDivergence,
};

use crate::Scale;
use crate::accuracy;
use crate::collected::Collected;
use crate::noise::numbers::all_finite;
use crate::samplers::{Optimize, Score, exponential_top_k, gumbel_top_k};

pub(crate) use any_score_metric::AnyScoreMetric;
pub use any_selection_measure::{AnySelectionMeasure, Choose, LossOfChoices, Selects};
pub use gumbel_max::{ScoreMetric, make_gumbel_max};
pub use noisy_max::make_noisy_max;
pub use noisy_top_k::make_noisy_top_k;
pub use select_private_candidate::{Candidate, CandidateMeasure, make_select_private_candidate};
pub use temperature::Temperature;

/// Return the input space of a selection. Return an error if a caller selects the highest score,
/// but the space states that the lowest score is the best. Without this error, the selection would
/// prefer the worst candidate. If the highest score is selected, the returned space states that the
/// highest score is selected. A chain then refuses an earlier step whose output space states that
/// the lowest score is the best.
///
/// `argument` is the name of the constructor argument that selects the direction. `right` is the
/// value of this argument that selects the lowest score.
///
/// # Errors
/// `Argument` when the highest score is selected, but the space states that the lowest score is the
/// best.
pub(crate) fn check_best<D, M>(
    input: Space<D, M>,
    optimize: Optimize,
    argument: &str,
    right: &str,
) -> Result<Space<D, M>> {
    match optimize {
        Optimize::Max if input.lowest_is_best() => Err(no_best(argument, right)),
        Optimize::Max => Ok(input.with_highest_best()),
        // The caller can pass the input space of another step. If that step selects the highest
        // score, its input space states this selection. The new step selects the lowest score, so
        // replace this statement.
        Optimize::Min if input.selects_highest() => Ok(input.with_lowest_best()),
        Optimize::Min => Ok(input),
    }
}
#[cold]
fn no_best(argument: &str, right: &str) -> Error {
    let reason =
        format!("expected {right}: these scores are distances, so the lowest score is the best");
    Error::argument(argument, reason)
}

/// Make the measurement that chooses one index by `choose`. `refusal` has the two texts of
/// [`check_best`].
#[allow(clippy::question_mark, reason = "`?` compiles to more code for each type")]
fn choice<T, M, MO>(
    input: Space<VectorDomain<AtomDomain<T>>, M>,
    measure: MO,
    scale: Scale,
    (optimize, (argument, right)): (Optimize, (&str, &str)),
    choose: Choose<T>,
) -> Result<Measurement<VectorDomain<AtomDomain<T>>, M, MO, usize>>
where
    T: Atom + Number + Score,
    M: MetricOn<VectorDomain<AtomDomain<T>>> + ScoreMetric,
    MO: Selects,
{
    let input = match check_best(input, optimize, argument, right) {
        Ok(input) => input,
        Err(error) => return Err(error),
    };
    let bound = accuracy_of_choice(scale, input.domain().size());
    let map = loss_of_choices(&measure, input.metric().clone(), scale, 1);
    let function = choosing_one(scale, optimize, choose);
    Ok(Measurement::new(input, measure, function, map).with_accuracy_of_scores(bound))
}
/// Build the function that computes the accuracy of a choice among `size` scores. For `alpha`, the
/// accuracy is a bound on the difference between the chosen score and the best score. The
/// difference exceeds the bound with probability at most `alpha`.
fn accuracy_of_choice(
    scale: Scale,
    size: Option<usize>,
) -> impl Fn(f64) -> Result<Vec<Option<f64>>> {
    move |alpha| selection_accuracy(scale, size, alpha)
}
fn selection_accuracy(scale: Scale, size: Option<usize>, alpha: f64) -> Result<Vec<Option<f64>>> {
    accuracy::check(alpha)?;
    let Some(size) = size.filter(|size| 0 < *size) else { return Ok(vec![None]) };
    let logarithm = f64::inf_cast(size)?.inf_ln()?.inf_sub(alpha.neg_inf_ln()?)?;
    Ok(vec![Some(logarithm.inf_mul(scale.value())?)])
}

/// A privacy measure in which a random choice of candidates has a known loss.
///
/// The range of the changes is the largest change of a score between two data sets, minus the
/// smallest change. The argument `range` is an upper bound on the range of the changes, divided by
/// the scale of the noise. An implementation claims that `loss(range, k)` bounds the loss of one
/// call of `choose`.
pub trait SelectionMeasure: Measure<Distance = f64> {
    /// Choose `k` different indices, with the best first. If there are fewer than `k` scores,
    /// choose all indices. The scale is finite and above 0.
    ///
    /// # Errors
    /// [`NoEntropy`] if the source ends.
    fn choose<T: Score, S: RandomSource>(
        scores: &[T],
        k: usize,
        scale: f64,
        optimize: Optimize,
        source: &mut S,
    ) -> Result<Vec<usize>, NoEntropy>;
    /// Return an upper bound on the loss of a choice of `k` indices. `range` is an upper bound on
    /// the range of the changes, divided by the scale of the noise.
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats.
    fn loss(range: f64, k: usize) -> Result<f64>;
    /// Return the bound of [`loss`](SelectionMeasure::loss) as an exact number. The default
    /// implementation returns the float bound.
    ///
    /// # Errors
    /// The errors of [`loss`](SelectionMeasure::loss).
    fn exact_loss(range: &Exact, k: usize) -> Result<Exact> {
        Exact::from_f64(Self::loss(range.to_f64_up(), k)?)
    }
}

/// Build the privacy map of a choice of `k` indices.
pub(crate) fn loss_of_choices<M: ScoreMetric, MO: Selects>(
    measure: &MO,
    metric: M,
    scale: Scale,
    k: usize,
) -> PrivacyMap<M, MO> {
    let LossOfChoices { float, exact } = measure.losses();
    PrivacyMap::new(loss_by(metric.clone(), scale, k, float))
        .with_exact(exact_loss_by(metric, scale, k, exact))
}
fn loss_by<M: ScoreMetric>(
    metric: M,
    scale: Scale,
    k: usize,
    loss: fn(f64, usize) -> Result<f64>,
) -> impl Fn(&M::Distance) -> Result<f64> {
    move |d_in| loss(metric.loss(d_in, scale)?, k)
}
fn exact_loss_by<M: ScoreMetric>(
    metric: M,
    scale: Scale,
    k: usize,
    loss: fn(&Exact, usize) -> Result<Exact>,
) -> impl Fn(&M::Distance) -> Result<Vec<Exact>> {
    move |d_in| {
        let range = metric.exact_loss(d_in, scale)?;
        // The loss of a choice of 0 indices is 0, even without noise.
        Ok(vec![if k == 0 { Exact::ZERO } else { loss(&range, k)? }])
    }
}
/// Convert a count to an exact number. A count above 2^53 is first rounded up to a float.
fn count(k: usize) -> Result<Exact> {
    Exact::from_f64(f64::inf_cast(k)?)
}

impl SelectionMeasure for MaxDivergence {
    fn choose<T: Score, S: RandomSource>(
        scores: &[T],
        k: usize,
        scale: f64,
        optimize: Optimize,
        source: &mut S,
    ) -> Result<Vec<usize>, NoEntropy> {
        exponential_top_k(scores, k, scale, optimize, source)
    }
    /// Return `k range`, rounded up.
    fn loss(range: f64, k: usize) -> Result<f64> {
        at_ends(range, k, || range.inf_mul(f64::inf_cast(k)?))
    }
    fn exact_loss(range: &Exact, k: usize) -> Result<Exact> {
        Ok(range.times(&count(k)?))
    }
}
impl SelectionMeasure for ZeroConcentratedDivergence {
    fn choose<T: Score, S: RandomSource>(
        scores: &[T],
        k: usize,
        scale: f64,
        optimize: Optimize,
        source: &mut S,
    ) -> Result<Vec<usize>, NoEntropy> {
        gumbel_top_k(scores, k, scale, optimize, source)
    }
    /// Return `k range^2 / 8`, rounded up.
    fn loss(range: f64, k: usize) -> Result<f64> {
        at_ends(range, k, || range.inf_mul(range)?.inf_mul(f64::inf_cast(k)?)?.inf_div(8.0))
    }
    fn exact_loss(range: &Exact, k: usize) -> Result<Exact> {
        Ok(range.times(range).times(&count(k)?).over(&Exact::from_f64(8.0)?))
    }
}

/// Return the loss of a choice of `k` indices. If the range or `k` is 0, the loss is 0. Otherwise,
/// if the range is infinite (at scale 0), the loss is infinite. In all other cases, `between`
/// computes the loss.
fn at_ends(range: f64, k: usize, between: impl FnOnce() -> Result<f64>) -> Result<f64> {
    if range == 0.0 || k == 0 {
        Ok(0.0)
    } else if range == f64::INFINITY {
        Ok(f64::INFINITY)
    } else {
        between()
    }
}

/// Build the function that chooses `k` different indices, with the best first. If there are fewer
/// than `k` scores, the function chooses all indices. See [`map_of`](crate::noise::map_of) for the
/// C ABI of this function and of the next functions.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
pub(crate) extern "C" fn choosing<T: Atom + Number + Score>(
    k: usize,
    scale: Scale,
    optimize: Optimize,
    choose: Choose<T>,
) -> Function<Vec<T>, Vec<usize>> {
    Function::map(move |scores: &Vec<T>| choose_some(scores, k, scale, optimize, choose))
}
/// Build the function that chooses one index.
#[allow(improper_ctypes_definitions, reason = "no C code calls it")]
pub(crate) extern "C" fn choosing_one<T: Atom + Number + Score>(
    scale: Scale,
    optimize: Optimize,
    choose: Choose<T>,
) -> Function<Vec<T>, usize> {
    Function::map(move |scores: &Vec<T>| {
        only(choose_some(scores, 1, scale, optimize, choose)?.first())
    })
}
/// Return the only chosen index, or an error if there was no candidate.
pub(crate) fn only(chosen: Option<&usize>) -> Result<usize> {
    let empty = || Error::FailedFunction("the vector of scores is empty".into());
    chosen.copied().ok_or_else(empty)
}

fn choose_some<T: Number + Score>(
    scores: &[T],
    k: usize,
    scale: Scale,
    optimize: Optimize,
    choose: Choose<T>,
) -> Result<Vec<usize>> {
    let scores = all_finite(scores);
    let scale = scale.value();
    if scale == 0.0 {
        return Ok(best(&scores, k, optimize));
    }
    let mut chosen = Vec::new();
    securely(&mut |source| {
        chosen = choose(&scores, k, scale, optimize, source)?;
        Ok(())
    })?;
    Ok(chosen)
}

/// Find the indices of the `k` best scores, with the best first. Among equal scores, the largest
/// index comes first.
fn best<T: Score>(scores: &[T], k: usize, optimize: Optimize) -> Vec<usize> {
    first(scores.len(), k, &|i, j| {
        let rising = scores[i].partial_cmp(&scores[j]).unwrap_or(Ordering::Equal);
        match optimize {
            Optimize::Max => rising.reverse().then(j.cmp(&i)),
            Optimize::Min => rising.then(j.cmp(&i)),
        }
    })
}
/// Sort the indices from 0 to `count - 1` by the order `before`, and return the first `k` of them.
fn first(count: usize, k: usize, before: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let before = |i: &usize, j: &usize| before(*i, *j);
    let mut indices: Vec<usize> = (0..count).collected();
    if k < indices.len() {
        indices.select_nth_unstable_by(k, before);
        indices.truncate(k);
    }
    indices.sort_unstable_by(before);
    indices
}
