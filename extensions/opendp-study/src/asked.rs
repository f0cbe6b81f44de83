//! Answers of a study from the columns of a table.

use std::borrow::Cow;
use std::collections::HashMap;

use opendp_core::{Error, Result};
use opendp_ledger::Failure;

use super::questions::Mode;
use super::table::load;
use super::{CellType, Cells, Outcome, Study};

impl Study {
    /// Read the columns, answer all questions, and return the answers with intervals. Each interval
    /// holds with probability `1 - alpha`. If one question is wrong, answer no question.
    ///
    /// # Errors
    /// The errors of `read`, and errors about the split, the columns and the questions. `Argument`
    /// when `alpha` is not in `(0, 1]`. `Argument` also when the context names no column, or does
    /// not fit the table.
    pub fn ask(
        &self,
        mut read: impl FnMut(&str, CellType) -> Result<Cells>,
        alpha: f64,
    ) -> Result<Outcome> {
        if self.columns.is_empty() {
            let reason = "name at least one column of the table: its cells give the number of rows";
            return Err(Error::argument("columns", reason).at("context"));
        }
        // The noise does not depend on private data. So a rehearsal finds wrong questions before a
        // large file is read. If the public number of rows is not stated, read the file first.
        let told = self.unit.size_is_public() && self.rows.is_none();
        if !told {
            self.rehearse(alpha)?;
        }
        let mut rows = 0;
        let table = load(&self.columns, self.rows, |name, kind| {
            let cells = read(name, kind)?;
            rows = cells.rows();
            Ok(cells)
        })?;
        if told {
            let study = self.clone().with_rows(rows)?;
            study.run(table.clone(), alpha, Mode::Rehearse)?;
            return study.run(table, alpha, Mode::Ask);
        }
        self.run(table, alpha, Mode::Ask)
    }
    /// Answer as [`ask`](Study::ask) does, and state whether a failure may depend on the records.
    ///
    /// The study checks its questions before it reads the first column. So an error of this check
    /// does not depend on the records, and is a [`Failure::OfFile`]. If the number of rows is
    /// public, the check needs this number. If the number is public and the document does not state
    /// it, read all columns first, and state their number of rows.
    ///
    /// # Errors
    /// The failures of `read`, and the errors of [`ask`](Study::ask).
    pub fn try_ask(
        &self,
        mut read: impl FnMut(&str, CellType) -> Result<Cells, Failure>,
        alpha: f64,
    ) -> Result<Outcome, Failure> {
        let (mut found, mut study) = (None, Cow::Borrowed(self));
        if !self.columns.is_empty() && self.unit.size_is_public() && self.rows.is_none() {
            let column = |(name, kind): (&str, CellType)| Ok((name.to_owned(), read(name, kind)?));
            let columns = self.columns().map(column).collect::<Result<HashMap<_, _>, Failure>>()?;
            // Columns can have different lengths. The study then returns an error.
            if let Some(rows) = columns.values().map(Cells::rows).max() {
                let stated = self.clone().with_rows(rows);
                study = Cow::Owned(stated.map_err(Failure::OfFile)?);
            }
            found = Some(columns);
        }
        let (mut begun, mut of_file) = (false, false);
        let outcome = study.ask(
            |name, kind| {
                begun = true;
                match &mut found {
                    Some(columns) => columns.remove(name).ok_or_else(|| {
                        Error::argument(name, "the column is needed, but it was not read")
                    }),
                    None => read(name, kind).map_err(|failure| {
                        of_file = matches!(failure, Failure::OfFile(_));
                        failure.told()
                    }),
                }
            },
            alpha,
        );
        // An error before the first read cannot depend on the records.
        outcome.map_err(|error| match !begun || of_file {
            true => Failure::OfFile(error),
            false => error.into(),
        })
    }
}
