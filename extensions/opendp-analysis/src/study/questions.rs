//! The questions of a study, asked of a context.

use std::collections::HashMap;

use opendp_core::{
    Approximate, Atom, Carrier, Codec, Error, MaxDivergence, Result, ZeroConcentratedDivergence,
};
use opendp_measurements::{Released, confidence_interval_of_each};
use opendp_transformations::Key;
use serde_json::Value as Json;

use super::document::{
    CellType, ColumnFields, Condition, HistogramFields, NoiseFields, NumberFields, QuestionFields,
    RankFields, TopFields,
};
use super::outcome::{Cell, StudyAnswer};
use super::table::{as_float, known};
use crate::Context;
use crate::context::{Accounted, Noisy, Query, Question, Rows, Statistic};

/// Whether to release, or only to find out what a release would cost and how good it would be.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    Rehearse,
    Ask,
}

/// The mechanisms of a budget's measure.
pub(super) trait Mechanisms: Accounted {
    /// Find the least noise that fits, of the kind with the smallest error unless one is wanted.
    fn add_noise<TO: Carrier>(
        statistic: Statistic<'_, Self, TO>,
        noise: Option<NoiseFields>,
    ) -> Result<Question<'_, Self, TO>>;
    /// Count by keys that are not public.
    fn count_by<T: Key>(rows: Rows<'_, Self, T>) -> Result<Question<'_, Self, HashMap<T, i64>>> {
        let _ = rows;
        Err(Error::argument(
            "counts_by",
            "keys that are not public take a budget with an epsilon and a delta; or list them: \
             {\"histogram\": {\"column\", \"categories\"}}",
        ))
    }
}
fn no_noise(wanted: &str, budget: &str) -> Error {
    Error::argument("noise", format!("{wanted} noise takes a budget with {budget}"))
}
impl Mechanisms for MaxDivergence {
    fn add_noise<TO: Carrier>(
        statistic: Statistic<'_, Self, TO>,
        noise: Option<NoiseFields>,
    ) -> Result<Question<'_, Self, TO>> {
        match noise {
            None => statistic.best(),
            Some(NoiseFields::Laplace) => statistic.laplace(),
            Some(NoiseFields::Gaussian) => {
                Err(no_noise("Gaussian", "a rho, or with an epsilon and a delta"))
            }
        }
    }
}
impl Mechanisms for ZeroConcentratedDivergence {
    fn add_noise<TO: Carrier>(
        statistic: Statistic<'_, Self, TO>,
        noise: Option<NoiseFields>,
    ) -> Result<Question<'_, Self, TO>> {
        match noise {
            None => statistic.best(),
            Some(NoiseFields::Gaussian) => statistic.gaussian(),
            Some(NoiseFields::Laplace) => Err(no_noise("Laplace", "an epsilon")),
        }
    }
}
impl Mechanisms for Approximate<MaxDivergence> {
    fn add_noise<TO: Carrier>(
        statistic: Statistic<'_, Self, TO>,
        noise: Option<NoiseFields>,
    ) -> Result<Question<'_, Self, TO>> {
        match noise {
            None => statistic.best(),
            Some(NoiseFields::Laplace) => statistic.laplace(),
            Some(NoiseFields::Gaussian) => statistic.gaussian(),
        }
    }
    fn count_by<T: Key>(rows: Rows<'_, Self, T>) -> Result<Question<'_, Self, HashMap<T, i64>>> {
        rows.count_by().laplace()
    }
}

impl QuestionFields {
    /// Count the releases that answer this question.
    pub(super) fn releases(&self) -> usize {
        if self.mean.as_ref().is_some_and(|mean| mean.rows.is_none()) { 2 } else { 1 }
    }
    /// Refuse a question without a statistic, or with several.
    pub(super) fn check(&self) -> Result<()> {
        let stated = [
            self.count.is_some(),
            self.sum.is_some(),
            self.mean.is_some(),
            self.variance.is_some(),
            self.median.is_some(),
            self.quantile.is_some(),
            self.histogram.is_some(),
            self.counts_by.is_some(),
            self.top_k.is_some(),
        ];
        match stated.iter().filter(|stated| **stated).count() {
            1 => Ok(()),
            found => Err(Error::argument(
                "statistic",
                format!(
                    "expected one of count, sum, mean, variance, median, quantile, histogram, \
                     counts_by and top_k; found {found}"
                ),
            )),
        }
    }
    fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            let of = |what: &str, column: &str| format!("{what} of {column}");
            let what = [
                self.count.as_ref().map(|_| "count".to_owned()),
                self.sum.as_ref().map(|sum| of("sum", &sum.column)),
                self.mean.as_ref().map(|mean| of("mean", &mean.column)),
                self.variance.as_ref().map(|variance| of("variance", &variance.column)),
                self.median.as_ref().map(|median| of("median", &median.column)),
                self.quantile.as_ref().map(|quantile| {
                    of(&format!("quantile {}", quantile.alpha.unwrap_or(0.5)), &quantile.column)
                }),
                self.histogram.as_ref().map(|histogram| of("histogram", &histogram.column)),
                self.counts_by.as_ref().map(|counts| format!("counts by {}", counts.column)),
                self.top_k.as_ref().map(|top| of(&format!("top {}", top.k), &top.column)),
            ];
            let what = what.into_iter().flatten().next().unwrap_or_default();
            let keep: Vec<String> =
                self.keep.iter().map(|(name, condition)| format!("{name} {condition}")).collect();
            if keep.is_empty() { what } else { format!("{what}, where {}", keep.join(" and ")) }
        })
    }
}

/// Asks the questions of a study.
pub(super) struct Asker<'c, MO: Accounted> {
    pub(super) context: &'c Context<MO>,
    pub(super) columns: &'c [(String, ColumnFields)],
    pub(super) alpha: f64,
    pub(super) mode: Mode,
}
impl<'c, MO: Mechanisms> Asker<'c, MO>
where
    i64: Noisy<MO>,
    f64: Noisy<MO>,
{
    /// Answer a question, or rehearse it.
    pub(super) fn answer(&self, asked: &QuestionFields) -> Result<StudyAnswer> {
        let at = |name: &'static str| move |error: Error| error.at(name);
        if asked.count.is_some() {
            let query = self.query(asked, None).map_err(at("where"))?;
            return self.number(MO::add_noise(query.count(), asked.noise)?, asked);
        }
        if let Some(sum) = &asked.sum {
            return self.sum(asked, sum).map_err(at("sum"));
        }
        if let Some(mean) = &asked.mean {
            return match mean.rows {
                Some(rows) => {
                    let cells = self.clamped(asked, mean).map_err(at("mean"))?.resize(rows);
                    self.number(MO::add_noise(cells.mean(), asked.noise)?, asked)
                }
                None => self.quotient(asked, mean).map_err(at("mean")),
            };
        }
        if let Some(variance) = &asked.variance {
            let rows = variance.rows.ok_or_else(|| {
                Error::argument("rows", "a variance takes a public number of rows: add \"rows\"")
            });
            let cells = self.clamped(asked, variance).map_err(at("variance"))?.resize(rows?);
            return self.number(MO::add_noise(cells.variance(), asked.noise)?, asked);
        }
        if let Some(rank) = &asked.median {
            return self.rank(asked, rank, 0.5).map_err(at("median"));
        }
        if let Some(rank) = &asked.quantile {
            let alpha = rank.alpha.ok_or_else(|| {
                Error::argument("alpha", "a quantile has an alpha, such as 0.25").at("quantile")
            });
            return self.rank(asked, rank, alpha?).map_err(at("quantile"));
        }
        if let Some(histogram) = &asked.histogram {
            return self.histogram(asked, histogram).map_err(at("histogram"));
        }
        if let Some(counts) = &asked.counts_by {
            return match self.column(&counts.column)?.kind {
                CellType::Integer => self.keys::<i64>(asked, &counts.column),
                CellType::Bool => self.keys::<bool>(asked, &counts.column),
                CellType::Text => self.keys::<String>(asked, &counts.column),
                CellType::Float => Err(no_keys("counts_by")),
            };
        }
        match &asked.top_k {
            Some(top) => match self.column(&top.column)?.kind {
                CellType::Integer => self.top::<i64>(asked, top),
                CellType::Bool => self.top::<bool>(asked, top),
                CellType::Text => self.top::<String>(asked, top),
                CellType::Float => Err(no_keys("top_k")),
            },
            None => asked.check().and(Err(Error::argument("statistic", "none is stated"))),
        }
    }

    fn sum(&self, asked: &QuestionFields, sum: &NumberFields) -> Result<StudyAnswer> {
        if self.column(&sum.column)?.kind != CellType::Integer {
            return self
                .number(MO::add_noise(self.clamped(asked, sum)?.sum(), asked.noise)?, asked);
        }
        let (lower, upper) = self.bounds(sum)?;
        let whole = |bound: f64| {
            let fits = bound.fract() == 0.0 && bound.abs() < 9e18;
            let reason = || format!("expected whole numbers for a column of i64, found {bound}");
            if fits { Ok(bound as i64) } else { Err(Error::argument("bounds", reason())) }
        };
        let (lower, upper) = (whole(lower)?, whole(upper)?);
        let cells = self.query(asked, Some(&sum.column))?.column::<i64>(&sum.column);
        self.number(MO::add_noise(cells.clamp(lower, upper).sum(), asked.noise)?, asked)
    }
    /// Divide a sum by a count, both with noise.
    fn quotient(&self, asked: &QuestionFields, mean: &NumberFields) -> Result<StudyAnswer> {
        let (lower, upper) = self.bounds(mean)?;
        let sum = MO::add_noise(self.clamped(asked, mean)?.sum(), asked.noise)?;
        let mut answer = self.answer_of(&sum, asked);
        let sum = self.spend(sum)?;
        let rows = self.query(asked, Some(&mean.column))?;
        let count = MO::add_noise(rows.count(), asked.noise)?;
        answer.scales.push(count.scale());
        // The error of a quotient depends on the count.
        answer.error = None;
        if let (Some(sum), Some(count)) = (sum, self.spend(count)?) {
            let (low, high) = sum.estimate()?.quotient(&count.estimate()?, self.alpha)?;
            let (low, high) = (low.clamp(lower, upper), high.clamp(lower, upper));
            // A count below 1 is only noise.
            let value = (sum.value / (count.value.max(1) as f64)).clamp(lower, upper);
            answer.cells.push(Cell {
                label: None,
                value: value.to_json(),
                interval: Some((low, high)),
            });
        }
        Ok(answer)
    }
    fn rank(&self, asked: &QuestionFields, rank: &RankFields, alpha: f64) -> Result<StudyAnswer> {
        let cells = self.numbers(asked, &rank.column)?;
        let question = cells.quantile(alpha, rank.candidates()?).choose()?;
        let mut answer = self.answer_of(&question, asked);
        if let Some(chosen) = self.spend(question)? {
            answer.cells.push(Cell { label: None, value: chosen.value.to_json(), interval: None });
        }
        Ok(answer)
    }
    fn histogram(&self, asked: &QuestionFields, fields: &HistogramFields) -> Result<StudyAnswer> {
        let (column, kind) = (&fields.column, self.column(&fields.column)?.kind);
        match (&fields.categories, &fields.edges) {
            (Some(names), None) => match kind {
                CellType::Integer => self.categories::<i64>(asked, column, names),
                CellType::Bool => self.categories::<bool>(asked, column, names),
                CellType::Text => self.categories::<String>(asked, column, names),
                CellType::Float => Err(no_keys("categories").at(format!("column `{column}`"))),
            },
            (None, Some(edges)) => {
                let counts = self.numbers(asked, column)?.histogram_between(edges.clone());
                self.counts(MO::add_noise(counts, asked.noise)?, asked, &bins(edges))
            }
            _ => Err(Error::argument("categories", "expected either `categories` or `edges`")),
        }
    }
    fn categories<T: Key>(
        &self,
        asked: &QuestionFields,
        column: &str,
        names: &[Json],
    ) -> Result<StudyAnswer> {
        let cells = self.query(asked, Some(column))?.column::<T>(column);
        let counts = MO::add_noise(cells.histogram(atoms(names)?), asked.noise)?;
        let labels = names.iter().map(label).chain(["all else".to_owned()]).collect::<Vec<_>>();
        self.counts(counts, asked, &labels)
    }
    fn keys<T: Key>(&self, asked: &QuestionFields, column: &str) -> Result<StudyAnswer> {
        let cells = self.query(asked, Some(column))?.column::<T>(column);
        let question = MO::count_by(cells)?;
        let mut answer = self.answer_of(&question, asked);
        if let Some(counts) = self.spend(question)? {
            let mut counts: Vec<(T, i64)> = counts.value.into_iter().collect();
            counts.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
            answer.cells.extend(counts.into_iter().map(|(key, count)| {
                let around = |error: f64| (count as f64 - error, count as f64 + error);
                Cell {
                    label: Some(label(&key.to_json())),
                    value: count.to_json(),
                    interval: answer.error.map(around),
                }
            }));
        }
        Ok(answer)
    }
    fn top<T: Key>(&self, asked: &QuestionFields, top: &TopFields) -> Result<StudyAnswer> {
        let cells = self.query(asked, Some(&top.column))?.column::<T>(&top.column);
        let question = cells.top_k(top.k, atoms(&top.categories)?).choose()?;
        let mut answer = self.answer_of(&question, asked);
        if let Some(chosen) = self.spend(question)? {
            answer.cells.extend(chosen.value.iter().enumerate().map(|(place, category)| Cell {
                label: Some(format!("{}", place + 1)),
                value: category.to_json(),
                interval: None,
            }));
        }
        Ok(answer)
    }

    /// Release a number.
    fn number<TO>(
        &self,
        question: Question<'c, MO, TO>,
        asked: &QuestionFields,
    ) -> Result<StudyAnswer>
    where
        TO: Released<Intervals = (f64, f64)> + Codec,
    {
        let mut answer = self.answer_of(&question, asked);
        let measurement = question.measurement().clone();
        if let Some(released) = self.spend(question)? {
            let interval = confidence_interval_of_each(&measurement, &released.value, self.alpha);
            answer.cells.push(Cell {
                label: None,
                value: released.value.to_json(),
                interval: interval.ok(),
            });
        }
        Ok(answer)
    }
    /// Release counts.
    fn counts(
        &self,
        question: Question<'c, MO, Vec<i64>>,
        asked: &QuestionFields,
        labels: &[String],
    ) -> Result<StudyAnswer> {
        let mut answer = self.answer_of(&question, asked);
        let measurement = question.measurement().clone();
        if let Some(released) = self.spend(question)? {
            let interval = confidence_interval_of_each(&measurement, &released.value, self.alpha);
            let intervals = interval.unwrap_or_default();
            answer.cells.extend(released.value.iter().zip(labels).enumerate().map(
                |(place, (count, label))| Cell {
                    label: Some(label.clone()),
                    value: count.to_json(),
                    interval: intervals.get(place).copied(),
                },
            ));
        }
        Ok(answer)
    }

    /// Describe what is known of an answer before it is released.
    fn answer_of<TO: Carrier>(
        &self,
        question: &Question<'c, MO, TO>,
        asked: &QuestionFields,
    ) -> StudyAnswer {
        StudyAnswer {
            question: asked.title(),
            mechanism: question.mechanism().to_owned(),
            scales: vec![question.scale()],
            error: question.accuracy(self.alpha).ok(),
            error_in: question.error_in(),
            cells: Vec::new(),
        }
    }
    /// Charge for an answer, and release it unless this is a rehearsal.
    fn spend<TO: Carrier>(
        &self,
        question: Question<'c, MO, TO>,
    ) -> Result<Option<crate::context::Answer<MO, TO>>> {
        match self.mode {
            Mode::Ask => question.release().map(Some),
            Mode::Rehearse => question.forgo().map(|()| None),
        }
    }
    /// Begin a query about the rows that fit all conditions, and whose cell of a column is known.
    fn query(&self, asked: &QuestionFields, column: Option<&str>) -> Result<Query<'c, MO>> {
        let mut query = self.context.query().named(asked.title());
        for (name, condition) in &asked.keep {
            let at = |error: Error| error.at(format!("where `{name}`"));
            let condition = Condition::read(condition).map_err(at)?;
            query = self.keep(query, name, condition).map_err(at)?;
        }
        let drops = |name: &str| -> Result<bool> {
            let missing = self.column(name)?.missing.as_ref();
            Ok(missing.and_then(Json::as_str) == Some("drop"))
        };
        for name in column.into_iter().chain(asked.keep.keys().map(String::as_str)) {
            if drops(name)? {
                query = query.filter(&known(name), |known: &bool| *known);
            }
        }
        Ok(query)
    }
    fn keep(
        &self,
        mut query: Query<'c, MO>,
        name: &str,
        condition: Condition,
    ) -> Result<Query<'c, MO>> {
        let kind = self.column(name)?.kind;
        if condition.at_least.is_some() || condition.below.is_some() {
            let column = match kind {
                CellType::Integer => as_float(name),
                CellType::Float => name.to_owned(),
                CellType::Bool | CellType::Text => {
                    let reason = "`at_least` and `below` are for columns of numbers";
                    return Err(Error::argument(name, reason));
                }
            };
            let lower = condition.at_least.unwrap_or(f64::NEG_INFINITY);
            let upper = condition.below.unwrap_or(f64::INFINITY);
            query = query.filter(&column, move |cell: &f64| lower <= *cell && *cell < upper);
        }
        if let Some(among) = &condition.among {
            query = match kind {
                CellType::Integer => among_keys::<_, i64>(query, name, among)?,
                CellType::Float => among_keys::<_, f64>(query, name, among)?,
                CellType::Bool => among_keys::<_, bool>(query, name, among)?,
                CellType::Text => among_keys::<_, String>(query, name, among)?,
            };
        }
        Ok(query)
    }
    /// Take the cells of a column of numbers.
    fn numbers(&self, asked: &QuestionFields, name: &str) -> Result<Rows<'c, MO, f64>> {
        let query = self.query(asked, Some(name))?;
        match self.column(name)?.kind {
            CellType::Integer => Ok(query.column::<f64>(&as_float(name)).impute(0.0)),
            // Missing cells have been replaced already, so nothing is imputed here.
            CellType::Float => Ok(query.column::<f64>(name).impute(0.0)),
            CellType::Bool | CellType::Text => {
                Err(Error::argument(name, "expected a column of numbers: i64 or f64"))
            }
        }
    }
    fn clamped(&self, asked: &QuestionFields, fields: &NumberFields) -> Result<Rows<'c, MO, f64>> {
        let (lower, upper) = self.bounds(fields)?;
        Ok(self.numbers(asked, &fields.column)?.clamp(lower, upper))
    }
    fn bounds(&self, fields: &NumberFields) -> Result<(f64, f64)> {
        let column = self.column(&fields.column)?;
        fields.bounds.or(column.bounds).ok_or_else(|| {
            Error::argument(
                "bounds",
                "one person's share is limited by bounds that are not taken from the data: add \
                 \"bounds\": [lower, upper] here, or to the column",
            )
        })
    }
    fn column(&self, name: &str) -> Result<&'c ColumnFields> {
        let found = self.columns.iter().find(|(known, _)| known == name);
        found.map(|(_, column)| column).ok_or_else(|| {
            let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
            let reason = format!(
                "`columns` of the context has no such column, it has: {}. Add it with its type, as \
                 in \"{name}\": \"f64\"",
                names.join(", ")
            );
            Error::argument(name, reason)
        })
    }
}
fn among_keys<'c, MO: Accounted, T: Atom>(
    query: Query<'c, MO>,
    name: &str,
    among: &[Json],
) -> Result<Query<'c, MO>> {
    let among: Vec<T> = atoms(among)?;
    Ok(query.filter(name, move |cell: &T| among.contains(cell)))
}
fn atoms<T: Codec>(values: &[Json]) -> Result<Vec<T>> {
    values.iter().map(T::from_json).collect()
}
fn no_keys(argument: &str) -> Error {
    Error::argument(argument, "a column of f64 has no categories: take `edges`, or read it as i64")
}
fn label(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}
/// Name the bins between edges.
fn bins(edges: &[f64]) -> Vec<String> {
    let first = edges.first().map(|edge| format!("below {edge}"));
    let between = edges.windows(2).map(|edge| match edge {
        [from, to] => format!("{from} to below {to}"),
        _ => String::new(),
    });
    let last = edges.last().map(|edge| format!("{edge} and above"));
    first.into_iter().chain(between).chain(last).collect()
}
