//! Less noise for a plan that takes the whole budget, by the distributions of its losses.

use opendp_core::Result;
use opendp_measurements::Scale;
use opendp_measurements::accounting::{SharePair, SharedAccount};

use super::super::Accounted;
use super::endowed::Best;
use super::{Plan, Setting};

/// The largest number of different losses. More of them take longer to compose.
const MOST_PAIRS: usize = 16;
/// Noise is reduced only if it becomes at least this much less.
const GAIN: f64 = 1e-5;
/// The noise of each release is larger than that of its share by this factor. So the rounding of
/// losses does not exceed the share.
const SLACK: f64 = 1.0 + 1e-9;

impl<MO: Accounted> Plan<'_, MO> {
    /// Divide all noise by one factor, so that the composition of the pairs of all releases meets
    /// the whole budget. Return the new noise and the pairs. Return `None` if the plan does not
    /// take the whole budget, a question has a wanted accuracy or a threshold, or there is no gain.
    ///
    /// The releases of a plan are fixed before the first answer, so their pairs compose. The plan
    /// may depend on no earlier release, because there is none.
    pub(super) fn tightened(
        &self,
        best: &Best,
        settings: &[Setting],
    ) -> Result<Option<(Vec<Setting>, Vec<SharePair>)>> {
        // A filter of Gaussian noise is exact already.
        let mut drafts = self.items.iter().zip(settings);
        if drafts.all(|(item, setting)| setting.gaussian && !item.choice) {
            return Ok(None);
        }
        let weighted = self.items.iter().all(|item| item.weight != 0.0);
        let hides = self.drafts.iter().any(|draft| draft.takes_delta());
        let budget = self.context.account()?.budget();
        let ([epsilon, delta], true) = (budget.as_slice(), best.whole && weighted && !hides) else {
            return Ok(None);
        };
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
        if !(1.0 + GAIN < factor) {
            return Ok(None);
        }
        let less = |setting: &Setting| {
            let scale = Scale::new(setting.scale.value() / factor * SLACK)?;
            Ok(Setting { scale, ..*setting })
        };
        let settings = settings.iter().map(less).collect::<Result<_>>()?;
        Ok(Some((settings, pairs.iter().map(|pair| pair.times(factor)).collect())))
    }
    /// Return the pairs of all releases.
    fn pairs(&self, best: &Best, settings: &[Setting]) -> Result<Vec<SharePair>> {
        let drafts = self.drafts.iter().zip(settings);
        drafts
            .map(|(draft, setting)| {
                let ready = draft.ready(*setting, &best.delta_of_each, best.stated)?;
                Ok(ready.cost().pair())
            })
            .collect()
    }
}
