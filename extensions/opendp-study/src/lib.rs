//! A context and its questions in one document.
//!
//! A [`Study`] describes a [`Context`] in JSON: the unit of privacy, the budget and the questions.
//! Everything in a study is public, so nothing in a study may be taken from the data. On the
//! command line, `opendp ask` answers a study.
//!
//! ```
//! use opendp_study::{Cells, Study};
//! let study = Study::parse(&serde_json::json!({
//!     "context": {
//!         "unit": {"person": 1},
//!         "budget": {"epsilon": 1.0},
//!         "columns": {
//!             "income": {"T": "f64", "bounds": [0, 50000], "missing": 0},
//!             "city": "String",
//!         },
//!     },
//!     "questions": [
//!         {"count": {}},
//!         {"name": "income in Lyon", "where": {"city": "Lyon"}, "mean": {"column": "income"}},
//!         {"histogram": {"column": "city", "categories": ["Lyon", "Lille"]}},
//!     ],
//! }))?;
//! let read = |name: &str, _| match name {
//!     "income" => Ok(Cells::Float(vec![Some(30e3), None, Some(41e3)])),
//!     _ => Ok(Cells::Text(vec![Some("Lyon".into()), Some("Lyon".into()), None])),
//! };
//! // A rehearsal finds the error bounds of the answers. It reads no data and spends nothing.
//! let plan = study.rehearse(0.05)?;
//! assert_eq!(plan.answers()[0].error, Some(9.0)); // the count gets a third of epsilon
//! let outcome = study.ask(read, 0.05)?;
//! assert_eq!(outcome.answers().len(), 3);
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # The context
//!
//! | field | contents |
//! |---|---|
//! | `unit` | `{"person": n}`: a person adds or removes at most `n` rows. `{"answers_of_person": n}`: a person changes at most `n` rows, and the number of rows is public |
//! | `rows` | under `answers_of_person`, optionally the number of rows; `opendp ask --dry-run` needs it |
//! | `budget` | `{"epsilon": e}`, `{"epsilon": e, "delta": d}` or `{"rho": r}`, for all answers together |
//! | `split` | `"evenly"`, the default, or a list with a weight for each question. A question that costs nothing leaves its share to the others |
//! | `columns` | the columns that questions use: a type (`"i64"`, `"f64"`, `"bool"`, `"String"`), or an object with `T`, optionally `bounds`, and `missing` |
//! | `data` | optionally the file of the data; the caller reads the file |
//!
//! `missing` is the replacement of a cell that is empty or unreadable. It is a value, or `"drop"`.
//! With `"drop"`, every question about this column leaves out the row of such a cell. A column of
//! numbers needs `missing`. If `missing` is a number, it must be within the `bounds` of the column,
//! and within the bounds that any question states for this column.
//!
//! # The questions
//!
//! Each question has one statistic, and optionally a `name`, a `noise` (`"laplace"` or
//! `"gaussian"`) and conditions. A name must not be the name or the title of another question. For
//! example, conditions are written as
//! `"where": {"age": {"at_least": 18, "below": 65}, "city": {"in": ["Lyon"]}}`. If a condition is a
//! single value instead of an object, the cell must equal this value. For a column of integers,
//! conditions are exact, and `edges` and `candidates` must be above -2^53 and below 2^53. Beyond
//! these numbers, not every integer is exact as a float.
//!
//! | statistic | fields | answer |
//! |---|---|---|
//! | `count` | none | the number of rows. Under `answers_of_person`, a count of all rows is public: it has no noise and costs nothing |
//! | `sum` | `column`, `bounds` | the sum of the clamped cells |
//! | `mean` | `column`, `bounds`, `rows` | the mean; without a public number of rows, it comes from a noisy sum and a noisy count, and each of these two takes half of the question's share |
//! | `variance` | `column`, `bounds`, `rows` | the variance of a sample |
//! | `median`, `quantile` | `column`, `candidates`, `alpha` | the candidate nearest in rank |
//! | `quantiles` | `column`, `candidates`, `alphas` | a candidate for each quantile, from one release |
//! | `histogram` | `column`, `categories` or `edges`, `others` | a count for each category, and one for all other rows if `others` is true; or a count for each bin |
//! | `counts_by` | `column` | a count for each key that enough people have; needs a delta. [`Cell::interval`] states for which keys its interval holds |
//! | `top_k` | `column`, `k`, `categories` | the categories with the most rows |
//! | `mechanism` | `column`, `bounds`, `chain`, `version`, `packages` | the release of registered constructors, such as a mechanism of another crate |
//!
//! If a question does not state the `bounds` of a sum, a mean or a variance, the bounds of the
//! column are used. All other statistics, and all conditions, ignore the bounds of the column.
//! `candidates` is a list in any order without repetitions, or `{"from", "to", "step"}`, where a
//! whole number of steps leads from `from` to `to`. If a question about a mean or a variance has no
//! condition, and its column drops no rows, `rows` defaults to the public number of rows of the
//! table. A `rows` above this public number is an error. A smaller `rows` is not an error.
//!
//! # Mechanisms of other crates
//!
//! The field `chain` of a `mechanism` is a chain of a pipeline ([`opendp_registry::Document`]). It
//! starts from the rows of the column, and ends with a mechanism. The program must link the crates
//! of its constructors. If the chain contains `{"param": NAME}`, the value of this parameter is
//! found, so that the mechanism fits the question's share. The charged loss is always the map of
//! the whole chain. [`rehearse`](Study::rehearse) runs the mechanism once on a table without data,
//! so that a mechanism that fails or is interactive is refused before anything is charged.
//!
//! ```
//! # use opendp_study::Study;
//! use opendp_measurements as _; // make_laplace
//! use opendp_transformations as _; // make_count_distinct
//! let study = Study::parse(&serde_json::json!({
//!     "context": {
//!         "unit": {"person": 1}, "budget": {"epsilon": 0.5}, "columns": {"city": "String"},
//!     },
//!     "questions": [{"mechanism": {
//!         "column": "city",
//!         "chain": ["count_distinct", {"laplace": {"scale": {"param": "scale"}}}],
//!     }}],
//! }))?;
//! let plan = study.rehearse(0.05)?;
//! assert_eq!(plan.answers()[0].question, "count_distinct, laplace of city");
//! assert_eq!(plan.answers()[0].parameter, Some(("scale".to_owned(), 2.0)));
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! # Groups
//!
//! A question with `group_by` has an answer for each statistic, with a row for each group. The
//! following study returns the count and the mean by group, with intervals:
//!
//! ```
//! # use opendp_study::{Cells, Study};
//! # let read = |_: &str, _| Ok(Cells::Integer((0..1000).map(|i| Some(i % 16 + 1)).collect()));
//! # let document = |text| serde_json::from_str::<serde_json::Value>(text);
//! let study = Study::parse(&document(
//!     r#"{
//!     "context": {
//!         "unit": {"person": 1},
//!         "budget": {"epsilon": 1},
//!         "columns": {
//!             "educ": {"T": "i64", "missing": "drop"},
//!             "income": {"T": "i64", "bounds": [0, 100000], "missing": "drop"}}},
//!     "questions": [
//!         {"group_by": ["educ"], "keys": {"educ": {"from": 1, "to": 16}},
//!          "statistics": [{"count": {}}, {"mean": {"column": "income"}}]}]
//! }"#,
//! )
//! .unwrap())?;
//! let outcome = study.ask(read, 0.05)?;
//! assert_eq!(outcome.answers()[1].question, "mean of income by educ");
//! assert_eq!(outcome.answers()[1].cells[15].label.as_deref(), Some("16"));
//! # Ok::<(), opendp_core::Error>(())
//! ```
//!
//! | field | contents |
//! |---|---|
//! | `group_by` | the columns, of integers, texts or `bool`; rows with equal cells in all of them are in one group |
//! | `keys` | `{column: [value, ..], ..}`, with a group for each combination; or a list of combinations; or `"found"`, the combinations that enough people have, which needs a delta. [`Cell::interval`] states for which keys the intervals of counts hold |
//! | `others` | `true` for one more group, of all other rows |
//! | `statistics` | one or more of `{"count"}`, `{"sum"}`, `{"mean"}`, `{"variance"}`, `{"median"}`, `{"quantile"}` and `{"quantiles"}`; or one of these fields beside `group_by` |
//!
//! The values of a column of integers can be written as `{"from", "to"}`. If a column of a question
//! has `"missing": "drop"`, all statistics of the question leave out the rows with a missing cell
//! in this column. If only other statistics use such a column, the title of an answer names this
//! column, as in "count by city, only rows with age". [`Groups`](opendp_analysis::context::Groups)
//! describes the releases that statistics share.
//!
//! # Budgets that remain
//! [`Study::ask`] spends the budget of the study in each process again. [`Study::ask_charged`]
//! charges the answers to a budget in a ledger, as `opendp ask --budget` does.

#![forbid(unsafe_code)]
#![doc(test(attr(deny(warnings))))]

mod asked;
mod budget;
mod charged;
mod document;
mod frames;
mod groups;
mod json;
mod keys;
mod measured;
mod mechanisms;
mod names;
mod outcome;
mod planned;
mod questions;
mod ranks;
mod rows;
mod steps;
mod table;
mod texts;

use opendp_core::arith::shown;
use opendp_core::{Error, Result};
use serde_json::Value as Json;

use budget::{StudyBudget, weights};
pub use charged::{Charge, ChargeCheck, Charged};
pub use document::CellType;
use document::{ColumnFields, Document, QuestionFields, UnitFields, from_json};
use json::check_fields;
pub use outcome::{Cell, Outcome, StudyAnswer};
use questions::{Asker, Mode};
pub use table::Cells;
use table::blank;

use opendp_analysis::{Context, PrivacyUnit, Table};

/// A context and its questions, read from a document. See the [crate](self).
#[derive(Clone, Debug)]
pub struct Study {
    document: Json,
    data: Option<String>,
    unit: PrivacyUnit,
    /// The number of rows, if it is public and stated.
    rows: Option<usize>,
    budget: StudyBudget,
    weights: Vec<f64>,
    columns: Vec<(String, ColumnFields)>,
    questions: Vec<QuestionFields>,
}
/// The largest number of questions of a study.
const MOST_QUESTIONS: usize = 10_000;

impl Study {
    /// Read a study from its document.
    ///
    /// # Errors
    /// `FailedCast` or `Argument` when a field is wrong. The error names the place of this field.
    pub fn parse(json: &Json) -> Result<Self> {
        let Document { context, questions } = from_json(json)?;
        check_fields(json)?;
        let in_context = |error: Error| error.at("context");
        let mut columns = Vec::with_capacity(context.columns.len());
        for (name, json) in &context.columns {
            let located = |error: Error| in_context(error.at(format!("column `{name}`")));
            columns.push((name.clone(), ColumnFields::read(json).map_err(located)?));
        }
        let unit = match context.unit {
            UnitFields::Person(rows) => PrivacyUnit::person(rows),
            UnitFields::AnswersOfPerson(rows) => PrivacyUnit::answers_of_person(rows),
        };
        let study = Study {
            document: json.clone(),
            data: context.data,
            unit: unit.map_err(in_context)?,
            rows: context.rows,
            budget: StudyBudget::read(&context.budget).map_err(in_context)?,
            weights: weights(context.split.as_ref(), questions.len()).map_err(in_context)?,
            columns,
            questions,
        };
        study.check()?;
        Ok(study)
    }
    /// Return the file that the document names.
    pub fn data(&self) -> Option<&str> {
        self.data.as_deref()
    }
    /// Return the public number of rows, if it is stated.
    pub fn rows(&self) -> Option<usize> {
        self.rows
    }
    /// State the public number of rows, like the field `rows` of the context.
    ///
    /// # Errors
    /// `Argument` when the number of rows is private.
    pub fn with_rows(mut self, rows: usize) -> Result<Self> {
        self.rows = Some(rows);
        if let Some(context) = self.document.get_mut("context").and_then(Json::as_object_mut) {
            context.insert("rows".into(), rows.into());
        }
        self.check().map(|()| self)
    }
    /// Return the columns, with the types of their cells.
    pub fn columns(&self) -> impl Iterator<Item = (&str, CellType)> {
        self.columns.iter().map(|(name, column)| (name.as_str(), column.kind))
    }
    /// Solve for the noise of all questions, and return the costs and the error bounds of the
    /// answers. Each error bound holds with probability `1 - alpha`. Nothing is read, released or
    /// spent.
    ///
    /// # Errors
    /// Errors about the split, the columns and the questions. `Argument` when `alpha` is not in
    /// `(0, 1]`, when the context names no column, when the number of rows is public and not
    /// stated, or when there is not enough memory for the stated rows.
    pub fn rehearse(&self, alpha: f64) -> Result<Outcome> {
        if self.columns.is_empty() {
            let reason = "name at least one column of the table: its cells give the number of rows";
            return Err(Error::argument("columns", reason).at("context"));
        }
        if self.unit.size_is_public() && self.rows.is_none() {
            let reason = "state the public number of rows, because the noise may depend on it";
            return Err(Error::argument("rows", reason).at("context"));
        }
        let table = self.blank()?;
        self.run_or_try(table.clone(), alpha, Mode::Rehearse, Some(&table))
    }
    /// Return the privacy unit that the answers protect.
    pub fn unit(&self) -> PrivacyUnit {
        self.unit
    }
    /// Make a table in which all cells are missing.
    fn blank(&self) -> Result<Table> {
        blank(&self.columns, self.rows).map_err(|error| error.at("context"))
    }
    fn run(&self, table: Table, alpha: f64, mode: Mode) -> Result<Outcome> {
        self.run_or_try(table, alpha, mode, None)
    }
    /// Answer all questions, or find their costs. `trial` is a table without data. Run the
    /// mechanisms of other crates on this table, and release nothing.
    fn run_or_try(
        &self,
        table: Table,
        alpha: f64,
        mode: Mode,
        trial: Option<&Table>,
    ) -> Result<Outcome> {
        #[cfg(test)]
        tests::note(mode);
        if !(0.0 < alpha && alpha <= 1.0) {
            let found = shown(alpha);
            let reason = format!("expected a probability above 0 and at most 1, found {found}");
            return Err(Error::argument("alpha", reason));
        }
        self.check_names()?;
        for (name, column) in &self.columns {
            let located = |error: Error| error.at(format!("column `{name}`")).at("context");
            column.check().map_err(located)?;
        }
        let split = self.split()?;
        let context = Context::new(table, self.unit, self.budget.erase(), split)?;
        let (columns, rows) = (self.columns.as_slice(), self.rows);
        let asker = Asker { context: &context, columns, rows, alpha, mode, trial };
        let mut answers = Vec::new();
        for (place, question) in self.questions.iter().enumerate() {
            let checked = question.check_useful(self.rows);
            let answer = checked.and_then(|()| asker.answer(question));
            answers.extend(answer.map_err(|error| error.at(place_of(place, question)))?);
        }
        Ok(Outcome::new(answers, &context.report(), alpha, mode))
    }
    fn check(&self) -> Result<()> {
        if self.rows.is_some() && !self.unit.size_is_public() {
            let reason = "under {\"person\": n} the number of rows is private: leave `rows` out, or \
                          protect {\"answers_of_person\": n}";
            return Err(Error::argument("rows", reason).at("context"));
        }
        if self.questions.is_empty() || MOST_QUESTIONS < self.questions.len() {
            let found = self.questions.len();
            let reason = format!("expected from 1 to {MOST_QUESTIONS} questions, found {found}");
            return Err(Error::argument("questions", reason));
        }
        for (place, question) in self.questions.iter().enumerate() {
            question.check().map_err(|error| error.at(place_of(place, question)))?;
        }
        Ok(())
    }
}
/// Run code of another crate. If it panics, return an error.
fn caught<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    let panicked = "a constructor or its mechanism panicked, which is a fault of its crate";
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
        .unwrap_or_else(|_| Err(Error::FailedFunction(panicked.into())))
}
fn place_of(place: usize, question: &QuestionFields) -> String {
    match &question.name {
        Some(name) => format!("question {} `{name}`", place + 1),
        None => format!("question {}", place + 1),
    }
}

#[cfg(test)]
mod tests;
