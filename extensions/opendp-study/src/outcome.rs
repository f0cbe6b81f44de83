//! The answers of a study, in JSON, as tables and as pages.

mod notes;
mod page;
mod written;

use std::fmt::Write;

use opendp_core::erased::AnyMeasure;
use opendp_core::{Codec, Result};
use serde_json::{Value as Json, json};

use super::json::value;

use super::questions::Mode;
use opendp_analysis::context::{Entry, ErrorIn, Noised, Report, counted, short, visible};
use written::Written;

/// One released value of an answer: a number, a category or a candidate.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// The key of the group, if the question has groups. The key has a value for each column that
    /// defines the groups.
    pub key: Option<Json>,
    /// The label of the value, if the answer can have several values. The label is a category, a
    /// bin, a key, the alpha of a quantile, or the position in a list of chosen categories. For a
    /// `mechanism`, it is the position in the released list, or the name in the released object.
    pub label: Option<String>,
    /// The released number, category or candidate.
    pub value: Json,
    /// An interval that contains the true number with the stated probability, if an interval is
    /// known.
    ///
    /// If the key of a count was found in the data (`counts_by`, or groups with the keys
    /// `"found"`), the probability has another meaning. For each key, one of two events happens
    /// with at least the stated probability: the key is not found, or its interval contains the
    /// true count. Among the found keys alone, an interval can miss the true count more often. The
    /// reason is the threshold: a key is found only if its noisy count passes the threshold, and
    /// noise can raise the count.
    pub interval: Option<(f64, f64)>,
}
/// The mechanism of an answer that is public.
const NO_NOISE: &str = "no noise";
/// The answer to one question. Before the release, the answer has only the properties that are
/// already known.
#[derive(Clone, Debug)]
pub struct StudyAnswer {
    /// The title of the question.
    pub question: String,
    /// The kinds of noise. Each kind is named once, in the order of the scales, as in "Gaussian and
    /// Laplace, threshold". For a public number of rows, "no noise". For a `mechanism`, the names
    /// of its constructors, separated by commas. Of more than three constructors, only the first
    /// and the last are named.
    pub mechanism: String,
    /// The scales of the noise, one for each release. The list is empty for a `mechanism`, and for
    /// a public number of rows.
    pub scales: Vec<f64>,
    /// A bound on the error of the answer, if this bound is known before the release. The bound
    /// holds with the stated probability. Counts have no such bound if their keys are found in the
    /// data: [`Cell::interval`] gives the reason. After the release, there is no bound if the
    /// answer is an integer near an end of the range of its type.
    pub error: Option<f64>,
    /// The unit of `error`.
    pub error_in: ErrorIn,
    /// The number of rows that the question states, if the answer depends on this number. The
    /// number is not compared with the data. If the number is wrong, the value and the interval are
    /// wrong.
    pub rows_stated: Option<usize>,
    /// The bounds of a sum, a mean or a variance. Before the statistic is computed, each cell
    /// outside of the bounds is moved to the nearest bound. The value and the interval are about
    /// the moved cells.
    pub bounds: Option<(f64, f64)>,
    /// Whether the keys of the groups were found in the data, by a threshold on noisy counts.
    pub keys_found: bool,
    /// The name and the value of the parameter that the share of the question determined, if a
    /// chain of registered constructors gives the answer and has a parameter.
    pub parameter: Option<(String, f64)>,
    /// The names of the constructors in the chain of a `mechanism`, as the document writes them.
    /// The list is empty for all other statistics.
    pub constructors: Vec<String>,
    /// The values of the answer. The list is empty before the release.
    pub cells: Vec<Cell>,
}
/// All answers of a study, and their cost.
#[derive(Clone, Debug)]
pub struct Outcome {
    answers: Vec<StudyAnswer>,
    report: Json,
    entries: Vec<Entry>,
    alpha: f64,
    mode: Mode,
}
impl Outcome {
    pub(super) fn new(
        answers: Vec<StudyAnswer>,
        report: &Report<AnyMeasure>,
        alpha: f64,
        mode: Mode,
    ) -> Self {
        let (report, entries) = (report.to_json(), report.entries().to_vec());
        Outcome { answers, report, entries, alpha, mode }
    }
    /// Return the releases with their exact losses, in order. The list is empty if the outcome was
    /// [parsed](Outcome::parse).
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
    /// Return the answers, in the order of the questions.
    pub fn answers(&self) -> &[StudyAnswer] {
        &self.answers
    }
    /// Convert to JSON, with the budget and the remaining budget. If the budget is an epsilon and a
    /// delta, the field `spent_holds` states the condition under which `spent` bounds the total
    /// loss. The field `left_holds` then states why `spent` and `left` need not add up to the
    /// budget. If [`rehearse`](crate::Study::rehearse) made the outcome, the field `dry_run` is
    /// true, and `spent` is the amount that the answers would spend.
    pub fn to_json(&self) -> Json {
        let answers: Vec<Json> = self.answers.iter().map(StudyAnswer::to_json).collect();
        let mut json = json!({
            "answers": answers,
            "alpha": self.alpha,
            "unit": self.report["unit"],
            "budget": self.report["budget"],
            "spent": self.report["spent"],
            "left": self.report["left"],
        });
        for field in ["spent_holds", "left_holds"] {
            if let Some(holds) = self.report.get(field) {
                json[field] = holds.clone();
            }
        }
        if self.mode == Mode::Rehearse {
            json["dry_run"] = true.into();
        }
        json
    }
    /// Read an outcome that [`to_json`](Outcome::to_json) wrote.
    ///
    /// # Errors
    /// `FailedCast` when `json` is not an outcome.
    pub fn parse(json: &Json) -> Result<Self> {
        let written: Written = value(json.clone())?;
        let alpha = written.alpha;
        let mut answers = Vec::with_capacity(written.answers.len());
        for answer in written.answers {
            answers.push(StudyAnswer::from(answer));
        }
        let mode = if written.dry_run { Mode::Rehearse } else { Mode::Ask };
        Ok(Outcome { answers, report: json.clone(), entries: Vec::new(), alpha, mode })
    }
    /// Return a row for each released value: the question, the label, the value, and the lower and
    /// the upper end of the interval.
    pub fn rows(&self) -> Vec<[String; 5]> {
        let row = |answer: &StudyAnswer, cell: &Cell| {
            let end = |end: Option<f64>| end.map(|end| end.to_string()).unwrap_or_default();
            let (low, high) = (cell.interval.map(|i| i.0), cell.interval.map(|i| i.1));
            let label = cell.label.clone().unwrap_or_default();
            [answer.question.clone(), label, plain(&cell.value), end(low), end(high)]
        };
        let mut rows = Vec::new();
        for answer in &self.answers {
            for cell in &answer.cells {
                rows.push(row(answer, cell));
            }
        }
        rows
    }
    /// Write a table for readers.
    pub fn to_text(&self) -> String {
        self.to_text_with(short)
    }
    /// Write the table of [`to_text`](Outcome::to_text). The function `amount` formats each amount
    /// of the budget.
    pub fn to_text_with(&self, amount: impl Fn(f64) -> String) -> String {
        let mut lines: Vec<[String; 4]> = Vec::new();
        for answer in &self.answers {
            if answer.cells.is_empty() {
                let range = self.unreleased(answer);
                lines.push([answer.question.clone(), String::new(), range, answer.noise()]);
            }
            for (place, cell) in answer.cells.iter().enumerate() {
                let label = cell.label.as_ref().map(|label| format!("  {label}"));
                let (question, noise) = match place {
                    0 => (answer.question.clone(), answer.noise()),
                    _ => (String::new(), String::new()),
                };
                let range = answer.range(Some(cell));
                lines.push([question + &label.unwrap_or_default(), value_of(cell), range, noise]);
            }
        }
        let head =
            ["question", "answer", &format!("{} % of the time", percent(self.alpha)), "noise"];
        let mut text = aligned(&head.map(str::to_owned), &lines);
        for note in self.notes() {
            let _ = writeln!(text, "note: {}", visible(&note));
        }
        let [spent, budget] =
            ["spent", "budget"].map(|field| amounts(&self.report[field], &amount));
        let spent = match self.mode {
            Mode::Ask => format!("spent: {spent} of {budget}"),
            Mode::Rehearse => format!("nothing is spent; the answers cost {spent} of {budget}"),
        };
        let _ = write!(text, "{spent}; protected: {}", plain(&self.report["unit"]));
        text
    }
}
impl StudyAnswer {
    /// Describe an answer before its release.
    pub(super) fn before(question: String, known: Noised) -> Self {
        StudyAnswer {
            question,
            mechanism: known.mechanism,
            scales: known.scales,
            error: known.accuracy,
            error_in: known.error_in,
            rows_stated: None,
            bounds: None,
            keys_found: false,
            parameter: None,
            constructors: Vec::new(),
            cells: Vec::new(),
        }
    }
    /// Describe an answer that is public. It has no noise, and no error.
    pub(super) fn public(question: String) -> Self {
        StudyAnswer {
            question,
            mechanism: NO_NOISE.to_owned(),
            scales: Vec::new(),
            error: Some(0.0),
            error_in: ErrorIn::Value,
            rows_stated: None,
            bounds: None,
            keys_found: false,
            parameter: None,
            constructors: Vec::new(),
            cells: Vec::new(),
        }
    }
    /// Remove the error of a number that was released without an interval. Such a number is near an
    /// end of the range of its type, so its error has no bound.
    pub(super) fn checked(mut self) -> Self {
        if self.error_in == ErrorIn::Value && self.cells.iter().any(|cell| cell.interval.is_none())
        {
            self.error = None;
        }
        self
    }
    /// Name the kinds of noise, and their scales.
    fn noise(&self) -> String {
        if let Some((name, value)) = &self.parameter {
            return format!("{}, {name} {}", self.mechanism, short(*value));
        }
        if self.scales.is_empty() {
            return self.mechanism.clone();
        }
        format!("{}, scale {}", self.mechanism, join(&self.scales))
    }
    /// Write the interval of a cell. If the interval is not known, or without a cell, write the
    /// bound on the error of the answer.
    fn range(&self, cell: Option<&Cell>) -> String {
        if let Some((low, high)) = cell.and_then(|cell| cell.interval) {
            return format!("{} to {}", short(low), short(high));
        }
        match (self.error, self.error_in) {
            (Some(error), ErrorIn::Value) => format!("+/- {}", short(error)),
            (Some(error), ErrorIn::Ranks) => format!("+/- {}", counted(&short(error), "rank")),
            (Some(error), ErrorIn::Counts) => format!("+/- {}", counted(&short(error), "row")),
            (None, _) if cell.is_none() && self.constructors.is_empty() => {
                "known afterwards".into()
            }
            (None, _) => "not known".into(),
        }
    }
    fn to_json(&self) -> Json {
        let cell = |cell: &Cell| {
            let mut json = json!({
                "label": cell.label,
                "value": cell.value,
                "interval": cell.interval.map(|(low, high)| [low.to_json(), high.to_json()]),
            });
            if let Some(key) = &cell.key {
                json["key"] = key.clone();
            }
            json
        };
        let mut json = json!({
            "question": self.question,
            "mechanism": self.mechanism,
            "scale": self.scales.iter().map(Codec::to_json).collect::<Vec<_>>(),
            "accuracy": self.error.map(|error| error.to_json()),
            "accuracy_in": match self.error_in {
                ErrorIn::Value => "value",
                ErrorIn::Ranks => "ranks",
                ErrorIn::Counts => "counts",
            },
            "values": self.cells.iter().map(cell).collect::<Vec<_>>(),
        });
        if let Some(rows) = self.rows_stated {
            json["rows_stated"] = rows.into();
        }
        if let Some((lower, upper)) = self.bounds {
            json["bounds"] = json!([lower.to_json(), upper.to_json()]);
        }
        if self.keys_found {
            json["keys_found"] = true.into();
        }
        if let Some((name, value)) = &self.parameter {
            json["parameter"] = json!({"name": name, "value": value.to_json()});
        }
        if !self.constructors.is_empty() {
            json["constructors"] = self.constructors.clone().into();
        }
        json
    }
}
/// Write the probability, in percent, with which an interval contains the exact answer. Never round
/// it up to 100.
fn percent(alpha: f64) -> String {
    let text = format!("{:.9}", 100.0 * (1.0 - alpha));
    match text.trim_end_matches('0').trim_end_matches('.') {
        "100" => "more than 99.999999".into(),
        text => text.to_owned(),
    }
}
/// Write the parts of an amount of the budget, such as `epsilon 1, delta 1e-6`.
fn amounts(json: &Json, amount: impl Fn(f64) -> String) -> String {
    let mut parts = Vec::new();
    for (name, value) in json.as_object().into_iter().flatten() {
        let value = value.as_f64().map_or_else(|| value.to_string(), &amount);
        parts.push(format!("{name} {value}"));
    }
    parts.join(", ")
}
/// Write the value of a cell.
fn value_of(cell: &Cell) -> String {
    cell.value.as_f64().map_or_else(|| plain(&cell.value), short)
}
fn plain(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}
fn join(scales: &[f64]) -> String {
    scales.iter().map(|scale| short(*scale)).collect::<Vec<_>>().join(" and ")
}
/// Write lines of cells as aligned columns. The second column contains the answers, and is aligned
/// to the right.
fn aligned(head: &[String; 4], lines: &[[String; 4]]) -> String {
    let (mut all, mut widths) = (vec![head], [0; 3]);
    all.extend(lines);
    for line in &all {
        for (width, cell) in widths.iter_mut().zip(line.iter()) {
            *width = cell.chars().count().max(*width);
        }
    }
    let ([a, b, c], mut text) = (widths, String::new());
    for [question, answer, range, noise] in all {
        // `visible` keeps the number of characters.
        let (question, answer) = (visible(question), visible(answer));
        let (range, noise) = (visible(range), visible(noise));
        let line = format!("{question:<a$}  {answer:>b$}  {range:<c$}  {noise}");
        text += line.trim_end();
        text.push('\n');
    }
    text
}
