//! Budgets of an epsilon and a delta that compose tightly.

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use opendp_measurements::accounting::{AdaptiveAccount, AdaptiveLoss};

use crate::{Loss, Notion};

/// Compute the filters of a budget.
///
/// # Errors
/// `Argument` when the budget is not an epsilon and a delta, or when its delta is 0. Further errors
/// are the errors of [`AdaptiveAccount::new`].
pub(crate) fn open(total: &Loss) -> Result<AdaptiveAccount> {
    match (total.notion(), total.or_its_float().parts()) {
        (Notion::Approximate, [epsilon, delta]) if !delta.is_zero() => {
            AdaptiveAccount::new(epsilon, delta, None)
        }
        _ => {
            let reason = "a budget that composes tightly needs an epsilon and a delta above 0";
            Err(Error::argument("total", reason))
        }
    }
}
/// Charge filters for a loss. The loss must be in approximate differential privacy. After an error,
/// the filters must not be used.
///
/// # Errors
/// `BudgetExceeded` when the filters do not admit the loss.
pub(crate) fn charge(filters: &mut AdaptiveAccount, loss: &Loss) -> Result<()> {
    loss.members().iter().try_for_each(|one| filters.charge(&charged(one)))
}
/// Convert a loss to the form that the filters charge.
fn charged(loss: &Loss) -> AdaptiveLoss {
    let part = |place: usize| loss.parts().get(place).cloned().unwrap_or(Exact::INFINITY);
    let (mu_squared, rho) = (loss.mu_squared().cloned(), loss.choice_rho().cloned());
    AdaptiveLoss { epsilon: part(0), delta: part(1), mu_squared, rho }
}
/// Convert an epsilon and a delta to a loss.
pub(crate) fn loss((epsilon, delta): (Exact, Exact)) -> Result<Loss> {
    Loss::exact(Notion::Approximate, vec![epsilon, delta])
}
