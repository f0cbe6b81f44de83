//! The questions of a study, and their answers from a context.

use std::ops::Bound;

use opendp_core::arith::shown;
use opendp_core::erased::AnyMeasure;
use opendp_core::{Atom, Carrier, Codec, Error, Result};
use opendp_measurements::{Released, confidence_interval_of_each};
use opendp_transformations::Key;
use serde_json::Value as Json;

use super::document::{
    CellType, ColumnFields, Condition, EXACT_FLOATS, HistogramFields, NumberFields, QuestionFields,
    TopFields, Wanted,
};
use super::mechanisms::{add_noise, count_by};
use super::outcome::{Cell, StudyAnswer};
use super::table::{as_float, known};
use opendp_analysis::context::{Answer, Noised, Query, Question, Rows};
use opendp_analysis::{Context, Table};

mod cells;
mod conditions;
mod mechanism;

pub(super) use cells::cell;
use cells::{bins, cells_of_chosen, cells_of_keys, labels};
use conditions::{among_keys, is_float_in, is_integer_in, is_known, refuse_nothing};

/// The mode of a run: make the releases, or only find the costs and the errors of the releases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    Rehearse,
    Ask,
}

/// Answers the questions of a study from a context, or only finds the costs and the errors of the
/// answers.
pub(super) struct Asker<'c> {
    pub(super) context: &'c Context<AnyMeasure>,
    pub(super) columns: &'c [(String, ColumnFields)],
    /// The number of rows of the table, if it is public.
    pub(super) rows: Option<usize>,
    pub(super) alpha: f64,
    pub(super) mode: Mode,
    /// A table without data, on which the mechanisms of other crates are tried.
    pub(super) trial: Option<&'c Table>,
}
impl<'c> Asker<'c> {
    pub(super) fn answer(&self, asked: &QuestionFields) -> Result<Vec<StudyAnswer>> {
        if asked.group_by.is_some() {
            return self.groups(asked);
        }
        let (name, answer) = match asked.wanted()? {
            Wanted::Count => ("count", self.count(asked)),
            Wanted::Sum(fields) => ("sum", self.bounded(asked, fields, Self::sum)),
            Wanted::Mean(fields) => ("mean", self.bounded(asked, fields, Self::mean)),
            Wanted::Variance(fields) => ("variance", self.bounded(asked, fields, Self::variance)),
            Wanted::Median(fields) => ("median", self.rank(asked, fields, Some(0.5))),
            Wanted::Quantile(fields) => ("quantile", self.rank(asked, fields, fields.alpha)),
            Wanted::Quantiles(fields) => ("quantiles", self.ranks(asked, fields)),
            Wanted::Histogram(fields) => ("histogram", self.histogram(asked, fields)),
            Wanted::CountsBy(fields) => ("counts_by", self.counts_by(asked, &fields.column)),
            Wanted::TopK(fields) => ("top_k", self.top_k(asked, fields)),
            Wanted::Mechanism(fields) => ("mechanism", self.mechanism(asked, fields)),
        };
        Ok(vec![answer.map_err(|error| error.at(name))?.checked()])
    }
    /// Answer a question about a statistic that needs bounds.
    fn bounded(
        &self,
        asked: &QuestionFields,
        fields: &NumberFields,
        answer: fn(&Self, &QuestionFields, &NumberFields, (f64, f64)) -> Result<StudyAnswer>,
    ) -> Result<StudyAnswer> {
        let bounds = self.bounds(asked, fields)?;
        let mut answer = answer(self, asked, fields, bounds)?;
        answer.bounds = Some(bounds);
        Ok(answer)
    }

    fn count(&self, asked: &QuestionFields) -> Result<StudyAnswer> {
        if let Some(rows) = asked.counts_public_rows(self.rows) {
            return self.public_count(asked, rows);
        }
        self.number(add_noise(self.query(asked, &[])?.count(), asked.noise)?, asked)
    }
    fn sum(
        &self,
        asked: &QuestionFields,
        sum: &NumberFields,
        (lower, upper): (f64, f64),
    ) -> Result<StudyAnswer> {
        if self.column(&sum.column)?.kind != CellType::Integer {
            let cells = self.numbers(asked, &sum.column)?.clamp(lower, upper);
            return self.number(add_noise(cells.sum(), asked.noise)?, asked);
        }
        let (lower, upper) = (whole(lower)?, whole(upper)?);
        let cells = self.cells::<i64>(asked, &sum.column)?;
        self.number(add_noise(cells.clamp(lower, upper).sum(), asked.noise)?, asked)
    }
    fn histogram(&self, asked: &QuestionFields, fields: &HistogramFields) -> Result<StudyAnswer> {
        let (column, kind) = (&fields.column, self.column(&fields.column)?.kind);
        match (&fields.categories, &fields.edges) {
            (Some(names), None) => match kind {
                CellType::Integer => self.categories::<i64>(asked, fields, names),
                CellType::Bool => self.categories::<bool>(asked, fields, names),
                CellType::Text => self.categories::<String>(asked, fields, names),
                CellType::Float => Err(no_keys(column)),
            },
            (None, Some(edges)) => {
                self.check_exact("edges", column, edges)?;
                let counts = self.numbers(asked, column)?.histogram_between(edges.clone());
                self.counts(add_noise(counts, asked.noise)?, asked, &bins(edges))
            }
            _ => Err(Error::argument("categories", "expected either `categories` or `edges`")),
        }
    }
    fn categories<T: Key>(
        &self,
        asked: &QuestionFields,
        fields: &HistogramFields,
        names: &[Json],
    ) -> Result<StudyAnswer> {
        let cells = self.cells::<T>(asked, &fields.column)?;
        let counts = match fields.others {
            true => cells.histogram_and_others(atoms(names)?),
            false => cells.histogram(atoms(names)?),
        };
        self.counts(add_noise(counts, asked.noise)?, asked, &labels(names, fields.others))
    }
    /// Return the rows of a column that the question uses.
    fn cells<T: Atom>(
        &self,
        asked: &QuestionFields,
        column: &str,
    ) -> Result<Rows<'c, AnyMeasure, T>> {
        Ok(self.query(asked, &[column])?.column(column))
    }
    /// Count the rows of each key that enough people have. [`Cell::interval`] states for which keys
    /// the probability of the intervals holds.
    fn counts_by(&self, asked: &QuestionFields, column: &str) -> Result<StudyAnswer> {
        match self.column(column)?.kind {
            CellType::Integer => self.keys::<i64>(asked, column),
            CellType::Bool => self.keys::<bool>(asked, column),
            CellType::Text => self.keys::<String>(asked, column),
            CellType::Float => Err(no_keys(column)),
        }
    }
    fn keys<T: Key>(&self, asked: &QuestionFields, column: &str) -> Result<StudyAnswer> {
        let question = count_by(self.cells::<T>(asked, column)?)?;
        let noised = question.noised(self.alpha);
        let error = noised.accuracy;
        // Among the keys that are found, errors exceed this bound with a larger probability than
        // stated. So state only the intervals.
        let noised = Noised { accuracy: None, ..noised };
        let mut answer = StudyAnswer::before(asked.title(), noised);
        if let Some(counts) = self.spend(question)? {
            answer.cells = cells_of_keys(counts.value, error);
        }
        answer.keys_found = true;
        Ok(answer)
    }
    fn top_k(&self, asked: &QuestionFields, top: &TopFields) -> Result<StudyAnswer> {
        match self.column(&top.column)?.kind {
            CellType::Integer => self.top::<i64>(asked, top),
            CellType::Bool => self.top::<bool>(asked, top),
            CellType::Text => self.top::<String>(asked, top),
            CellType::Float => Err(no_keys(&top.column)),
        }
    }
    fn top<T: Key>(&self, asked: &QuestionFields, top: &TopFields) -> Result<StudyAnswer> {
        let cells = self.cells::<T>(asked, &top.column)?;
        let question = cells.top_k(top.k, atoms(&top.categories)?).choose()?;
        let mut answer = StudyAnswer::before(asked.title(), question.noised(self.alpha));
        if let Some(chosen) = self.spend(question)? {
            answer.cells = cells_of_chosen(&chosen.value);
        }
        Ok(answer)
    }

    /// Answer a question whose answer is one number. In `Mode::Rehearse`, release no number.
    pub(super) fn number<TO>(
        &self,
        question: Question<'c, AnyMeasure, TO>,
        asked: &QuestionFields,
    ) -> Result<StudyAnswer>
    where
        TO: Released<Intervals = (f64, f64)> + Codec,
    {
        let mut answer = StudyAnswer::before(asked.title(), question.noised(self.alpha));
        if let Some(released) = self.spend(question)? {
            answer.cells.push(Cell {
                interval: released.interval(self.alpha).ok(),
                value: released.value.to_json(),
                ..Cell::default()
            });
        }
        Ok(answer)
    }
    /// Answer a question whose answer is one count for each label. In `Mode::Rehearse`, release no
    /// counts.
    fn counts(
        &self,
        question: Question<'c, AnyMeasure, Vec<i64>>,
        asked: &QuestionFields,
        labels: &[String],
    ) -> Result<StudyAnswer> {
        let mut answer = StudyAnswer::before(asked.title(), question.noised(self.alpha));
        let measurement = question.measurement().clone();
        if let Some(released) = self.spend(question)? {
            let interval = confidence_interval_of_each(&measurement, &released.value, self.alpha);
            let intervals = interval.unwrap_or_default();
            for (place, (count, label)) in released.value.iter().zip(labels).enumerate() {
                answer.cells.push(cell(label.clone(), count, intervals.get(place).copied()));
            }
        }
        Ok(answer)
    }

    /// Charge for an answer. If the mode is `Mode::Ask`, also release the answer.
    pub(super) fn spend<TO: Carrier>(
        &self,
        question: Question<'c, AnyMeasure, TO>,
    ) -> Result<Option<Answer<AnyMeasure, TO>>> {
        match self.mode {
            Mode::Ask => question.release().map(Some),
            Mode::Rehearse => question.forgo().map(|()| None),
        }
    }
    /// Begin a query about the rows that fit all conditions. If a column in `columns` or in a
    /// condition has `"missing": "drop"`, leave out the rows whose cell in this column is missing.
    pub(super) fn query(
        &self,
        asked: &QuestionFields,
        columns: &[&str],
    ) -> Result<Query<'c, AnyMeasure>> {
        let mut query = self.context.query().named(asked.title());
        for (name, condition) in &asked.keep {
            let located = |error: Error| error.at(format!("where `{name}`"));
            let condition = Condition::read(condition).map_err(located)?;
            query = self.keep(query, name, condition).map_err(located)?;
        }
        let mut columns = columns.to_vec();
        columns.extend(asked.keep.keys().map(String::as_str));
        for name in columns {
            if self.column(name)?.drops() {
                query = query.filter(&known(name), is_known);
            }
        }
        Ok(query)
    }
    fn keep(
        &self,
        mut query: Query<'c, AnyMeasure>,
        name: &str,
        condition: Condition,
    ) -> Result<Query<'c, AnyMeasure>> {
        let kind = self.column(name)?.kind;
        if condition.at_least.is_some() || condition.below.is_some() {
            query = match kind {
                CellType::Integer => {
                    let range = condition.integers()?;
                    refuse_nothing(range.is_empty(), name)?;
                    query.filter(name, is_integer_in(range))
                }
                CellType::Float => {
                    let range = condition.floats()?;
                    let empty =
                        matches!(range, (Bound::Included(from), Bound::Excluded(to)) if to <= from);
                    refuse_nothing(empty, name)?;
                    query.filter(name, is_float_in(range))
                }
                CellType::Bool | CellType::Text => {
                    let reason = "`at_least` and `below` are for columns of numbers: write `in`";
                    return Err(Error::argument(name, reason));
                }
            };
        }
        if let Some(among) = &condition.among {
            refuse_nothing(among.is_empty(), name)?;
            query = match kind {
                CellType::Integer => among_keys::<i64>(query, name, among)?,
                CellType::Float => among_keys::<f64>(query, name, among)?,
                CellType::Bool => among_keys::<bool>(query, name, among)?,
                CellType::Text => among_keys::<String>(query, name, among)?,
            };
        }
        Ok(query)
    }
    /// Begin a query about the cells of a column of numbers.
    pub(super) fn numbers(
        &self,
        asked: &QuestionFields,
        name: &str,
    ) -> Result<Rows<'c, AnyMeasure, f64>> {
        let kind = self.column(name)?.kind;
        check_numbers(kind, name)?;
        let query = self.query(asked, &[name])?;
        // `impute` is called because statistics need rows without NaN. `load` already replaced the
        // missing cells. So `impute` changes a cell only if this cell was read as NaN.
        match kind == CellType::Integer {
            true => Ok(query.column::<f64>(&as_float(name)).impute(0.0)),
            false => Ok(query.column::<f64>(name).impute(0.0)),
        }
    }
    /// Check that the comparisons of these numbers with the cells of a column are exact. A column
    /// of integers is compared as floats. A cell that is not exact as a float is rounded to a float
    /// of magnitude [`EXACT_FLOATS`] or more. If a number is closer to 0 than [`EXACT_FLOATS`],
    /// this rounding does not change the result of the comparison. So all numbers must be closer to
    /// 0 than [`EXACT_FLOATS`].
    pub(super) fn check_exact(&self, field: &str, name: &str, numbers: &[f64]) -> Result<()> {
        let large = numbers.iter().find(|number| EXACT_FLOATS <= number.abs());
        match (large, self.column(name)?.kind) {
            (Some(number), CellType::Integer) => {
                let number = shown(*number);
                let reason = format!(
                    "expected numbers between -2^53 and 2^53 for a column of i64, because larger \
                     integers are not exact as floats; found {number}. Read the column as f64 if \
                     rounded cells are good enough"
                );
                Err(Error::argument(field, reason))
            }
            _ => Ok(()),
        }
    }
    /// Return the bounds of a statistic. Refuse a condition on the same column if only cells
    /// outside of the bounds satisfy this condition. Each of these cells would count as a bound.
    pub(super) fn bounds(
        &self,
        asked: &QuestionFields,
        fields: &NumberFields,
    ) -> Result<(f64, f64)> {
        let column = self.column(&fields.column)?;
        check_numbers(column.kind, &fields.column)?;
        let bounds = fields.bounds.or(column.bounds).ok_or_else(|| {
            Error::argument(
                "bounds",
                "bounds limit the contribution of one person and must not come from the data: add \
                 \"bounds\": [lower, upper] here, or to the column",
            )
        })?;
        let located = |error: Error| error.at(format!("column `{}`", fields.column));
        column.check_missing(bounds).map_err(located)?;
        if let Some(condition) = asked.keep.get(&fields.column) {
            Condition::read(condition)?.check_within(bounds).map_err(located)?;
        }
        Ok(bounds)
    }
    pub(super) fn column(&self, name: &str) -> Result<&'c ColumnFields> {
        let found = self.columns.iter().find(|(known, _)| known == name);
        match found {
            Some((_, column)) => Ok(column),
            None => Err(no_column(self.columns, name)),
        }
    }
}
/// Return the error for a name that no column has.
fn no_column(columns: &[(String, ColumnFields)], name: &str) -> Error {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let reason = format!(
        "`columns` of the context has no such column. Its columns are: {}. Add the column with its \
         type, as in \"{name}\": \"f64\"",
        names.join(", ")
    );
    Error::argument(name, reason)
}
/// Read a bound of a column of integers.
fn whole(bound: f64) -> Result<i64> {
    if bound.fract() == 0.0 && bound.abs() < 9e18 {
        return Ok(bound as i64);
    }
    let reason = format!(
        "expected whole numbers above -9e18 and below 9e18 for a column of i64, found {}",
        shown(bound)
    );
    Err(Error::argument("bounds", reason))
}
pub(super) fn atoms<T: Codec>(values: &[Json]) -> Result<Vec<T>> {
    values.iter().map(T::from_json).collect()
}
/// Check that a column contains numbers.
fn check_numbers(kind: CellType, column: &str) -> Result<()> {
    let reason = match kind {
        CellType::Integer | CellType::Float => return Ok(()),
        CellType::Text => "expected a column of numbers, i64 or f64; this column is String",
        CellType::Bool => {
            "expected a column of numbers, i64 or f64; this column is bool. For the share of true \
             cells, ask for a histogram with the categories [true, false]"
        }
    };
    Err(Error::argument(column, reason))
}
fn no_keys(column: &str) -> Error {
    Error::argument(column, "a column of f64 has no categories: use `edges`, or read it as i64")
}
