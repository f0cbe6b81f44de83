//! Answers to all questions of a study, from a table in a file.

use std::path::{Path, PathBuf};

use opendp_analysis::study::{CellType, Cells, Study};
use opendp_core::{
    Atom, AtomDomain, Error, OptionDomain, Result, Space, SymmetricDistance, VectorDomain,
};

use crate::data::{self, Data, Source};

/// The arguments of `ask`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The study: a JSON file with `context` and `questions`, or `-` for standard input
    pub(crate) study: PathBuf,
    /// The table: CSV with a header, compressed or not, or Parquet; defaults to the `data` of the
    /// study, beside the study
    #[arg(long)]
    pub(crate) data: Option<PathBuf>,
    /// The separator of the cells of a CSV table: one character, or `tab`; defaults to a comma
    #[arg(long, value_parser = data::parse_separator)]
    pub(crate) separator: Option<u8>,
    /// Only tell what the answers will cost and how good they will be: nothing is read or spent
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The probability with which an interval may miss the true number
    #[arg(long, default_value_t = 0.05)]
    pub(crate) alpha: f64,
    /// Answer in CSV: question, label, value, lower and upper end of the interval
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

/// Answer all questions of a study.
pub(crate) fn answer(arguments: &Arguments, as_json: bool) -> Result<String> {
    let Arguments { study: path, separator, dry_run, alpha, csv, .. } = arguments;
    let at = |error: Error| error.at(format!("study {}", path.display()));
    let text = data::read_text(path)?;
    let study = opendp_registry::json::parse(&text).and_then(|json| Study::parse(&json));
    let study = study.map_err(at)?;
    let outcome = if *dry_run {
        study.rehearse(*alpha).map_err(at)?
    } else {
        let file = file(arguments, &study)?;
        let read = |name: &str, kind| {
            let source = Source { path: &file, column: Some(name), separator: *separator };
            cells(&source, kind, !as_json)
        };
        study.ask(read, *alpha).map_err(at)?
    };
    match (as_json, csv) {
        (true, _) => Ok(outcome.to_json().to_string()),
        (false, false) => Ok(outcome.to_text()),
        (false, true) => table(&outcome.rows()),
    }
}
/// Find the file of the data.
fn file(arguments: &Arguments, study: &Study) -> Result<PathBuf> {
    let file = match (&arguments.data, study.data()) {
        (Some(file), _) => file.clone(),
        (None, Some(named)) => {
            arguments.study.parent().unwrap_or(Path::new("")).join(Path::new(named))
        }
        (None, None) => {
            let reason = "name the table, with --data FILE or as `data` of the context";
            return Err(Error::argument("data", reason));
        }
    };
    if file.as_os_str() == "-" {
        let reason = "a study may read several columns, so the table must be a file";
        return Err(Error::argument("data", reason));
    }
    Ok(file)
}
/// Read a column. A cell that is empty or does not read is missing.
fn cells(source: &Source<'_>, kind: CellType, progress: bool) -> Result<Cells> {
    Ok(match kind {
        CellType::Integer => Cells::Integer(column(source, AtomDomain::default(), progress)?),
        // The text "NaN" stands for a missing number.
        CellType::Float => Cells::Float(column(source, AtomDomain::non_nan(), progress)?),
        CellType::Bool => Cells::Bool(column(source, AtomDomain::default(), progress)?),
        CellType::Text => Cells::Text(column(source, AtomDomain::default(), progress)?),
    })
}
fn column<T: Atom>(
    source: &Source<'_>,
    element: AtomDomain<T>,
    progress: bool,
) -> Result<Vec<Option<T>>> {
    let rows = VectorDomain::new(OptionDomain::new(element));
    let space = Space::new(rows, SymmetricDistance)?.erase();
    match data::open(source, space.domain(), progress)? {
        Data::Json(json) => data::member(json, source.column, space.domain())?.downcast(),
        Data::Rows(chunks) => {
            let mut rows = Vec::new();
            for chunk in chunks {
                rows.append(&mut chunk?.downcast::<Vec<Option<T>>>()?);
            }
            Ok(rows)
        }
    }
}
/// Write rows as CSV.
fn table(rows: &[[String; 5]]) -> Result<String> {
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
