//! The columns of a study. One pass over the table reads all columns.

use std::collections::HashMap;

use opendp_core::{
    Atom, AtomDomain, ColumnDomain, DataFrame, DataFrameDomain, Error, OptionDomain, Result, Space,
    SymmetricDistance, VectorDomain,
};
use opendp_data::depends_on_records;
use opendp_ledger::Failure;
use opendp_study::{CellType, Cells, Study};
use serde_json::Value as Json;

use crate::data::{self, Data, Rows, Source};

/// The columns of a study, by their names. A cell that is empty or unreadable is missing.
pub(crate) type Columns = HashMap<String, Cells>;

/// Read the columns of a study from a file.
pub(crate) fn of_file(
    source: &Source<'_>,
    study: &Study,
    progress: bool,
) -> Result<Columns, Failure> {
    let chunks = match opened(source, study, progress).map_err(Failure::OfFile)? {
        Data::Json(json) => {
            return json.and_then(|json| of_json(&json, study)).map_err(Failure::OfData);
        }
        Data::Rows(chunks) => chunks,
    };
    read(chunks, study).map_err(|error| match depends_on_records(&error) {
        true => Failure::OfData(error),
        false => Failure::OfFile(error),
    })
}
fn opened(source: &Source<'_>, study: &Study, progress: bool) -> Result<Data> {
    let schema = study.columns().map(|(name, kind)| (name.to_owned(), domain(kind)));
    let frame = DataFrameDomain::with_schema(schema)?;
    let space = Space::new(frame, SymmetricDistance)?.erase();
    data::open(source, space.domain(), progress)
}
fn read(chunks: Rows, study: &Study) -> Result<Columns> {
    let mut columns: Columns =
        study.columns().map(|(name, kind)| (name.to_owned(), empty(kind))).collect();
    for chunk in chunks {
        let chunk: DataFrame<String> = chunk?.downcast()?;
        for (name, cells) in &mut columns {
            append(cells, &chunk, name).ok_or_else(|| {
                Error::argument(name, "the column is needed, but it was not read from the data")
            })?;
        }
    }
    Ok(columns)
}
/// Read the columns of a study from JSON: an object of columns, or an array of records.
pub(crate) fn of_json(json: &Json, study: &Study) -> Result<Columns> {
    let column = |(name, kind): (&str, CellType)| {
        Ok((
            name.to_owned(),
            match kind {
                CellType::Integer => Cells::Integer(cells(json, name, AtomDomain::default())?),
                CellType::Float => Cells::Float(cells(json, name, AtomDomain::non_nan())?),
                CellType::Bool => Cells::Bool(cells(json, name, AtomDomain::default())?),
                CellType::Text => {
                    let texts = cells(json, name, AtomDomain::default())?;
                    Cells::Text(texts.into_iter().map(known).collect())
                }
            },
        ))
    };
    study.columns().map(column).collect()
}

fn domain(kind: CellType) -> ColumnDomain {
    match kind {
        CellType::Integer => ColumnDomain::new(OptionDomain::new(AtomDomain::<i64>::default())),
        // The text "NaN" stands for a missing number.
        CellType::Float => ColumnDomain::new(OptionDomain::new(AtomDomain::<f64>::non_nan())),
        CellType::Bool => ColumnDomain::new(OptionDomain::new(AtomDomain::<bool>::default())),
        CellType::Text => ColumnDomain::new(OptionDomain::new(AtomDomain::<String>::default())),
    }
}
fn empty(kind: CellType) -> Cells {
    match kind {
        CellType::Integer => Cells::Integer(Vec::new()),
        CellType::Float => Cells::Float(Vec::new()),
        CellType::Bool => Cells::Bool(Vec::new()),
        CellType::Text => Cells::Text(Vec::new()),
    }
}
/// Append the cells of a column of a frame. Return `None` if the frame has no column with this name
/// and this type of cells.
fn append(cells: &mut Cells, frame: &DataFrame<String>, name: &String) -> Option<()> {
    match cells {
        Cells::Integer(cells) => cells.extend_from_slice(frame.cells(name)?),
        Cells::Float(cells) => cells.extend_from_slice(frame.cells(name)?),
        Cells::Bool(cells) => cells.extend_from_slice(frame.cells(name)?),
        Cells::Text(cells) => cells.extend(frame.cells(name)?.iter().cloned().map(known)),
    }
    Some(())
}
/// Return the text of a cell, or `None` for the empty text. An empty cell is missing, even in a
/// column of texts.
fn known(cell: Option<String>) -> Option<String> {
    cell.filter(|text| !text.is_empty())
}
fn cells<T: Atom>(json: &Json, name: &str, element: AtomDomain<T>) -> Result<Vec<Option<T>>> {
    let rows = VectorDomain::new(OptionDomain::new(element));
    let space = Space::new(rows, SymmetricDistance)?.erase();
    data::member(json.clone(), Some(name), space.domain())?.downcast()
}
