//! Means and variances, and the numbers of rows that they use.

use opendp_analysis::context::Centre;
use opendp_core::{Codec, Error, Result};
use serde_json::Value as Json;

use super::document::{ColumnFields, NumberFields, QuestionFields, Wanted};
use super::mechanisms::add_noise;
use super::outcome::{Cell, StudyAnswer};
use super::questions::{Asker, Mode};

/// The largest number of rows that a mean or a variance can state for a table whose number of rows
/// is private. All stated rows are kept in memory, with 8 bytes for each row.
const MOST_ROWS: usize = 100_000_000;

/// The number of rows that a mean or a variance uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Divisor {
    /// The statistic is about all rows of the table, and their number is public.
    Whole,
    /// Before the statistic is computed, rows are dropped or added to reach this public number. The
    /// number is not compared with the data.
    Stated(usize),
    /// The number of rows is private.
    Private,
}
impl Divisor {
    /// Return the number of rows that the question states, if rows are dropped or added to reach
    /// this number.
    fn stated(self) -> Option<usize> {
        match self {
            Divisor::Stated(rows) => Some(rows),
            Divisor::Whole | Divisor::Private => None,
        }
    }
}
impl ColumnFields {
    /// Return whether questions about this column leave out rows with a missing cell in this
    /// column.
    pub(super) fn drops(&self) -> bool {
        self.missing.as_ref().and_then(Json::as_str) == Some("drop")
    }
}
impl QuestionFields {
    /// Return the number of rows that a mean or a variance uses. `rows` is the number of rows of
    /// the table, if this number is public. The statistic is about all rows of the table if the
    /// question has no condition and its column drops no rows. If the table has no rows, its number
    /// of rows counts as private.
    pub(super) fn divisor(
        &self,
        fields: &NumberFields,
        columns: &[(String, ColumnFields)],
        rows: Option<usize>,
    ) -> Divisor {
        let column = columns.iter().find(|(name, _)| *name == fields.column);
        let drops = column.is_some_and(|(_, column)| column.drops());
        let all = rows.filter(|rows| self.keep.is_empty() && !drops && 0 < *rows);
        match fields.rows {
            None if all.is_some() => Divisor::Whole,
            None => Divisor::Private,
            stated if stated == all => Divisor::Whole,
            Some(stated) => Divisor::Stated(stated),
        }
    }
    /// Return the public number of rows of the table, if the question counts all rows.
    pub(super) fn counts_public_rows(&self, rows: Option<usize>) -> Option<usize> {
        let all = self.count.is_some() && self.group_by.is_none() && self.keep.is_empty();
        rows.filter(|_| all)
    }
    /// Return the number of releases that answer the question. See [`divisor`](Self::divisor). A
    /// count of a public number of rows needs no release.
    pub(super) fn releases(
        &self,
        columns: &[(String, ColumnFields)],
        rows: Option<usize>,
    ) -> usize {
        if self.counts_public_rows(rows).is_some() {
            return 0;
        }
        let mean = self.mean.as_ref();
        let private = |mean| self.divisor(mean, columns, rows) == Divisor::Private;
        if mean.is_some_and(private) { 2 } else { 1 }
    }
    /// Check that the question counts or chooses something, and that the number of rows that it
    /// states is valid. Earlier versions made no such checks. So check only before a new answer,
    /// and not in `Study::parse`. Then a ledger can still return the answers that it keeps for an
    /// earlier document.
    pub(super) fn check_useful(&self, rows: Option<usize>) -> Result<()> {
        self.check_not_empty().and_then(|()| self.check_rows(rows))
    }
    /// Check the number of rows that a mean or a variance states. This number must be at least 1
    /// for a mean, and at least 2 for a variance. The number must also be at most the public number
    /// of rows of the table, because a larger number adds rows that belong to no person. If the
    /// number of rows is private, the stated number must be at most `MOST_ROWS`.
    fn check_rows(&self, rows: Option<usize>) -> Result<()> {
        let (stated, least) = match self.wanted() {
            Ok(Wanted::Mean(fields)) => (fields.rows, 1),
            Ok(Wanted::Variance(fields)) => (fields.rows, 2),
            _ => (None, 0),
        };
        match (stated, rows) {
            (Some(stated), _) if stated < least => {
                let reason = format!("expected a number of at least {least}, found {stated}");
                Err(Error::argument("rows", reason))
            }
            (Some(stated), None) if MOST_ROWS < stated => {
                let reason = format!(
                    "expected at most {MOST_ROWS}, found {stated}: rows up to this number are \
                     added in memory, before the statistic is computed. A mean needs no `rows`: \
                     without it, a noisy sum is divided by a noisy count"
                );
                Err(Error::argument("rows", reason))
            }
            (Some(stated), Some(rows)) if rows < stated => {
                let reason = format!(
                    "expected at most the number of rows of the table, {rows}, found {stated}: a \
                     larger number adds rows that belong to no person. Leave `rows` out"
                );
                Err(Error::argument("rows", reason))
            }
            _ => Ok(()),
        }
    }
}
impl Asker<'_> {
    /// Answer a count of all rows, whose number is public. The answer is exact, and costs nothing.
    pub(super) fn public_count(&self, asked: &QuestionFields, rows: usize) -> Result<StudyAnswer> {
        if asked.noise.is_some() {
            let reason = "the number of rows is public, so this count has no noise and costs \
                          nothing: leave `noise` out";
            return Err(Error::argument("noise", reason));
        }
        let mut answer = StudyAnswer::public(asked.title());
        if self.mode == Mode::Ask {
            let interval = Some((rows as f64, rows as f64));
            answer.cells.push(Cell { value: rows.into(), interval, ..Cell::default() });
        }
        Ok(answer)
    }
    pub(super) fn mean(
        &self,
        asked: &QuestionFields,
        mean: &NumberFields,
        bounds: (f64, f64),
    ) -> Result<StudyAnswer> {
        let divisor = asked.divisor(mean, self.columns, self.rows);
        let cells = || self.numbers(asked, &mean.column);
        let clamped = || cells().map(|cells| cells.clamp(bounds.0, bounds.1));
        let mean = match divisor {
            Divisor::Private => return self.quotient(asked, mean, bounds),
            Divisor::Whole => clamped()?.mean(),
            Divisor::Stated(rows) => clamped()?.resize(rows).mean(),
        };
        let mut answer = self.number(add_noise(mean, asked.noise)?, asked)?;
        answer.rows_stated = divisor.stated();
        Ok(answer)
    }
    pub(super) fn variance(
        &self,
        asked: &QuestionFields,
        variance: &NumberFields,
        (lower, upper): (f64, f64),
    ) -> Result<StudyAnswer> {
        let cells = || self.numbers(asked, &variance.column);
        let clamped = || cells().map(|cells| cells.clamp(lower, upper));
        let missing = "a variance needs a public number of rows: add \"rows\" to the question";
        let divisor = asked.divisor(variance, self.columns, self.rows);
        let variance = match divisor {
            Divisor::Private => return Err(Error::argument("rows", missing)),
            Divisor::Whole => clamped()?.variance(),
            Divisor::Stated(rows) => clamped()?.resize(rows).variance(),
        };
        let mut answer = self.number(add_noise(variance, asked.noise)?, asked)?;
        answer.rows_stated = divisor.stated();
        Ok(answer)
    }
    /// Answer a mean. First compute a noisy sum of differences: the cells minus the middle of the
    /// bounds. Divide this sum by a noisy count. Then add the middle of the bounds.
    fn quotient(
        &self,
        asked: &QuestionFields,
        mean: &NumberFields,
        (lower, upper): (f64, f64),
    ) -> Result<StudyAnswer> {
        let centre = Centre::of(lower, upper)?;
        let cells = self.numbers(asked, &mean.column)?;
        let sum = add_noise(cells.sum_around(&centre), asked.noise)?;
        let noised = sum.noised(self.alpha);
        let sum = self.spend(sum)?;
        let rows = self.query(asked, &[&mean.column])?;
        let count = add_noise(rows.count(), asked.noise)?;
        // The error of the mean depends on the released count, so the error is not known before the
        // release.
        let noised = noised.with(&count.noised(self.alpha));
        let mut answer = StudyAnswer::before(asked.title(), noised);
        if let (Some(sum), Some(count)) = (sum, self.spend(count)?) {
            let (sum, count) = (sum.estimate()?, count.estimate()?);
            // The scale of the second noise depends only on the budget, and not on the released
            // sum.
            let (value, interval) = centre.mean_at_fixed_scales(&sum, &count, self.alpha)?;
            answer.cells.push(Cell {
                value: value.to_json(),
                interval: Some(interval),
                ..Cell::default()
            });
        }
        Ok(answer)
    }
}
