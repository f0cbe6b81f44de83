//! Data from files: a column of a table or several of them in chunks, or a value in JSON.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use indicatif::{ProgressBar, ProgressStyle};
use opendp_core::erased::{AnyDomain, AnyValue};
use opendp_core::{DataFrame, DataFrameDomain, Domain, Error, Result};
use opendp_data::{CsvColumn, CsvFrame};
use serde_json::Value as Json;

/// Read a text file, or standard input for `-`.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let text = if path.as_os_str() == "-" {
        io::read_to_string(io::stdin().lock())
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| unreadable(path, &error))
}
fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::argument(path.display().to_string(), format!("the file cannot be read: {error}"))
}

/// The rows of a table, in chunks.
pub(crate) type Rows = Box<dyn Iterator<Item = Result<AnyValue>>>;

/// What is read of a table.
enum What<'a> {
    /// One column, by its name, where there are several.
    Column(Option<&'a str>, &'a AnyDomain),
    /// The columns of a schema.
    Frame(&'a DataFrameDomain<String>),
}

/// The rows of a table, in chunks, by the extension of the file: of a column, or of the columns that
/// the domain of a frame names.
pub(crate) fn rows(
    path: &Path,
    column: Option<&str>,
    domain: &AnyDomain,
    progress: bool,
) -> Result<Rows> {
    let what = match (domain.downcast_ref(), column) {
        (Err(_), column) => What::Column(column, domain),
        (Ok(frame), None) => What::Frame(frame),
        (Ok(_), Some(_)) => {
            let reason = "this pipeline reads the columns that its `dataframe_domain` names";
            return Err(Error::argument("column", reason));
        }
    };
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let length = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    // A bar for files that take a moment; it hides itself where there is no terminal.
    let progress = progress && (1 << 24) < length;
    if path.extension().is_some_and(|extension| extension == "parquet") {
        return parquet(file, what, progress);
    }
    let source: Box<dyn Read + Send> = if progress {
        Box::new(bar("{bar:40} {bytes}/{total_bytes} {eta}", length).wrap_read(file))
    } else {
        Box::new(file)
    };
    Ok(match what {
        What::Column(column, domain) => Box::new(CsvColumn::new(source, column, domain)?),
        What::Frame(domain) => Box::new(frames(CsvFrame::new(source, domain)?)),
    })
}
fn frames(
    frames: impl Iterator<Item = Result<DataFrame<String>>>,
) -> impl Iterator<Item = Result<AnyValue>> {
    frames.map(|frame| frame.map(AnyValue::new))
}
#[cfg(feature = "parquet")]
fn parquet(file: File, what: What<'_>, progress: bool) -> Result<Rows> {
    let bar = progress.then(|| bar("{bar:40} {pos}/{len} rows {eta}", 0));
    let show = move |progress: opendp_data::Progress| {
        if let Some(bar) = &bar {
            bar.set_length(progress.total_rows.unwrap_or(progress.rows));
            bar.set_position(progress.rows);
        }
    };
    Ok(match what {
        What::Column(column, domain) => {
            Box::new(opendp_data::ParquetColumn::new(file, column, domain)?.on_progress(show))
        }
        What::Frame(domain) => {
            Box::new(frames(opendp_data::ParquetFrame::new(file, domain)?.on_progress(show)))
        }
    })
}
#[cfg(not(feature = "parquet"))]
fn parquet(_: File, _: What<'_>, _: bool) -> Result<Rows> {
    Err(Error::NotImplemented(
        "this `opendp` was built without Parquet; install it with `--features parquet`".into(),
    ))
}
fn bar(template: &str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style)
}

/// Decode a value from a JSON file: the whole of it, or one column of an array of objects.
pub(crate) fn read_json(path: &Path, column: Option<&str>, domain: &AnyDomain) -> Result<AnyValue> {
    let json = opendp_registry::json::parse(&read_text(path)?)
        .map_err(|error| error.at(path.display().to_string()))?;
    let json = match column {
        None => json,
        Some(name) => pick(json, name)?,
    };
    let value = domain.decode(&json).map_err(|error| error.at("data"))?;
    if domain.member(&value) {
        return Ok(value);
    }
    Err(Error::argument("data", format!("expected a member of {}", domain.to_json())))
}
fn pick(json: Json, name: &str) -> Result<Json> {
    let missing = || Error::argument("column", format!("the data has no column `{name}`"));
    match json {
        Json::Object(mut columns) => columns.remove(name).ok_or_else(missing),
        Json::Array(rows) => rows
            .into_iter()
            .map(|row| row.get(name).cloned().ok_or_else(missing))
            .collect::<Result<Json>>(),
        _ => Err(missing()),
    }
}
