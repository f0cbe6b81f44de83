//! Quantiles of weighted sums of independent noises, and of the largest of them.

use std::collections::HashMap;
use std::sync::Arc;

use opendp_core::arith::{Directed, DirectedFloat, InfCast};
use opendp_core::{Error, Result};

use crate::Scale;
use crate::accounting::convolution::Convolution;
use crate::accounting::discrete_loss::DiscreteLoss;
use crate::accounting::elementary::ln;

use super::check;
use super::grid::{MOST, Rounding};
use super::noise::{Kind, Noise};
use super::on_grid::OnGrid;
use super::weight::Weight;

/// A noise, its weight, and the number of independent copies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    pub(super) noise: Noise,
    pub(super) weight: Weight,
    pub(super) count: u64,
}
impl Term {
    /// Build a term of one noise with weight 1.
    pub fn new(noise: Noise) -> Self {
        Term { noise, weight: Weight::ONE, count: 1 }
    }
    /// Set the weight of the noise.
    #[must_use]
    pub fn weighted(mut self, weight: impl Into<Weight>) -> Self {
        self.weight = weight.into();
        self
    }
    /// Set the number of independent copies.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.count = count;
        self
    }
}

/// The longest and the shortest transform, and the largest total length over all terms.
const LONGEST: usize = 1 << 20;
const SHORTEST: usize = 1 << 10;
const LONGEST_OF_ALL: usize = 1 << 25;
/// The relative error that rounding up to the grid may add, unless the grid would be too long.
const TOLERANCE: f64 = 1e-4;
/// The probability that may be outside the window of the transform.
const OUTSIDE: f64 = 1e-9;

/// Find a `t` with `P[|S| > t] <= alpha` for the weighted sum `S` of independent noises.
///
/// The result is never below the least such `t`. If the terms are not integers on a common lattice,
/// it exceeds the least `t` by about 0.03 % for up to thirty terms, 0.1 % for a thousand, 0.4 % for
/// ten thousand, and 3 % for a million. If all are integers with rational weights of a small common
/// denominator, it is the least `t`, unless rounding decides; so it is for Gaussian noise on real
/// numbers. For noise that is [cut off](Noise::cut_off) it holds for all true numbers: it is the
/// one-sided bound at `alpha / 2`, where all true numbers may be at one end. It is at most the sum
/// of the noises' own quantiles at `alpha / n`.
///
/// # Errors
/// `InvalidDistance` when `alpha` is not in `(0, 1]`, or too small for the number of terms;
/// `Overflow` when the result exceeds all floats.
///
/// ```
/// use opendp_measurements::Scale;
/// use opendp_measurements::accuracy::{Noise, Term, Weight, sum_of};
/// // The mean of three noisy numbers of different noise.
/// let third = Weight::new(1, 3)?;
/// let mean = [
///     Term::new(Noise::laplace(Scale::new(1.0)?)).weighted(third).times(2),
///     Term::new(Noise::gaussian(Scale::new(2.0)?)).weighted(third),
/// ];
/// let t = sum_of(&mean, 0.05)?;
/// assert!(1.86 < t && t < 1.87, "{t}"); // the union bound: 4.33
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub fn sum_of(terms: &[Term], alpha: f64) -> Result<f64> {
    check(alpha)?;
    let mut slack = 0.0_f64;
    let mut noises: HashMap<(Kind, bool, u64, (i128, i128)), (Term, u64)> = HashMap::new();
    for term in terms {
        let weight = term.weight.magnitude_up()?;
        let each = weight.inf_mul(term.noise.slack)?;
        slack = slack.inf_add(f64::inf_cast(term.count)?.inf_mul(each)?)?;
        if term.noise.scale == 0.0 || term.weight.is_zero() || term.count == 0 {
            continue;
        }
        let (numerator, denominator) = term.weight.parts();
        let weight = (numerator.abs(), denominator);
        let key = (term.noise.kind, term.noise.cut, term.noise.scale.to_bits(), weight);
        let same = noises.entry(key).or_insert((*term, 0));
        same.1 = same.1.saturating_add(term.count);
    }
    let mut noises: Vec<Term> = noises
        .into_values()
        .map(|(term, count)| Term { noise: term.noise.and_at_most(0.0), count, ..term })
        .collect();
    if noises.is_empty() || alpha == 1.0 {
        return Ok(slack);
    }
    // The iteration order of a map is not fixed; sums of floats depend on their order.
    noises.sort_by(|a, b| {
        let key = |term: &Term| {
            let noise = term.noise;
            (noise.kind as u8, noise.cut, noise.scale.to_bits(), term.weight.parts())
        };
        key(a).cmp(&key(b))
    });
    let together = together(&noises, alpha)?;
    let noises = merged(&noises).unwrap_or(noises);
    let alone = noises.len() == 1 && noises[0].count == 1;
    let bound = match noises.as_slice() {
        [one] if alone => Some(one.noise.quantile(alpha)?.inf_mul(one.weight.magnitude_up()?)?),
        noises => convolved(noises, alpha)?,
    };
    bound.map_or(together, |bound| bound.min(together)).inf_add(slack)
}

/// Merge Gaussian noises on real numbers into one, if no noise is discrete or cut off.
///
/// The merged scale is rounded up. Then the sum is symmetric and unimodal, as sums of such numbers
/// are (Wintner), so one more independent Gaussian only moves it away from 0 (Anderson).
fn merged(noises: &[Term]) -> Option<Vec<Term>> {
    let (real, other): (Vec<Term>, Vec<Term>) =
        noises.iter().partition(|term| term.noise.kind == Kind::Gaussian && !term.noise.cut);
    if real.is_empty() || other.iter().any(|term| term.noise.kind.is_discrete() || term.noise.cut) {
        return None;
    }
    let scales = real.iter().map(|term| term.noise.scale.inf_mul(term.weight.magnitude_up()?));
    let scales = scales.collect::<Result<Vec<f64>>>().ok()?;
    let largest = scales.iter().fold(0.0, |most: f64, scale| most.max(*scale));
    let squares = scales.iter().zip(&real).try_fold(0.0, |total: f64, (scale, term)| {
        let ratio = scale.inf_div(largest)?;
        total.inf_add(f64::inf_cast(term.count)?.inf_mul(ratio.inf_mul(ratio)?)?)
    });
    let scale = squares.ok()?.inf_sqrt().ok()?.inf_mul(largest).ok()?;
    let one = Term::new(Noise::gaussian(Scale::new(scale).ok()?));
    Some(other.into_iter().chain([one]).collect())
}

/// Compute the union bound: each noise is within its own quantile at `alpha / n`.
fn together(noises: &[Term], alpha: f64) -> Result<f64> {
    let share = share(noises, alpha)?;
    noises.iter().try_fold(0.0, |total: f64, term| {
        let each = term.noise.quantile(share)?.inf_mul(term.weight.magnitude_up()?)?;
        total.inf_add(f64::inf_cast(term.count)?.inf_mul(each)?)
    })
}
fn count(noises: &[Term]) -> Result<f64> {
    noises.iter().try_fold(0.0, |total: f64, term| total.inf_add(f64::inf_cast(term.count)?))
}
fn share(noises: &[Term], alpha: f64) -> Result<f64> {
    let share = alpha.neg_inf_div(count(noises)?.max(1.0))?;
    if 0.0 < share {
        return Ok(share);
    }
    Err(Error::InvalidDistance(format!(
        "alpha ({alpha:?}) is too small for the number of noise terms"
    )))
}

/// Bound the quantile of the sum by convolution, if the number of terms permits it.
fn convolved(noises: &[Term], alpha: f64) -> Result<Option<f64>> {
    let n = count(noises)?;
    if noises.iter().any(|term| 1 << 31 < term.count) || noises.len() > 4096 {
        return Ok(None);
    }
    // Values beyond the reach of a noise count as infinite: a share of 1e-7 of alpha.
    let log = ln(n / alpha) + 16.0;
    let length = LONGEST.min((LONGEST_OF_ALL / noises.len()).next_power_of_two() / 2).max(SHORTEST);
    for on_grid in [OnGrid::lattice(noises)?, OnGrid::anywhere(noises)?].into_iter().flatten() {
        let (best, about) = on_grid.chernoff(alpha);
        // A smaller tilt gives a narrower window, and equally small errors unless alpha is small.
        let tilt = best * if alpha < 1e-6 { 0.9 } else { 0.4 };
        let deviation = on_grid.placed.iter().zip(noises).map(|((placed, count), term)| {
            *count as f64 * term.noise.variance() * placed.weight * placed.weight
        });
        let mean = on_grid.mean();
        let above = (about - mean).max(0.0);
        let width = 2.0 * (1.5 * above + 6.0 * deviation.sum::<f64>().sqrt());
        let (displacement, rounding) = on_grid.displacement(alpha);
        // The rest of alpha is for the sum on the grid.
        let share = if rounding == Rounding::Nearest { alpha * 0.999_899 } else { alpha };
        let points = |step| {
            let points = on_grid.placed.iter().map(|(placed, _)| placed.points(step, log));
            points.fold(0.0, f64::max)
        };
        if on_grid.exact && ((length as f64) < width + 16.0 || MOST < points(1.0)) {
            continue;
        }
        // A power of two, so that the points of the grid are floats.
        let step_for = |t: f64| {
            let steps = if displacement == 0.0 { n / 2.0 } else { displacement };
            let wanted = (TOLERANCE * t / steps).max(width / length as f64);
            let wanted = wanted.max(points(1.0) / MOST);
            f64::from_bits(wanted.to_bits() & !((1 << 52) - 1)) * 2.0
        };
        // On a lattice of integers a tilt above this limit gains nothing.
        let (mut step, tilt) =
            if on_grid.exact { (1.0, tilt.min(32.0)) } else { (step_for(about), tilt) };
        let mut size = ((width / step) as usize + 16).next_power_of_two().clamp(SHORTEST, length);
        let shift = on_grid.shift()?;
        let mut best = None;
        for _ in 0..8 {
            let losses: Vec<(Arc<DiscreteLoss>, u64)> = on_grid
                .placed
                .iter()
                .map(|(placed, count)| {
                    // Noise that is cut off has a mean other than 0.
                    let cut = placed.cut && rounding == Rounding::Nearest;
                    let rounding = if cut { Rounding::Up } else { rounding };
                    (Arc::new(placed.on_grid(step, log, rounding)), *count)
                })
                .collect();
            // A sum that is too wide for a transform gets the union bound.
            let Ok(sum) = Convolution::new(&losses, tilt, mean + 0.4 * above, size, OUTSIDE) else {
                return Ok(best);
            };
            let longest = on_grid.exact && 2 * LONGEST <= size;
            if sum.outside() <= 2.0 * OUTSIDE || longest {
                let Some(found) = least(&sum, step, share) else { return Ok(best) };
                let moved = found.inf_add(displacement.inf_mul(step)?)?;
                best = Some(moved.inf_add(shift)?.inf_mul(on_grid.unit)?);
                // For large alpha, the result is far below the estimate.
                let finer = step_for(found);
                if on_grid.exact || step <= finer || found == 0.0 {
                    return Ok(best);
                }
                size = ((size as f64 * step / finer) as usize).next_power_of_two().min(2 * length);
                step = finer;
                continue;
            }
            size *= 2;
            if 2 * length < size && !on_grid.exact {
                (size, step) = (size / 2, 2.0 * step);
            }
        }
        if best.is_some() {
            return Ok(best);
        }
    }
    Ok(None)
}
/// Find nearly the least point `x >= 0` of the grid with `2 P[S > x] <= alpha`.
fn least(sum: &Convolution, step: f64, alpha: f64) -> Option<f64> {
    let fits = |place: i64| 2.0 * sum.tail_above(place as f64 * step) * (1.0 + 1e-15) <= alpha;
    let (first, count) = sum.places();
    // The highest point has the least tail; if `good` fits, so does the result.
    let (mut bad, mut good) = (first.max(0) - 1, first + count as i64 - 1);
    // Near the end of a window the bound is loose: walk toward it from the middle.
    let middle = bad + (good - bad) / 2;
    if bad < middle && fits(middle) {
        good = middle;
    } else if good <= bad || !fits(good) {
        return None;
    }
    while bad + 1 < good {
        let middle = bad + (good - bad) / 2;
        if fits(middle) { good = middle } else { bad = middle }
    }
    Some(good as f64 * step)
}

/// Find a `t` with `P[any |w Z| > t] <= alpha` for independent noises `Z`, each with its weight
/// `w`.
///
/// The result is close to the least such `t`: by independence the probability that no noise exceeds
/// `t` is the product of the probabilities of each noise.
///
/// # Errors
/// Those of [`sum_of`].
pub fn largest_of(terms: &[Term], alpha: f64) -> Result<f64> {
    check(alpha)?;
    let noises: Vec<Term> =
        terms.iter().copied().filter(|term| 0 < term.count && !term.weight.is_zero()).collect();
    let Some(wanted) = Some(alpha).filter(|alpha| *alpha < 1.0 && !noises.is_empty()) else {
        let mut slacks =
            noises.iter().map(|term| term.noise.slack.inf_mul(term.weight.magnitude_up()?));
        return slacks.try_fold(0.0, |most: f64, slack| Ok(most.max(slack?)));
    };
    // ln(1 - alpha), rounded up, must be at most the sum of the ln(1 - p), rounded down.
    let wanted = (-wanted).inf_ln_1p()?;
    let fits = |t: f64| -> Result<bool> {
        let mut total = 0.0_f64;
        for term in &noises {
            let beyond = term.noise.beyond(t.neg_inf_div(term.weight.magnitude_up()?)?)?;
            if 1.0 <= beyond {
                return Ok(false);
            }
            let none = (-beyond).neg_inf_ln_1p()?;
            total = total.neg_inf_add(f64::inf_cast(term.count)?.neg_inf_mul(none)?)?;
        }
        Ok(wanted <= total)
    };
    let share = share(&noises, alpha)?;
    let mut good = noises.iter().try_fold(0.0, |most: f64, term| {
        Ok::<_, Error>(most.max(term.noise.quantile(share)?.inf_mul(term.weight.magnitude_up()?)?))
    })?;
    if fits(0.0)? {
        return Ok(0.0);
    }
    let mut bad = 0.0;
    for _ in 0..80 {
        let middle = bad + (good - bad) / 2.0;
        if middle <= bad || good <= middle {
            break;
        }
        if fits(middle)? { good = middle } else { bad = middle }
    }
    Ok(good)
}

#[cfg(test)]
mod tests;
