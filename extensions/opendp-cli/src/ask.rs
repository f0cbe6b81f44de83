//! Answers to all questions of a study, from a table in a file. A study is a document with a budget
//! and with questions about a table.

mod notes;
mod table;
mod units;

use std::borrow::Cow;
use std::path::PathBuf;

use clap::error::ErrorKind;
use opendp_analysis::context::{Entry, visible};
use opendp_core::arith::{Exact, shown};
use opendp_core::erased::{AnyDistance, AnyMeasurement};
use opendp_core::{Codec, Error, Result};
use opendp_ledger::{Account, Ledger, Loss, Notion, Request};
use opendp_measurements::accounting::SharePair;
use opendp_study::{Cells, Outcome, Study};
use serde_json::{Value as Json, json};

use crate::budget;
use crate::caution::{self, Caution};
use crate::columns::{self, Columns};
use crate::data::{self, Source};
use crate::run::{Failure, REFUSED, check_size, no_entropy, refusal};
use crate::{command, words};
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
    /// Only print the costs and the accuracy of the answers; read and spend nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The probability with which an interval may miss the true number
    #[arg(long, default_value_t = ALPHA, allow_negative_numbers = true)]
    pub(crate) alpha: f64,
    /// Answer in CSV: question, label, value, lower and upper end of the interval. A dry run has no
    /// answers, so it has no CSV. The CSV is for a file: its labels are unchanged texts of the
    /// data, and a terminal obeys control characters in these texts
    #[arg(long)]
    pub(crate) csv: bool,
    /// Charge the budget of the study to a durable budget before the answers are printed; needs
    /// --id, and a budget that states its unit
    #[arg(long, value_name = "FILE:NAME", requires = "id", conflicts_with = "dry_run")]
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

/// Answer all questions of a study.
pub(crate) fn answer(arguments: &Arguments, as_json: bool) -> Result<String> {
    let Arguments { study: path, dry_run, csv, .. } = arguments;
    // A rule of the parser would find this conflict only if `--json` is after the subcommand.
    if *csv && as_json {
        let conflict = "the argument '--csv' cannot be used with '--json': state one of them";
        command().error(ErrorKind::ArgumentConflict, conflict).exit()
    }
    let located = |error: Error| error.at(format!("study {}", path.display()));
    let text = data::read_text(path)?;
    let document = opendp_registry::json::parse(&text);
    let parsed = document.clone().and_then(|document| Study::parse(&document));
    let study = parsed.map_err(located)?;
    warn(arguments, &study, as_json).map_err(located)?;
    let mut charge = None;
    let outcome = if *dry_run {
        rehearsed(arguments, &study).map_err(located)?
    } else {
        let asking = Asking { arguments, study: &study, file: file(arguments, &study)?, as_json };
        match &arguments.budget {
            None => {
                let outcome = asking.ask().map_err(Failure::told).map_err(located)?;
                caution::note(UNRECORDED, as_json);
                outcome
            }
            Some(place) => {
                let (outcome, charged) = asking.charged(place, &document?)?;
                charge = Some(charged);
                outcome
            }
        }
    };
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
            csv_of(&outcome.rows())
        }
        (false, false) => {
            let amount = |amount: f64| words::amount(&amount.to_json()).unwrap_or_default();
            let mut lines = vec![outcome.to_text_with(amount)];
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
    Caution::new(&loss, people).warn(words::parts(measurement.measure()), as_json);
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
    fn source(&self) -> Source<'_> {
        Source { path: &self.file, column: None, separator: self.arguments.separator }
    }
    /// Read the file, and answer the study.
    ///
    /// The study checks its questions before it reads the first column. So an error of this check
    /// does not depend on the records, and is a `Failure::OfFile`. If the number of rows is public,
    /// the check needs this number. If the number is public and the document does not state it,
    /// read the file first, and state the number of its rows.
    fn ask(&self) -> Result<Outcome, Failure> {
        self.study.check_spaces().map_err(Failure::OfFile)?;
        let columns = || columns::of_file(&self.source(), self.study, !self.as_json);
        let (mut read, mut study) = (None, Cow::Borrowed(self.study));
        let named = study.columns().next().is_some();
        if named && study.unit().size_is_public() && study.rows().is_none() {
            let columns = read.insert(columns()?);
            // In JSON, columns can have different lengths. The study then returns an error.
            if let Some(rows) = columns.values().map(Cells::rows).max() {
                let stated = self.study.clone().with_rows(rows);
                study = Cow::Owned(stated.map_err(Failure::OfFile)?);
            }
        }
        let (mut begun, mut of_file) = (false, false);
        let outcome = study.ask(
            |name, _| {
                begun = true;
                if read.is_none() {
                    let found = columns();
                    of_file = matches!(found, Err(Failure::OfFile(_)));
                    read = Some(found.map_err(Failure::told)?);
                }
                take(read.get_or_insert_default(), name)
            },
            self.arguments.alpha,
        );
        // An error before the first read cannot depend on the records.
        outcome.map_err(|error| match !begun || of_file || no_entropy(&error) {
            true => Failure::OfFile(error),
            false => Failure::OfData(error),
        })
    }
    /// Answer a study that is charged to a budget. If a failure may depend on the records or on the
    /// noise, return [`refusal`], which is charged and kept like answers. If such a failure were
    /// not charged, a user could test facts about the data without a charge. A charge that differs
    /// from `planned` is such a failure.
    fn outcome(&self, planned: Option<&Planned>) -> Result<Json> {
        match self.ask() {
            Ok(outcome) if planned.is_some() && Planned::of(&outcome).as_ref() != planned => {
                Ok(refusal())
            }
            Ok(outcome) => Ok(outcome.to_json()),
            Err(Failure::OfData(_)) => Ok(refusal()),
            Err(Failure::OfFile(error)) => Err(error),
        }
    }
    /// Find the charge for all releases. This function does not read the data. Return `None` if the
    /// budget is not an epsilon and a delta, or if the number of rows is public and not stated.
    fn planned(&self) -> Option<Planned> {
        Planned::of(&self.study.rehearse(self.arguments.alpha).ok()?)
    }
    /// Check that earlier answers of this study with the same id have the same `alpha`. Without
    /// this check, the error of the ledger would not name `alpha`.
    fn check_alpha(&self, name: &str, past: &opendp_ledger::Entry, document: &Json) -> Result<()> {
        let asked: Json = serde_json::from_str(&past.pipeline).unwrap_or_default();
        match asked["alpha"].as_f64() {
            Some(alpha) if alpha != self.arguments.alpha && asked["study"] == *document => {
                let reason = format!(
                    "budget `{name}` already has the answers `{}` of this study with --alpha {}: \
                     state this probability again, or use another id",
                    past.id,
                    shown(alpha)
                );
                Err(Error::argument("alpha", reason))
            }
            _ => Ok(()),
        }
    }
    /// Charge the loss of the study to the budget at `place`, and answer the study. Return the
    /// answers and the charge. If the id has earlier answers, return them without a new charge.
    fn charged(&self, place: &budget::Place, document: &Json) -> Result<(Outcome, Json)> {
        let (ledger, name) = (Ledger::open_existing(&place.file)?, &place.name);
        let account = ledger.account(name)?;
        check_size(self.study.rows(), &account.terms)?;
        let (source, digest) = (self.source(), account.terms.digest());
        let measurement = self.study.measurement(self.arguments.alpha)?;
        let d_in = unit(self.study, &measurement)?;
        let id = self.arguments.id.as_deref().unwrap_or_default();
        let mut whole = Request::new(id, &measurement, &d_in)?;
        if self.study.unit().size_is_public() {
            whole = whole.with_public_size();
        }
        let past = ledger.entry(name, id)?;
        past.as_ref().map_or(Ok(()), |past| self.check_alpha(name, past, document))?;
        let past = past.map(|entry| entry.loss);
        // Check the questions without the data, so that wrong questions are not charged. If the
        // number of rows is public and not stated, `ask` checks the questions after it reads the
        // file.
        let known = !self.study.unit().size_is_public() || self.study.rows().is_some();
        if past.is_none() && known {
            self.study.rehearse(self.arguments.alpha)?;
        }
        if past.is_none() {
            units::check(&account, self.study.unit())?;
        }
        // If `planned` finds a charge, a budget that composes tightly (`--tight`) is charged for
        // each release separately.
        let planned = match account.filters() {
            Some(_) if past.is_none() => self.planned(),
            _ => None,
        };
        let request = match (&planned, past) {
            // The request states the loss of the earlier answers with this id.
            (_, Some(past)) => whole.charging(past),
            (Some(planned), None) => {
                let loss = planned.loss(whole.loss(), &account)?;
                whole.charging(loss)
            }
            (None, None) => whole,
        };
        let request = request
            .by(self.arguments.by.as_deref().unwrap_or_default())
            .pipeline(&json!({"study": document, "alpha": self.arguments.alpha}))
            .source(&source.to_json(digest)?);
        let release = ledger.release(name, &request, || {
            source.check_digest(digest)?;
            let outcome = self.outcome(planned.as_ref())?;
            // Check that the file did not change during the run.
            source.check_digest(digest).map(|()| outcome)
        })?;
        if *release.json() == refusal() {
            return Err(Error::argument("data", REFUSED).at(format!("release `{id}`")));
        }
        let charge = budget::charge_json(&release, &ledger.remaining(name)?);
        Ok((Outcome::parse(release.json())?, charge))
    }
}
/// The charge for all releases of a study, for a budget that composes tightly.
#[derive(PartialEq)]
struct Planned {
    losses: Vec<Loss>,
    /// The reserved epsilon and the reserved delta of the [first entry](Entry::reserved). The first
    /// entry states them only if the study is one plan for its whole budget. A release that is
    /// `mu`-GDP (Gaussian differentially private) can state its `mu^2`. If the only release of a
    /// study states a `mu^2`, nothing is reserved: the whole budget is for this release, and the
    /// two reserved numbers are 0.
    reserved: Option<[Exact; 2]>,
    /// The pair of distributions of each release, from the [first entry](Entry::shares). There are
    /// pairs only if the study is one plan that divides its whole budget into shares.
    shares: Option<Vec<SharePair>>,
}
impl Planned {
    /// Return the charge, if each loss is an epsilon and a delta.
    fn of(outcome: &Outcome) -> Option<Self> {
        let loss = |entry: &Entry| -> Result<Loss> {
            let loss = Loss::exact(Notion::Approximate, entry.loss.clone())?;
            let Some(mu_squared) = &entry.mu_squared else { return Ok(loss) };
            let loss = loss.with_mu_squared(mu_squared.clone())?;
            entry.rho.as_ref().map_or(Ok(loss.clone()), |rho| loss.with_rho(rho.clone()))
        };
        let losses = outcome.entries().iter().map(loss).collect::<Result<_>>().ok()?;
        let first = outcome.entries().first()?;
        let reserved = match outcome.entries() {
            [Entry { mu_squared: Some(_), reserved: None, .. }] => Some([Exact::ZERO, Exact::ZERO]),
            _ => first.reserved.clone(),
        };
        Some(Planned { losses, reserved, shares: first.shares.clone() })
    }
    /// Return the loss to charge to the ledger. A filter of a budget is a rule that admits or
    /// refuses the next release. If a study is one plan for its whole budget, the filters of the
    /// ledger's budget can refuse this plan. In this case, the loss also states the shares or the
    /// reserve of the plan, as parts of the ledger's budget. The ledger admits such a loss only if
    /// nothing was charged to this budget before.
    fn loss(&self, whole: &Loss, account: &Account) -> Result<Loss> {
        let members = whole.clone().with_members(self.losses.clone())?;
        if account.admits(&members) {
            return Ok(members);
        }
        let reserve = members.clone();
        let reserve = match (&self.shares, &self.reserved) {
            (Some(pairs), _) => reserve.sharing(&account.total, pairs),
            (None, Some([pure, deltas])) => reserve.reserving(&account.total, pure, deltas),
            (None, None) => return Ok(members),
        };
        Ok(reserve.ok().filter(|loss| account.admits(loss)).unwrap_or(members))
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

/// Write rows as CSV.
fn csv_of(rows: &[[String; 5]]) -> Result<String> {
    let head = ["question", "label", "value", "lower", "upper"].map(str::to_owned);
    let mut writer = csv::Writer::from_writer(Vec::new());
    let unwritten = |error: String| Error::FailedFunction(format!("csv: {error}"));
    for row in [&head].into_iter().chain(rows) {
        writer.write_record(row).map_err(|error| unwritten(error.to_string()))?;
    }
    let text = writer.into_inner().map_err(|error| unwritten(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|error| unwritten(error.to_string()))?;
    Ok(text.trim_end().to_owned())
}
