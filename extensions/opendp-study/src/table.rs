//! The table of a study: typed columns, and the replacement of missing cells.

use opendp_core::{Atom, Error, Result};
use serde_json::Value as Json;

use super::document::{CellType, ColumnFields};
use opendp_analysis::Table;

/// The cells of a column. `None` stands for a cell that is empty or unreadable.
#[derive(Clone)]
#[allow(missing_debug_implementations, reason = "data are not printed")]
pub enum Cells {
    /// Whole numbers.
    Integer(Vec<Option<i64>>),
    /// Numbers.
    Float(Vec<Option<f64>>),
    /// `true` or `false`.
    Bool(Vec<Option<bool>>),
    /// Texts.
    Text(Vec<Option<String>>),
}
impl Cells {
    pub(super) fn missing(kind: CellType, rows: usize) -> Self {
        match kind {
            CellType::Integer => Cells::Integer(vec![None; rows]),
            CellType::Float => Cells::Float(vec![None; rows]),
            CellType::Bool => Cells::Bool(vec![None; rows]),
            CellType::Text => Cells::Text(vec![None; rows]),
        }
    }
    /// Return the number of cells.
    pub fn rows(&self) -> usize {
        match self {
            Cells::Integer(cells) => cells.len(),
            Cells::Float(cells) => cells.len(),
            Cells::Bool(cells) => cells.len(),
            Cells::Text(cells) => cells.len(),
        }
    }
    fn kind(&self) -> CellType {
        match self {
            Cells::Integer(_) => CellType::Integer,
            Cells::Float(_) => CellType::Float,
            Cells::Bool(_) => CellType::Bool,
            Cells::Text(_) => CellType::Text,
        }
    }
}

/// Build the table. If a public number of rows is stated, check that each column has this number of
/// cells. The columns have the names that the document gives them. The table also contains a copy
/// of each column of integers [as floats](as_float). For each column with `"missing": "drop"`, the
/// table also contains a column of booleans, which marks the cells that are [known](known).
pub(super) fn load(
    columns: &[(String, ColumnFields)],
    rows: Option<usize>,
    mut read: impl FnMut(&str, CellType) -> Result<Cells>,
) -> Result<Table> {
    let mut table = Table::new();
    for (name, column) in columns {
        let located = |error: Error| error.at(format!("column `{name}`"));
        let filler = Filler::of(column).map_err(located)?;
        let cells = read(name, column.kind)?;
        if cells.kind() != column.kind {
            return Err(Error::argument(name, format!("expected cells of {}", column.kind.name())));
        }
        if let Some(rows) = rows.filter(|rows| *rows != cells.rows()) {
            let reason = format!(
                "the data do not have the stated number of rows, {rows}: correct the data or this number"
            );
            return Err(Error::argument("rows", reason));
        }
        table = match cells {
            Cells::Integer(cells) => {
                let table = with(table, name, cells, &filler).map_err(located)?;
                // Every integer of magnitude at most 2^53 is a float. Any other integer can be
                // rounded. The magnitude of the rounded cell is at least 2^53. So a comparison of
                // this cell with a number of magnitude below 2^53 stays exact.
                table.with_derived(&as_float(name), name, |cell: &i64| *cell as f64)?
            }
            Cells::Float(cells) => with(table, name, cells, &filler).map_err(located)?,
            Cells::Bool(cells) => with(table, name, cells, &filler).map_err(located)?,
            Cells::Text(cells) => with(table, name, cells, &filler).map_err(located)?,
        };
    }
    Ok(table)
}
/// Build a table in which all cells are missing. The table has the stated public number of rows. If
/// this number is not stated, the table has no rows.
///
/// # Errors
/// `Argument` when there is not enough memory for the stated number of rows; the errors of `load`.
pub(super) fn blank(columns: &[(String, ColumnFields)], rows: Option<usize>) -> Result<Table> {
    let count = rows.unwrap_or_default();
    check_memory(columns, count)?;
    load(columns, rows, |_, kind| Ok(Cells::missing(kind, count)))
}
/// Check that there is enough memory for the cells of all columns together. A document can state
/// any number of rows. If there is not enough memory, the allocation of the cells ends the process.
/// So check the memory before the allocation. Some systems grant more memory than they have. On
/// such a system, the check does not find every shortage.
fn check_memory(columns: &[(String, ColumnFields)], rows: usize) -> Result<()> {
    let row = columns.iter().map(|(_, column)| bytes_of(column));
    let row = row.fold(0, usize::saturating_add);
    let room = Vec::<u8>::new().try_reserve_exact(row.saturating_mul(rows));
    room.map_err(|_| {
        let reason = format!("not enough memory for {rows} rows: state a smaller number of rows");
        Error::argument("rows", reason)
    })
}
/// Return the number of bytes that the table takes for one missing cell of a column. These are the
/// bytes of the cell, of the float copy of an integer, of the text that replaces the cell, and of
/// the mark of known cells.
fn bytes_of(column: &ColumnFields) -> usize {
    let text = column.missing.as_ref().and_then(Json::as_str).map_or(0, str::len);
    let cell = match column.kind {
        CellType::Integer => size_of::<i64>() + size_of::<f64>(),
        CellType::Float => size_of::<f64>(),
        CellType::Bool => size_of::<bool>(),
        CellType::Text => size_of::<String>().saturating_add(text),
    };
    cell.saturating_add(size_of::<bool>())
}
fn with<T: Atom>(
    table: Table,
    name: &str,
    cells: Vec<Option<T>>,
    filler: &Filler,
) -> Result<Table> {
    let table = match filler {
        Filler::Drop => {
            let mut found = Vec::with_capacity(cells.len());
            for cell in &cells {
                found.push(cell.is_some());
            }
            table.with(&known(name), found)?
        }
        Filler::Value(_) | Filler::Default => table,
    };
    let value = match filler {
        Filler::Value(value) => T::from_json(value).map_err(|error| error.at("missing"))?,
        Filler::Drop | Filler::Default => T::default(),
    };
    let mut filled = Vec::with_capacity(cells.len());
    for cell in cells {
        filled.push(cell.unwrap_or_else(|| value.clone()));
    }
    table.with(name, filled)
}
/// For a column `name` of integers, return the name of its copy as floats.
pub(super) fn as_float(name: &str) -> String {
    format!("{name} as f64")
}
/// Return the name of the column that marks the known cells of column `name`.
pub(super) fn known(name: &str) -> String {
    format!("{name} is known")
}

/// The way to replace a missing cell.
enum Filler {
    Drop,
    Value(Json),
    /// Replace a missing cell by `false` or the empty text.
    Default,
}
impl Filler {
    fn of(column: &ColumnFields) -> Result<Self> {
        match (&column.missing, column.kind) {
            (Some(Json::String(word)), _) if word == "drop" => Ok(Filler::Drop),
            (Some(value), CellType::Text) => Ok(Filler::Value(value.clone())),
            // Only a text can be the word `drop` in another form.
            (Some(value), _) => column.check_drop().map(|()| Filler::Value(value.clone())),
            (None, CellType::Bool | CellType::Text) => Ok(Filler::Default),
            (None, CellType::Integer | CellType::Float) => Err(Error::argument(
                "missing",
                "state what replaces a cell that is empty or cannot be read as a number: a value, \
                 as in `\"missing\": 0`, or `\"missing\": \"drop\"`",
            )),
        }
    }
}
