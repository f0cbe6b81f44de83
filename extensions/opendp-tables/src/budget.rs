//! Budgets and their accounts.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use opendp_core::arith::Exact;
use opendp_core::{Error, Result};
use opendp_ledger::{Account as Found, Ledger, Loss, Notion, Request, Terms};
use opendp_measurements::accounting::{AdaptiveAccount, AdaptiveLoss, Kind, Share};

use crate::metadata::{BudgetText, Table};

/// An amount of privacy loss: the budget of a session, or the largest loss of one query.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget(Loss);

impl Budget {
    /// Make a budget of pure differential privacy.
    ///
    /// # Errors
    /// `Argument` when epsilon is not positive and finite.
    pub fn epsilon(epsilon: f64) -> Result<Self> {
        Budget::of(Notion::Pure, &[("epsilon", epsilon)])
    }
    /// Make a budget of approximate differential privacy. Gaussian noise uses the delta, and so
    /// does the release of keys that are not public.
    ///
    /// # Errors
    /// `Argument` when epsilon is not positive and finite, or when delta is not above 0 and below
    /// 1.
    pub fn epsilon_delta(epsilon: f64, delta: f64) -> Result<Self> {
        if !(delta < 1.0) {
            return Err(Error::argument("delta", "expected a number between 0 and 1"));
        }
        Budget::of(Notion::Approximate, &[("epsilon", epsilon), ("delta", delta)])
    }
    /// Make a budget of zero-concentrated differential privacy.
    ///
    /// # Errors
    /// `Argument` when rho is not positive and finite.
    pub fn rho(rho: f64) -> Result<Self> {
        Budget::of(Notion::Concentrated, &[("rho", rho)])
    }
    fn of(notion: Notion, parts: &[(&str, f64)]) -> Result<Self> {
        let part = |(name, amount): &(&str, f64)| match 0.0 < *amount && amount.is_finite() {
            true => Exact::written(*amount),
            false => {
                Err(Error::argument(*name, format!("expected a positive number, found {amount}")))
            }
        };
        Ok(Budget(Loss::exact(notion, parts.iter().map(part).collect::<Result<_>>()?)?))
    }
    /// Read the budget of metadata.
    pub(crate) fn read(text: &BudgetText) -> Result<Self> {
        match (text.epsilon, text.delta, text.rho) {
            (Some(epsilon), None, None) => Budget::epsilon(epsilon),
            (Some(epsilon), Some(delta), None) => Budget::epsilon_delta(epsilon, delta),
            (None, None, Some(rho)) => Budget::rho(rho),
            _ => {
                let reason = "expected `epsilon`, or `epsilon` and `delta`, or `rho`";
                Err(Error::argument("budget", reason))
            }
        }
    }
    /// Return the amount of the budget.
    pub fn amount(&self) -> &Loss {
        &self.0
    }
}

/// How the losses of releases compose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Composition {
    /// Losses add up.
    Sum,
    /// Losses compose tightly: the filters of an [`AdaptiveAccount`] admit or refuse each release.
    Tight,
}
impl Composition {
    /// Read from the metadata how the losses of the budget compose.
    pub(crate) fn read(text: &BudgetText) -> Result<Self> {
        match text.composition.as_deref() {
            None | Some("sum") => Ok(Composition::Sum),
            Some("tight") if text.delta.is_some() => Ok(Composition::Tight),
            Some("tight") => {
                let reason = "`tight` needs a budget with an `epsilon` and a `delta`";
                Err(Error::argument("composition", reason))
            }
            Some(other) => {
                let reason = format!("expected `sum` or `tight`, found `{other}`");
                Err(Error::argument("composition", reason))
            }
        }
    }
}

/// An account of a budget, in memory or in a ledger.
pub(crate) enum Account {
    Memory { budget: Loss, spent: Mutex<Vec<Exact>> },
    Tight { filters: Mutex<AdaptiveAccount> },
    Durable { ledger: Ledger, name: String, notion: Notion, composition: Composition },
}
/// Return whether a budget with these terms protects the individuals of all private tables. This
/// module creates budgets with empty terms, which protect the units of all tables. If the terms
/// state a unit, each private table must have this unit and no public number of rows.
fn protects(terms: &Terms, tables: &BTreeMap<String, Table>) -> bool {
    let rows = |table: &Table| match (&table.unit, table.rows) {
        (Some(unit), None) => unit.rows,
        _ => None,
    };
    let unit = match terms.unit() {
        _ if terms.size().is_some() || terms.digest().is_some() => return false,
        None => return true,
        Some(unit) => unit,
    };
    let mut private = tables.values().filter(|table| !table.public);
    unit.metric() == "symmetric_distance" && private.all(|table| rows(table) == Some(unit.d_in()))
}
impl Account {
    /// Open an account in memory.
    pub(crate) fn memory(budget: &Budget, composition: Composition) -> Result<Self> {
        if composition == Composition::Tight {
            return Ok(Account::Tight { filters: Mutex::new(filters(budget.amount())?) });
        }
        let spent = vec![Exact::ZERO; budget.0.parts().len()];
        Ok(Account::Memory { budget: budget.0.clone(), spent: Mutex::new(spent) })
    }
    /// Use the budget with this name in a ledger. Create the budget if it does not exist.
    pub(crate) fn durable(
        ledger: Ledger,
        name: &str,
        budget: &Budget,
        composition: Composition,
        tables: &BTreeMap<String, Table>,
    ) -> Result<Self> {
        let found = match ledger.account(name) {
            Err(error) if error.kind() == "NotFound" => {
                created(&ledger, name, budget, composition)?
            }
            found => Some(found?),
        };
        if let Some(found) = found {
            check_terms(&found, name, budget, composition, tables)?;
        }
        let (name, notion) = (name.to_owned(), budget.0.notion());
        Ok(Account::Durable { ledger, name, notion, composition })
    }
    pub(crate) fn notion(&self) -> Notion {
        match self {
            Account::Memory { budget, .. } => budget.notion(),
            Account::Tight { .. } => Notion::Approximate,
            Account::Durable { notion, .. } => *notion,
        }
    }
    /// Return how losses compose.
    pub(crate) fn composition(&self) -> Composition {
        match self {
            Account::Memory { .. } => Composition::Sum,
            Account::Tight { .. } => Composition::Tight,
            Account::Durable { composition, .. } => *composition,
        }
    }
    /// Return the rest of the budget. If the budget composes tightly, return the epsilon and the
    /// delta that remain in the filter with the most room ([`AdaptiveAccount::left`]).
    pub(crate) fn left(&self) -> Result<Loss> {
        match self {
            Account::Memory { budget, spent } => {
                let spent = spent.lock().unwrap_or_else(PoisonError::into_inner);
                let left = budget.parts().iter().zip(spent.iter()).map(|(all, out)| all.minus(out));
                Loss::exact(budget.notion(), left.collect())
            }
            Account::Tight { filters } => {
                let filters = filters.lock().unwrap_or_else(PoisonError::into_inner);
                let (epsilon, delta) = filters.left()?;
                Loss::exact(Notion::Approximate, vec![epsilon, delta])
            }
            Account::Durable { ledger, name, .. } => ledger.remaining(name),
        }
    }
    /// Charge the loss of a release, and return the release. In memory, the loss is charged before
    /// `compute` is called. If `compute` fails, the loss stays charged. With a ledger, the loss and
    /// the release are on the disk before this function returns. If `compute` fails, a ledger
    /// charges nothing. With a ledger, the same id gives the same release.
    ///
    /// Call `check` before a new release is computed or charged. If `check` fails, nothing is
    /// charged. A release that is already in the ledger is returned without this check.
    pub(crate) fn release(
        &self,
        request: &Request,
        check: impl FnOnce() -> Result<()>,
        compute: impl FnOnce() -> Result<String>,
    ) -> Result<String> {
        match self {
            Account::Memory { budget, spent } => {
                check()?;
                charge(budget, spent, request.loss())?;
                compute()
            }
            Account::Tight { filters } => {
                check()?;
                charge_tightly(filters, request.loss())?;
                compute()
            }
            Account::Durable { ledger, name, .. } => {
                let checked = || check().and_then(|()| compute());
                ledger.release(name, request, checked)?.value::<String>()
            }
        }
    }
}
/// Create a budget in a ledger, and return `None`. If another process has created a budget of this
/// name in the meantime, return the budget of the other process.
fn created(
    ledger: &Ledger,
    name: &str,
    budget: &Budget,
    composition: Composition,
) -> Result<Option<Found>> {
    let made = match composition {
        Composition::Sum => ledger.create(name, &budget.0),
        Composition::Tight => ledger.create_tight(name, &budget.0, &Terms::new()),
    };
    match made {
        Ok(()) => Ok(None),
        Err(error) => ledger.account(name).map(Some).map_err(|_| error),
    }
}
/// Check that a budget of a ledger protects the tables, and that its amount and its composition are
/// those of the metadata.
fn check_terms(
    found: &Found,
    name: &str,
    budget: &Budget,
    composition: Composition,
    tables: &BTreeMap<String, Table>,
) -> Result<()> {
    let tight = composition == Composition::Tight;
    if !protects(&found.terms, tables) {
        let terms = found.terms.to_json();
        let reason = format!(
            "budget `{name}` of the ledger is for other data or for another unit: {terms}.\n\
             The terms of a budget for tables may state a unit in `symmetric_distance`, but no size \
             and no digest. Then each private table must have the unit `rows = k`, where `k` is the \
             distance of the budget, and no stated number of rows. Change the tables, or name a new \
             budget"
        );
        return Err(Error::argument("budget", reason));
    }
    if found.total != budget.0 {
        let total = &found.total;
        let reason =
            format!("budget `{name}` is {total} in the ledger, but {} in the metadata", budget.0);
        return Err(Error::argument("budget", reason));
    }
    if found.filters().is_some() != tight {
        let (theirs, ours) = if tight { ("sum", "tight") } else { ("tight", "sum") };
        let reason = format!(
            "budget `{name}` composes as `{theirs}` in the ledger, but as `{ours}` in the \
             metadata.\nWrite `composition = \"{theirs}\"`, or name a new budget"
        );
        return Err(Error::argument("composition", reason));
    }
    Ok(())
}
/// Make the filters for a budget of an epsilon and a delta.
fn filters(budget: &Loss) -> Result<AdaptiveAccount> {
    match budget.parts() {
        [epsilon, delta] => AdaptiveAccount::new(epsilon, delta, None),
        _ => Err(Error::argument("budget", "expected an epsilon and a delta")),
    }
}
/// Charge all losses of a release to the filters. If the filters refuse one of the losses, charge
/// nothing.
fn charge_tightly(filters: &Mutex<AdaptiveAccount>, loss: &Loss) -> Result<()> {
    let mut filters = filters.lock().unwrap_or_else(PoisonError::into_inner);
    let mut charged = filters.clone();
    for loss in loss.members() {
        let loss = loss.within(Notion::Approximate)?;
        let [epsilon, delta] = loss.parts() else {
            return Err(Error::argument("loss", "expected an epsilon and a delta"));
        };
        let (epsilon, delta) = (epsilon.clone(), delta.clone());
        charged.charge(&AdaptiveLoss { epsilon, delta, mu_squared: None, rho: None })?;
    }
    *filters = charged;
    Ok(())
}
/// Return one of `shares` equal shares of a budget that composes tightly. The budget admits
/// `shares` queries whose loss is this share. If `with_delta` is true, the share has a delta.
pub(crate) fn tight_share(budget: &Loss, shares: u32, with_delta: bool) -> Result<Loss> {
    let fraction = Exact::from_f64(1.0)?.over(&Exact::from_f64(f64::from(shares.max(1)))?);
    let kind = if with_delta { Kind::WithDelta } else { Kind::Pure };
    let room = filters(budget)?.room(&Share::Fraction(fraction), kind)?;
    let delta = if with_delta { room.delta } else { Exact::ZERO };
    Loss::exact(Notion::Approximate, vec![room.epsilon, delta])
}
fn charge(budget: &Loss, spent: &Mutex<Vec<Exact>>, loss: &Loss) -> Result<()> {
    let loss = loss.within(budget.notion())?;
    let mut spent = spent.lock().unwrap_or_else(PoisonError::into_inner);
    let after: Vec<Exact> =
        spent.iter().zip(loss.parts()).map(|(out, part)| out.plus_term(part)).collect();
    if after.iter().zip(budget.parts()).any(|(out, all)| all < out) {
        let left: Vec<Exact> =
            budget.parts().iter().zip(spent.iter()).map(|(all, out)| all.minus(out)).collect();
        let left = Loss::exact(budget.notion(), left)?;
        return Err(Error::BudgetExceeded(format!(
            "the query costs {loss}, and {} is left of the budget",
            left.show(false)
        )));
    }
    *spent = after;
    Ok(())
}
/// Convert losses to the measure of `notion`, and add them up.
pub(crate) fn total(notion: Notion, losses: &[Loss]) -> Result<Loss> {
    let mut parts = vec![Exact::ZERO; notion.parts().len()];
    for loss in losses {
        let loss = loss.within(notion)?;
        parts = parts.iter().zip(loss.parts()).map(|(sum, part)| sum.plus_term(part)).collect();
    }
    Loss::exact(notion, parts)
}
/// Return one of `shares` equal shares of a loss.
pub(crate) fn share(loss: &Loss, shares: u32) -> Result<Loss> {
    let by = Exact::from_f64(f64::from(shares.max(1)))?;
    Loss::exact(loss.notion(), loss.parts().iter().map(|part| part.over(&by)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_another_process_creates_at_the_same_time_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("budget.ledger")).unwrap();
        let (small, large) = (Budget::epsilon(1.0).unwrap(), Budget::epsilon(2.0).unwrap());
        let tables = BTreeMap::new();
        let make = |budget| created(&ledger, "survey", budget, Composition::Sum).unwrap();
        assert!(make(&small).is_none());
        // A second process also found no budget, so it also calls `created`. It must get the budget
        // that the first process created.
        let found = make(&small).unwrap();
        let check = |budget, composition| {
            check_terms(&found, "survey", budget, composition, &tables).is_ok()
        };
        assert!(check(&small, Composition::Sum));
        // The controls: budgets that differ from the budget in the ledger are refused.
        assert!(!check(&large, Composition::Sum) && !check(&small, Composition::Tight));
        let bad = created(&ledger, "", &small, Composition::Sum);
        assert_eq!(bad.unwrap_err().kind(), "Argument");
    }
}
