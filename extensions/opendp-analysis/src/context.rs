//! Answer questions about a table from one privacy budget: a tour of [`Context`].
//!
//! # Three decisions
//!
//! Decide three things before the first question. None of them may depend on the data.
//!
//! **Whom to protect.** A [`PrivacyUnit`], such as a person who adds or removes at most four rows
//! of the table. Answers are almost the same whether all of these rows are in the table or none
//! are.
//!
//! **How well.** A [`Budget`] for all answers together: [an epsilon](Budget::epsilon); [an epsilon
//! and a delta](Budget::epsilon_delta), which also allows Gaussian noise and keys that are not
//! public, and whose losses compose tightly; or [a rho](Budget::rho). A smaller budget is more
//! private. An epsilon of 1 is a common choice.
//!
//! **In what shares.** A [`Split`]: [evenly](Split::evenly) over a number of questions, [by
//! weights](Split::by_weights), or [as you go](Split::as_you_go).
//!
//! ```
//! use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
//!
//! let city = |i| if i < 990 { "Lyon" } else { "Lille" }.to_owned();
//! let table = Table::new()
//!     .with("age", (0..1000).map(|i| i % 90).collect::<Vec<i64>>())?
//!     .with("income", (0..1000).map(|i| f64::from(i) * 70.0).collect::<Vec<f64>>())?
//!     .with("city", (0..1000).map(city).collect::<Vec<String>>())?;
//!
//! let context = Context::new(
//!     table,
//!     PrivacyUnit::person(4)?,
//!     Budget::epsilon_delta(1.0, 1e-6)?,
//!     Split::evenly(5)?,
//! )?;
//!
//! // How many rows are there? The noise need not be stated: it is the least that costs no more
//! // than a fifth of the budget. Four rows, a fifth of epsilon 1: a scale of 20.
//! let question = context.query().count().laplace()?;
//! assert_eq!(question.scale(), 20.0);
//!
//! // How good will the answer be? To know this costs nothing.
//! assert_eq!(question.accuracy(0.05)?, 60.0);
//!
//! // Good enough: spend, and get the answer.
//! let answer = question.release()?;
//! let (lower, upper) = answer.interval(0.05)?;
//! assert!(lower <= answer.value as f64 && answer.value as f64 <= upper);
//!
//! // A sum needs bounds, which must not be taken from the data; missing values need a substitute.
//! let incomes = context.query().column("income").impute(0.0).clamp(0.0, 50_000.0);
//! let total = incomes.sum().laplace()?.release()?;
//!
//! // A question may be about some of the rows. Of a median, the candidates are public.
//! let adults = context.query().filter("age", |age: &i64| 18 <= *age).column("income").impute(0.0);
//! let median = adults.median((0..70).map(|k| f64::from(k) * 1e3).collect()).choose()?.release()?;
//!
//! // Which cities are there? To tell those of many people from those of few takes the delta.
//! let cities = context.query().column::<String>("city").count_by().laplace()?.release()?;
//! assert!(!cities.value.contains_key("Atlantis"));
//!
//! // What was spent on what, and what is left?
//! println!("{}", context.report());
//! assert_eq!(context.report().entries().len(), 4);
//! let (epsilon, delta) = context.remaining()?;
//! assert!(0.2 <= epsilon && epsilon < 0.21 && delta < 1e-6);
//! # let _ = (total, median);
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # Questions that depend on answers
//!
//! Each question may depend on the answers before it. The shares of a split are shares of the
//! remaining budget: what one question does not use is left for the next. When nothing is left, or
//! all planned questions have been asked, the next question is refused and nothing is run:
//!
//! ```
//! # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
//! # let table = Table::new().with("age", vec![30.0, 40.0])?;
//! let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
//! let context = Context::new(table, unit, budget, Split::as_you_go())?;
//! let question = || context.query().spending(Budget::epsilon(0.1)?).count().laplace();
//! for _ in 0..10 {
//!     question()?.release()?;
//! }
//! assert_eq!(context.remaining()?, 0.0); // ten tenths are one
//! assert_eq!(question()?.release().unwrap_err().kind(), "BudgetExceeded");
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # The best noise
//!
//! Under an epsilon and a delta, [`best`](Statistic::best) chooses between Laplace and Gaussian
//! noise. Many questions get Gaussian noise, whose losses compose tightly: a hundred counts get
//! noise of scale 42.5, where a hundred even parts of epsilon and delta would take 416.
//!
//! ```
//! # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
//! # let table = Table::new().with("age", vec![30.0, 40.0])?;
//! let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon_delta(1.0, 1e-6)?);
//! let context = Context::new(table, unit, budget, Split::evenly(100)?)?;
//! let question = context.query().count().best()?;
//! assert_eq!(question.mechanism(), "Gaussian");
//! assert!(question.scale() < 42.7);
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # Questions that are known beforehand
//!
//! A [`Plan`] solves for the noise of several questions at once, from weights or from wanted
//! accuracies. It finds the budget that these accuracies need, or the accuracies that a budget
//! allows, and spends only when asked:
//!
//! ```
//! # use opendp_analysis::{Budget, Context, Goal, PrivacyUnit, Split, Table};
//! # let table = Table::new().with("age", vec![30.0, 40.0])?;
//! # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon_delta(1.0, 1e-6)?);
//! let context = Context::new(table, unit, budget, Split::as_you_go())?;
//! let mut plan = context.plan();
//! let people = plan.ask(context.query().count(), Goal::Within(20.0))?;
//! let ages = context.query().column("age").impute(40.0).clamp(0.0, 120.0);
//! let total = plan.ask(ages.sum(), Goal::Weight(1.0))?; // gets all that the other leaves
//! let solved = plan.solve()?;
//! println!("the sum of ages will be within {}", solved.accuracy(total)?);
//! let mut answers = solved.release()?;
//! println!("{} people", answers.take(people)?.value);
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # Computing with answers
//!
//! Sums, differences, multiples and quotients of answers have intervals, too. These are tighter
//! than the sum of the answers' own intervals, because errors partly cancel. An answer gives its
//! [estimate](Answer::estimate), a number together with its noise:
//!
//! ```
//! # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
//! use opendp_measurements::accuracy::Estimate;
//! # let table = Table::new().with("age", (0..1000).map(|i| i % 90).collect::<Vec<i64>>())?;
//! # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
//! # let context = Context::new(table, unit, budget, Split::evenly(1)?)?;
//! let ages = context.query().column::<i64>("age").histogram((0..90).collect());
//! let counts = ages.laplace()?.release()?;
//! assert_eq!(counts.accuracy, Some(3.0));
//! let adults = Estimate::sum(&counts.estimates()?[18..90])?;
//! assert_eq!(adults.accuracy(0.05)?, 23.0); // not 3 for each of 72 ages, which is 216
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # What is refused
//!
//! A statistic that cannot be released privately says what is missing:
//!
//! ```
//! # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
//! # let table = Table::new().with("age", vec![30.0, 40.0])?;
//! # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
//! # let context = Context::new(table, unit, budget, Split::evenly(1)?)?;
//! let ages = context.query().column("age").impute(40.0).clamp(0.0, 120.0);
//! assert_eq!(
//!     ages.mean().laplace().unwrap_err().to_string(),
//!     "a mean needs a known number of rows: add `.resize(n)` or ask for count and sum",
//! );
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! A query that the budget cannot pay for does not compile: Gaussian noise for an epsilon, Laplace
//! noise for a rho, or the keys of a column without a delta:
//!
//! ```compile_fail
//! # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
//! # let table = Table::new().with("age", vec![30.0, 40.0]).unwrap();
//! # let (unit, budget) = (PrivacyUnit::person(1).unwrap(), Budget::epsilon(1.0).unwrap());
//! # let context = Context::new(table, unit, budget, Split::evenly(1).unwrap()).unwrap();
//! context.query().count().gaussian();
//! ```
//!
//! # How it works
//!
//! A query is a chain of transformations and one measurement with one free parameter. Bisection
//! finds the parameter for which the exact privacy map fits the share. An account is charged the
//! exact loss before the release is run. Questions may be chosen after seeing answers. A
//! [`Journal`] can keep the record after the process ends, and [`carry_over`](Context::carry_over)
//! restores it.
//!
//! # What is proved
//!
//! Every budget bounds the loss of all answers together, even if each question, its kind, its noise
//! and the decision to go on depend on all earlier answers.
//!
//! | budget | noise | what adds up | theorem |
//! |---|---|---|---|
//! | epsilon | Laplace, selection | epsilon | Rogers, Roth, Ullman, Vadhan 2016 |
//! | rho | Gaussian, selection | rho | Feldman, Zrnic 2021 |
//! | epsilon, delta | Gaussian | the square of `mu` | Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023 |
//! | epsilon, delta | Laplace, selection | epsilon, or the square of `mu` | Kairouz, Oh, Viswanath 2015; Dong, Roth, Su 2022 |
//! | epsilon, delta | both | epsilon and the square of `mu`, side by side | Zhu, Dong, Wang 2022 |
//! | epsilon, delta | with a threshold | delta, and epsilon as above | Kairouz, Oh, Viswanath 2015 |
//!
//! The proof for an epsilon and a delta is in
//! [`AdaptiveAccount`](opendp_measurements::accounting::AdaptiveAccount). What is not proved is
//! refused: `count_by` with Gaussian noise, and a rho for Laplace noise. Under an epsilon and a
//! delta integers get continuous Gaussian noise, rounded, because discrete Gaussian noise is not
//! exactly `mu`-GDP. A [`Plan`] may depend on all answers that were released before it.

mod account;
mod budget;
mod chain;
mod draft;
mod groups;
mod plan;
mod query;
mod question;
mod report;
mod rows;
mod split;
mod statistic;
mod table;
mod unit;

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard};

use opendp_core::arith::Exact;
use opendp_core::{Error, Result, Space, SymmetricDistance};
use opendp_measurements::accounting::Kind;

use account::{Account, Cost, Room, Wanted};
pub use budget::{Accounted, Budget, Noisy, WithDelta, WithGaussian};
pub use groups::{AskedGroups, GroupAnswer, GroupRow, Groups, SolvedGroups};
use plan::Endowed;
pub use plan::{Answers, Asked, Goal, Noised, Plan, Planned, Solved};
pub use query::Query;
pub use question::{Answer, Question};
pub use report::{Entry, ErrorIn, Journal, Report, short};
pub use rows::Rows;
pub use split::Split;
pub use statistic::{Choice, Statistic};
pub(crate) use table::numbers;
pub use table::{Table, TableDomain};
pub use unit::PrivacyUnit;

/// A table, the person to protect in it, and a budget for questions about it.
///
/// See the [module](self) for a tour.
pub struct Context<MO: Accounted> {
    table: Table,
    space: Space<TableDomain, SymmetricDistance>,
    unit: PrivacyUnit,
    split: Split,
    books: Mutex<Books<MO>>,
    journal: Option<Arc<dyn Journal>>,
}
struct Books<MO: Accounted> {
    account: Account<MO>,
    entries: Vec<Entry>,
}
impl<MO: Accounted> Context<MO> {
    /// The probability with which an answer may exceed the accuracy stated in reports.
    pub const ALPHA: f64 = 0.05;

    /// Open a budget for questions about a table.
    ///
    /// # Errors
    /// Only the errors of the budget's measure.
    pub fn new(table: Table, unit: PrivacyUnit, budget: Budget<MO>, split: Split) -> Result<Self> {
        let size = unit.size_is_public().then_some(table.size());
        let space = Space::new(TableDomain::of(&table, size), SymmetricDistance)?;
        let account = Account::new(&budget, split.queries())?;
        let books = Mutex::new(Books { account, entries: Vec::new() });
        Ok(Context { table, space, unit, split, books, journal: None })
    }
    /// Write each release to a journal before it is run.
    #[must_use]
    pub fn with_journal(mut self, journal: impl Journal + 'static) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }
    /// Charge for a release of an earlier process, as recorded in a journal. It counts as one of
    /// the queries of a split. Nothing is written to the journal.
    ///
    /// # Errors
    /// `BudgetExceeded` when it does not fit.
    pub fn carry_over(&self, entry: Entry) -> Result<()> {
        let mut books = self.locked()?;
        let (parts, mu_squared) = (entry.loss.clone(), entry.mu_squared.clone());
        let mut account = books.account.clone();
        account.charge_all(&[&Cost { parts, mu_squared }], entry.reserved.as_ref())?;
        books.account = account;
        books.entries.push(entry);
        Ok(())
    }
    /// Begin a query.
    pub fn query(&self) -> Query<'_, MO> {
        Query::new(self)
    }
    /// Begin a plan: several questions whose noise is solved for jointly. See [`Plan`].
    pub fn plan(&self) -> Plan<'_, MO> {
        Plan::new(self)
    }
    /// Return the remaining budget, rounded down. For an epsilon and a delta, it is the loss that
    /// one more release could have if it took all that remains.
    ///
    /// # Errors
    /// The errors of the account.
    pub fn remaining(&self) -> Result<MO::Distance> {
        let left = self.locked()?.account.left()?;
        MO::default().join(&left.iter().map(Exact::to_f64_down).collect::<Vec<_>>())
    }
    /// Report what was spent on each release.
    pub fn report(&self) -> Report<MO> {
        // Code under this lock leaves no partial state, so a poisoned lock is safe to use.
        let books = self.books.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Report {
            unit: self.unit,
            budget: books.account.budget(),
            total: books.account.total().unwrap_or_default(),
            left: books.account.left().unwrap_or_default(),
            entries: books.entries.clone(),
            measure: PhantomData,
        }
    }
    /// Return the privacy unit that the answers protect.
    pub fn unit(&self) -> PrivacyUnit {
        self.unit
    }
    /// Return the space of tables that questions are about.
    pub fn space(&self) -> &Space<TableDomain, SymmetricDistance> {
        &self.space
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }
    /// Return the share of the next query.
    pub(crate) fn share(&self, wanted: Option<&[Exact]>) -> Result<Wanted> {
        self.split.share(self.locked()?.entries.len(), wanted)
    }
    /// Find what a share has room for.
    pub(crate) fn room(&self, wanted: &Wanted, kind: Kind) -> Result<Room> {
        self.locked()?.account.room(wanted, kind)
    }
    /// Find what the next queries together have room for.
    pub(crate) fn endowed(&self, count: usize, wanted: Option<&[Exact]>) -> Result<Endowed> {
        let books = self.locked()?;
        let share = self.split.share_of(books.entries.len(), count, wanted)?;
        Endowed::new(&books.account, share)
    }
    /// Return a copy of the account, to try charges.
    pub(crate) fn account(&self) -> Result<Account<MO>> {
        Ok(self.locked()?.account.clone())
    }
    /// Charge for releases, all or none, in the first of some ways that admits them: with a
    /// reserved filter or without. Write them to the journal, before they are run.
    pub(crate) fn charge<'r>(
        &self,
        costs: &[&Cost],
        ways: &[Option<&'r [Exact; 2]>],
        entries: &dyn Fn(Vec<Exact>, Option<&'r [Exact; 2]>) -> Vec<Entry>,
    ) -> Result<()> {
        let mut books = self.locked()?;
        self.split.admit(books.entries.len(), costs.len())?;
        let mut charged = Err(Error::BudgetExceeded("there is no way to pay".into()));
        for &reserved in ways {
            let mut account = books.account.clone();
            charged = account.charge_all(costs, reserved).map(|()| (account, reserved));
            if charged.is_ok() {
                break;
            }
        }
        let (account, reserved) = charged.map_err(|error| match error {
            Error::BudgetExceeded(reason) => {
                Error::BudgetExceeded(format!("{reason}; nothing was run"))
            }
            other => other,
        })?;
        books.account = account;
        let entries = entries(books.account.left()?, reserved);
        books.entries.extend(entries.iter().cloned());
        // Write under the lock, so the journal has the order of the account.
        let write = |journal: &Arc<dyn Journal>| entries.iter().try_for_each(|e| journal.record(e));
        self.journal.as_ref().map_or(Ok(()), write)
    }
    fn locked(&self) -> Result<MutexGuard<'_, Books<MO>>> {
        self.books.lock().map_err(|_| {
            Error::FailedFunction("a journal panicked; this context answers no more".into())
        })
    }
}
impl<MO: Accounted> fmt::Debug for Context<MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("table", &self.table)
            .field("unit", &self.unit)
            .field("split", &self.split)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
