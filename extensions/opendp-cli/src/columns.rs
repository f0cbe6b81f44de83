//! The columns of a study. One pass over the table reads all columns.

use std::collections::HashMap;

use opendp_core::{
    Atom, AtomDomain, DataFrame, OptionDomain, Result, Space, SymmetricDistance, VectorDomain,
};
use opendp_data::depends_on_records;
use opendp_ledger::Failure;
use opendp_study::{CellType, Cells, Study};
use serde_json::Value as Json;

use crate::data::{self, Data, Source};

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
    study.cells_of(chunks.map(|chunk| {
        let frame = chunk.and_then(|chunk| chunk.downcast::<DataFrame<String>>());
        frame.map_err(|error| match depends_on_records(&error) {
            true => Failure::OfData(error),
            false => Failure::OfFile(error),
        })
    }))
}
fn opened(source: &Source<'_>, study: &Study, progress: bool) -> Result<Data> {
    let space = Space::new(study.frame_domain()?, SymmetricDistance)?.erase();
    data::open(source, space.domain(), progress)
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
