//! Ledgers. A ledger charges each release before it returns the release.

mod check;
mod queue;

use std::{
    collections::VecDeque,
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use opendp_core::{Codec, Error, Result};
use serde_json::{Value as Json, json};

use crate::decide::{TOLERANCE, charge, find, no_budget};
use crate::failure::{no_room, refusal, refused};
use crate::record;
use crate::store::Store;
use crate::store::file::{self, Mode};
use crate::{Account, Entry, Loss, Release, Request, Terms};
use queue::Job;

/// The maximum number of characters in the name of a budget, and in the id of a release.
pub(crate) const MOST_CHARACTERS: usize = 256;
/// Budgets, and all releases that were charged to these budgets.
///
/// Threads can share a ledger, and several processes can open its file. See the
/// [crate](crate#what-is-promised) for the guarantees.
pub struct Ledger {
    store: Box<dyn Store>,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    queue: Mutex<VecDeque<Arc<Job>>>,
    turn: Mutex<()>,
}

impl Ledger {
    /// Open a ledger in a file. If there is no file, create the ledger.
    ///
    /// # Errors
    /// `FailedFunction` when the file cannot be created, read, written or locked, is damaged, or is
    /// not a ledger. `NotImplemented` when this program cannot read the version of the ledger.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Ledger::of(file::open(path.as_ref(), Mode::Create)?))
    }
    /// Open a ledger in a file that exists.
    ///
    /// # Errors
    /// `NotFound` when there is no such file. Further errors are the errors of
    /// [`open`](Ledger::open) for a file that exists.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Ledger::of(file::open(path.as_ref(), Mode::Write)?))
    }
    /// Open a ledger in a file for reading. The file can be read-only.
    ///
    /// If a process was killed or the power failed during the last commit, the charges of this
    /// commit are possibly not durable. Such charges are left out until the ledger is opened for
    /// writing. So the reported sum of the charges can lack the charges of the last commit. The
    /// next writer first counts these charges, so the budget is still not exceeded.
    ///
    /// # Errors
    /// The errors of [`open_existing`](Ledger::open_existing), except that a read-only file is not
    /// an error.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Ledger::of(file::open(path.as_ref(), Mode::Read)?))
    }
    /// Open a ledger in a database of a PostgreSQL server. If the database has no tables of a
    /// ledger, create these tables.
    ///
    /// # Errors
    /// `FailedFunction` when the server cannot be reached, refuses a statement, or does not sync to
    /// its disk. `FailedFunction` also when a table of another program has the name `budget` or
    /// `spend`.
    #[cfg(feature = "postgres")]
    pub fn connect(parameters: &str) -> Result<Self> {
        Ok(Ledger::of(Box::new(crate::store::postgres::Postgres::connect(parameters)?)))
    }
    pub(crate) fn of(store: Box<dyn Store>) -> Self {
        Ledger {
            store,
            clock: Arc::new(SystemTime::now),
            queue: Mutex::default(),
            turn: Mutex::default(),
        }
    }
    /// Use another clock for the times of entries.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Create a budget. The limit for each amount is the larger of two numbers: the given amount,
    /// and the float nearest to it. So a budget of delta 1e-5 admits a loss whose delta is the
    /// float 1e-5.
    ///
    /// # Errors
    /// `Argument` when the name is already used, is empty, has more than 256 characters, or
    /// contains a NUL character. `Argument` also when the delta is 1 or more. `InvalidDistance`
    /// when the budget is 0, or when an amount exceeds all floats or has too many digits.
    /// `FailedFunction` when the ledger cannot be written. The ledger cannot be written if it is
    /// damaged, or if the clock is before 1970.
    pub fn create(&self, name: &str, total: &Loss) -> Result<()> {
        self.create_with(name, total, &Terms::new())
    }
    /// Create a budget with terms. The terms can state the unit that the budget protects, and the
    /// data of the budget.
    ///
    /// # Errors
    /// The errors of [`create`](Ledger::create). `Argument` also when the terms state 0 people.
    pub fn create_with(&self, name: &str, total: &Loss, terms: &Terms) -> Result<()> {
        self.create_of(name, total, terms, false)
    }
    /// Create a budget that composes tightly. The budget is an epsilon and a delta. Such a budget
    /// limits a proved bound on the total loss, instead of the sum of the losses. The bound can be
    /// less than the sum. A filter is a rule that admits or refuses the next release. The filters
    /// of an [`AdaptiveAccount`](opendp_measurements::accounting::AdaptiveAccount) keep the total
    /// loss within the budget. The documentation of this account states what is proved.
    ///
    /// This function computes the filters, and stores them with the budget. Some losses are pure
    /// losses, and some have a `mu^2` ([`Loss::with_mu_squared`]), as the loss of Gaussian noise
    /// does. Many small losses of these two kinds compose to less than their sum. A single pure
    /// loss costs the same as in any other budget.
    ///
    /// A part of the delta is kept for the composition of such losses, from the first release on.
    /// The first release decides how large this part is. So the budget can refuse releases whose
    /// own losses have a delta, such as counts of the keys that are found in the data. A budget
    /// that has the same amount and adds up losses can admit these releases.
    ///
    /// # Errors
    /// The errors of [`create_with`](Ledger::create_with). `Argument` also when the budget is not
    /// an epsilon and a delta, or when its delta is 0.
    pub fn create_tight(&self, name: &str, total: &Loss, terms: &Terms) -> Result<()> {
        self.create_of(name, total, terms, true)
    }
    fn create_of(&self, name: &str, total: &Loss, terms: &Terms, tight: bool) -> Result<()> {
        let filters = total.opened(name, tight)?;
        terms.check()?;
        self.store.write(&mut |tables| {
            if tables.account(name)?.is_some() {
                return Err(Error::argument(
                    "name",
                    format!("budget `{name}` exists already; use another name"),
                ));
            }
            let now = self.now()?;
            tables.add_account(&Account {
                name: name.into(),
                total: total.clone(),
                spent: Loss::zero(total.notion()),
                releases: 0,
                created: now,
                latest: now,
                terms: terms.clone(),
                filters: filters.clone(),
                head: String::new(),
            })
        })
    }
    /// Accept requests to a budget again after a correction of the clock. If the clock was ahead at
    /// the last entry, the corrected clock can be more than a second behind this entry. The budget
    /// then refuses requests. This function assumes that the clock is now correct. The history gets
    /// an entry of zero loss, which records this call and the time.
    ///
    /// # Errors
    /// `NotFound` when there is no such budget. `Argument` when the clock is not more than a second
    /// behind the last entry of the budget. `FailedFunction` when the ledger cannot be written.
    pub fn settle_clock(&self, budget: &str, by: &str) -> Result<Entry> {
        let mut settled = None;
        self.store.write(&mut |tables| {
            let mut account = find(tables, budget)?;
            let now = self.now()?;
            if account.latest - TOLERANCE <= now {
                let reason = format!(
                    "the clock is not behind the last entry of budget `{budget}`: there is nothing \
                     to settle"
                );
                return Err(Error::argument("budget", reason));
            }
            let number = account.releases + 1;
            let mut id = format!("settle-clock {number}");
            while tables.entry(&account, &id)?.is_some() {
                id.push('+');
            }
            let what = json!({"settle_clock": {"from_ms": account.latest, "to_ms": now}});
            let none = Loss::zero(account.total.notion());
            let request = Request::of_loss(&id, none).by(by).pipeline(&what);
            settled = Some(charge(tables, &mut account, now, &request, ["null"; 2])?);
            Ok(())
        })?;
        settled.ok_or_else(|| no_budget(budget, &[]))
    }
    /// Compute a release, charge its loss, and return the release, in this order. The release is
    /// returned only after the charge and the release are on the disk.
    ///
    /// `compute` must return its result, and must not reveal the result in any other way. `compute`
    /// is not called when the budget is already too small, or the id already has a release. The
    /// decision to charge the loss does not depend on the result. The length of the result can
    /// depend on the data. So if a file has room for the charge but not for the result, the loss is
    /// charged, and there is no release.
    ///
    /// # Errors
    /// After an error, nothing is released. `NotFound` when there is no such budget.
    /// `BudgetExceeded` when too little is left of the budget. `Argument` when the id belongs to
    /// another request, is empty, has more than 256 characters, or contains a NUL character.
    /// `Argument` also when a new id contains a control character, or begins or ends with white
    /// space. `Argument` also when the budget protects another distance, or protects the number of
    /// rows but the release needs a public number. `MeasureMismatch` when the loss cannot be
    /// bounded in the measure of the budget. `InvalidDistance` when the loss, or its sum with the
    /// earlier losses, has too many digits. `FailedFunction` when the ledger cannot be written, or
    /// when the clock is more than a second behind the last entry. Also the errors of `compute`.
    /// `Argument` also when the id has an outcome without a release that
    /// [was charged](crate::Failure::was_charged).
    ///
    /// After a fault of the disk or of the connection, it is unknown whether the charge was made.
    /// To find out, retry with the same id. A retry never charges twice.
    pub fn release<T: Codec>(
        &self,
        budget: &str,
        request: &Request,
        compute: impl FnOnce() -> Result<T>,
    ) -> Result<Release> {
        let spare = refusal().to_string();
        let mut computed = None;
        let compute = || {
            let release = compute()?.to_json().to_string();
            Ok(computed.insert(release).clone())
        };
        let (entry, repeated) = self.kept(budget, request, compute, Some(&spare))?;
        match entry.release == spare {
            // There was no room for the release that was computed.
            true if !repeated && computed.as_ref() != Some(&spare) => Err(no_room(&request.id)),
            true => Err(refused(&request.id)),
            false => Release::new(entry, repeated),
        }
    }
    /// Return the account of one budget, with the amount spent.
    ///
    /// # Errors
    /// `NotFound` when there is no such budget. `FailedFunction` when the ledger cannot be read, or
    /// is damaged.
    pub fn account(&self, budget: &str) -> Result<Account> {
        let mut found = None;
        self.store.read(&mut |tables| {
            found = Some(find(tables, budget)?);
            Ok(())
        })?;
        found.ok_or_else(|| no_budget(budget, &[]))
    }
    /// Return the accounts of all budgets, in the order of the names of the budgets.
    ///
    /// # Errors
    /// `FailedFunction` when the ledger cannot be read, or is damaged.
    pub fn accounts(&self) -> Result<Vec<Account>> {
        let mut found = Vec::new();
        self.store.read(&mut |tables| {
            found = tables.accounts()?;
            Ok(())
        })?;
        Ok(found)
    }
    /// Return the rest of a budget, as [`Account::remaining`] does.
    ///
    /// # Errors
    /// The errors of [`account`](Ledger::account).
    pub fn remaining(&self, budget: &str) -> Result<Loss> {
        Ok(self.account(budget)?.remaining())
    }
    /// Return the entry with this id. Return `None` if the budget has no such entry. Read only this
    /// entry of the history, and check its seal, which is a hash of the entry.
    ///
    /// # Errors
    /// The errors of [`account`](Ledger::account).
    pub fn entry(&self, budget: &str, id: &str) -> Result<Option<Entry>> {
        let mut found = None;
        self.store.read(&mut |tables| {
            let account = find(tables, budget)?;
            found = tables.entry(&account, id)?;
            Ok(())
        })?;
        Ok(found)
    }
    /// Return the history of a budget: all entries, in the order of their numbers. The entries are
    /// the charged releases and the calls of [`settle_clock`](Ledger::settle_clock). Check the
    /// seals of the entries and the sum of their losses.
    ///
    /// # Errors
    /// The errors of [`account`](Ledger::account).
    pub fn history(&self, budget: &str) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        self.store.read(&mut |tables| {
            let account = find(tables, budget)?;
            found = tables.entries(&account)?;
            record::verify(&account, &found)
        })?;
        Ok(found)
    }
    /// Return the ledger as JSON: each budget with its history. The history is checked as in
    /// [`history`](Ledger::history). See [`Account::to_json`] for the field `spent`. If a budget
    /// composes tightly, `spent` is a valid bound only if the releases were fixed in advance.
    ///
    /// # Errors
    /// `FailedFunction` when the ledger cannot be read, or is damaged.
    pub fn export(&self) -> Result<Json> {
        let mut budgets = Vec::new();
        self.store.read(&mut |tables| {
            budgets.clear();
            for account in tables.accounts()? {
                let entries = tables.entries(&account)?;
                record::verify(&account, &entries)?;
                let mut json = account.to_json();
                json["history"] =
                    entries.iter().map(|entry| account.entry_to_json(entry)).collect();
                budgets.push(json);
            }
            Ok(())
        })?;
        Ok(json!({"version": 1, "budgets": budgets}))
    }

    fn now(&self) -> Result<i64> {
        let since = (self.clock)().duration_since(UNIX_EPOCH).ok();
        since.and_then(|since| i64::try_from(since.as_millis()).ok()).ok_or_else(|| {
            Error::FailedFunction(
                "the clock is before 1970; nothing was charged or released".into(),
            )
        })
    }
}
impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}

pub(crate) fn check_text(argument: &str, text: &str) -> Result<()> {
    if text.is_empty() || MOST_CHARACTERS < text.chars().count() || text.contains('\0') {
        let reason = format!(
            "expected a text of 1 to {MOST_CHARACTERS} characters, without the character NUL"
        );
        return Err(Error::argument(argument, reason));
    }
    Ok(())
}
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
