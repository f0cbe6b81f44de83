//! Releases with a known `rho`. A `rho` is a loss of zero-concentrated differential privacy.

use std::sync::Arc;

use opendp_core::arith::{Directed, InfCast};

use super::super::pair::DominatingPair;
use super::super::plan::PairCount;
use super::{Account, ConcentratedPair};

/// Return the `rho` (zero-concentrated loss) of `count` releases together, if nothing else is known
/// about the releases.
pub(super) fn concentrated(pair: &Arc<dyn DominatingPair>, count: u64) -> Option<f64> {
    let rho = pair.only_above().then(|| pair.concentrated())??;
    let only = pair.between(count).is_none() && pair.integer_gaussian().is_none();
    only.then(|| f64::inf_cast(count).ok()?.inf_mul(rho).ok())?
}

impl Account {
    /// Add releases that are known only by a zero-concentrated loss. `rho` is the sum of their
    /// losses. The account stores one pair for all such releases. This pair has the sum of all
    /// their `rho`.
    pub(super) fn add_rho(&mut self, rho: f64, pair: Arc<dyn DominatingPair>, name: Arc<str>) {
        let known = |(pair, count): &PairCount| concentrated(pair, *count);
        let mut found = self.parts.iter_mut().zip(&mut self.names).enumerate();
        let found = found
            .find_map(|(place, (old, old_name))| Some((known(old)?, place, &mut old.0, old_name)));
        match found {
            None => {
                let same = pair.concentrated() == Some(rho);
                let pair = if same { pair } else { Arc::new(ConcentratedPair::new(rho)) };
                self.push(pair, 1, name);
            }
            Some((before, place, old, old_name)) => {
                let total = before.inf_add(rho).unwrap_or(f64::INFINITY);
                *old = Arc::new(ConcentratedPair::new(total));
                // The old name can be the address of the old pair. Another pair can get this
                // address later, so remove the old name.
                self.places.remove(old_name);
                *old_name = format!("{old:?}").into();
                self.places.insert(old_name.clone(), place);
            }
        }
    }
    /// Return the sum of the `rho` of all releases, if a `rho` is known for every pair of the
    /// account.
    pub(in super::super) fn rho(&self) -> Option<f64> {
        self.parts.iter().try_fold(0.0f64, |total, (pair, count)| {
            let all = f64::inf_cast(*count).ok()?.inf_mul(pair.concentrated()?).ok()?;
            total.inf_add(all).ok()
        })
    }
    /// Return the `rho` of all releases together, if nothing else is known about the releases.
    pub(in super::super) fn only_rho(&self) -> Option<f64> {
        match &self.parts[..] {
            [(pair, count)] => concentrated(pair, *count),
            _ => None,
        }
    }
}
