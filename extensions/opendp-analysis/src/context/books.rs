//! The account and the releases of a context, and how releases are charged.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, MutexGuard};

use opendp_core::arith::Exact;
use opendp_core::{Error, HeldLock, Result};
use opendp_measurements::accounting::{Kind, SharePair};

use super::account::{Account, Cost, Reserve, Room, Wanted};
use super::measure::name_of;
use super::plan::Endowed;
use super::report::{Entry, Journal};
use super::{BudgetMeasure, Context};

/// The books of a context: its account and its releases.
pub(super) struct Books<MO: BudgetMeasure> {
    pub(super) account: Account<MO>,
    pub(super) entries: Vec<Entry>,
}
/// The books of a context, while this thread holds their lock.
pub(super) struct Locked<'a, MO: BudgetMeasure> {
    books: MutexGuard<'a, Books<MO>>,
    _held: HeldLock,
}
impl<MO: BudgetMeasure> Deref for Locked<'_, MO> {
    type Target = Books<MO>;
    fn deref(&self) -> &Books<MO> {
        &self.books
    }
}
impl<MO: BudgetMeasure> DerefMut for Locked<'_, MO> {
    fn deref_mut(&mut self) -> &mut Books<MO> {
        &mut self.books
    }
}
impl<MO: BudgetMeasure> Context<MO> {
    /// Charge the account for a release that a journal recorded in an earlier process. The release
    /// counts as one query of the split. Nothing is written to the journal.
    ///
    /// If the shares of the budget are fixed in advance, they must be the shares of the earlier
    /// process. Otherwise, the shares could depend on answers. Only the entry of the first release
    /// states the shares of its process. So carry over all releases, in the order of the journal.
    ///
    /// # Errors
    /// `Argument` when the entry has another measure or another privacy unit than this context. If
    /// the shares are fixed in advance, `Argument` also when the first entry does not state the
    /// shares of this context, or when a later entry states other shares. `BudgetExceeded` when the
    /// loss of the release does not fit the remaining budget. `FailedFunction` when a journal
    /// panicked. The errors of the account, if the entry has numbers that no context writes.
    pub fn carry_over(&self, entry: Entry) -> Result<()> {
        let (expected, found) = (name_of(&self.measure), &entry.measure);
        if *found != expected {
            let reason = format!("expected a loss in {expected}, found a loss in {found}");
            return Err(Error::argument("entry", reason));
        }
        let (expected, found) = (self.unit, entry.unit);
        if found != expected {
            let reason = format!(
                "expected a release that protects {expected}; found one that protects {found}"
            );
            return Err(Error::argument("entry", reason));
        }
        let mut books = self.locked()?;
        let (parts, mu_squared) = (entry.loss.clone(), entry.mu_squared.clone());
        let cost = Cost { parts, mu_squared, rho: entry.rho.clone(), pair: entry.share };
        let (mut account, first) = (books.account.clone(), books.entries.is_empty());
        let reserve = match self.shares(&account) {
            None => entry.reserve(),
            Some(shares) if entry.shares.as_ref().map_or(!first, |stated| *stated == shares) => {
                None
            }
            Some(_) => {
                let reason = match entry.shares {
                    Some(_) => {
                        "expected the shares of this context; found other shares. Shares that are \
                         fixed in advance must not depend on earlier answers. Make the context \
                         with the split of the earlier context"
                    }
                    None => {
                        "expected the first release of a context with fixed shares, which states \
                         these shares. Carry the releases over in their order, from the first one on"
                    }
                };
                return Err(Error::argument("entry", reason));
            }
        };
        account.charge_all(&[&cost], reserve.as_ref())?;
        books.account = account;
        books.entries.push(entry);
        Ok(())
    }
    /// Return the shares of the budget, if the split fixes them in advance.
    fn shares(&self, account: &Account<MO>) -> Option<Vec<SharePair>> {
        match account {
            Account::Shares(account) if self.split.is_fixed() => Some(account.shares().to_vec()),
            _ => None,
        }
    }
    /// Return whether the shares of the budget are fixed in advance.
    pub(crate) fn has_shares(&self) -> bool {
        self.split.is_fixed()
    }
    /// Return the share of the budget that the next query gets. `wanted` is the amount that the
    /// query states, or `None` if the query states no amount.
    pub(crate) fn share(&self, wanted: Option<&[Exact]>) -> Result<Wanted> {
        self.split.share(self.locked()?.entries.len(), wanted)
    }
    /// Find the largest costs that fit a share of the budget.
    pub(crate) fn room(&self, wanted: &Wanted, kind: Kind) -> Result<Room> {
        self.locked()?.account.room(wanted, kind)
    }
    /// Find the largest costs that fit a share of the budget. The next `count` queries have this
    /// share together.
    pub(crate) fn endowed(&self, count: usize, wanted: Option<&[Exact]>) -> Result<Endowed> {
        let books = self.locked()?;
        let share = self.split.share_of(books.entries.len(), count, wanted)?;
        let endowed = Endowed::new(&books.account, share, self.measure.facts().squares)?;
        let reserves = self.journal.as_ref().is_none_or(|journal| journal.reserves());
        Ok(if reserves { endowed } else { endowed.without_reserve() })
    }
    /// Return a copy of the account, so that the caller can try charges on the copy.
    pub(crate) fn account(&self) -> Result<Account<MO>> {
        Ok(self.locked()?.account.clone())
    }
    /// Charge for all releases or for none. A reserve is a part of the budget that a plan keeps for
    /// its releases. Each of `ways` is a reserve, or `None` for no reserve. Use the first way with
    /// which the account admits all releases. Write the releases to the journal before any release
    /// is run. A plan with an id is charged only once.
    pub(crate) fn charge<'r>(
        &self,
        plan: Option<&str>,
        costs: &[&Cost],
        ways: &[Option<&'r Reserve>],
        entries: &dyn Fn(Vec<Exact>, Option<&'r Reserve>) -> Vec<Entry>,
    ) -> Result<()> {
        let mut books = self.locked()?;
        if let Some(id) = plan
            && books.entries.iter().any(|entry| entry.plan.as_deref() == Some(id))
        {
            let reason = format!(
                "the plan `{id}` was charged before, and a plan is released only once; nothing \
                 was run. For new answers, give the plan another id"
            );
            return Err(Error::argument("plan", reason));
        }
        self.split.admit(books.entries.len(), costs.len())?;
        let mut charged =
            Err(Error::BudgetExceeded("no part of the budget pays for the release".into()));
        for &reserved in ways {
            let mut account = books.account.clone();
            charged = account.charge_all(costs, reserved).map(|()| (account, reserved));
            if charged.is_ok() {
                break;
            }
        }
        let (account, reserved) = charged.map_err(nothing_was_run)?;
        let mut entries = entries(account.left()?, reserved);
        books.account = account;
        if let (Some(shares), true, [first, ..]) =
            (self.shares(&books.account), books.entries.is_empty(), entries.as_mut_slice())
        {
            first.shares = Some(shares);
        }
        books.entries.extend(entries.iter().cloned());
        // Write while the lock is held, so the entries of the journal are in the order of the
        // charges.
        let write = |journal: &Arc<dyn Journal>| match (plan, entries.as_slice()) {
            (None, [only]) => journal.record(only),
            _ => journal.record_plan(&entries),
        };
        self.journal.as_ref().map_or(Ok(()), write)
    }
    /// Lock the books. Accounts compute in several threads. While the `HeldLock` exists, such a
    /// computation cannot deadlock with threads that wait for the lock of the books.
    pub(super) fn locked(&self) -> Result<Locked<'_, MO>> {
        let books = self.books.lock().map_err(|_| {
            Error::FailedFunction("a journal panicked; this context gives no more answers".into())
        })?;
        Ok(Locked { books, _held: HeldLock::new() })
    }
}
/// Add to a `BudgetExceeded` error that nothing was run.
pub(super) fn nothing_was_run(error: Error) -> Error {
    match error {
        Error::BudgetExceeded(reason) => {
            Error::BudgetExceeded(format!("{reason}; nothing was run"))
        }
        other => other,
    }
}
