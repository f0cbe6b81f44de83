//! Bounds on the quantiles of a weighted sum of independent noises, and of the largest of several
//! noises.

mod window;

use std::collections::HashMap;

use opendp_core::arith::{Directed, DirectedFloat, InfCast};
use opendp_core::{Error, Result};

use crate::Scale;
use crate::collected::{Collected, sort_by};

use super::check;
use super::noise::{Kind, Noise};
use super::weight::Weight;

use window::convolved;

/// A term of a sum: a noise, its weight, and the number of independent copies of this noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    pub(super) noise: Noise,
    pub(super) weight: Weight,
    pub(super) count: u64,
}
impl Term {
    /// Build a term from one copy of a noise with weight 1.
    pub fn new(noise: Noise) -> Self {
        Term { noise, weight: Weight::ONE, count: 1 }
    }
    /// Set the weight of the noise.
    #[must_use]
    pub fn weighted(mut self, weight: impl Into<Weight>) -> Self {
        self.weight = weight.into();
        self
    }
    /// Set the number of independent copies of the noise.
    #[must_use]
    pub fn times(mut self, count: u64) -> Self {
        self.count = count;
        self
    }
}

/// Find a `t` with `P[|S| > t] <= alpha` for the weighted sum `S` of independent noises.
///
/// The result is never below the least such `t`. In two cases, the result is the least `t` up to
/// rounding. In the first case, all noises are integers, their scales are small, and their weights
/// have a small common denominator. In the second case, all noises are Gaussian noise on real
/// numbers, and are not [cut off](Noise::cut_off). For other terms, the result can exceed the least
/// `t`. The excess is about 0.03 % for up to thirty noises, and 0.1 % for a thousand noises. The
/// excess is about 0.4 % for ten thousand noises, and 3 % for a million noises. If some noises are
/// cut off, let `S` be the sum in which each of these noises is replaced by its positive part. The
/// result is then a `t` with `P[S > t] <= alpha / 2`. This result is valid for all true numbers,
/// including true numbers at the bounds. In all cases, the result is at most the weighted sum of
/// the quantiles of the `n` noises at `alpha / n`.
///
/// # Errors
/// `InvalidDistance` when `alpha` is not in `(0, 1]`, or is too small for the number of terms;
/// `Overflow` when the result exceeds all floats.
///
/// ```
/// use opendp_measurements::Scale;
/// use opendp_measurements::accuracy::{Noise, Term, Weight, sum_of};
/// // The mean of three noisy numbers: two with Laplace noise, and one with Gaussian noise.
/// let third = Weight::new(1, 3)?;
/// let mean = [
///     Term::new(Noise::laplace(Scale::new(1.0)?)).weighted(third).times(2),
///     Term::new(Noise::gaussian(Scale::new(2.0)?)).weighted(third),
/// ];
/// let t = sum_of(&mean, 0.05)?;
/// assert!(1.86 < t && t < 1.87, "{t}"); // the union bound is 4.33
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
        .collected();
    if noises.is_empty() || alpha == 1.0 {
        return Ok(slack);
    }
    // Sort the terms. A sum of floats depends on the order of its terms, and the iteration order of
    // a map is not fixed.
    sort_by(&mut noises, &|a, b| {
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
        [single] if alone => {
            Some(single.noise.quantile(alpha)?.inf_mul(single.weight.magnitude_up()?)?)
        }
        noises => convolved(noises, alpha)?,
    };
    bound.map_or(together, |bound| bound.min(together)).inf_add(slack)
}

/// Merge Gaussian noises on real numbers into one noise. Merge nothing if some noise is discrete or
/// cut off.
///
/// The scale of the merged noise is rounded up. A larger scale has the same effect as additional
/// independent Gaussian noise. All noises are symmetric and unimodal, so their sum is also
/// symmetric and unimodal (Wintner). So the additional noise does not decrease `P[|S| > t]` for any
/// `t` (Anderson).
fn merged(noises: &[Term]) -> Result<Vec<Term>> {
    let (mut real, mut all) = (Vec::new(), Vec::new());
    let mut largest = 0.0_f64;
    for term in noises {
        if term.noise.cut || term.noise.kind.is_discrete() {
            return Ok(noises.to_vec());
        }
        if term.noise.kind == Kind::Gaussian {
            let scale = term.noise.scale.inf_mul(term.weight.magnitude_up()?)?;
            largest = largest.max(scale);
            real.push((scale, term.count));
        } else {
            all.push(*term);
        }
    }
    let mut squares = 0.0_f64;
    for (scale, count) in &real {
        let ratio = scale.inf_div(largest)?;
        squares = squares.inf_add(f64::inf_cast(*count)?.inf_mul(ratio.inf_mul(ratio)?)?)?;
    }
    if !real.is_empty() {
        let scale = squares.inf_sqrt()?.inf_mul(largest)?;
        all.push(Term::new(Noise::gaussian(Scale::new(scale)?)));
    }
    Ok(all)
}

/// Compute the union bound: the weighted sum of the quantiles of the `n` noises at `alpha / n`.
fn together(noises: &[Term], alpha: f64) -> Result<f64> {
    let share = share(noises, alpha)?;
    let mut total = 0.0_f64;
    for term in noises {
        let each = term.noise.quantile(share)?.inf_mul(term.weight.magnitude_up()?)?;
        total = total.inf_add(f64::inf_cast(term.count)?.inf_mul(each)?)?;
    }
    Ok(total)
}
fn count(noises: &[Term]) -> Result<f64> {
    let mut total = 0.0_f64;
    for term in noises {
        total = total.inf_add(f64::inf_cast(term.count)?)?;
    }
    Ok(total)
}
fn share(noises: &[Term], alpha: f64) -> Result<f64> {
    let share = alpha.neg_inf_div(count(noises)?.max(1.0))?;
    if 0.0 < share {
        return Ok(share);
    }
    Err(Error::InvalidDistance(format!(
        "alpha: {alpha:?} is too small for the number of noise terms; state a larger probability"
    )))
}

/// Find a `t` with `P[max |w Z| > t] <= alpha`. The maximum is over independent noises `Z`, each
/// with its weight `w`.
///
/// The result is close to the least such `t`. The noises are independent. So `P[max |w Z| <= t]` is
/// the product of the probabilities `P[|w Z| <= t]` of all noises.
///
/// # Errors
/// The errors of [`sum_of`].
pub fn largest_of(terms: &[Term], alpha: f64) -> Result<f64> {
    check(alpha)?;
    let noises: Vec<Term> =
        terms.iter().copied().filter(|term| 0 < term.count && !term.weight.is_zero()).collected();
    if alpha == 1.0 || noises.is_empty() {
        let mut slacks =
            noises.iter().map(|term| term.noise.slack.inf_mul(term.weight.magnitude_up()?));
        return slacks.try_fold(0.0, |top: f64, slack| Ok(top.max(slack?)));
    }
    // Let `p` be the probability that `|w Z|` exceeds `t` for one noise `Z` with the weight `w`.
    // Round `ln(1 - alpha)` up, and the sum of all `ln(1 - p)` down. The first number must be at
    // most the second number.
    let wanted = (-alpha).inf_ln_1p()?;
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
    let mut good = 0.0_f64;
    for term in &noises {
        good = good.max(term.noise.quantile(share)?.inf_mul(term.weight.magnitude_up()?)?);
    }
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
