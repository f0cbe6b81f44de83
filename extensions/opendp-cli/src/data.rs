//! Data from files: a column of a table in chunks, or a value in JSON.

use std::{fs::File, io, path::Path};

use indicatif::{ProgressBar, ProgressStyle};
use opendp_core::erased::{AnyDomain, AnyValue};
use opendp_core::{Domain, Error, Result};
use opendp_data::CsvColumn;
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

/// The rows of a column of a table, in chunks, by the extension of the file.
pub(crate) fn rows(
    path: &Path,
    column: Option<&str>,
    domain: &AnyDomain,
    progress: bool,
) -> Result<Box<dyn Iterator<Item = Result<AnyValue>>>> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let length = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    // A bar for files that take a moment; it hides itself where there is no terminal.
    let progress = progress && (1 << 24) < length;
    if path.extension().is_some_and(|extension| extension == "parquet") {
        return parquet(file, column, domain, progress);
    }
    if !progress {
        return Ok(Box::new(CsvColumn::new(file, column, domain)?));
    }
    let source = bar("{bar:40} {bytes}/{total_bytes} {eta}", length).wrap_read(file);
    Ok(Box::new(CsvColumn::new(source, column, domain)?))
}
#[cfg(feature = "parquet")]
fn parquet(
    file: File,
    column: Option<&str>,
    domain: &AnyDomain,
    progress: bool,
) -> Result<Box<dyn Iterator<Item = Result<AnyValue>>>> {
    let rows = opendp_data::ParquetColumn::new(file, column, domain)?;
    if !progress {
        return Ok(Box::new(rows));
    }
    let bar = bar("{bar:40} {pos}/{len} rows {eta}", 0);
    Ok(Box::new(rows.on_progress(move |progress| {
        bar.set_length(progress.total_rows.unwrap_or(progress.rows));
        bar.set_position(progress.rows);
    })))
}
#[cfg(not(feature = "parquet"))]
fn parquet(
    _: File,
    _: Option<&str>,
    _: &AnyDomain,
    _: bool,
) -> Result<Box<dyn Iterator<Item = Result<AnyValue>>>> {
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
