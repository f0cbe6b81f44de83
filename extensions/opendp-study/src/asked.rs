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
    /// contains the true number with a probability of at least `1 - alpha`;
    /// [`Cell::interval`](crate::Cell::interval) states an exception. If one question is wrong,
    /// answer no question.
    ///
    /// # Errors
    /// The errors of `read`, and errors about the split, the columns and the questions. `Argument`
    /// when `alpha` is not in `(0, 1]`. `Argument` also when the context names no column, or does
    /// not fit the table. `NoEntropy` when the operating system gives no random bits.
    pub fn ask(
        &self,
        read: impl FnMut(&str, CellType) -> Result<Cells>,
        alpha: f64,
    ) -> Result<Outcome> {
        // The noise does not depend on private data. So wrong questions are found before a large
        // file is read.
        self.rehearsed(alpha)?;
        self.answered(read, alpha)
    }
    /// Answer all questions. The caller must have checked the study with
    /// [`rehearsed`](Study::rehearsed).
    fn answered(
        &self,
        mut read: impl FnMut(&str, CellType) -> Result<Cells>,
        alpha: f64,
    ) -> Result<Outcome> {
        let told = self.takes_rows_from_table();
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
    /// Check all questions without the table. An error of this check does not depend on the
    /// records.
    ///
    /// If the number of rows is public and the document does not state it, check the questions for
    /// 2 rows and for 1000 rows. The result is an error only if the questions are wrong for both
    /// numbers.
    ///
    /// # Errors
    /// The errors of [`rehearse`](Study::rehearse), except that the public number of rows does not
    /// have to be stated.
    pub fn check_questions(&self, alpha: f64) -> Result<()> {
        self.rehearsed(alpha).map(drop)
    }
    /// Check all questions, as [`check_questions`](Study::check_questions) does. Return the
    /// rehearsal of the study, unless the number of rows is public and not stated.
    pub(super) fn rehearsed(&self, alpha: f64) -> Result<Option<Outcome>> {
        if !self.takes_rows_from_table() {
            return self.rehearse(alpha).map(Some);
        }
        let with = |rows: usize| self.clone().with_rows(rows)?.rehearse(alpha);
        with(2).or_else(|_| with(1000)).map(|_| None)
    }
    /// Return whether the number of rows is public, but not stated. Then the rows of the table are
    /// counted.
    fn takes_rows_from_table(&self) -> bool {
        self.unit.size_is_public() && self.rows.is_none()
    }
    /// Answer as [`ask`](Study::ask) does, and state whether a failure may depend on the records.
    ///
    /// The study [checks](Study::check_questions) its questions before it reads the first column.
    /// So an error of this check does not depend on the records, and is a [`Failure::OfFile`]. Each
    /// later error may depend on the records, except a [`Failure::OfFile`] of `read`.
    ///
    /// # Errors
    /// The failures of `read`, and the errors of [`ask`](Study::ask).
    pub fn try_ask(
        &self,
        read: impl FnMut(&str, CellType) -> Result<Cells, Failure>,
        alpha: f64,
    ) -> Result<Outcome, Failure> {
        self.rehearsed(alpha).map_err(Failure::OfFile)?;
        self.try_answered(read, alpha)
    }
    /// Answer as [`try_ask`](Study::try_ask) does. The caller must have checked the study with
    /// [`rehearsed`](Study::rehearsed).
    pub(super) fn try_answered(
        &self,
        mut read: impl FnMut(&str, CellType) -> Result<Cells, Failure>,
        alpha: f64,
    ) -> Result<Outcome, Failure> {
        let (mut found, mut study) = (None, Cow::Borrowed(self));
        if self.takes_rows_from_table() {
            let column = |(name, kind): (&str, CellType)| Ok((name.to_owned(), read(name, kind)?));
            let columns = self.columns().map(column).collect::<Result<HashMap<_, _>, Failure>>()?;
            // If columns have different lengths, the study returns an error.
            if let Some(rows) = columns.values().map(Cells::rows).max() {
                study = Cow::Owned(self.clone().with_rows(rows)?);
                study.rehearse(alpha)?;
            }
            found = Some(columns);
        }
        // After the first read, any error can depend on the records. An example is an error about
        // questions that are wrong for this number of rows. With other data, a failure of `read`
        // could come before this error.
        let (mut begun, mut of_file) = (found.is_some(), false);
        let outcome = study.answered(
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
