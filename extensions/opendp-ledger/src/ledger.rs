//! Releases that are charged first.

use std::{
    collections::VecDeque,
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use opendp_core::{Carrier, Codec, Domain, Error, Measurement, Metric, Result};
use serde_json::{Value as Json, json};

use crate::record::{self, digest};
use crate::store::sqlite::{Mode, Sqlite};
use crate::store::{Store, Tables};
use crate::{Account, Accounted, Entry, Loss};

/// The most characters of the name of a budget and of the id of a release.
const MOST_CHARACTERS: usize = 256;
/// A clock may be behind the last entry by so many milliseconds, as after it was set right over the
/// network. The entry then gets the time of the last one.
const TOLERANCE: i64 = 1000;

/// Budgets, and every release that was charged to one.
///
/// It may be shared by threads and opened by several processes. See the
/// [crate](crate#what-is-promised) for what is promised.
pub struct Ledger {
    store: Box<dyn Store>,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    queue: Mutex<VecDeque<Arc<Job>>>,
    turn: Mutex<()>,
}

/// What is asked of a budget: an id, a loss, and what to write down about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    id: String,
    by: String,
    pipeline: String,
    d_in: String,
    loss: Loss,
}
impl Request {
    /// Ask for one release of a measurement, typed or erased, between data that are `d_in`-close.
    ///
    /// It is charged the [exact loss](Measurement::exact_map), so that ten releases of a tenth
    /// exhaust a budget of 1.
    ///
    /// The id stands for this release for ever: asking again with the same id gives the same
    /// release. Choose it when the question is asked, not when it is retried.
    ///
    /// # Errors
    /// Those of the map; `InvalidDistance` when the loss is not finite; `NotImplemented` when no
    /// budget is in the measure.
    pub fn new<DI: Domain, MI: Metric, MO: Accounted, TO: Carrier>(
        id: &str,
        measurement: &Measurement<DI, MI, MO, TO>,
        d_in: &MI::Distance,
    ) -> Result<Self> {
        let rounded = measurement.measure().account(&measurement.map(d_in)?)?;
        let loss = rounded.exactly(measurement.exact_map(d_in)?);
        Ok(Request { d_in: d_in.to_json().to_string(), ..Request::of_loss(id, loss) })
    }
    /// Ask for a release of a known loss. The caller vouches for it.
    pub fn of_loss(id: &str, loss: Loss) -> Self {
        let (by, pipeline, d_in) = (String::new(), "null".into(), "null".into());
        Request { id: id.into(), by, pipeline, d_in, loss }
    }
    /// Say who asks.
    #[must_use]
    pub fn by(mut self, who: &str) -> Self {
        self.by = who.into();
        self
    }
    /// Say what is released, as a pipeline document.
    #[must_use]
    pub fn pipeline(mut self, document: &Json) -> Self {
        self.pipeline = document.to_string();
        self
    }
    /// What it costs.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }
}

/// What was released: now, or before under the same id.
#[derive(Clone, Debug)]
pub struct Release {
    entry: Entry,
    json: Json,
    repeated: bool,
}
impl Release {
    fn new(entry: Entry, repeated: bool) -> Result<Self> {
        let json = serde_json::from_str(&entry.release).map_err(|_| {
            Error::FailedFunction("the ledger holds a release that is no JSON".into())
        })?;
        Ok(Release { entry, json, repeated })
    }
    /// The release.
    ///
    /// # Errors
    /// `FailedCast` when it has another type.
    pub fn value<T: Codec>(&self) -> Result<T> {
        T::from_json(&self.json)
    }
    /// The release as JSON.
    pub fn json(&self) -> &Json {
        &self.json
    }
    /// Whether this is the release of an earlier call with the same id. It was not charged again.
    pub fn repeated(&self) -> bool {
        self.repeated
    }
    /// What is written down about it.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }
}

/// A release that waits to be written down.
struct Job {
    budget: String,
    request: Request,
    release: String,
    answer: Mutex<Option<Result<(Entry, bool)>>>,
}

impl Ledger {
    /// Open a ledger in a file, and make it if there is none.
    ///
    /// # Errors
    /// `FailedFunction` when the file is read-only, damaged, or something else.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Ledger::of(Sqlite::open(path.as_ref(), Mode::Create)?))
    }
    /// Open a ledger in a file that exists.
    ///
    /// # Errors
    /// `NotFound` when there is no such file; those of [`open`](Ledger::open).
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Ledger::of(Sqlite::open(path.as_ref(), Mode::Write)?))
    }
    /// Open a ledger in a file to look at it. The file may be read-only.
    ///
    /// # Errors
    /// Those of [`open_existing`](Ledger::open_existing).
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Ledger::of(Sqlite::open(path.as_ref(), Mode::Read)?))
    }
    /// Open a ledger in a database of a PostgreSQL server, and make its tables if there are none.
    ///
    /// # Errors
    /// `FailedFunction` when the server cannot be reached, or does not do what it is asked.
    #[cfg(feature = "postgres")]
    pub fn connect(parameters: &str) -> Result<Self> {
        Ok(Ledger::of(crate::store::postgres::Postgres::connect(parameters)?))
    }
    pub(crate) fn of(store: impl Store + 'static) -> Self {
        Ledger {
            store: Box::new(store),
            clock: Arc::new(SystemTime::now),
            queue: Mutex::default(),
            turn: Mutex::default(),
        }
    }
    /// Tell the time by another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Create a budget.
    ///
    /// # Errors
    /// `Argument` when there is one of this name already, or the name is empty or too long.
    pub fn create(&self, name: &str, total: &Loss) -> Result<()> {
        check_text("name", name)?;
        self.store.write(&mut |tables| {
            if tables.account(name)?.is_some() {
                return Err(Error::argument("name", format!("there is a budget `{name}` already")));
            }
            let now = self.now()?;
            tables.add_account(&Account {
                name: name.into(),
                total: total.clone(),
                spent: Loss::zero(total.notion()),
                releases: 0,
                created: now,
                latest: now,
                head: String::new(),
            })
        })
    }
    /// Release: compute, charge, and give the result, in this order; nothing leaves before the
    /// charge and the result are on the disk, and nothing leaves that was not charged.
    ///
    /// `compute` must not let anything of its result out by itself. It is not called when the
    /// budget does not suffice, or when the id has a release already. Whether its result is given
    /// does not depend on the result.
    ///
    /// # Errors
    /// `NotFound` when there is no such budget; `BudgetExceeded` when too little is left of it;
    /// `Argument` when the id stands for another request; `MeasureMismatch` when the loss is in
    /// another measure; `FailedFunction` when the ledger cannot be written, or the clock is behind;
    /// those of `compute`. Nothing is released then. After a fault of the disk or of the connection
    /// it is not known whether the charge was made; retrying with the same id settles it and never
    /// charges twice.
    pub fn release<T: Codec>(
        &self,
        budget: &str,
        request: &Request,
        compute: impl FnOnce() -> Result<T>,
    ) -> Result<Release> {
        check_text("id", &request.id)?;
        // Refuse what is clear before the data are touched. The decision is made again below.
        let mut before = None;
        self.store.read(&mut |tables| {
            before = match self.decide(tables, budget, request)? {
                Decision::Repeat(entry) => Some(*entry),
                Decision::Charge(..) => None,
            };
            Ok(())
        })?;
        if let Some(entry) = before {
            return Release::new(entry, true);
        }
        let release = compute()?.to_json().to_string();
        let job = Arc::new(Job {
            budget: budget.into(),
            request: request.clone(),
            release,
            answer: Mutex::new(None),
        });
        lock(&self.queue).push_back(job.clone());
        let (entry, repeated) = self.answer(&job)?;
        Release::new(entry, repeated)
    }
    /// One budget, and what is spent of it.
    ///
    /// # Errors
    /// `NotFound` when there is no such budget; `FailedFunction` when the ledger is damaged.
    pub fn account(&self, budget: &str) -> Result<Account> {
        let mut found = None;
        self.store.read(&mut |tables| {
            found = Some(find(tables, budget)?);
            Ok(())
        })?;
        found.ok_or_else(|| no_budget(budget))
    }
    /// All budgets, by name.
    ///
    /// # Errors
    /// `FailedFunction` when the ledger is damaged.
    pub fn accounts(&self) -> Result<Vec<Account>> {
        let mut found = Vec::new();
        self.store.read(&mut |tables| {
            found = tables.accounts()?;
            Ok(())
        })?;
        Ok(found)
    }
    /// What is left of a budget.
    ///
    /// # Errors
    /// Those of [`account`](Ledger::account).
    pub fn remaining(&self, budget: &str) -> Result<Loss> {
        Ok(self.account(budget)?.remaining())
    }
    /// Every release that was charged to a budget, in order. Their seals and their sum are checked.
    ///
    /// # Errors
    /// Those of [`account`](Ledger::account).
    pub fn history(&self, budget: &str) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        self.store.read(&mut |tables| {
            let account = find(tables, budget)?;
            found = tables.entries(&account)?;
            record::verify(&account, &found)
        })?;
        Ok(found)
    }
    /// Everything, as JSON: each budget with its history. It is checked as by
    /// [`history`](Ledger::history).
    ///
    /// # Errors
    /// `FailedFunction` when the ledger is damaged.
    pub fn export(&self) -> Result<Json> {
        let mut budgets = Vec::new();
        self.store.read(&mut |tables| {
            budgets.clear();
            for account in tables.accounts()? {
                let entries = tables.entries(&account)?;
                record::verify(&account, &entries)?;
                let mut json = account.to_json();
                json["history"] = entries.iter().map(Entry::to_json).collect();
                budgets.push(json);
            }
            Ok(())
        })?;
        Ok(json!({"version": 1, "budgets": budgets}))
    }

    /// Wait until a job is done. Whoever comes first writes down all that wait, at the price of one.
    fn answer(&self, job: &Job) -> Result<(Entry, bool)> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = lock(&job.answer).take() {
            return answer;
        }
        let jobs = std::mem::take(&mut *lock(&self.queue));
        let mut answers = Vec::new();
        let written = self.store.write(&mut |tables| {
            answers.clear();
            for job in &jobs {
                // What is refused changes nothing, and does not concern the others.
                answers.push(match self.decide(tables, &job.budget, &job.request) {
                    Ok(Decision::Repeat(entry)) => Ok((*entry, true)),
                    Ok(Decision::Charge(account, now)) => {
                        Ok((charge(tables, *account, now, job)?, false))
                    }
                    Err(error) => Err(error),
                });
            }
            Ok(())
        });
        match written {
            Ok(()) => {
                for (job, answer) in jobs.iter().zip(answers) {
                    *lock(&job.answer) = Some(answer);
                }
            }
            Err(error) => {
                for job in &jobs {
                    *lock(&job.answer) = Some(Err(error.clone()));
                }
            }
        }
        let answer = lock(&job.answer).take();
        answer.unwrap_or_else(|| Err(Error::FailedFunction("the ledger lost a request".into())))
    }
    /// Decide about a request in one state of the tables.
    fn decide(&self, tables: &mut dyn Tables, budget: &str, request: &Request) -> Result<Decision> {
        let account = find(tables, budget)?;
        let loss = request.loss.within(account.total.notion())?;
        if let Some(entry) = tables.entry(&account, &request.id)? {
            let same = (&entry.pipeline, &entry.d_in, &entry.loss)
                == (&request.pipeline, &request.d_in, &loss);
            if same {
                return Ok(Decision::Repeat(Box::new(entry)));
            }
            return Err(Error::argument(
                "id",
                format!(
                    "`{}` stands for another release of budget `{budget}`, with another pipeline, \
                     distance or loss",
                    request.id
                ),
            ));
        }
        if !account.spent.plus(&loss).at_most(&account.total) {
            return Err(Error::BudgetExceeded(format!(
                "budget `{budget}`: the release costs {}, and {} is left",
                loss.show(true),
                account.remaining().show(false)
            )));
        }
        let now = self.now()?;
        if now < account.latest - TOLERANCE {
            return Err(Error::FailedFunction(format!(
                "the clock runs backwards: it is {} seconds behind the last entry of budget \
                 `{budget}`; nothing was charged or released",
                (account.latest - now) / 1000
            )));
        }
        let now = now.max(account.latest);
        Ok(Decision::Charge(Box::new(account), now))
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

enum Decision {
    /// It was released before.
    Repeat(Box<Entry>),
    /// It may be charged, at this time.
    Charge(Box<Account>, i64),
}

/// Write down the charge and the release.
fn charge(tables: &mut dyn Tables, mut account: Account, now: i64, job: &Job) -> Result<Entry> {
    let request = &job.request;
    let entry = Entry {
        budget: account.name.clone(),
        number: account.releases + 1,
        id: request.id.clone(),
        by: request.by.clone(),
        at: now,
        pipeline: request.pipeline.clone(),
        d_in: request.d_in.clone(),
        loss: request.loss.within(account.total.notion())?,
        release: job.release.clone(),
        digest: digest(&job.release),
        previous: account.head.clone(),
    };
    account.spent = account.spent.plus(&entry.loss);
    account.releases = entry.number;
    account.latest = now;
    account.head = entry.seal();
    tables.add_entry(&entry)?;
    tables.update_account(&account)?;
    Ok(entry)
}
fn find(tables: &mut dyn Tables, name: &str) -> Result<Account> {
    tables.account(name)?.ok_or_else(|| no_budget(name))
}
#[cold]
fn no_budget(name: &str) -> Error {
    Error::NotFound(format!("the ledger has no budget `{name}`"))
}
fn check_text(argument: &str, text: &str) -> Result<()> {
    if text.is_empty() || MOST_CHARACTERS < text.chars().count() || text.contains('\0') {
        let reason = format!("expected a text of 1 to {MOST_CHARACTERS} characters");
        return Err(Error::argument(argument, reason));
    }
    Ok(())
}
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
