//! The choice that is made under each privacy measure, and what it costs.

use opendp_core::arith::{Directed, InfCast, Number};
use opendp_core::random::{Failing, NoEntropy, RandomSource, with_secure};
use opendp_core::{MaxDivergence, Measure, Result, ZeroConcentratedDivergence};

use crate::Scale;
use crate::numbers::all_finite;
use crate::samplers::{Optimize, Score, gumbel_argmax, permute_and_flip};

/// A privacy measure under which there is a random choice of known loss.
///
/// An implementation claims: let the scores of two data sets have changes whose range is at most
/// `range` in units of the scale. Then `loss(range, k)` bounds the loss of `k` choices by `choose`,
/// each made with fresh randomness from scores whose changes have that range, where a later choice
/// may depend on the earlier ones.
pub trait SelectionMeasure: Measure<Distance = f64> {
    /// Choose an index; no scores give `None`. The scale is finite and above 0.
    ///
    /// # Errors
    /// [`NoEntropy`] if the source ends.
    fn choose<T: Score, S: RandomSource>(
        scores: &[T],
        scale: f64,
        optimize: Optimize,
        source: &mut S,
    ) -> Result<Option<usize>, NoEntropy>;
    /// Bound the loss of `k` choices, rounding up.
    ///
    /// # Errors
    /// `Overflow` when the bound exceeds all floats.
    fn loss(range: f64, k: usize) -> Result<f64>;
}

impl SelectionMeasure for MaxDivergence {
    fn choose<T: Score, S: RandomSource>(
        scores: &[T],
        scale: f64,
        optimize: Optimize,
        source: &mut S,
    ) -> Result<Option<usize>, NoEntropy> {
        permute_and_flip(scores, scale, optimize, source)
    }
    /// `k range`.
    fn loss(range: f64, k: usize) -> Result<f64> {
        at_ends(range, k, || range.inf_mul(f64::inf_cast(k)?))
    }
}
impl SelectionMeasure for ZeroConcentratedDivergence {
    fn choose<T: Score, S: RandomSource>(
        scores: &[T],
        scale: f64,
        optimize: Optimize,
        source: &mut S,
    ) -> Result<Option<usize>, NoEntropy> {
        gumbel_argmax(scores, scale, optimize, source)
    }
    /// `k range^2 / 8`.
    fn loss(range: f64, k: usize) -> Result<f64> {
        at_ends(range, k, || range.inf_mul(range)?.inf_mul(f64::inf_cast(k)?)?.inf_div(8.0))
    }
}

/// Nothing is lost without a change or a choice, and everything without noise.
fn at_ends(range: f64, k: usize, between: impl FnOnce() -> Result<f64>) -> Result<f64> {
    if range == 0.0 || k == 0 {
        Ok(0.0)
    } else if range == f64::INFINITY {
        Ok(f64::INFINITY)
    } else {
        between()
    }
}

/// Choose up to `k` indices one after the other, none twice, in the order of choice.
pub(crate) fn choose_some<MO: SelectionMeasure, T: Number + Score>(
    scores: &[T],
    k: usize,
    scale: Scale,
    optimize: Optimize,
) -> Result<Vec<usize>> {
    let scores = all_finite(scores);
    let chosen = if scale.value() == 0.0 {
        // There is nothing to draw, and this source has nothing to give.
        peel::<MO, T, _>(&scores, k, scale, optimize, &mut Failing::default())
    } else {
        with_secure(|source| peel::<MO, T, _>(&scores, k, scale, optimize, source))
    };
    Ok(chosen?)
}

/// Choose one index, remove it, and go on with the rest.
pub(crate) fn peel<MO: SelectionMeasure, T: Score, S: RandomSource>(
    scores: &[T],
    k: usize,
    scale: Scale,
    optimize: Optimize,
    source: &mut S,
) -> Result<Vec<usize>, NoEntropy> {
    let mut chosen = Vec::new();
    let (mut left, mut indices) = (scores.to_vec(), (0..scores.len()).collect::<Vec<_>>());
    while chosen.len() < k {
        let place = match scale.value() {
            0.0 => last_best(&left, optimize),
            scale => MO::choose(&left, scale, optimize, source)?,
        };
        let Some(place) = place else { break };
        left.remove(place);
        chosen.push(indices.remove(place));
    }
    Ok(chosen)
}

/// Find the last of the best scores.
fn last_best<T: Score>(scores: &[T], optimize: Optimize) -> Option<usize> {
    let mut best: Option<(usize, T)> = None;
    for (index, score) in scores.iter().copied().enumerate() {
        let as_good = best.is_none_or(|(_, best)| match optimize {
            Optimize::Max => best <= score,
            Optimize::Min => score <= best,
        });
        if as_good {
            best = Some((index, score));
        }
    }
    best.map(|(index, _)| index)
}
