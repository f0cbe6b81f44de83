//! Groups whose keys are found in the data, or come from an earlier answer.

use std::collections::HashMap;
use std::sync::Arc;

use opendp_core::{Error, Result};
use opendp_measurements::Collected;

use super::super::measure::{needs_delta, threshold};
use super::super::query::Threshold;
use super::super::question::Answer;
use super::super::{BudgetMeasure, Noisy, Statistic, WithDelta};
use super::answer::GroupAnswer;
use super::asked::counts_of;
use super::keys::Keys;
use super::{Groups, releases};

/// The groups of rows that an answer is about, to compare them with the groups of another answer.
/// The filters are compared only by the names of their columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Subject {
    /// The number of the context.
    context: u64,
    /// The columns that define the groups.
    pub(super) names: Vec<String>,
    /// The columns of the filters, in alphabetical order. The list has one element for each filter.
    /// Two functions cannot be compared, so this list does not state which rows a filter keeps.
    filters: Vec<Arc<str>>,
}
impl Subject {
    fn words(&self) -> String {
        if self.filters.is_empty() {
            return "without filters".to_owned();
        }
        let filters = self.filters.iter().map(|name| &**name).collected();
        format!("with filters on `{}`", filters.join("`, `"))
    }
}

impl<'c, MO: BudgetMeasure> Groups<'c, MO> {
    /// Find the keys of the groups, and count the rows of each group. Keys that few people have are
    /// left out. A budget with a delta is necessary. [`found`](Groups::found) takes the answer to
    /// this question. The question must not list keys, and must not have
    /// [`others`](Groups::others).
    ///
    /// ```
    /// # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
    /// # let table = Table::new()
    /// #     .with("city", (0..1000).map(|i| ["Lyon", "Lille"][i % 2].to_owned()).collect())?
    /// #     .with("income", (0..1000).map(|i| i * 50).collect::<Vec<i64>>())?;
    /// # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon_delta(1.0, 1e-6)?);
    /// let context = Context::new(table, unit, budget, Split::evenly(2)?)?;
    /// let cities = context.query().group_by(["city"]);
    /// let found = cities.find().laplace()?.release()?;
    /// // The mean needs one more release: the release of the sums.
    /// let means = cities.found(&found)?.mean("income", (0.0, 50_000.0)).release()?;
    /// assert_eq!(means.rows(0.05)?[1].label, "Lyon");
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn find(&self) -> Statistic<'c, MO, HashMap<String, i64>>
    where
        MO: WithDelta,
    {
        self.find_by(|_, counts, scale, threshold| MO::threshold(counts, scale, threshold))
    }
    fn find_by(&self, release: Threshold<String, MO>) -> Statistic<'c, MO, HashMap<String, i64>>
    where
        i64: Noisy<MO>,
    {
        let wrong = self.wrong.clone().or_else(|| self.check_finds("find", true).err());
        let query = self.query.clone().failing(wrong);
        releases::found(query, self.subject(), &format!("counts by {}", self.by()), release)
    }
    /// Find the keys of the groups, and compute the statistics of these groups, in one question.
    /// Keys that few people have are left out. A budget with a delta is necessary. One search finds
    /// the noise of the keys and of all statistics. In a [`Plan`](super::super::Plan), the same
    /// search also finds the noise of the other questions of the plan. The noisy counts of the keys
    /// are also used for the counts, means and variances of the groups. [`found`](Groups::found)
    /// states what the intervals of these statistics guarantee.
    ///
    /// ```
    /// # use opendp_analysis::{Budget, Context, PrivacyUnit, Split, Table};
    /// # let table = Table::new()
    /// #     .with("city", (0..1000).map(|i| ["Lyon", "Lille"][i % 2].to_owned()).collect())?
    /// #     .with("income", (0..1000).map(|i| i * 50).collect::<Vec<i64>>())?;
    /// # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon_delta(1.0, 1e-6)?);
    /// let context = Context::new(table, unit, budget, Split::as_you_go())?;
    /// let cities = context.query().group_by(["city"]).find_keys();
    /// let answer = cities.count().mean("income", (0.0, 50_000.0)).release()?;
    /// assert_eq!(answer.rows(0.05)?[3].label, "Lyon");
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    #[must_use]
    pub fn find_keys(mut self) -> Self
    where
        MO: WithDelta,
    {
        self.finder = Some(Groups::find);
        self
    }
    /// Find the keys of the groups, as [`find_keys`](Groups::find_keys) does. The budget is checked
    /// at run time.
    ///
    /// # Errors
    /// `Argument` when the budget has no delta.
    pub fn try_find_keys(mut self) -> Result<Self>
    where
        i64: Noisy<MO>,
    {
        needs_delta(self.query.context.measure())?;
        self.finder = Some(|groups| groups.find_by(threshold));
        Ok(self)
    }
    /// Use the groups that [`find`](Groups::find) found. The answer also has noisy counts of these
    /// groups. Counts, means and variances are computed from these noisy counts. Consider the
    /// interval of a statistic for one key. The probability that the key is found and that the
    /// interval misses the true number is at most the argument `alpha` of
    /// [`rows`](GroupAnswer::rows). Among the found keys alone, intervals can miss more often,
    /// because a key is found more often if the noise on its count is large.
    ///
    /// The answer must be about the rows of this question. [`counted`](Groups::counted) states what
    /// is checked.
    ///
    /// # Errors
    /// `FailedCast` when the text of a key is not a list of values in JSON. `NotImplemented` when
    /// the answer does not state its noise. An answer to a question of [`find`](Groups::find)
    /// causes neither of these two errors. `Argument` when the answer is not an answer to such a
    /// question, when it is about other rows, or when the question lists keys itself.
    pub fn found(mut self, answer: &Answer<MO, HashMap<String, i64>>) -> Result<Self> {
        self.keys.check_open("found")?;
        let (keys, counts) = counts_of(answer)?;
        let reason = "expected an answer to a question of `.find()`";
        let subject = answer.subject().ok_or_else(|| Error::argument("found", reason))?;
        self.check_same("found", subject)?;
        self.keys = Keys::Counted(keys, counts);
        Ok(self)
    }
    /// Use the groups and the counts of an earlier answer about the rows of this question. Then
    /// counts, means and variances need no other release of counts. In a
    /// [`Plan`](super::super::Plan), a mean can then have a wanted accuracy.
    ///
    /// Both questions must have the same context, the same columns of the groups, and the same
    /// columns of all [filters](super::super::Query::filter). The functions of the filters are not
    /// compared, because functions cannot be compared. So write both questions with the same
    /// filters, for example with clones of one query. If the filters of the two questions keep
    /// different rows, the statistics and their intervals are wrong.
    ///
    /// ```
    /// # use opendp_analysis::{Budget, Context, Goal, PrivacyUnit, Split, Table};
    /// # let table = Table::new()
    /// #     .with("educ", (0..1000).map(|i| i % 3).collect::<Vec<i64>>())?
    /// #     .with("income", (0..1000).map(|i| i * 50).collect::<Vec<i64>>())?;
    /// # let (unit, budget) = (PrivacyUnit::person(1)?, Budget::epsilon(1.0)?);
    /// let context = Context::new(table, unit, budget, Split::as_you_go())?;
    /// let rows = context.query().spending(Budget::epsilon(0.2)?);
    /// let counts = rows.group_by(["educ"]).keys("educ", 0..3).count().release()?;
    /// let groups = context.query().group_by(["educ"]).counted(&counts)?;
    /// let mut plan = context.plan();
    /// let asked = plan.ask_groups(groups.mean("income", (0.0, 50_000.0)), Goal::Within(4000.0))?;
    /// let means = plan.solve()?.release()?.take_groups(asked)?;
    /// assert_eq!(means.rows(0.05)?.len(), 3);
    /// assert!(0.6 < context.remaining()?); // the means took about 0.1
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Argument` in three cases. First, the answer has no counts. Second, the context, the columns
    /// of the groups or the columns of the filters differ between the answer and this question.
    /// Third, the question lists keys itself.
    pub fn counted(mut self, answer: &GroupAnswer) -> Result<Self> {
        self.keys.check_open("counted")?;
        let reason = "the answer has no counts: add `.count()` to its question";
        let none = || Error::argument("counted", reason);
        let counts = answer.counts.clone().ok_or_else(none)?;
        self.check_same("counted", &answer.subject)?;
        self.keys = Keys::Counted(answer.keys.clone(), counts);
        self.others |= answer.others;
        Ok(self)
    }
    /// Leave the list of keys empty, because the keys will be found later. The question then has a
    /// cost, but cannot be answered. This cost is an upper bound on the cost of the question for
    /// any number of groups.
    #[must_use]
    pub fn to_be_found(mut self) -> Self {
        self.keys = Keys::ToBeFound;
        self
    }
    /// Return whether the list of keys is empty. The list is empty if no key was found, or if the
    /// keys will be found later.
    pub fn has_no_keys(&self) -> bool {
        match &self.keys {
            Keys::Product(_) => false,
            Keys::Listed(keys) | Keys::Counted(keys, _) => keys.is_empty(),
            Keys::ToBeFound => true,
        }
    }
    /// Describe the groups of rows that the question is about.
    pub(super) fn subject(&self) -> Subject {
        let (context, filters) = (self.query.context.number, self.query.source.filtered());
        Subject { context, names: self.names.clone(), filters }
    }
    /// Check that an earlier answer is about the groups of this question. `name` is the method that
    /// takes the answer.
    fn check_same(&self, name: &str, earlier: &Subject) -> Result<()> {
        let own = self.subject();
        let reason = if earlier.context != own.context {
            "expected an answer of the same context, found an answer of another context: ask both \
             questions in one context"
                .to_owned()
        } else if earlier.names != own.names {
            let found = earlier.names.join(", ");
            format!("expected an answer about groups by {}, found one by {found}", self.by())
        } else if earlier.filters != own.filters {
            format!(
                "expected an answer about rows {}, found one about rows {}: make both questions \
                 from clones of one query, so that they are about the same rows",
                own.words(),
                earlier.words()
            )
        } else {
            return Ok(());
        };
        Err(Error::argument(name, reason))
    }
    /// Check that a search can find the keys of the question. The question must list no keys, and
    /// must have no group of other rows. If `later` is true, the keys of the question can also be
    /// [`to_be_found`](Groups::to_be_found). `name` is the method that searches.
    pub(super) fn check_finds(&self, name: &str, later: bool) -> Result<()> {
        let open = self.keys.is_open() || later && matches!(self.keys, Keys::ToBeFound);
        if self.others || !open {
            let reason = format!(
                "this question finds its keys: leave out the lists of keys and `.others()`, or \
                 leave out `.{name}()`"
            );
            return Err(Error::argument(name, reason));
        }
        Ok(())
    }
}
