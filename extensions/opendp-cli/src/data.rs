//! Data from files: chunks of one or several columns of a table, or a value in JSON.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::Path,
};

use indicatif::{ProgressBar, ProgressStyle};
use opendp_core::codec::items;
use opendp_core::erased::{AnyDomain, AnyValue};
use opendp_core::{DataFrame, DataFrameDomain, Domain, Error, Result};
use opendp_data::{Compression, CsvTable, outside};
use opendp_ledger::Terms;
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
    let reason = format!("file `{}` cannot be read: {error}", path.display());
    match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound(format!("{reason}; check its path")),
        _ => Error::FailedFunction(reason),
    }
}

/// The path of the data, the column to read, and the separator of cells.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    /// The file, or `-` for a CSV table from standard input.
    pub(crate) path: &'a Path,
    pub(crate) column: Option<&'a str>,
    /// The separator of cells in a CSV table, if stated.
    pub(crate) separator: Option<u8>,
    /// The terms of the budget, if the answers are charged. The terms can state the SHA-256 of the
    /// file.
    pub(crate) terms: Option<&'a Terms>,
}
/// The kind of a file, by the extension of its name.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Csv,
    Json,
    Parquet,
}
impl Source<'_> {
    /// Return whether the data come from standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        self.path.as_os_str() == "-"
    }
    /// Return the kind of the file and its compression, both from its name.
    pub(crate) fn kind(&self) -> (Kind, Option<Compression>) {
        let extension = |path: &Path| {
            path.extension().map(|extension| extension.to_ascii_lowercase()).unwrap_or_default()
        };
        let compression = match extension(self.path).to_str() {
            Some("gz") => Some(Compression::Gzip),
            Some("zst") => Some(Compression::Zstd),
            _ => None,
        };
        let stem = self.path.file_stem().map(Path::new).filter(|_| compression.is_some());
        let kind = match extension(stem.unwrap_or(self.path)).to_str() {
            Some("json") => Kind::Json,
            Some("parquet") => Kind::Parquet,
            _ => Kind::Csv,
        };
        (kind, compression)
    }
    /// Open the file. If its name states a compression, check that the content has this
    /// compression.
    pub(crate) fn file(&self) -> Result<(File, Kind)> {
        let unreadable = |error| unreadable(self.path, &error);
        let (kind, compression) = self.kind();
        if self.separator.is_some() && kind != Kind::Csv {
            let reason = "only a CSV table has a separator; leave --separator out";
            return Err(Error::argument("separator", reason));
        }
        let mut file = File::open(self.path).map_err(unreadable)?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            let reason = "this is a folder: name a file of data in it";
            return Err(Error::argument(self.path.display().to_string(), reason));
        }
        self.terms.map_or(Ok(()), |terms| terms.check_open(self.path, &mut file))?;
        if let Some(compression) = compression {
            let mut start = Vec::new();
            (&mut file).take(16).read_to_end(&mut start).map_err(unreadable)?;
            file.rewind().map_err(unreadable)?;
            if kind == Kind::Parquet || Compression::of(&start) != Some(compression) {
                let reason = match kind {
                    Kind::Parquet => "decompress it: Parquet compresses its own columns",
                    _ => "its contents do not have the compression that its name states",
                };
                return Err(Error::argument(self.path.display().to_string(), reason));
            }
        }
        Ok((file, kind))
    }
    /// Describe the source. The path is written as the user gave it. If the id of a release is used
    /// again, a ledger compares this description with the description of the first use. A path that
    /// is not UTF-8 is an error, because two such paths could have the same description.
    pub(crate) fn to_json(self, digest: Option<&str>) -> Result<Json> {
        let Some(path) = self.path.to_str() else {
            let reason = "the path is not UTF-8, so a budget cannot record it: rename the file";
            return Err(Error::argument("data", reason));
        };
        let mut source = serde_json::json!({"data": path});
        if let Some(column) = self.column {
            source["column"] = column.into();
        }
        if let Some(separator) = self.separator {
            source["separator"] = char::from(separator).to_string().into();
        }
        if let Some(digest) = digest {
            source["digest"] = digest.into();
        }
        Ok(source)
    }
    /// Open a CSV table, and read its header.
    pub(crate) fn csv(&self, source: impl Read + Send + 'static) -> Result<CsvTable> {
        CsvTable::open(source, self.separator)
    }
}

/// Parse the separator of the cells of a CSV table.
pub(crate) fn parse_separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !b"\"\r\n\0".contains(byte) => Ok(*byte),
        _ => Err("expected one ASCII character other than a quote, or `tab`".into()),
    }
}

/// The rows of a table, in chunks.
pub(crate) type Rows = Box<dyn Iterator<Item = Result<AnyValue>>>;

/// Opened data. Most errors that concern the whole file occur when the file is opened.
pub(crate) enum Data {
    Rows(Rows),
    /// The parsed JSON, or the error of parsing. This error can depend on a single record.
    Json(Result<Json>),
}

/// The parts of a table to read.
enum What<'a> {
    /// One column, and the domain of its rows. If the table has several columns, the name of the
    /// column is needed.
    Column(Option<&'a str>, &'a AnyDomain),
    /// The columns that a schema names.
    Frame(&'a DataFrameDomain<String>),
}

/// Open a file of data. The extension of its name states the kind of the file. The data are JSON,
/// or the rows of one column. For a domain of data frames, the data are the rows of the columns
/// that the domain names.
pub(crate) fn open(source: &Source<'_>, domain: &AnyDomain, progress: bool) -> Result<Data> {
    if source.is_stdin() {
        return table(source.csv(io::stdin())?, what(source.column, domain)?).map(Data::Rows);
    }
    let (file, kind) = source.file()?;
    if kind == Kind::Json {
        return json(source.path, file).map(Data::Json);
    }
    let what = what(source.column, domain)?;
    let length = file.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    // Show a progress bar for large files. The bar is hidden if standard error is not a terminal.
    let progress = progress && (1 << 24) < length;
    if kind == Kind::Parquet {
        return parquet(file, what, progress).map(Data::Rows);
    }
    let file: Box<dyn Read + Send> = if progress {
        Box::new(bar("{bar:40} {bytes}/{total_bytes} {eta}", length).wrap_read(file))
    } else {
        Box::new(file)
    };
    table(source.csv(file)?, what).map(Data::Rows)
}
fn what<'a>(column: Option<&'a str>, domain: &'a AnyDomain) -> Result<What<'a>> {
    match (domain.downcast_ref(), column) {
        (Err(_), column) => Ok(What::Column(column, domain)),
        (Ok(frame), None) => Ok(What::Frame(frame)),
        (Ok(_), Some(_)) => {
            let reason = "this pipeline reads the columns that its `dataframe_domain` names; leave \
                          --column out";
            Err(Error::argument("column", reason))
        }
    }
}
fn table(table: CsvTable, what: What<'_>) -> Result<Rows> {
    Ok(match what {
        What::Column(column, domain) => Box::new(table.column(column, domain)?),
        What::Frame(domain) => Box::new(frames(table.frame(domain)?)),
    })
}
fn frames(
    frames: impl Iterator<Item = Result<DataFrame<String>>>,
) -> impl Iterator<Item = Result<AnyValue>> {
    frames.map(|frame| frame.map(AnyValue::new))
}
#[cfg(all(feature = "parquet", panic = "abort"))]
compile_error!(
    "with the feature `parquet`, panics must unwind, so that a panic of the Parquet library becomes \
     an error that is charged: build with the profile `release`"
);
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
    Err(no_parquet())
}
#[cfg(not(feature = "parquet"))]
pub(crate) fn no_parquet() -> Error {
    Error::NotImplemented(
        "this `opendp` was built without Parquet; install it with `--features parquet`".into(),
    )
}
fn bar(template: &str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style)
}

fn json(path: &Path, file: File) -> Result<Result<Json>> {
    let located = |error: Error| error.at(path.display().to_string());
    let mut bytes = Vec::new();
    let read = opendp_data::text(file).map_err(located)?.read_to_end(&mut bytes);
    read.map_err(|error| unreadable(path, &error))?;
    // From here on, an error can depend on a single record.
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::argument("json", "the text is not UTF-8: save it in UTF-8"));
    let parsed = text.and_then(|text| opendp_registry::json::parse(&text));
    Ok(parsed.map_err(located))
}
/// Convert JSON to a member of a domain: the whole value, or one column. A column is a field of an
/// object, or the same field of all objects in an array.
///
/// An atom is a number, a text or a truth value. Rows of atoms are read from their text, like cells
/// of a table. The domain converts every text to one of its atoms, even a text that is unreadable.
/// A missing field of an object is an empty cell.
///
/// # Errors
/// [`outside`] when the value is not a member of the domain. For a domain with rows of atoms, there
/// are only two such cases. The value is not an array, or the domain states another number of rows.
/// [`outside`] is the same error for all data. `Argument` when the data do not have the column.
pub(crate) fn member(json: Json, column: Option<&str>, domain: &AnyDomain) -> Result<AnyValue> {
    let json = match column {
        None => json,
        Some(name) => pick(json, name)?,
    };
    let value = match domain.read_cells(&[]) {
        // The members of the domain are not rows of cells. Read an atom as a single cell, and
        // decode any other value below.
        None => match json {
            Json::Array(_) | Json::Object(_) => None,
            ref atom => domain.read_cells(&[&cell(atom)]),
        },
        // A row that is a list cannot be read from the text of a cell.
        Some(_) if nested(domain) => None,
        Some(_) => match items(&json, "an array of rows") {
            Err(_) => None,
            Ok(rows) => {
                let cells: Vec<String> = rows.iter().map(cell).collect();
                domain.read_cells(&cells.iter().map(String::as_str).collect::<Vec<_>>())
            }
        },
    };
    let value = value.unwrap_or_else(|| domain.decode(&json)).map_err(|_| outside())?;
    if domain.member(&value) { Ok(value) } else { Err(outside()) }
}
/// Return whether each row of a domain is a list, and not an atom.
fn nested(domain: &AnyDomain) -> bool {
    let carrier = domain.carrier();
    matches!(carrier.args(), [row] if row.head() == "Vec")
}
/// Convert an atom to the text of a cell. A null or nested value becomes the empty text, like an
/// empty cell.
fn cell(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        Json::Number(_) | Json::Bool(_) => json.to_string(),
        Json::Null | Json::Array(_) | Json::Object(_) => String::new(),
    }
}
fn pick(json: Json, name: &str) -> Result<Json> {
    let missing = || {
        let name = name.escape_debug();
        Err(Error::argument("column", format!("the data have no column `{name}`")))
    };
    match json {
        Json::Object(mut columns) => columns.remove(name).map_or_else(missing, Ok),
        Json::Array(rows) if rows.is_empty() || rows.iter().any(|row| row.get(name).is_some()) => {
            Ok(rows.iter().map(|row| row.get(name).cloned().unwrap_or_default()).collect())
        }
        _ => missing(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    /// A path can lead to another file after its SHA-256 was checked. So the file that was opened
    /// is checked, too.
    #[test]
    fn the_file_that_is_read_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let terms = Terms::new().with_digest(digest).unwrap();
        let read = |text: &str, terms| {
            std::fs::write(&path, text).unwrap();
            let source = Source { path: &path, column: None, separator: None, terms };
            let mut found = String::new();
            source.file().map(|(mut file, _)| file.read_to_string(&mut found).map(|_| found))
        };
        assert_eq!(read("abc", Some(&terms)).unwrap().unwrap(), "abc");
        assert_eq!(read("abd", None).unwrap().unwrap(), "abd");
        let error = read("abd", Some(&terms)).unwrap_err().to_string();
        assert!(error.contains("is not the file that the budget is for"), "{error}");
    }
    #[test]
    fn a_path_that_is_not_utf_8_is_refused_because_another_path_looks_the_same() {
        let json = |name: &[u8]| {
            let path = Path::new(OsStr::from_bytes(name));
            Source { path, column: None, separator: None, terms: None }.to_json(None)
        };
        assert_eq!(json("é.csv".as_bytes()).unwrap(), serde_json::json!({"data": "é.csv"}));
        for name in [b"\xe9.csv", b"\xe8.csv"] {
            assert!(json(name).unwrap_err().to_string().contains("rename the file"));
        }
    }
}
