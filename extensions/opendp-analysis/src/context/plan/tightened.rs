//! Reduce the noise of a plan that takes the whole budget. This reduction is possible because the
//! account composes the distributions of the plan's losses.

use opendp_core::Result;
use opendp_core::arith::Exact;
use opendp_measurements::Scale;
use opendp_measurements::accounting::{SharePair, SharedAccount};

use super::super::BudgetMeasure;
use super::endowed::Best;
use super::solver::Item;
use super::{Plan, Setting};

/// The largest number of different losses in a plan whose noise is reduced. The time of the
/// composition grows with the number of different losses.
const MOST_PAIRS: usize = 16;
/// Noise is changed only if the sum of squared errors becomes smaller by at least this fraction.
const GAIN: f64 = 1e-5;
/// The factor between the noise scale of each release and the least scale that its share admits. So
/// each loss fits its share even after the loss is rounded up.
const SLACK: f64 = 1.0 + 1e-9;
/// The mean square error of rounding a number to an integer.
const ROUNDING: f64 = 1.0 / 12.0;

/// The noise of all questions, and the shares of all releases. Each share is a pair of
/// distributions.
type Tightened = (Vec<Setting>, Vec<SharePair>);

impl<MO: BudgetMeasure> Plan<'_, MO> {
    /// Divide all noise scales by one factor, so that the composition of the pairs of all releases
    /// uses the whole budget. Each pair consists of two distributions, and dominates its release.
    /// Return the new noise and the pairs. Return `None` if the budget is not an epsilon and a
    /// delta, if the plan does not take the whole budget, if a question has a wanted accuracy or a
    /// threshold, or if there are more than `MOST_PAIRS` different pairs. Also return `None` if the
    /// errors do not become smaller by at least the fraction `GAIN`, or if the new pairs do not fit
    /// the budget.
    ///
    /// The releases of a plan are fixed before the first answer, so their pairs compose. The plan
    /// takes the whole budget, so there is no earlier release on which the plan could depend.
    ///
    /// Gaussian noise on integers can be continuous or discrete. Continuous noise is rounded.
    /// Discrete noise of the same scale is not rounded, so its error is smaller. But its loss is a
    /// little larger than the loss of continuous noise.
    pub(super) fn tightened(&self, best: &Best, settings: &[Setting]) -> Result<Option<Tightened>> {
        let weighted = self.items.iter().all(|item| item.weight != 0.0);
        let hides = self.drafts.iter().any(|draft| draft.takes_delta());
        let budget = self.context.account()?.budget();
        let ([epsilon, delta], true) = (budget.as_slice(), best.whole && weighted && !hides) else {
            return Ok(None);
        };
        let whole = (epsilon, delta);
        // If all noise is Gaussian noise on numbers, the filter of `best` already charges the exact
        // loss, so this noise cannot be reduced.
        let mut drafts = self.items.iter().zip(settings);
        let found = match drafts.all(|(item, setting)| setting.gaussian && !item.choice) {
            true => None,
            false => self.better(settings, best, settings, whole)?,
        };
        let now = found.as_ref().map_or(settings, |(settings, _)| settings);
        let discrete = self.discrete(now)?;
        // At the same scale, discrete noise has a larger loss than continuous noise. So discrete
        // noise needs a larger scale for the same loss. If the errors of discrete noise are not
        // smaller even at the same scale, do not try discrete noise.
        if self.gains(now, &discrete)?
            && let Some(better) = self.better(now, best, &discrete, whole)?
        {
            return Ok(Some(better));
        }
        Ok(found)
    }
    /// Return whether the noise `other` has smaller errors than the noise `now`, by at least the
    /// fraction `GAIN`.
    fn gains(&self, now: &[Setting], other: &[Setting]) -> Result<bool> {
        Ok(self.error(other)? < self.error(now)? * (1.0 - GAIN))
    }
    /// Divide the noise scales of `settings` by one factor. Return the new noise and its shares.
    /// Return `None` if the errors are not smaller than the errors of `now` by at least the
    /// fraction `GAIN`, or if the shares do not fit the budget. Also return `None` if
    /// [`divided`](Self::divided) returns `None`.
    fn better(
        &self,
        now: &[Setting],
        best: &Best,
        settings: &[Setting],
        whole: (&Exact, &Exact),
    ) -> Result<Option<Tightened>> {
        let Some(divided) = self.divided(best, settings, whole)? else { return Ok(None) };
        // The delta of discrete noise is not monotone in the scale, so noise of a larger scale can
        // have a larger delta. Compose the shares again, and check that they fit the budget.
        let fits = || SharedAccount::new(whole.0, whole.1, &divided.1).is_ok();
        Ok((self.gains(now, &divided.0)? && fits()).then_some(divided))
    }
    /// Replace continuous Gaussian noise on integers by discrete noise of the same scale.
    fn discrete(&self, settings: &[Setting]) -> Result<Vec<Setting>> {
        let mut all = Vec::with_capacity(settings.len());
        for (draft, setting) in self.drafts.iter().zip(settings) {
            let noisy = setting.gaussian && 0.0 < setting.scale.value();
            let discrete = noisy && draft.is_of_integers()?;
            all.push(Setting { discrete, ..*setting });
        }
        Ok(all)
    }
    /// Return the weighted sum of squared errors, up to a factor that is the same for all noise of
    /// the plan.
    fn error(&self, settings: &[Setting]) -> Result<f64> {
        let mut total = 0.0;
        for ((item, draft), setting) in self.items.iter().zip(&self.drafts).zip(settings) {
            let rounded = setting.gaussian && !setting.discrete && draft.is_of_integers()?;
            total += error_of(item, setting, rounded);
        }
        Ok(total)
    }
    /// Divide all noise scales by one factor, so that the composition of the pairs uses the whole
    /// budget. Return `None` if there are more than `MOST_PAIRS` different pairs.
    fn divided(
        &self,
        best: &Best,
        settings: &[Setting],
        (epsilon, delta): (&Exact, &Exact),
    ) -> Result<Option<Tightened>> {
        let pairs = self.pairs(best, settings)?;
        let mut kinds: Vec<SharePair> = Vec::new();
        for pair in &pairs {
            if !kinds.contains(pair) {
                kinds.push(*pair);
            }
            if MOST_PAIRS < kinds.len() {
                return Ok(None);
            }
        }
        let factor = SharedAccount::factor(epsilon, delta, &pairs)?;
        let settings = less(settings, factor)?;
        // A share for discrete noise admits only noise of the same scale. So the share for discrete
        // noise is the pair at the new scale.
        let own = self.pairs(best, &settings)?;
        let shares = shares_of(&pairs, &own, factor);
        Ok(Some((settings, shares)))
    }
    /// Return the dominating pairs of all releases with the noise of `settings`.
    fn pairs(&self, best: &Best, settings: &[Setting]) -> Result<Vec<SharePair>> {
        let mut pairs = Vec::with_capacity(settings.len());
        for (draft, setting) in self.drafts.iter().zip(settings) {
            let ready = draft.ready(*setting, &best.delta_of_each, best.stated)?;
            pairs.push(ready.cost().pair());
        }
        Ok(pairs)
    }
}
/// Return the weighted squared error of a question. If `rounded` is true, the answer is rounded to
/// an integer.
fn error_of(item: &Item, setting: &Setting, rounded: bool) -> f64 {
    let way = if setting.gaussian { item.gaussian } else { item.pure };
    let scale = setting.scale.value();
    let square = scale * scale + if rounded { ROUNDING } else { 0.0 };
    let unit = way.map_or(0.0, |way| way.error);
    item.weight * unit * unit * square
}
/// Return settings in which all scales are divided by `factor`.
fn less(settings: &[Setting], factor: f64) -> Result<Vec<Setting>> {
    let mut less = Vec::with_capacity(settings.len());
    for setting in settings {
        let scale = Scale::new(setting.scale.value() / factor * SLACK)?;
        less.push(Setting { scale, ..*setting });
    }
    Ok(less)
}
/// Return the share of each release. For discrete Gaussian noise, this is the pair in `own`, the
/// list of the pairs at the new scales. For all other noise, this is the pair in `pairs`, with all
/// losses multiplied by `factor`.
fn shares_of(pairs: &[SharePair], own: &[SharePair], factor: f64) -> Vec<SharePair> {
    let mut shares = Vec::with_capacity(pairs.len());
    for (pair, own) in pairs.iter().zip(own) {
        shares.push(match own {
            SharePair::DiscreteGaussian { .. } => *own,
            _ => pair.times(factor),
        });
    }
    shares
}
