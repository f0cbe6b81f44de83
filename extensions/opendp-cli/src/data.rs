//! Data from files: a column of a CSV table in chunks, or a value in JSON.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
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
/// Every line after the header is one row, whatever it holds: quotes count within a line and never
/// beyond it. A cell that is missing, does not read, or lies out of bounds becomes a member by the
/// domain's rules. So no person's cell can change the row of another, or the number of rows. Where
/// the domain knows the number of rows and the table has another, the last chunk is an error.
pub(crate) struct Column<'a> {
    lines: BufReader<Box<dyn Read>>,
    cells: Cells,
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
        let (mut lines, mut cells) = (BufReader::with_capacity(1 << 18, source), Cells::new());
        let mut header = Vec::new();
        lines.read_until(b'\n', &mut header).map_err(|_| broken())?;
        // Some programs begin a text with a mark of its encoding.
        let names = cells.all(header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&header));
        let index = match column {
            Some(name) => names.iter().position(|known| known == name),
            None if names.len() == 1 => Some(0),
            None => None,
        };
        let index = index.ok_or_else(|| {
            Error::argument("column", format!("expected one of `{}`", names.join("`, `")))
        })?;
        let size = domain.to_json()["vector_domain"]["size"].as_u64();
        Ok(Column { lines, cells, index, domain, size, rows: 0, ended: false })
    }
    fn chunk(&mut self) -> Result<Option<AnyValue>> {
        let (mut found, mut line): (Vec<String>, Vec<u8>) = (Vec::new(), Vec::new());
        while found.len() < CHUNK_CELLS {
            line.clear();
            if self.lines.read_until(b'\n', &mut line).map_err(|_| broken())? == 0 {
                self.ended = true;
                break;
            }
            found.push(self.cells.nth(&line, self.index));
        }
        self.rows += u64::try_from(found.len()).unwrap_or(u64::MAX);
        if self.ended && self.size.is_some_and(|size| size != self.rows) {
            return Err(Error::argument(
                "data",
                "the number of rows is not the `size` that the pipeline's domain states",
            ));
        }
        if found.is_empty() && 0 < self.rows {
            return Ok(None);
        }
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        let rows = self.domain.read_cells(&found).ok_or_else(|| {
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

/// The cells of one line.
struct Cells {
    parser: csv_core::Reader,
    buffer: Vec<u8>,
}
impl Cells {
    fn new() -> Self {
        Cells { parser: csv_core::Reader::new(), buffer: Vec::new() }
    }
    /// All cells, without the space around them.
    fn all(&mut self, line: &[u8]) -> Vec<String> {
        let mut cells = Vec::new();
        self.visit(line, |cell| {
            cells.push(cell);
            true
        });
        cells
    }
    /// One cell, or nothing where the line has fewer.
    fn nth(&mut self, line: &[u8], index: usize) -> String {
        let (mut found, mut left) = (String::new(), index);
        self.visit(line, |cell| {
            if left == 0 {
                found = cell;
                return false;
            }
            left -= 1;
            true
        });
        found
    }
    /// Show each cell to `visit`, until it has seen enough.
    fn visit(&mut self, line: &[u8], mut visit: impl FnMut(String) -> bool) {
        self.parser.reset();
        self.buffer.resize(line.len() + 1, 0);
        let (mut rest, mut written) = (line, 0);
        loop {
            let (result, read, wrote) =
                self.parser.read_field(rest, self.buffer.get_mut(written..).unwrap_or_default());
            (rest, written) = (rest.get(read..).unwrap_or_default(), written + wrote);
            match result {
                // Reading on from nothing tells the parser that the line has ended.
                csv_core::ReadFieldResult::InputEmpty => {}
                csv_core::ReadFieldResult::Field { record_end } => {
                    let cell = self.buffer.get(..written).unwrap_or_default();
                    // Text that is not UTF-8 is a cell that does not read.
                    let cell = std::str::from_utf8(cell).unwrap_or_default().trim().to_owned();
                    if !visit(cell) || record_end {
                        return;
                    }
                    written = 0;
                }
                csv_core::ReadFieldResult::OutputFull | csv_core::ReadFieldResult::End => return,
            }
        }
    }
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
