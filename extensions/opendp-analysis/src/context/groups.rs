//! Statistics of several groups of rows.

mod answer;
mod asked;
mod earlier;
mod keys;
mod moments;
mod releases;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use opendp_core::{Error, Result};
use serde_json::Value as Json;

use super::plan::{Goal, Plan};
use super::{BudgetMeasure, Noisy, Query, Statistic};
pub use answer::{GroupAnswer, GroupRow};
use asked::Needs;
pub use asked::{AskedGroups, SolvedGroups};
pub(crate) use earlier::Subject;
use keys::Keys;
pub(super) use moments::Moments;
use releases::Numbers;

/// A question about statistics of several groups of rows, before its noise is known.
///
/// A group is one combination of values of some columns. The list of all groups is public.
/// [`keys`](Groups::keys) lists the values of each column, and [`groups`](Groups::groups) lists
/// combinations. [`find`](Groups::find) finds the combinations that many people have, and needs a
/// budget with a delta. [`others`](Groups::others) adds a group of all rows that are in no listed
/// group. Without this call, these rows are left out.
///
/// The statistics of one question share releases. For a mean, a variance, a sum and a count
/// together, only one release of counts is made. If the question needs a release of counts, each
/// sum is released as a sum of signed distances from the middle of the bounds. One row changes such
/// a sum by at most about half of the width of the bounds. So the noise of this sum usually has a
/// smaller scale than the noise of a sum of the numbers themselves.
///
/// A row is in at most one group. So if a person adds or removes one row, the cost of a release
/// about all groups is the cost of a release about one group (parallel composition). If a person
/// adds or removes `d` rows, the cost is the largest cost over all splits of `d` rows among the
/// groups. For sums and counts, this is the cost of a release about one group to which `d` rows are
/// added. If the number of rows is public, a person changes rows, and can move them to other
/// groups. A changed row then costs at most as much as one removed row and one added row.
///
/// ```
/// # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
/// # let table = Table::new()
/// #     .with("educ", (0..1000).map(|i| i % 3).collect::<Vec<i64>>())?
/// #     .with("income", (0..1000).map(|i| i * 50).collect::<Vec<i64>>())?;
/// # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
/// let context = Context::new(table, unit, budget, Split::as_you_go())?;
/// let groups = context.query().group_by(["educ"]).keys("educ", 0..3);
/// let means = groups.count().mean("income", (0.0, 50_000.0)).release()?;
/// for row in means.rows(0.05)? {
///     println!("{row}"); // mean of income, 0: 25012.3 (24310.2 to 25720.1)
/// }
/// # assert_eq!(means.rows(0.05)?.len(), 6);
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Groups<'c, MO: BudgetMeasure> {
    query: Query<'c, MO>,
    names: Vec<String>,
    keys: Keys,
    others: bool,
    /// The function that makes the question for the keys, if the keys are found as a part of this
    /// question.
    finder: Option<Finder<'c, MO>>,
    /// For each column, the number that replaces missing numbers (NaN).
    missing: Vec<(String, f64)>,
    asked: Vec<What>,
    wrong: Option<Error>,
}
/// A function that makes the question for the keys of groups.
type Finder<'c, MO> = fn(&Groups<'c, MO>) -> Statistic<'c, MO, HashMap<String, i64>>;
/// A statistic of each group.
#[derive(Clone, Debug, PartialEq)]
enum What {
    Count,
    Sum(String, (f64, f64)),
    Mean(String, (f64, f64)),
    Variance(String, (f64, f64)),
    Quantiles(String, Vec<f64>, Vec<f64>),
}
impl<'c, MO: BudgetMeasure> Groups<'c, MO> {
    pub(super) fn new(query: Query<'c, MO>, names: Vec<String>) -> Self {
        let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
        let wrong = match twice {
            _ if names.is_empty() => Some("expected at least one column, found none".into()),
            Some((_, name)) => Some(format!("the column `{name}` is listed twice: list it once")),
            None => None,
        };
        Groups {
            query,
            keys: Keys::Product(vec![None; names.len()]),
            wrong: wrong.map(|reason: String| Error::argument("group_by", reason)),
            names,
            others: false,
            finder: None,
            missing: Vec::new(),
            asked: Vec::new(),
        }
    }
    /// Set the values of a column. There is one group for each value. If there are several columns,
    /// there is one group for each combination of their values. The values must not be taken from
    /// the data.
    #[must_use]
    pub fn keys<K: Into<Json>>(
        mut self,
        column: &str,
        values: impl IntoIterator<Item = K>,
    ) -> Self {
        let place = self.names.iter().position(|name| name == column);
        match (place, &mut self.keys) {
            (Some(place), Keys::Product(columns)) => {
                columns[place] = Some(values.into_iter().map(Into::into).collect());
            }
            (None, _) => {
                let reason = format!("the rows are grouped by {}", self.names.join(", "));
                self.wrong = self.wrong.or(Some(Error::argument(column, reason)));
            }
            _ => {
                let reason = "the groups are listed already: write either `.keys(..)` or \
                              `.groups(..)`";
                self.wrong = self.wrong.or(Some(Error::argument("keys", reason)));
            }
        }
        self
    }
    /// Set the list of groups. Each group is a combination of values, with one value for each
    /// column. The combinations must not be taken from the data.
    #[must_use]
    pub fn groups(mut self, keys: impl IntoIterator<Item = Vec<Json>>) -> Self {
        if self.keys.have_counts() {
            let reason = "the groups are those of an earlier answer: leave out `.groups(..)`";
            self.wrong = self.wrong.or(Some(Error::argument("groups", reason)));
        }
        if matches!(&self.keys, Keys::Product(columns) if columns.iter().any(Option::is_some)) {
            let reason = "the keys are stated already: write either `.keys(..)` or `.groups(..)`";
            self.wrong = self.wrong.or(Some(Error::argument("groups", reason)));
        }
        self.keys = Keys::Listed(keys.into_iter().collect());
        self
    }
    /// Add one more group, with all rows that are in no other group.
    #[must_use]
    pub fn others(mut self) -> Self {
        self.others = true;
        self
    }
    /// Replace missing numbers (NaN) of a column of floats by `value`.
    #[must_use]
    pub fn impute(mut self, column: &str, value: f64) -> Self {
        self.missing.push((column.to_owned(), value));
        self
    }
    /// Count the rows of each group.
    #[must_use]
    pub fn count(self) -> Self {
        self.ask(What::Count)
    }
    /// Clamp a column of numbers to bounds, and sum the column in each group. The bounds must not
    /// be taken from the data.
    #[must_use]
    pub fn sum(self, column: &str, bounds: (f64, f64)) -> Self {
        self.ask(What::Sum(column.to_owned(), bounds))
    }
    /// Clamp a column of numbers to bounds, and take its mean in each group.
    #[must_use]
    pub fn mean(self, column: &str, bounds: (f64, f64)) -> Self {
        self.ask(What::Mean(column.to_owned(), bounds))
    }
    /// Clamp a column of numbers to bounds, and take its variance in each group. The divisor
    /// of the variance is the number of rows minus 1.
    #[must_use]
    pub fn variance(self, column: &str, bounds: (f64, f64)) -> Self {
        self.ask(What::Variance(column.to_owned(), bounds))
    }
    /// Choose candidates near the quantiles of a column of numbers in each group. The quantiles are
    /// in increasing order. The candidates must not be taken from the data.
    #[must_use]
    pub fn quantiles(self, column: &str, alphas: &[f64], candidates: Vec<f64>) -> Self {
        self.ask(What::Quantiles(column.to_owned(), alphas.to_vec(), candidates))
    }
    fn ask(mut self, what: What) -> Self {
        self.asked.push(what);
        self
    }
    fn by(&self) -> String {
        self.names.join(", ")
    }
    fn numbers(
        &self,
        column: &str,
        number: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
        bounds: Option<(f64, f64)>,
    ) -> Numbers {
        let missing = self.missing.iter().rev().find(|(name, _)| name == column);
        let missing = missing.map(|(_, value)| *value);
        Numbers { column: column.to_owned(), missing, number, bounds }
    }
    /// Check three facts about the question. It asks for at least one statistic, its groups are
    /// stated in only one way, and its statistics can have the goal.
    fn check(&self, goal: Goal) -> Result<()> {
        let alone = |what: &What| matches!(what, What::Count | What::Sum(..) | What::Quantiles(..));
        let fits = match (goal, self.asked.as_slice()) {
            (Goal::Weight(_), _) => true,
            (Goal::Within(_), asked) if self.finder.is_some() => asked == [What::Count],
            (Goal::Within(_), [What::Mean(..)]) => matches!(self.keys, Keys::Counted(..)),
            (Goal::Within(_), [what]) => alone(what),
            (Goal::Within(_), _) => false,
        };
        if !fits {
            let reason = "a question can have a wanted accuracy only if it asks for one statistic: \
                          counts, sums, quantiles, or means after `.counted(..)`. For other \
                          questions, write `Goal::Weight(..)`, or ask for each statistic alone";
            return Err(Error::argument("goal", reason));
        }
        if self.finder.is_some() {
            self.check_finds("find_keys", false)?;
        }
        if self.asked.is_empty() {
            let reason = "ask for a statistic of each group, such as `.count()`";
            return Err(Error::argument("group_by", reason));
        }
        // The last count of an earlier answer is about the group of all other rows, if there are
        // more counts than keys.
        let others = match &self.keys {
            Keys::Counted(keys, counts) => keys.len() < counts.estimates.len(),
            keys => !keys.have_counts(),
        };
        if self.others && !others {
            let reason = "the earlier answer has no count of all other rows: leave out \
                          `.others()`, or list the keys and release new counts";
            return Err(Error::argument("others", reason));
        }
        Ok(())
    }
    /// Return the number of releases that answer the question. Each release counts as one query of
    /// a [`Split`](super::Split).
    pub fn releases(&self) -> usize {
        let needs = Needs::of(&self.asked);
        let counts = self.finder.is_some() || needs.counts && !self.keys.have_counts();
        let quantiles = self.asked.iter().filter(|what| matches!(what, What::Quantiles(..)));
        usize::from(counts) + needs.sums.len() + needs.squares.len() + quantiles.count()
    }
}
impl<'c, MO: BudgetMeasure> Groups<'c, MO>
where
    i64: Noisy<MO>,
    f64: Noisy<MO>,
{
    /// Find the noise of all releases, within the share of the budget for this question. Each of
    /// the question's [`releases`](Groups::releases) counts as one query of the split. The share of
    /// the question is the sum of the shares of these queries. If the budget is spent as you go,
    /// the share of the question is the amount of [`spending`](Query::spending), or the whole
    /// remaining budget if no amount was set. Nothing is spent.
    ///
    /// # Errors
    /// The errors of the steps, and of [`Plan::solve`].
    pub fn solve(self) -> Result<SolvedGroups<'c, MO>> {
        let mut plan = Plan::of_one_question(self.query.context, self.query.wanted.clone());
        let asked = plan.ask_groups(self, Goal::Weight(1.0))?;
        SolvedGroups::new(plan, asked)
    }
    /// Find the noise of all releases, spend their cost, and answer.
    ///
    /// # Errors
    /// The errors of [`solve`](Groups::solve), and of [`release`](SolvedGroups::release).
    pub fn release(self) -> Result<GroupAnswer> {
        self.solve()?.release()
    }
}

impl<MO: BudgetMeasure> fmt::Debug for Groups<'_, MO> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Groups").field("by", &self.names).finish_non_exhaustive()
    }
}
#[cfg(test)]
mod tests;
