//! Budgets and their accounts.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use opendp_core::arith::{Exact, shown};
use opendp_core::{Error, Result};
use opendp_ledger::{Account as Found, Ledger, Loss, Notion, Request};
use opendp_measurements::accounting::{AdaptiveAccount, AdaptiveLoss, Kind, Share};

use crate::metadata::{BudgetText, Metadata, Table};

mod terms;

use terms::{check_terms, check_unit, terms_of};

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
    /// Make a budget of approximate differential privacy. Gaussian noise uses the delta. The
    /// release of keys that are not public also uses the delta.
    ///
    /// # Errors
    /// `Argument` when epsilon is not positive and finite, or when delta is at most 0 or at
    /// least 1.
    pub fn epsilon_delta(epsilon: f64, delta: f64) -> Result<Self> {
        if !(delta < 1.0) {
            return Err(Error::argument(
                "delta",
                format!("expected a number above 0 and below 1, found {}", shown(delta)),
            ));
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
        let part = |(name, amount): &(&str, f64)| {
            if 0.0 < *amount && amount.is_finite() {
                Exact::written(*amount)
            } else {
                Err(Error::argument(
                    *name,
                    format!("expected a finite number above 0, found {}", shown(*amount)),
                ))
            }
        };
        Ok(Budget(Loss::exact(notion, parts.iter().map(part).collect::<Result<_>>()?)?))
    }
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

/// An account of a budget, in memory or in a ledger. The account of a budget that does not exist
/// yet is [`Account::Absent`].
pub(crate) enum Account {
    Memory { budget: Loss, spent: Mutex<Vec<Exact>> },
    Tight { filters: Mutex<AdaptiveAccount> },
    Durable { ledger: Ledger, found: Box<Found> },
    Absent { budget: Loss, composition: Composition, reason: String },
}

impl Metadata {
    /// Create the budget of these metadata in its ledger, and return the amount of the budget. If
    /// the file of the ledger does not exist, create this file. The terms of the budget state which
    /// individuals of the private tables are protected.
    ///
    /// Only this function creates a ledger or a budget. If a session also created budgets, a wrong
    /// path would silently give a new budget.
    ///
    /// # Errors
    /// `Argument` when the metadata lack the ledger or the name of the budget, or when the budget
    /// exists already. Further errors are the errors of the metadata and of the ledger.
    pub fn create_budget(&self) -> Result<Loss> {
        let budget = Budget::read(&self.budget)?;
        let (Some(path), Some(name)) = (&self.budget.ledger, &self.budget.name) else {
            return Err(incomplete());
        };
        for (table, described) in &self.tables {
            described.check().map_err(|error| error.at(format!("table `{table}`")))?;
        }
        let (composition, terms) = (Composition::read(&self.budget)?, terms_of(&self.tables)?);
        // Check the budget first, so that no file is created for a wrong name or amount.
        budget.0.check_budget(name, composition == Composition::Tight)?;
        let ledger = Ledger::open(path)?;
        match composition {
            Composition::Sum => ledger.create_with(name, &budget.0, &terms)?,
            Composition::Tight => ledger.create_tight(name, &budget.0, &terms)?,
        }
        Ok(budget.0)
    }
}
/// Return the error for metadata that lack the ledger or the name of a budget in a ledger.
pub(crate) fn incomplete() -> Error {
    Error::argument(
        "budget",
        "a budget in a ledger needs both `ledger` and `name`: add the missing field",
    )
}
impl Account {
    /// Open the account of the budget of metadata.
    ///
    /// # Errors
    /// The errors of [`durable`](Account::durable), and `Argument` when the budget is invalid.
    pub(crate) fn of_metadata(metadata: &Metadata) -> Result<Self> {
        let budget = Budget::read(&metadata.budget)?;
        let composition = Composition::read(&metadata.budget)?;
        match (&metadata.budget.ledger, &metadata.budget.name) {
            (None, None) => Account::memory(&budget, composition),
            (Some(path), Some(name)) => {
                Account::durable(path, name, &budget, composition, &metadata.tables)
            }
            _ => Err(incomplete()),
        }
    }
    /// Open the account as [`of_metadata`](Account::of_metadata) does. But if the ledger or the
    /// budget does not exist, return an account that admits no release.
    pub(crate) fn to_explain(metadata: &Metadata) -> Result<Self> {
        match Account::of_metadata(metadata) {
            Err(Error::NotFound(reason)) => {
                let budget = Budget::read(&metadata.budget)?.0;
                let composition = Composition::read(&metadata.budget)?;
                Ok(Account::Absent { budget, composition, reason })
            }
            account => account,
        }
    }
    pub(crate) fn memory(budget: &Budget, composition: Composition) -> Result<Self> {
        if composition == Composition::Tight {
            return Ok(Account::Tight { filters: Mutex::new(filters(budget.amount())?) });
        }
        let spent = vec![Exact::ZERO; budget.0.parts().len()];
        Ok(Account::Memory { budget: budget.0.clone(), spent: Mutex::new(spent) })
    }
    /// Use the budget `name` of the ledger at `path`.
    ///
    /// # Errors
    /// `NotFound` when there is no such ledger or budget. `Argument` when the individuals, the
    /// amount or the composition of the budget differ from those of the metadata.
    pub(crate) fn durable(
        path: &str,
        name: &str,
        budget: &Budget,
        composition: Composition,
        tables: &BTreeMap<String, Table>,
    ) -> Result<Self> {
        let missing = |error: Error| match error.kind() {
            "NotFound" => Error::NotFound(format!(
                "{error}.\nIf this budget was used before, find its file: a new budget would be \
                 spent again. Otherwise, create it with `opendp-sql create --config FILE`"
            )),
            _ => error,
        };
        let ledger = Ledger::open_existing(path).map_err(missing)?;
        let found = ledger.account(name).map_err(missing)?;
        check_terms(&found, name, budget, composition, tables)?;
        Ok(Account::Durable { ledger, found: Box::new(found) })
    }
    pub(crate) fn notion(&self) -> Notion {
        match self {
            Account::Memory { budget, .. } | Account::Absent { budget, .. } => budget.notion(),
            Account::Tight { .. } => Notion::Approximate,
            Account::Durable { found, .. } => found.total.notion(),
        }
    }
    pub(crate) fn composition(&self) -> Composition {
        match self {
            Account::Memory { .. } => Composition::Sum,
            Account::Absent { composition, .. } => *composition,
            Account::Tight { .. } => Composition::Tight,
            Account::Durable { found, .. } if found.filters().is_some() => Composition::Tight,
            Account::Durable { .. } => Composition::Sum,
        }
    }
    /// Return whether the account keeps releases. If `true`, a question with the id of an earlier
    /// release returns this release.
    pub(crate) fn keeps_releases(&self) -> bool {
        matches!(self, Account::Durable { .. })
    }
    /// Return the rest of the budget. If the budget composes tightly, it has several filters. Then
    /// return the epsilon and the delta that remain in the filter with the largest rest
    /// ([`AdaptiveAccount::left`]).
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
            Account::Absent { budget, .. } => Ok(budget.clone()),
            Account::Durable { ledger, found } => ledger.remaining(&found.name),
        }
    }
    /// Charge the loss of a release. Return the release, and whether the ledger already had it. An
    /// account in memory charges the loss before it calls `compute`. If `compute` fails, the loss
    /// stays charged. An account in a ledger writes the loss and the release to the disk before
    /// this function returns. If `compute` fails, nothing is charged. If the ledger already has a
    /// release with this id, return that release without a charge and without `check`.
    ///
    /// Call `check` before a new release is computed or charged. If `check` fails, nothing is
    /// charged.
    pub(crate) fn release(
        &self,
        request: &Request,
        check: impl FnOnce() -> Result<()>,
        compute: impl FnOnce() -> Result<String>,
    ) -> Result<(String, bool)> {
        match self {
            Account::Memory { budget, spent } => {
                check()?;
                charge(budget, spent, request.loss())?;
                Ok((compute()?, false))
            }
            Account::Tight { filters } => {
                check()?;
                charge_tightly(filters, request.loss())?;
                Ok((compute()?, false))
            }
            Account::Absent { reason, .. } => Err(Error::NotFound(reason.clone())),
            Account::Durable { ledger, found } => {
                let checked = || {
                    check_unit(found)?;
                    check()?;
                    compute()
                };
                let release = ledger.release(&found.name, request, checked)?;
                Ok((release.value()?, release.repeated()))
            }
        }
    }
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
/// `shares` queries, each with this share as its loss. If `with_delta` is true, the share has a
/// delta.
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
            "the query costs {loss}, and {} of the budget is left",
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
