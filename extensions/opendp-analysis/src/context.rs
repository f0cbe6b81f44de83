//! Answer questions about a table from one privacy budget: a tour of [`Context`].
//!
//! # Three decisions
//!
//! Decide three things before the first question. The decisions must not depend on the data.
//!
//! **Whom to protect.** Choose a [`PrivacyUnit`], such as a person who adds or removes at most four
//! rows of the table. The distribution of the answers is almost the same with and without all of
//! these rows.
//!
//! **How well.** Choose a [`Budget`] for all answers together. A budget is [an
//! epsilon](Budget::epsilon), [an epsilon and a delta](Budget::epsilon_delta), or [a
//! rho](Budget::rho). An epsilon and a delta also pay for Gaussian noise and for keys that are not
//! public. Under such a budget, losses compose tightly. A smaller budget gives more privacy. An
//! epsilon of 1 is a common choice.
//!
//! **In what shares.** Choose a [`Split`]: [evenly](Split::evenly) over a number of questions, [by
//! weights](Split::by_weights), [as you go](Split::as_you_go), or [by kinds of
//! noise](Split::by_kinds). A split by kinds needs kinds that are known in advance.
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
//! // How many rows are there? You need not state the noise. The context finds the least noise that
//! // costs at most a fifth of the budget. For four rows and an epsilon of 1/5, the scale of this
//! // noise is 20.
//! let question = context.query().count().laplace()?;
//! assert_eq!(question.scale(), 20.0);
//!
//! // How large can the error be? The context states a bound before you spend anything.
//! assert_eq!(question.accuracy(0.05)?, 60.0);
//!
//! // If this bound is small enough, spend a share of the budget, and get the answer.
//! let answer = question.release()?;
//! let (lower, upper) = answer.interval(0.05)?;
//! assert!(lower <= answer.value as f64 && answer.value as f64 <= upper);
//!
//! // A sum needs bounds, and a value for missing cells. Never take the bounds from the data.
//! let incomes = context.query().column("income").impute(0.0).clamp(0.0, 50_000.0);
//! let total = incomes.sum().laplace()?.release()?;
//!
//! // A question can be about some of the rows. The candidates for a median are public.
//! let adults = context.query().filter("age", |age: &i64| 18 <= *age).column("income").impute(0.0);
//! let median = adults.median((0..70).map(|k| f64::from(k) * 1e3).collect()).choose()?.release()?;
//!
//! // Which cities are there? The answer leaves out cities of few people. This question needs a
//! // budget with a delta.
//! let cities = context.query().column::<String>("city").count_by().laplace()?.release()?;
//! assert!(!cities.value.contains_key("Atlantis"));
//!
//! // How much did each question cost, and what is left?
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
//! Each question may depend on earlier answers. The unspent part of a share stays in the remaining
//! budget, and later questions can use this part. Only a split [by kinds of noise](Split::by_kinds)
//! loses the unspent part. A question returns an error if the split has no share for this question,
//! or if nothing is left of the budget. In both cases, nothing is run:
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
//! assert_eq!(question().unwrap_err().kind(), "BudgetExceeded");
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # The best noise
//!
//! Under an epsilon and a delta, [`best`](Statistic::best) chooses between Laplace and Gaussian
//! noise. If there are many questions, they get Gaussian noise. For the same error, many releases
//! with Gaussian noise have a smaller composed loss than many releases with Laplace noise. A
//! hundred counts get noise of scale 42.5. If epsilon and delta were divided into a hundred even
//! parts instead, the scale would be 412.
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
//! A [`Plan`] finds the noise of several questions together. Give each question a weight or a
//! wanted accuracy. A plan finds the budget for these accuracies, or the accuracies for a budget. A
//! plan spends nothing before its release:
//!
//! ```
//! # use opendp_analysis::{Budget, Context, Goal, PrivacyUnit, Split, Table};
//! # let table = Table::new().with("age", vec![30.0, 40.0])?;
//! # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon_delta(1.0, 1e-6)?);
//! let context = Context::new(table, unit, budget, Split::as_you_go())?;
//! let mut plan = context.plan();
//! let people = plan.ask(context.query().count(), Goal::Within(20.0))?;
//! let ages = context.query().column("age").impute(40.0).clamp(0.0, 120.0);
//! let total = plan.ask(ages.sum(), Goal::Weight(1.0))?; // gets the rest of the budget
//! let solved = plan.solve()?;
//! println!("the sum of ages will be within {}", solved.accuracy(total)?);
//! let mut answers = solved.release()?;
//! println!("{} people", answers.take(people)?.value);
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! A [`Journal`] can record all releases. With a journal, a plan with an [id](Plan::with_id) is
//! charged only once, even if the process ends before all answers are used.
//!
//! # Computing with answers
//!
//! Sums, differences, multiples and quotients of answers have intervals, too. The errors of the
//! terms partly cancel. So the interval of a sum or a difference is narrower than the intervals of
//! its terms together. [`estimate`](Answer::estimate) returns the released number together with the
//! distribution of its noise:
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
//! assert_eq!(adults.accuracy(0.05)?, 23.0); // 72 bounds of 3 add up to 216
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # What is refused
//!
//! If a statistic cannot be released privately, the error message says what is missing:
//!
//! ```
//! # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
//! # let table = Table::new().with("age", vec![30.0, 40.0])?;
//! # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
//! # let context = Context::new(table, unit, budget, Split::evenly(1)?)?;
//! let ages = context.query().column("age").impute(40.0).clamp(0.0, 120.0);
//! assert_eq!(
//!     ages.mean().laplace().unwrap_err().to_string(),
//!     "a mean needs a known number of rows: add `.resize(n)` or ask for a count and a sum",
//! );
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! Some kinds of budgets cannot pay for some kinds of queries. The compiler rejects these queries.
//! Examples are Gaussian noise under a budget of an epsilon, Laplace noise under a budget of a rho,
//! and the keys of a column under a budget without a delta:
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
//! A query is a chain of transformations and then one measurement. The measurement has a free
//! parameter, the scale of its noise. Bisection finds the least scale at which the loss fits the
//! share. The exact privacy map computes the loss. The account charges the exact loss before the
//! release is run. Earlier answers can determine the next question. A [`Journal`] can record all
//! releases in a file. In a later process, [`carry_over`](Context::carry_over) charges the account
//! for the recorded releases.
//!
//! # What is proved
//!
//! Every budget bounds the loss of all answers together. Each question, its kind and its noise may
//! depend on all earlier answers. So may the choice to ask another question.
//!
//! | budget | noise | what adds up | theorem |
//! |---|---|---|---|
//! | epsilon | Laplace, selection | epsilon | Rogers, Roth, Ullman, Vadhan 2016 |
//! | rho | Gaussian, selection | rho | Feldman, Zrnic 2021 |
//! | epsilon, delta | Gaussian | the square of `mu` | Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023 |
//! | epsilon, delta | Laplace, selection | epsilon, or the square of `mu` | Kairouz, Oh, Viswanath 2015; Dong, Roth, Su 2022 |
//! | epsilon, delta | selections and small pure losses, if the first release is one of these | Renyi divergence of one order, epsilon, or the square of `mu` | Feldman, Zrnic 2021 |
//! | epsilon, delta | Gaussian, together with Laplace or selection | epsilon and the square of `mu`, in two separate sums | Zhu, Dong, Wang 2022 |
//! | epsilon, delta | Laplace, with a threshold for keys | delta, and epsilon or the square of `mu` | Kairouz, Oh, Viswanath 2015 |
//! | epsilon, delta, [by kinds](Split::by_kinds) | all, each in its share | the distributions of all losses | Zhu, Dong, Wang 2022 |
//!
//! In the table, `mu` is the loss of a release in Gaussian differential privacy; the release is
//! then called `mu`-GDP. The proof for an epsilon and a delta is in
//! [`AdaptiveAccount`](opendp_measurements::accounting::AdaptiveAccount). The proof for shares by
//! kinds is in [`SharedAccount`](opendp_measurements::accounting::SharedAccount). The kinds and the
//! weights of these shares must not depend on answers. The questions themselves may depend on
//! earlier answers. Two combinations have no proof and are errors: `count_by` with Gaussian noise,
//! and Laplace noise under a rho. Under an epsilon and a delta, integers get continuous Gaussian
//! noise, and the noisy integers are rounded. The reason is that discrete Gaussian noise is not
//! exactly `mu`-GDP. Only a [`Plan`] that takes the whole budget can use discrete Gaussian noise.
//! The questions of a [`Plan`] may depend on all answers before the plan.

mod account;
mod books;
mod budget;
mod chain;
mod counts;
mod draft;
mod groups;
mod measure;
mod plan;
mod possible;
mod query;
mod question;
mod report;
mod rows;
mod split;
mod statistic;
mod table;
mod terms;
mod unit;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use opendp_core::arith::Exact;
use opendp_core::{Result, Space, SymmetricDistance};
use opendp_measurements::Collected;

use account::Account;
use books::Books;
pub use budget::{Accounted, Budget, Noisy, WithDelta, WithGaussian, WithLaplace};
pub use groups::{AskedGroups, GroupAnswer, GroupRow, Groups, SolvedGroups};
pub use measure::{BudgetMeasure, Facts};
pub use opendp_report::visible;
pub use plan::{Answers, Asked, Goal, Noised, Plan, Planned, Solved};
pub use query::Query;
pub use question::{Answer, Question};
pub(crate) use report::written_up;
pub use report::{Entry, ErrorIn, Journal, Report, counted, short};
pub use rows::{Averaged, Centre, Mechanism, Rows, Summed};
pub use split::{ShareKind, Split};
pub use statistic::{Choice, Statistic};
pub(crate) use table::numbers;
pub use table::{Table, TableDomain};
pub use unit::PrivacyUnit;

/// A table, the person to protect, and a budget for questions about the table.
///
/// See the [module](self) for a tour.
pub struct Context<MO: BudgetMeasure> {
    /// The number of the context. No other context of this process has the same number.
    number: u64,
    table: Table,
    space: Space<TableDomain, SymmetricDistance>,
    unit: PrivacyUnit,
    split: Split,
    measure: MO,
    books: Mutex<Books<MO>>,
    journal: Option<Arc<dyn Journal>>,
}
impl<MO: BudgetMeasure> Context<MO> {
    /// The largest probability with which an error exceeds the accuracy in a report.
    pub const ALPHA: f64 = 0.05;

    /// Make a context that answers questions about `table`, and pays for the answers from `budget`.
    ///
    /// # Errors
    /// `Argument` when the split is [by kinds](Split::by_kinds), but the budget is an epsilon alone
    /// or a rho. The errors of the account, such as `InvalidDistance` when a number of the budget
    /// has too many digits.
    pub fn new(table: Table, unit: PrivacyUnit, budget: Budget<MO>, split: Split) -> Result<Self> {
        let size = unit.size_is_public().then_some(table.size());
        let space = Space::new(TableDomain::of(&table, size), SymmetricDistance)?;
        let account = Account::new(&budget, &split)?;
        let books = Mutex::new(Books { account, entries: Vec::new() });
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let measure = budget.measure;
        Ok(Context { number, table, space, unit, split, measure, books, journal: None })
    }
    /// Return a context that records each release in a journal. The context writes the entry of a
    /// release after the charge, and before the noise is drawn.
    #[must_use]
    pub fn with_journal(mut self, journal: impl Journal + 'static) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }
    /// Begin a query.
    pub fn query(&self) -> Query<'_, MO> {
        Query::new(self)
    }
    /// Begin a plan: several questions, and one search for their noise. See [`Plan`].
    pub fn plan(&self) -> Plan<'_, MO> {
        Plan::new(self)
    }
    /// Return the remaining budget, rounded down. For an epsilon and a delta, this is the largest
    /// loss that one more release could have.
    ///
    /// # Errors
    /// `FailedFunction` when a journal panicked. The errors of the account.
    pub fn remaining(&self) -> Result<MO::Distance> {
        let left = self.account()?.left()?;
        self.measure.join(&left.iter().map(Exact::to_f64_down).collected())
    }
    /// Return the exact amount of the whole budget: one number for each part of a loss.
    ///
    /// # Errors
    /// `FailedFunction` when a journal panicked.
    pub fn exact_budget(&self) -> Result<Vec<Exact>> {
        Ok(self.account()?.budget())
    }
    /// Return a report of the cost of each release.
    pub fn report(&self) -> Report<MO> {
        // Code that holds this lock leaves no partial state, even if it panics. So it is safe to
        // read the state after such a panic.
        let books = self.books.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (account, entries) = (books.account.clone(), books.entries.clone());
        // The totals can take long to compute, so compute them without the lock.
        drop(books);
        Report {
            unit: self.unit,
            budget: account.budget(),
            total: account.total().unwrap_or_default(),
            left: account.left().unwrap_or_default(),
            entries,
            measure: self.measure.clone(),
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

    /// Return the measure of the budget.
    pub fn measure(&self) -> &MO {
        &self.measure
    }
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }
}
impl<MO: BudgetMeasure> fmt::Debug for Context<MO> {
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
