//! Questions about groups.

use opendp_analysis::context::{GroupRow, Groups, Noised};
use opendp_core::erased::AnyMeasure;
use opendp_core::{Error, Result};
use serde_json::Value as Json;

use super::document::{QuestionFields, RankFields, Wanted};
use super::keys::{column_of, with_keys};
use super::mechanisms::find_keys;
use super::outcome::{Cell, StudyAnswer};
use super::questions::{Asker, Mode};

/// The bounds of each answer about groups, if its statistic has bounds.
type AllBounds = Vec<Option<(f64, f64)>>;

impl QuestionFields {
    /// Return the statistics that the answer contains for each group.
    pub(super) fn of_groups(&self) -> Result<Vec<Wanted<'_>>> {
        match &self.statistics {
            None => Ok(vec![self.wanted()?]),
            Some(statistics) => {
                let mut all = Vec::with_capacity(statistics.len());
                for statistic in statistics {
                    all.push(statistic.wanted()?);
                }
                Ok(all)
            }
        }
    }
    /// Check a question about groups. Its statistics must be valid for groups. A stated field must
    /// have an effect, and must be allowed for groups.
    pub(super) fn check_groups(&self) -> Result<()> {
        let of_groups = "the noise of all groups is chosen together: leave `noise` out";
        if self.noise.is_some() {
            return Err(Error::argument("noise", of_groups));
        }
        for statistic in self.statistics.iter().flatten() {
            statistic.check_listed().map_err(|error| error.at("statistics"))?;
        }
        if self.statistics.as_ref().is_some_and(Vec::is_empty) {
            let reason = "expected at least one statistic, such as {\"count\": {}}, found none";
            return Err(Error::argument("statistics", reason));
        }
        if self.others && self.finds_keys() {
            let reason = "a search for keys does not count the rows of all other keys: list the \
                          keys, or leave `others` out";
            return Err(Error::argument("others", reason));
        }
        if self.statistics.is_some() && self.wanted().is_ok() {
            let reason = "state either a list of statistics, or one statistic beside `group_by`";
            return Err(Error::argument("statistics", reason));
        }
        self.check_keys()?;
        self.of_groups()?.into_iter().try_for_each(check_of_group)
    }
    /// Check a question in the list of statistics of another question.
    fn check_listed(&self) -> Result<()> {
        let extra = [
            ("name", self.name.is_some()),
            ("noise", self.noise.is_some()),
            ("where", !self.keep.is_empty()),
            ("group_by", self.group_by.is_some()),
        ];
        if let Some((field, _)) = extra.into_iter().find(|(_, stated)| *stated) {
            let reason = "this field belongs to the whole question, not to one of its statistics";
            return Err(Error::argument(field, reason));
        }
        self.check()
    }
    fn finds_keys(&self) -> bool {
        self.keys.as_ref().and_then(Json::as_str) == Some("found")
    }
}
impl RankFields {
    /// Return the levels `alphas` of the question's quantiles. A question without levels is an
    /// error.
    pub(super) fn alphas(&self) -> Result<&[f64]> {
        let missing = "missing, expected a list of quantiles, such as [0.25, 0.5, 0.75]";
        self.alphas.as_deref().ok_or_else(|| Error::argument("alphas", missing))
    }
}
impl<'c> Asker<'c> {
    pub(super) fn releases_of_groups(&self, asked: &QuestionFields) -> Result<usize> {
        let (groups, _) = self.of_groups(asked)?;
        Ok(if asked.finds_keys() { 1 + groups.to_be_found().releases() } else { groups.releases() })
    }
    pub(super) fn groups(&self, asked: &QuestionFields) -> Result<Vec<StudyAnswer>> {
        let (mut groups, bounds) = self.of_groups(asked)?;
        if asked.finds_keys() {
            groups = find_keys(groups)?;
        }
        let solved = groups.solve()?;
        let known = solved.statistics(self.alpha)?;
        let left_out = asked.left_out_of_each(self.columns)?;
        let mut answers = Vec::with_capacity(known.len());
        for (place, known) in known.iter().enumerate() {
            let left_out = left_out.get(place).and_then(Option::as_deref);
            let mut answer = answer_of(asked, left_out, known);
            answer.bounds = bounds.get(place).copied().flatten();
            answer.keys_found = asked.finds_keys();
            answers.push(answer);
        }
        if self.mode == Mode::Rehearse {
            solved.forgo()?;
            return Ok(answers);
        }
        let released = solved.release()?;
        add_rows(&mut answers, released.columns(), &released.rows(self.alpha)?);
        Ok(answers)
    }
    /// Make the groups of a question, with their statistics. Also return the bounds of each answer
    /// about the groups. Counts and quantiles have no bounds.
    fn of_groups(&self, asked: &QuestionFields) -> Result<(Groups<'c, AnyMeasure>, AllBounds)> {
        asked.check_key_types(self.columns)?;
        let names = asked.group_by.as_deref().unwrap_or_default();
        let statistics = asked.of_groups()?;
        let columns = columns_of(names, &statistics);
        let mut groups = self.query(asked, &columns)?.group_by(names);
        if asked.others {
            groups = groups.others();
        }
        groups = with_keys(groups, asked).map_err(|error| error.at("keys"))?;
        let mut bounds = Vec::new();
        for statistic in statistics {
            groups = self.with_statistic(groups, asked, statistic, &mut bounds)?;
        }
        Ok((groups, bounds))
    }
    /// Add a statistic to the groups, and the bounds of its answers to `all`.
    fn with_statistic(
        &self,
        groups: Groups<'c, AnyMeasure>,
        asked: &QuestionFields,
        statistic: Wanted<'_>,
        all: &mut AllBounds,
    ) -> Result<Groups<'c, AnyMeasure>> {
        let mut ranks = |groups: Groups<'c, AnyMeasure>, fields: &RankFields, alphas: &[f64]| {
            all.extend(alphas.iter().map(|_| None));
            // `impute` is called because `quantiles` needs a column without NaN. `load` already
            // replaced the missing cells. So `impute` changes a cell only if this cell was read as
            // NaN.
            let groups = groups.impute(&fields.column, 0.0);
            Ok(groups.quantiles(&fields.column, alphas, self.candidates(fields)?))
        };
        let (fields, statistic): (_, fn(_, &str, _) -> _) = match statistic {
            Wanted::Sum(fields) => (fields, Groups::sum),
            Wanted::Mean(fields) => (fields, Groups::mean),
            Wanted::Variance(fields) => (fields, Groups::variance),
            Wanted::Median(fields) => return ranks(groups, fields, &[0.5]),
            Wanted::Quantile(fields) => {
                let missing = "a quantile needs an alpha, such as 0.25";
                let alpha = fields.alpha.ok_or_else(|| Error::argument("alpha", missing))?;
                return ranks(groups, fields, &[alpha]);
            }
            Wanted::Quantiles(fields) => return ranks(groups, fields, fields.alphas()?),
            _ => {
                all.push(None);
                return Ok(groups.count());
            }
        };
        let bounds = self.bounds(asked, fields)?;
        all.push(Some(bounds));
        Ok(statistic(groups.impute(&fields.column, 0.0), &fields.column, bounds))
    }
}
/// Check that a statistic can be computed for groups.
fn check_of_group(statistic: Wanted<'_>) -> Result<()> {
    let (field, reason) = match statistic {
        Wanted::Mean(fields) | Wanted::Variance(fields) if fields.rows.is_some() => {
            ("rows", "the number of rows of a group is not public: leave `rows` out")
        }
        Wanted::Histogram(_) | Wanted::CountsBy(_) | Wanted::TopK(_) | Wanted::Mechanism(_) => (
            "statistics",
            "the statistics of a group are count, sum, mean, variance, median, quantile and \
             quantiles; for a histogram, group by its column too",
        ),
        _ => return Ok(()),
    };
    Err(Error::argument(field, reason))
}
fn columns_of<'a>(names: &'a [String], statistics: &[Wanted<'a>]) -> Vec<&'a str> {
    let mut columns: Vec<&str> = names.iter().map(String::as_str).collect();
    for statistic in statistics {
        columns.extend(column_of(statistic));
    }
    columns
}
/// Add the cells of the groups to their answers. The rows of each answer follow the rows of the
/// previous answer.
fn add_rows(answers: &mut [StudyAnswer], columns: &[String], rows: &[GroupRow]) {
    let groups = rows.len() / answers.len().max(1);
    for (answer, rows) in answers.iter_mut().zip(rows.chunks(groups.max(1))) {
        for row in rows {
            let mut key = serde_json::Map::new();
            for (column, value) in columns.iter().zip(&row.key) {
                key.insert(column.clone(), value.clone());
            }
            answer.cells.push(Cell {
                key: Some(Json::Object(key)),
                label: Some(row.label.clone()),
                value: number(row.value),
                interval: row.interval,
            });
        }
    }
}
/// Describe an answer before its release. `left_out` is `None` or a text of
/// [`left_out_of_each`](QuestionFields::left_out_of_each), such as `only rows with age`.
fn answer_of(asked: &QuestionFields, left_out: Option<&str>, known: &Noised) -> StudyAnswer {
    let by = asked.group_by.as_deref().unwrap_or_default().join(", ");
    let left_out = left_out.map(|only| format!(", {only}")).unwrap_or_default();
    let question = match &asked.name {
        Some(name) => format!("{name}: {}{left_out}", known.query),
        None => asked.about(format!("{} by {by}{left_out}", known.query)),
    };
    StudyAnswer::before(question, known.clone())
}
/// Write a number. If the number is whole and its magnitude is below 2^53, write it as an integer.
fn number(value: f64) -> Json {
    match value.fract() == 0.0 && value.abs() < 2.0_f64.powi(53) {
        true => Json::from(value as i64),
        false => opendp_core::Codec::to_json(&value),
    }
}
