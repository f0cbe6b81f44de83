//! Budgets of an epsilon and a delta that compose tightly. Such a budget limits a proved bound on
//! the total loss. This bound can be less than the sum of the losses.

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use opendp_measurements::accounting::{AdaptiveAccount, AdaptiveLoss};

use crate::loss::Opening;
use crate::{Loss, Notion};

/// Compute the filters of a budget. A filter is a rule that admits or refuses the next release.
///
/// # Errors
/// `Argument` when the budget is not an epsilon and a delta, or when its delta is 0. Further errors
/// are the errors of [`AdaptiveAccount::new`].
pub(crate) fn open(total: &Loss) -> Result<AdaptiveAccount> {
    let (epsilon, delta) = total.epsilon_and_delta()?;
    AdaptiveAccount::new(&epsilon, &delta, None)
}
/// Charge a loss to filters. The loss must be in approximate differential privacy. If the loss was
/// planned for an unspent budget, first replace the filters by the planned filters. After an error,
/// the filters must not be used.
///
/// # Errors
/// `BudgetExceeded` when the filters do not admit the loss. `BudgetExceeded` also when the loss was
/// planned for an unspent budget, but another loss was charged before. `Argument` when the loss was
/// planned for another budget.
pub(crate) fn charge(filters: &mut AdaptiveAccount, loss: &Loss) -> Result<()> {
    if let Some(Opening { filters: planned, charged }) = loss.opening() {
        if filters.has_begun() {
            let reason = "the releases were planned for an unspent budget, but this budget has \
                          earlier releases";
            return Err(Error::BudgetExceeded(reason.into()));
        }
        if filters.budget() != planned.budget() {
            let reason = "the releases were planned for another budget";
            return Err(Error::argument("loss", reason));
        }
        *filters = planned.clone();
        if *charged {
            return Ok(());
        }
    }
    loss.members().iter().try_for_each(|member| filters.charge(&charged(member)))
}
/// Convert a loss to the form in which losses are charged to filters.
fn charged(loss: &Loss) -> AdaptiveLoss {
    let part = |place: usize| loss.parts().get(place).cloned().unwrap_or(Exact::INFINITY);
    let (mu_squared, rho) = (loss.mu_squared().cloned(), loss.choice_rho().cloned());
    AdaptiveLoss { epsilon: part(0), delta: part(1), mu_squared, rho }
}
pub(crate) fn loss((epsilon, delta): (Exact, Exact)) -> Result<Loss> {
    Loss::exact(Notion::Approximate, vec![epsilon, delta])
}
