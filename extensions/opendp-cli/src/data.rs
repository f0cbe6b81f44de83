//! Data from files: a column of a CSV table in chunks, or a value in JSON.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use indicatif::{ProgressBar, ProgressStyle};
use opendp_core::erased::{AnyDomain, AnyValue};
use opendp_core::{Domain, Error, Result};
use serde_json::Value as Json;

/// Cells that are read before they become a chunk of rows.
const CHUNK_CELLS: usize = 1 << 16;

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

/// The chunks of rows of a column, as members of a domain.
///
/// A cell that does not read, or that lies out of bounds, becomes a member by the domain's rules,
/// so that the number of rows is that of the table. Where the domain knows the number of rows and
/// the table has another, the last chunk is an error.
pub(crate) struct Column<'a> {
    reader: csv::Reader<Box<dyn Read>>,
    record: csv::StringRecord,
    index: usize,
    domain: &'a AnyDomain,
    size: Option<u64>,
    rows: u64,
    ended: bool,
}
impl<'a> Column<'a> {
    pub(crate) fn open(
        path: &Path,
        column: Option<&str>,
        domain: &'a AnyDomain,
        progress: bool,
    ) -> Result<Self> {
        let file = File::open(path).map_err(|error| unreadable(path, &error))?;
        let length = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
        // A bar for files that take a moment; it hides itself where there is no terminal.
        let source: Box<dyn Read> = if progress && (1 << 24) < length {
            let style = "{bar:40} {bytes}/{total_bytes} {eta}";
            let style = ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar());
            Box::new(ProgressBar::new(length).with_style(style).wrap_read(file))
        } else {
            Box::new(file)
        };
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(source);
        let headers = reader.headers().map_err(|_| broken())?;
        let names: Vec<&str> = headers.iter().map(str::trim).collect();
        let index = match column {
            Some(name) => names.iter().position(|known| *known == name),
            None if names.len() == 1 => Some(0),
            None => None,
        };
        let index = index.ok_or_else(|| {
            Error::argument("column", format!("expected one of `{}`", names.join("`, `")))
        })?;
        let size = domain.to_json()["vector_domain"]["size"].as_u64();
        let record = csv::StringRecord::new();
        Ok(Column { reader, record, index, domain, size, rows: 0, ended: false })
    }
    fn chunk(&mut self) -> Result<Option<AnyValue>> {
        let mut cells: Vec<String> = Vec::new();
        while cells.len() < CHUNK_CELLS {
            match self.reader.read_record(&mut self.record) {
                Ok(true) => cells.push(self.record.get(self.index).unwrap_or_default().to_owned()),
                Ok(false) => {
                    self.ended = true;
                    break;
                }
                // Text that is not UTF-8 is one row whose cell does not read.
                Err(error) if matches!(error.kind(), csv::ErrorKind::Utf8 { .. }) => {
                    cells.push(String::new());
                }
                Err(_) => return Err(broken()),
            }
        }
        self.rows += u64::try_from(cells.len()).unwrap_or(u64::MAX);
        if self.ended && self.size.is_some_and(|size| size != self.rows) {
            return Err(Error::argument(
                "data",
                "the number of rows is not the `size` that the pipeline's domain states",
            ));
        }
        if cells.is_empty() && 0 < self.rows {
            return Ok(None);
        }
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let rows = self.domain.read_cells(&cells).ok_or_else(|| {
            let found = self.domain.to_json();
            Error::argument("data", format!("a table has rows, and {found} has none"))
        })?;
        rows.map(Some)
    }
}
impl Iterator for Column<'_> {
    type Item = Result<AnyValue>;
    fn next(&mut self) -> Option<Result<AnyValue>> {
        if self.ended {
            return None;
        }
        let chunk = self.chunk().transpose();
        if matches!(chunk, Some(Err(_))) {
            self.ended = true;
        }
        chunk
    }
}
#[cold]
fn broken() -> Error {
    Error::argument("data", "the table cannot be read to its end")
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
