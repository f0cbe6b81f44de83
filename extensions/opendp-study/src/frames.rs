//! Reads the columns of a study from frames, such as the chunks of a CSV file.

use std::collections::HashMap;

use opendp_core::{
    AtomDomain, ColumnDomain, DataFrame, DataFrameDomain, Error, OptionDomain, Result,
};
use opendp_ledger::Failure;

use super::{CellType, Cells, Study};

impl Study {
    /// Return the domain of the frames that [`reader`](Study::reader) takes: the columns of the
    /// study, with cells that may be missing.
    ///
    /// # Errors
    /// `MakeDomain` when two columns have the same name.
    pub fn frame_domain(&self) -> Result<DataFrameDomain<String>> {
        let schema = self.columns().map(|(name, kind)| (name.to_owned(), cell_domain(kind)));
        DataFrameDomain::with_schema(schema)
    }
    /// Return the argument `read` of [`ask_charged`](Study::ask_charged) and
    /// [`try_ask`](Study::try_ask) for a table in frames. The types `CsvFrame`, `ArrowFrame` and
    /// `ParquetFrame` of the crate `opendp-data` read such frames from files.
    ///
    /// `open` opens the table, and gets the domain of its frames. `open` is called for the first
    /// column, and is not called if an id repeats earlier answers. The table is read once.
    ///
    /// An error of `open` is a [`Failure::OfFile`], which is not charged. So the error must not
    /// depend on the records. An error of the frames is converted to a failure. An [`Error`]
    /// becomes a [`Failure::OfData`], which is charged. To leave out the charge for an error that
    /// does not depend on the records, such as an interrupted read, convert the errors of the
    /// frames. The function `depends_on_records` of `opendp-data` distinguishes these errors.
    ///
    /// These readers remove the spaces around texts, so the study is
    /// [checked](Study::check_spaces) before `open` is called.
    ///
    /// ```
    /// use opendp_core::{Column, DataFrame};
    /// use opendp_ledger::Failure;
    /// use opendp_study::Study;
    ///
    /// let study = Study::parse(&serde_json::json!({
    ///     "context": {
    ///         "unit": {"person": 1},
    ///         "budget": {"epsilon": 1},
    ///         "columns": {"age": {"T": "i64", "missing": "drop"}},
    ///     },
    ///     "questions": [{"count": {}}],
    /// }))?;
    /// // For a file, call `CsvFrame::new(File::open(path)?, domain)` instead.
    /// let read = study.reader(|domain| {
    ///     assert_eq!(domain.schema().map(|columns| columns.len()), Some(1));
    ///     let ages = |ages: Vec<Option<i64>>| ("age".to_owned(), Column::new(ages));
    ///     let frame = |rows| DataFrame::new([ages(rows)]);
    ///     Ok([frame(vec![Some(31), None]), frame(vec![Some(58)])])
    /// });
    /// let outcome = study.try_ask(read, 0.05).map_err(Failure::told)?;
    /// assert_eq!(outcome.answers().len(), 1);
    /// # Ok::<(), opendp_core::Error>(())
    /// ```
    pub fn reader<F, E: Into<Failure>>(
        &self,
        open: impl FnOnce(&DataFrameDomain<String>) -> Result<F>,
    ) -> impl FnMut(&str, CellType) -> Result<Cells, Failure>
    where
        F: IntoIterator<Item = Result<DataFrame<String>, E>>,
    {
        let (mut open, mut columns) = (Some(open), HashMap::new());
        move |name, _| {
            if let Some(open) = open.take() {
                let opened = self.check_spaces().and_then(|()| open(&self.frame_domain()?));
                columns = self.cells_of(opened.map_err(Failure::OfFile)?)?;
            }
            columns.remove(name).ok_or_else(|| Failure::OfFile(absent(name)))
        }
    }
    /// Collect the cells of all columns from frames. The records of a frame follow the records of
    /// the previous frame. An empty text is a missing cell.
    ///
    /// # Errors
    /// The errors of the frames. [`Failure::OfFile`] with `Argument` when a frame lacks a column of
    /// [`frame_domain`](Study::frame_domain), or has cells of another type.
    pub fn cells_of<E: Into<Failure>>(
        &self,
        frames: impl IntoIterator<Item = Result<DataFrame<String>, E>>,
    ) -> Result<HashMap<String, Cells>, Failure> {
        let empty = |(name, kind): (&str, CellType)| (name.to_owned(), Cells::missing(kind, 0));
        let mut columns: HashMap<String, Cells> = self.columns().map(empty).collect();
        for frame in frames {
            let frame = frame.map_err(Into::into)?;
            for (name, cells) in &mut columns {
                append(cells, &frame, name).ok_or_else(|| Failure::OfFile(absent(name)))?;
            }
        }
        Ok(columns)
    }
}
fn cell_domain(kind: CellType) -> ColumnDomain {
    match kind {
        CellType::Integer => ColumnDomain::new(OptionDomain::new(AtomDomain::<i64>::default())),
        // The text "NaN" stands for a missing number.
        CellType::Float => ColumnDomain::new(OptionDomain::new(AtomDomain::<f64>::non_nan())),
        CellType::Bool => ColumnDomain::new(OptionDomain::new(AtomDomain::<bool>::default())),
        CellType::Text => ColumnDomain::new(OptionDomain::new(AtomDomain::<String>::default())),
    }
}
/// Append the cells of a column of a frame. Return `None` if the frame has no column with this name
/// and this type of cells.
fn append(cells: &mut Cells, frame: &DataFrame<String>, name: &String) -> Option<()> {
    // An empty cell is missing, even in a column of texts.
    let known = |cell: &Option<String>| cell.clone().filter(|text| !text.is_empty());
    match cells {
        Cells::Integer(cells) => cells.extend_from_slice(frame.cells(name)?),
        Cells::Float(cells) => cells.extend_from_slice(frame.cells(name)?),
        Cells::Bool(cells) => cells.extend_from_slice(frame.cells(name)?),
        Cells::Text(cells) => {
            cells.extend(frame.cells::<Option<String>>(name)?.iter().map(known));
        }
    }
    Some(())
}
#[cold]
fn absent(name: &str) -> Error {
    let reason = "the column is needed, but it was not read from the data: read the frames with \
                  the domain of the study (`Study::frame_domain`)";
    Error::argument(name, reason)
}
