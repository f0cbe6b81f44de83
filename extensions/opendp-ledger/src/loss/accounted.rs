//! Measures whose losses can be charged to a budget.

use opendp_core::erased::{AnyDistance, AnyMeasure};
use opendp_core::{Approximate, Error, MaxDivergence, Measure, Result, ZeroConcentratedDivergence};

use super::{Loss, Notion};

/// A measure whose losses can be charged to a budget.
pub trait Accounted: Measure {
    /// Convert a loss to an exact loss for a budget. If rounding is needed, round up.
    ///
    /// # Errors
    /// `InvalidDistance` when the loss is negative or not finite. `NotImplemented` when budgets do
    /// not support this measure. `FailedCast` when an erased loss does not have the type of its
    /// measure.
    fn account(&self, loss: &Self::Distance) -> Result<Loss>;
}
impl Accounted for MaxDivergence {
    fn account(&self, loss: &f64) -> Result<Loss> {
        Loss::computed(Notion::Pure, &[*loss])
    }
}
impl Accounted for Approximate<MaxDivergence> {
    fn account(&self, (epsilon, delta): &(f64, f64)) -> Result<Loss> {
        Loss::computed(Notion::Approximate, &[*epsilon, *delta])
    }
}
impl Accounted for ZeroConcentratedDivergence {
    fn account(&self, loss: &f64) -> Result<Loss> {
        Loss::computed(Notion::Concentrated, &[*loss])
    }
}
impl Accounted for AnyMeasure {
    fn account(&self, loss: &AnyDistance) -> Result<Loss> {
        if self.downcast_ref::<MaxDivergence>().is_ok() {
            return MaxDivergence.account(loss.downcast_ref()?);
        }
        if self.downcast_ref::<ZeroConcentratedDivergence>().is_ok() {
            return ZeroConcentratedDivergence.account(loss.downcast_ref()?);
        }
        if let Ok(measure) = self.downcast_ref::<Approximate<MaxDivergence>>() {
            return measure.account(loss.downcast_ref()?);
        }
        Err(Error::NotImplemented(format!(
            "a budget cannot be kept in {}: expected a loss in max_divergence, \
             approximate(max_divergence) or zero_concentrated_divergence",
            self.to_json()
        )))
    }
}
