//! Find the best division of the budget of a plan.

use opendp_core::{Error, Result};
use opendp_measurements::Scale;

use super::super::BudgetMeasure;
use super::endowed::{Best, Endowed};
use super::solver::Item;
use super::{Plan, Setting};

/// A plan asks the account about at most this many ways to divide the budget. This limit applies
/// separately to each division of delta.
const MOST_TRIALS: usize = 256;

impl<MO: BudgetMeasure> Plan<'_, MO> {
    /// Describe the questions for the solver, with their thresholds. A threshold hides the counts
    /// that are below the threshold. So for a question with a weight, the threshold counts as a
    /// second error, in addition to the noise. A threshold is approximately proportional to the
    /// scale of the noise. The ratio of the threshold to the scale is computed at one scale: the
    /// scale for an even division of epsilon.
    fn with_thresholds(&self, endowed: &Endowed) -> Result<Vec<Item>> {
        let mut items = self.items.clone();
        let Some((epsilon, delta)) = endowed.even(items.len())? else { return Ok(items) };
        for (item, draft) in items.iter_mut().zip(&self.drafts) {
            let (true, Some(way)) = (draft.takes_delta() && item.weight != 0.0, &mut item.pure)
            else {
                continue;
            };
            let scale = way.size / epsilon;
            if let Ok(threshold) = draft.threshold(scale, &delta) {
                way.error = way.error.hypot(threshold / scale);
            }
        }
        Ok(items)
    }
    /// Return all divisions of delta that the plan tries. A division gives one part of delta to
    /// thresholds, and the rest to Gaussian noise. If there are thresholds, but no question with a
    /// threshold has a weight, thresholds get a quarter of delta.
    fn divisions(&self) -> Result<Vec<Endowed>> {
        let endowed = self.endowed()?;
        let mut drafts = self.drafts.iter().zip(&self.items);
        let hides = drafts.any(|(draft, item)| draft.takes_delta() && item.weight != 0.0);
        Ok(if hides { endowed.divisions() } else { vec![endowed] })
    }
    /// Consider the divisions of the budget with which the account admits all questions. Find the
    /// one with the smallest weighted sum of squared errors. Return this division and the noise of
    /// the questions.
    pub(super) fn chosen(&self) -> Result<Option<(Best, Vec<Setting>)>> {
        let mut found: Option<(Best, Vec<Setting>)> = None;
        for endowed in self.divisions()? {
            let items = self.with_thresholds(&endowed)?;
            let Some(chosen) = self.chosen_of(&endowed, &items)? else { continue };
            if found.as_ref().is_none_or(|(best, _)| chosen.0.value.0 < best.value.0) {
                found = Some(chosen);
            }
        }
        Ok(found)
    }
    fn chosen_of(&self, endowed: &Endowed, items: &[Item]) -> Result<Option<(Best, Vec<Setting>)>> {
        for best in endowed.ways(items)?.into_iter().take(MOST_TRIALS) {
            let demand = best.mode.demand(items).unwrap_or_default();
            let scales = best.mode.scales(items, &demand, best.room);
            let settings =
                settings_of(&best, items, &scales, self.context.measure().facts().tight)?;
            if best.reserved.is_some() || self.admits(&best, &settings)? {
                return Ok(Some((best, settings)));
            }
        }
        Ok(None)
    }
    /// Return whether the account admits all releases, in the order of the questions.
    fn admits(&self, best: &Best, settings: &[Setting]) -> Result<bool> {
        let mut account = self.context.account()?;
        for (draft, setting) in self.drafts.iter().zip(settings) {
            let ready = match draft.ready(*setting, &best.delta_of_each, best.stated) {
                // The delta of each threshold is too small: even the largest threshold needs a
                // larger delta.
                Err(Error::BudgetExceeded(_)) => return Ok(false),
                ready => ready?,
            };
            if account.charge(ready.cost()).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
/// Return the noise of the questions `items`, with the given scales. The field `gaussian` can be
/// `true` only if the account composes losses of an epsilon and a delta tightly. Otherwise, each
/// question gets the noise of the base measure.
fn settings_of(best: &Best, items: &[Item], scales: &[f64], tight: bool) -> Result<Vec<Setting>> {
    let mut settings = Vec::with_capacity(items.len());
    for (item, scale) in items.iter().zip(scales) {
        let gaussian = best.mode.takes_gaussian(item) && tight;
        settings.push(Setting { scale: Scale::new(*scale)?, gaussian, discrete: false });
    }
    Ok(settings)
}
