//! Exact facts about the cells of a table. These facts are only for the curator, who may see the
//! data.

mod commas;
mod tally;

use std::{fs::File, io, path::PathBuf};

use opendp_core::{Error, Result};
use opendp_data::CsvTable;
use serde_json::{Value as Json, json};

use crate::data::{self, Kind, Source};
use commas::Commas;
use tally::{Tally, Type, parse_type};

/// The first line of every report.
const PRIVATE: &str = "PRIVATE: exact facts of the data, without noise, for the curator only. \
                       Do not publish them, and do not pass them on.";

/// The arguments of `inspect`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The table: CSV with a header, or Parquet; `-` is a CSV table from standard input
    #[arg(long)]
    pub(crate) data: PathBuf,
    /// Inspect only this column
    #[arg(long)]
    pub(crate) column: Option<String>,
    /// The type of the cells, such as i32 or f64; without it, the type is guessed. As bool, the
    /// cells true, True, TRUE and 1 are true, and false, False, FALSE and 0 are false; an empty
    /// cell is missing, and any other cell is unreadable
    #[arg(long = "as", value_name = "T", value_parser = parse_type)]
    pub(crate) as_type: Option<Type>,
    /// The separator of the cells of a CSV table: one character, or `tab`; defaults to a comma
    #[arg(long, value_parser = data::parse_separator)]
    pub(crate) separator: Option<u8>,
}

/// Count the kinds of cells in each column, or only in the named column, in one pass.
pub(crate) fn answer(arguments: &Arguments) -> Result<Json> {
    let Arguments { data, column, separator, as_type } = arguments;
    let (column, separator) = (column.as_deref(), *separator);
    let source = &Source { path: data, column, separator, terms: None };
    let mut table = open(source)?;
    let names = table.names().to_vec();
    let places: Vec<usize> = (0..names.len())
        .filter(|place| {
            source.column.is_none_or(|column| names.get(*place).is_some_and(|n| n == column))
        })
        .collect();
    if places.is_empty() {
        let named = source.column.unwrap_or_default().escape_debug();
        let reason = format!("the table has no column `{named}`; leave --column out to see all");
        return Err(Error::argument("column", reason));
    }
    let mut tallies: Vec<Tally> = places.iter().map(|_| Tally::new(*as_type)).collect();
    let (mut rows, mut uneven, mut blank) = (0_u64, 0_u64, 0_u64);
    while let Some(row) = table.next_row()? {
        rows += 1;
        // In a table of one column, a blank line is an empty cell. The tally of this column counts
        // the cell, so the line does not count as blank.
        let is_blank = names.len() != 1
            && matches!(&row[..], [] | [Some(_)] if row.iter().flatten().all(String::is_empty));
        blank += u64::from(is_blank);
        uneven += u64::from(row.len() != names.len() && !is_blank);
        for (place, tally) in places.iter().zip(&mut tallies) {
            match row.get(*place) {
                Some(None) => tally.add_unreadable(),
                Some(Some(cell)) => tally.add(cell),
                None => tally.add(""),
            }
        }
    }
    let columns = places.iter().zip(&tallies).map(|(place, tally)| {
        let mut column = json!({"name": names.get(*place), "rows": rows});
        if let (Some(column), Json::Object(facts)) = (column.as_object_mut(), tally.report()) {
            column.extend(facts);
        }
        column
    });
    let columns: Json = columns.collect();
    let mut report = json!({
        "private": PRIVATE, "data": source.path.to_string_lossy(), "rows": rows,
        "uneven_rows": uneven, "odd_quotes": table.odd_quotes(), "columns": columns,
    });
    if 0 < blank {
        report["blank_lines"] = blank.into();
    }
    let not_utf8: u64 = tallies.iter().map(Tally::not_utf8).sum();
    if 0 < not_utf8 {
        report["not_utf8"] = not_utf8.into();
    }
    let doubt = tally::doubt_of_header(&names).filter(|_| source.kind().0 == Kind::Csv);
    if let Some(doubt) = doubt {
        report["warning"] = doubt.into();
    }
    Ok(report)
}

/// An open table. Each cell is read as its text, without the spaces around it.
enum Table {
    Csv(Box<CsvTable>),
    #[cfg(feature = "parquet")]
    Parquet(opendp_data::ParquetTexts),
}
impl Table {
    fn names(&self) -> &[String] {
        match self {
            Table::Csv(table) => table.names(),
            #[cfg(feature = "parquet")]
            Table::Parquet(table) => table.names(),
        }
    }
    /// Read the cells of the next row. A cell that is not UTF-8 is `None`.
    fn next_row(&mut self) -> Result<Option<Vec<Option<String>>>> {
        match self {
            Table::Csv(table) => table.next_cells(),
            #[cfg(feature = "parquet")]
            Table::Parquet(table) => {
                Ok(table.next_row()?.map(|row| row.into_iter().map(Some).collect()))
            }
        }
    }
    /// Return the number of lines that have an odd number of quotes. In Parquet, this number is 0.
    fn odd_quotes(&self) -> u64 {
        match self {
            Table::Csv(table) => table.odd_quotes(),
            #[cfg(feature = "parquet")]
            Table::Parquet(_) => 0,
        }
    }
}
fn open(source: &Source<'_>) -> Result<Table> {
    if source.is_stdin() {
        return source.csv(io::stdin()).map(|table| Table::Csv(Box::new(table)));
    }
    match source.file()? {
        (file, Kind::Csv) => source.csv(file).map(|table| Table::Csv(Box::new(table))),
        (file, Kind::Parquet) => parquet(file),
        (_, Kind::Json) => Err(Error::argument("data", "expected a table, CSV or Parquet")),
    }
}
#[cfg(feature = "parquet")]
fn parquet(file: File) -> Result<Table> {
    opendp_data::ParquetTexts::open(file).map(Table::Parquet)
}
#[cfg(not(feature = "parquet"))]
fn parquet(_: File) -> Result<Table> {
    Err(crate::data::no_parquet())
}

/// Write a report for readers.
pub(crate) fn text(report: &Json) -> String {
    let mut lines = vec![
        PRIVATE.to_owned(),
        format!("{} row{}", report["rows"], if report["rows"] == 1 { "" } else { "s" }),
    ];
    if report["uneven_rows"] != 0 {
        let uneven = &report["uneven_rows"];
        lines.push(format!("rows with more or fewer cells than the first line: {uneven}"));
    }
    if let Some(blank) = report.get("blank_lines") {
        lines.push(format!("blank lines: {blank}. Each is a record whose cells are all missing"));
    }
    if report["odd_quotes"] != 0 {
        let odd = &report["odd_quotes"];
        lines.push(format!(
            "warning: rows with an odd number of quotes: {odd}. A cell may have a line break, but \
             each line is one record: remove line breaks from the cells"
        ));
    }
    if let Some(cells) = report.get("not_utf8") {
        lines.push(format!(
            "warning: cells that are not UTF-8, and are read as missing: {cells}. Save the table \
             in UTF-8"
        ));
    }
    if let Some(warning) = report.get("warning") {
        lines.push(format!("warning: {}", plain(warning)));
    }
    for column in report["columns"].as_array().into_iter().flatten() {
        lines.extend(column_lines(column));
    }
    lines.join("\n")
}
/// Write a value without quotes and without control characters.
fn plain(json: &Json) -> String {
    match json {
        Json::Null => "-".to_owned(),
        Json::String(text) => text.escape_debug().to_string(),
        json => json.to_string(),
    }
}
/// Write the facts of one column for readers.
fn column_lines(column: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    let guessed = if column["guessed"] == true { ", guessed" } else { "" };
    lines.push(format!("\n{}: {}{guessed}", plain(&column["name"]), plain(&column["type"])));
    for (fact, label) in [
        ("missing", "missing (empty)"),
        ("unreadable", "unreadable"),
        ("out_of_range", "out of range"),
        ("nan", "NaN"),
        ("infinite", "infinite"),
        ("minimum", "minimum"),
        ("maximum", "maximum"),
        ("domain", "domain"),
    ] {
        if let Some(found) = column.get(fact) {
            lines.push(format!("  {label:<16} {}", plain(found)));
        }
    }
    for meaning in Commas::ALL {
        if let Some(cells) = column.get(meaning.field()) {
            let [what, advice] = meaning.note();
            lines.push(format!(
                "  cells that look like a number {what}: {cells}; each is unreadable as a number: \
                 {advice}"
            ));
        }
    }
    if let Some(cells) = column.get("unreadable_as_bool") {
        lines.push(format!(
            "  cells unreadable as bool: {cells}; a `bool` column counts each as missing, or as \
             false if `missing` is not stated: write truth values as true, True, TRUE, 1, \
             false, False, FALSE or 0"
        ));
    }
    lines
}
