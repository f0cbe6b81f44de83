//! Answers to all questions of a study, from a table in a file. A study is a document with a budget
//! and with questions about a table.

mod notes;
mod page;
mod table;

use std::path::PathBuf;

use clap::error::ErrorKind;
use opendp_analysis::context::{ErrorIn, visible};
use opendp_core::erased::{AnyDistance, AnyMeasurement};
use opendp_core::{Codec, Error, Result};
use opendp_ledger::{Caution, Failure, Ledger, Terms, say_float};
use opendp_registry::Document;
use opendp_study::{CellType, Cells, Charge, ChargeCheck, Outcome, Study};
use serde_json::{Value as Json, json};

use crate::budget;
use crate::caution;
use crate::columns::{self, Columns};
use crate::data::{self, Source};
use crate::{Answer, command, panics, words};
use notes::{charge_lines, warn_of_bools};
use table::file;

/// The default probability with which an interval may miss the true number.
pub(crate) const ALPHA: f64 = 0.05;

/// The note about answers that are not charged to a budget in a ledger.
const UNRECORDED: &str = "no ledger has recorded these answers, and another run spends the budget \
                          again; --budget FILE:NAME --id ID records them";

/// The arguments of `ask`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The study: a JSON file with `context` and `questions`, or `-` for standard input
    pub(crate) study: PathBuf,
    /// The table: CSV with a header, compressed or not, or Parquet; the default is the path in the
    /// field `data` of the study, relative to the folder of the study
    #[arg(long)]
    pub(crate) data: Option<PathBuf>,
    /// The separator of the cells of a CSV table: one character, or `tab`; defaults to a comma
    #[arg(long, value_parser = data::parse_separator)]
    pub(crate) separator: Option<u8>,
    /// Only print the costs and the accuracy of the answers; read and spend nothing. With --budget,
    /// also check whether the budget admits the charge. If not, the exit code is 1
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The probability with which an interval may miss the true number
    #[arg(long, default_value_t = ALPHA, allow_negative_numbers = true)]
    pub(crate) alpha: f64,
    /// Answer in CSV: question, label, value, lower and upper end of the interval, accuracy and its
    /// unit. The accuracy bounds the error, in the unit `value`, `ranks` or `counts`; the error of
    /// a quantile is in ranks. A dry run has no answers, so it has no CSV. Write the CSV to a file:
    /// its labels are unchanged texts of the data, and a terminal obeys control characters in these
    /// texts
    #[arg(long)]
    pub(crate) csv: bool,
    /// Also write the answers to a file, as an HTML page with charts. An existing file is replaced.
    /// If the page cannot be written, the answers are still printed, and the exit code is 1
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Charge the budget of the study to a durable budget before the answers are printed; needs
    /// --id, and a budget that states its unit
    #[arg(long, value_name = "FILE:NAME", requires = "id")]
    pub(crate) budget: Option<budget::Place>,
    /// The id of the answers: all runs with one id print the same answers, which are charged once.
    /// An id belongs to a study, the path of its data as you write it, the separator, and the
    /// probability
    #[arg(long, requires = "budget")]
    pub(crate) id: Option<String>,
    /// The name of the person who asks, for the ledger
    #[arg(long, requires = "budget")]
    pub(crate) by: Option<String>,
}

/// Refuse a study where a pipeline is expected. Only a study has a `context`.
pub(crate) fn refuse_study(document: Document) -> Result<Document> {
    if document.json().get("context").is_none() {
        return Ok(document);
    }
    let reason = "this document is a study, and not a pipeline: answer it with `opendp ask`";
    Err(Error::argument("document", reason))
}

/// Read a study. Name the command for a pipeline, because a pipeline is a document, too.
fn parse(document: &Json) -> Result<Study> {
    let has = |key: &str| document.get(key).is_some();
    if !has("context") && (has("space") || has("chain") || has("constructor")) {
        let reason = "this document is a pipeline, and not a study: use it with `opendp run -p`";
        return Err(Error::argument("study", reason));
    }
    Study::parse(document)
}

/// Answer all questions of a study.
pub(crate) fn answer(arguments: &Arguments, as_json: bool) -> Result<Answer> {
    let Arguments { study: path, dry_run, csv, .. } = arguments;
    // A rule of the parser would find this conflict only if `--json` is after the subcommand.
    if *csv && as_json {
        let conflict = "the argument '--csv' cannot be used with '--json': state one of them";
        command().error(ErrorKind::ArgumentConflict, conflict).exit()
    }
    let located = |error: Error| error.at(format!("study {}", path.display()));
    let text = data::read_text(path)?;
    let document = opendp_registry::json::parse(&text);
    let study = document.and_then(|document| parse(&document)).map_err(located)?;
    warn(arguments, &study, as_json).map_err(located)?;
    page::check(arguments, &study)?;
    let asking = || -> Result<Asking<'_>> {
        Ok(Asking { arguments, study: &study, file: file(arguments, &study)?, as_json })
    };
    let (outcome, charge) = match (dry_run, &arguments.budget) {
        (true, place) => {
            let outcome = rehearsed(arguments, &study).map_err(located)?;
            (outcome, place.as_ref().map(|place| asking()?.checked(place)).transpose()?)
        }
        (false, None) => {
            let outcome = asking()?.ask().map_err(located)?;
            caution::note(UNRECORDED, as_json);
            (outcome, None)
        }
        (false, Some(place)) => {
            let (outcome, charge) = asking()?.charged(place)?;
            (outcome, Some(charge))
        }
    };
    let fits = charge.as_ref().is_none_or(|charge| charge["fits"] != false);
    let success = page::write(arguments, &outcome, charge.as_ref(), as_json) && fits;
    Ok(Answer { text: written(&outcome, charge, *csv, as_json)?, success })
}
/// Write the answers and their charge, as JSON, as CSV, or for readers.
fn written(outcome: &Outcome, charge: Option<Json>, csv: bool, as_json: bool) -> Result<String> {
    match (as_json, csv) {
        (true, _) => {
            let mut json = outcome.to_json();
            if let Some(charge) = charge {
                json["charge"] = charge;
            }
            Ok(json.to_string())
        }
        (false, true) => {
            let notes = outcome.notes().into_iter().map(|note| format!("note: {}", visible(&note)));
            notes.chain(charge_lines(charge.as_ref())).for_each(|line| eprintln!("{line}"));
            csv_of(outcome)
        }
        (false, false) => {
            let mut lines = vec![outcome.to_text_with(|amount| say_float(amount, true))];
            lines.extend(charge_lines(charge.as_ref()));
            Ok(lines.join("\n"))
        }
    }
}
/// Find the costs and the accuracy of the answers, without the data.
fn rehearsed(arguments: &Arguments, study: &Study) -> Result<Outcome> {
    if arguments.csv {
        let reason = "a dry run has no answers to write as CSV: leave --csv out, or write the plan \
                      as JSON with --json";
        return Err(Error::argument("csv", reason));
    }
    study.check_spaces()?;
    study.rehearse(arguments.alpha)
}
/// Warn if the budget of the study gives little protection, or if a column of `bool` does not state
/// `missing`. The warnings are printed before the budget is spent.
fn warn(arguments: &Arguments, study: &Study, as_json: bool) -> Result<()> {
    let measurement = study.measurement(arguments.alpha)?;
    let loss = measurement.map(&unit(study, &measurement)?)?.to_json();
    let people = match study.rows() {
        Some(rows) => u64::try_from(rows).ok(),
        None => arguments.budget.as_ref().and_then(budget::people),
    };
    caution::warn(&Caution::new(&loss, people), words::parts(measurement.measure()), as_json);
    warn_of_bools(study, as_json);
    Ok(())
}
/// Return the distance between tables that differ in the data of one person.
fn unit(study: &Study, measurement: &AnyMeasurement) -> Result<AnyDistance> {
    measurement.input().metric().decode(&json!(study.unit().distance()))
}
/// A study to answer, the arguments of the command, and the file of the data.
struct Asking<'a> {
    arguments: &'a Arguments,
    study: &'a Study,
    file: PathBuf,
    as_json: bool,
}
impl Asking<'_> {
    fn source<'s>(&'s self, terms: Option<&'s Terms>) -> Source<'s> {
        Source { path: &self.file, column: None, separator: self.arguments.separator, terms }
    }
    /// Answer the study, without a charge.
    fn ask(&self) -> Result<Outcome> {
        self.study.check_spaces()?;
        self.study.try_ask(self.reader(None), self.arguments.alpha).map_err(Failure::told)
    }
    /// Return a function that reads the columns. The first call reads the file. `terms` are the
    /// terms of the budget, if the answers are charged.
    fn reader(&self, terms: Option<Terms>) -> impl FnMut(&str, CellType) -> Result<Cells, Failure> {
        let mut read = None;
        move |name, _| {
            if read.is_none() {
                self.study.check_spaces().map_err(Failure::OfFile)?;
                // A progress bar shows the number of rows or bytes, which is private. With a
                // budget, the person who asks may not see the data.
                let progress = !self.as_json && self.arguments.budget.is_none();
                let source = self.source(terms.as_ref());
                read = Some(columns::of_file(&source, self.study, progress)?);
            }
            Ok(take(read.get_or_insert_default(), name)?)
        }
    }
    fn charge<'b>(&'b self, ledger: &'b Ledger, place: &'b budget::Place) -> Result<Charge<'b>> {
        let Arguments { id, by, separator, .. } = self.arguments;
        let charge = Charge::new(ledger, &place.name, id.as_deref().unwrap_or_default());
        let charge = charge.by(by.as_deref().unwrap_or_default()).file(&self.file)?;
        Ok(match separator {
            Some(separator) => charge.fact("separator", char::from(*separator).to_string()),
            None => charge,
        })
    }
    /// Charge the loss of the study to the budget at `place`, and answer the study. Return the
    /// answers and the charge. If the id has earlier answers, return them without a new charge.
    fn charged(&self, place: &budget::Place) -> Result<(Outcome, Json)> {
        let ledger = Ledger::open_existing(&place.file)?;
        let charge = self.charge(&ledger, place)?;
        let reader = self.reader(Some(ledger.account(&place.name)?.terms));
        panics::hide_places();
        let charged = self.study.ask_charged(&charge, reader, self.arguments.alpha)?;
        caution::of_changed_file(&self.file, &charged.release, self.as_json);
        let json = charged.charge_to_json();
        Ok((charged.outcome, json))
    }
    /// Check whether the budget at `place` admits the charge of the study. Charge nothing.
    fn checked(&self, place: &budget::Place) -> Result<Json> {
        let ledger = Ledger::open_to_read(&place.file)?;
        let charge = self.charge(&ledger, place)?;
        let mut json = json!({"budget": place.name, "id": self.arguments.id, "fits": true});
        match self.study.check_charge(&charge, self.arguments.alpha) {
            Ok(ChargeCheck { cost, remaining, repeated }) => {
                json["cost"] = cost.to_json();
                json["remaining"] = remaining.to_json();
                json["repeated"] = repeated.into();
            }
            Err(Error::BudgetExceeded(reason)) => {
                json["fits"] = false.into();
                json["reason"] = reason.into();
            }
            Err(error) => return Err(error),
        }
        Ok(json)
    }
}
/// Answer a study whose columns are given in JSON. Without `data`, only find the costs and the
/// accuracy of the answers.
pub(crate) fn of_json(study: &Json, data: Option<&Json>, alpha: f64) -> Result<Json> {
    let study = Study::parse(study).map_err(|error| error.at("study"))?;
    study.check_spaces().map_err(|error| error.at("study"))?;
    let outcome = match data {
        None => study.rehearse(alpha),
        Some(data) => {
            let mut columns = columns::of_json(data, &study)?;
            study.ask(|name, _| take(&mut columns, name), alpha)
        }
    };
    outcome.map(|outcome| outcome.to_json())
}
/// Remove a column from `columns`, and return it. A study reads each column once.
fn take(columns: &mut Columns, name: &str) -> Result<Cells> {
    columns.remove(name).ok_or_else(|| {
        Error::argument(name, "the column is needed, but it was not read from the data")
    })
}

/// Write the answers as CSV. The last two columns are the bound on the error, and the unit of this
/// bound: an answer without an interval, such as a quantile, can have such a bound.
fn csv_of(outcome: &Outcome) -> Result<String> {
    let head = ["question", "label", "value", "lower", "upper", "accuracy", "accuracy_in"];
    let errors = outcome.answers().iter().flat_map(|answer| {
        let bound = answer.error.map(|error| error.to_string()).unwrap_or_default();
        let unit = match (answer.error, answer.error_in) {
            (None, _) => "",
            (Some(_), ErrorIn::Value) => "value",
            (Some(_), ErrorIn::Ranks) => "ranks",
            (Some(_), ErrorIn::Counts) => "counts",
        };
        std::iter::repeat_n([bound, unit.to_owned()], answer.cells.len())
    });
    let rows = outcome.rows().into_iter().zip(errors);
    let rows = rows.map(|(row, error)| row.into_iter().chain(error).collect::<Vec<_>>());
    let head = head.map(str::to_owned).to_vec();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let unwritten = |error: String| Error::FailedFunction(format!("csv: {error}"));
    for row in std::iter::once(head).chain(rows) {
        writer.write_record(row).map_err(|error| unwritten(error.to_string()))?;
    }
    let text = writer.into_inner().map_err(|error| unwritten(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|error| unwritten(error.to_string()))?;
    Ok(text.trim_end().to_owned())
}
