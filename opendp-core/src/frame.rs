//! Frames: rows of named columns.

mod column;

use std::{fmt, ops::Range};

use serde_json::Value as Json;

pub use column::{Cell, Column};

use crate::codec::{json_of_pairs, pairs_of_json};
use crate::{Carrier, Chunk, Codec, Error, HashableAtom, Result, named};

/// Rows of named columns. All columns have the same length, and each column has its own type.
///
/// The order of the columns is irrelevant. A frame without columns has no rows. In JSON, a frame is
/// a map from names to [`Column`]s, and each column states its type.
///
/// ```
/// # use opendp_core::{Column, DataFrame};
/// let people = DataFrame::new([
///     ("name".to_owned(), Column::new(vec!["Ada".to_owned(), "Blaise".to_owned()])),
///     ("age".to_owned(), Column::new(vec![36, 39])),
/// ])?;
/// assert_eq!(people.rows(), 2);
/// assert_eq!(people.cells::<i32>(&"age".to_owned()), Some(&[36, 39][..]));
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct DataFrame<K> {
    /// The columns, sorted by name. The names are distinct.
    columns: Vec<(K, Column)>,
}

impl<K: HashableAtom> DataFrame<K> {
    /// Make a frame from columns.
    ///
    /// # Errors
    /// `FailedCast` when two columns have the same name, or columns have different lengths.
    pub fn new(columns: impl IntoIterator<Item = (K, Column)>) -> Result<Self> {
        let columns = by_name(columns).ok_or_else(|| {
            Error::FailedCast("expected distinct names of columns, found a name twice".into())
        })?;
        let rows = columns.first().map_or(0, |(_, column)| column.rows());
        if columns.iter().any(|(_, column)| column.rows() != rows) {
            return Err(Error::FailedCast(
                "expected columns of equal length, found different lengths".into(),
            ));
        }
        Ok(DataFrame { columns })
    }
    /// Count the rows of the frame.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.rows())
    }
    /// Return the columns, sorted by name.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&K, &Column)> {
        self.columns.iter().map(|(name, column)| (name, column))
    }
    /// Return the column with a given name, if the column exists.
    pub fn column(&self, name: &K) -> Option<&Column> {
        self.columns.get(self.place(name)?).map(|(_, column)| column)
    }
    /// Return the index of the column with a given name.
    fn place(&self, name: &K) -> Option<usize> {
        self.columns.binary_search_by(|(known, _)| order(known, name)).ok()
    }
    /// Return the cells of a column, if the column exists and its cells have the type `T`.
    pub fn cells<T: Cell>(&self, name: &K) -> Option<&[T]> {
        self.column(name)?.cells()
    }
    /// Move the rows of another frame to the end of this frame.
    ///
    /// If this frame has no rows, its columns are replaced by the columns of the other frame. A
    /// frame with rows keeps its own columns. For each of these columns, the appended cells come
    /// from the column with the same name and type in the other frame. If there is no such column,
    /// the appended cells get the default value. So all rows of both frames are kept.
    pub fn append(&mut self, mut other: DataFrame<K>) {
        let rows = other.rows();
        if self.rows() == 0 {
            self.adopt(&other);
        }
        for (name, column) in &mut self.columns {
            let found = other.place(name).and_then(|place| other.columns.get_mut(place));
            column.take_from(found.map(|(_, column)| column), rows);
        }
    }
    /// Give this frame empty columns with the names and types of the columns of another frame. This
    /// frame must have no rows.
    fn adopt(&mut self, other: &DataFrame<K>) {
        let alike = self.columns.len() == other.columns.len()
            && self.columns.iter().zip(&other.columns).all(|((name, column), (theirs, other))| {
                name == theirs && column.cell_type() == other.cell_type()
            });
        if !alike {
            let empty = other.columns.iter().map(|(name, column)| (name.clone(), column.empty()));
            self.columns = empty.collect();
        }
    }
    /// Return whether a row of this frame equals a row of another frame. Equal rows have equal
    /// cells under the same names. Cells are compared as in dataset metrics: NaN equals NaN, and
    /// -0.0 equals 0.0.
    pub fn same_row(&self, row: usize, other: &DataFrame<K>, other_row: usize) -> bool {
        self.columns.len() == other.columns.len()
            && self.columns.iter().zip(&other.columns).all(|((name, column), (theirs, other))| {
                name == theirs && column.same_cell(row, other, other_row)
            })
    }
}
/// Sort columns by name. Return `None` if two columns have the same name.
pub(crate) fn by_name<K: HashableAtom, C>(
    columns: impl IntoIterator<Item = (K, C)>,
) -> Option<Vec<(K, C)>> {
    ordered(columns.into_iter().collect())
}
/// Compare two names. Any two names can be compared, so `partial_cmp` never returns `None`.
fn order<K: HashableAtom>(x: &K, y: &K) -> std::cmp::Ordering {
    x.partial_cmp(y).unwrap_or(std::cmp::Ordering::Equal)
}
fn ordered<K: HashableAtom, C>(mut columns: Vec<(K, C)>) -> Option<Vec<(K, C)>> {
    columns.sort_by(|(x, _), (y, _)| order(x, y));
    columns.windows(2).all(|pair| pair[0].0 != pair[1].0).then_some(columns)
}

/// A borrowed range of rows of a frame.
#[derive(Debug)]
pub struct FrameChunk<'a, K> {
    frame: &'a DataFrame<K>,
    start: usize,
    end: usize,
}
impl<K> Clone for FrameChunk<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for FrameChunk<'_, K> {}
impl<K: HashableAtom> Chunk for FrameChunk<'_, K> {
    fn rows(self) -> usize {
        self.end - self.start
    }
    fn narrow(self, range: Range<usize>) -> Self {
        FrameChunk { start: self.start + range.start, end: self.start + range.end, ..self }
    }
}
impl<'a, K: HashableAtom> FrameChunk<'a, K> {
    /// Return the cells of a column, if the column exists and its cells have the type `T`.
    pub fn cells<T: Cell>(self, name: &K) -> Option<&'a [T]> {
        self.frame.cells(name)?.get(self.start..self.end)
    }
    /// Copy the rows into a new frame. If the frame has a column with the name `name`, replace this
    /// column by `column`. Otherwise add `column`.
    ///
    /// # Errors
    /// `FailedCast` when `column` has another number of rows than the columns of the chunk.
    pub fn with_column(self, name: &K, column: Column) -> Result<DataFrame<K>> {
        if !self.frame.columns.is_empty() && column.rows() != self.rows() {
            // The number of rows can be private, so the error does not state it.
            let reason = "expected a column with as many rows as the chunk, found another number";
            return Err(Error::FailedCast(reason.into()));
        }
        let kept = self.frame.columns.iter().filter(|(known, _)| known != name);
        let kept = kept.map(|(name, column)| (name.clone(), column.copy(self.start..self.end)));
        DataFrame::new(kept.chain([(name.clone(), column)]))
    }
    /// Copy the rows at which `mask` is `true`. Keep only the columns with the given names.
    pub fn kept(self, names: &[K], mask: &[bool]) -> DataFrame<K> {
        let kept = self.frame.columns.iter().filter(|(name, _)| names.contains(name));
        let kept = kept.map(|(n, column)| (n.clone(), column.kept(self.start..self.end, mask)));
        DataFrame { columns: kept.collect() }
    }
}

impl<K: HashableAtom> Carrier for DataFrame<K> {
    type Chunk<'a> = FrameChunk<'a, K>;
    fn chunk(&self) -> FrameChunk<'_, K> {
        FrameChunk { frame: self, start: 0, end: self.rows() }
    }
    fn buffer() -> Self {
        DataFrame { columns: Vec::new() }
    }
    fn reset(&mut self) {
        self.columns.iter_mut().for_each(|(_, column)| column.clear());
    }
    /// Append a copy of the rows, by the rules of [`append`](DataFrame::append).
    fn append_rows(&mut self, chunk: FrameChunk<'_, K>) {
        if self.rows() == 0 {
            self.adopt(chunk.frame);
        }
        for (name, column) in &mut self.columns {
            column.copy_from(chunk.frame.column(name), chunk.start..chunk.end);
        }
    }
}
named!(DataFrame<K> as "DataFrame");
impl<K: fmt::Debug> fmt::Debug for DataFrame<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.columns.iter().map(|(name, column)| (name, column))).finish()
    }
}

/// A frame is written like a map from names to columns. If the names are strings, the form is an
/// object, unless `serde_json` reserves one of the names. In all other cases, the form is an array
/// of pairs.
impl<K: HashableAtom> Codec for DataFrame<K> {
    fn to_json(&self) -> Json {
        let pairs = self.columns().map(|(name, column)| (name.to_json(), column.to_json()));
        json_of_pairs(pairs.collect())
    }
    fn from_json(json: &Json) -> Result<Self> {
        let mut columns = Vec::new();
        for (name, cells) in pairs_of_json(json)? {
            columns.push((K::from_json(&name)?, Column::from_json(cells)?));
        }
        DataFrame::new(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::erased::AnyValue;

    fn frame(x: &[f64], y: &[&str]) -> DataFrame<String> {
        let y = y.iter().map(|y| (*y).to_owned()).collect::<Vec<_>>();
        DataFrame::new([
            ("y".to_owned(), Column::new(y)),
            ("x".to_owned(), Column::new(x.to_vec())),
        ])
        .unwrap()
    }

    #[test]
    fn has_no_order_of_columns() {
        let (x, y) = (Column::new(vec![1]), Column::new(vec![true]));
        let frame = DataFrame::new([(1, x.clone()), (2, y.clone())]).unwrap();
        assert_eq!(frame, DataFrame::new([(2, y), (1, x)]).unwrap());
    }
    #[test]
    fn refuses_two_columns_of_a_name_and_columns_of_two_lengths() {
        let column = |rows| Column::new(vec![0; rows]);
        assert!(DataFrame::new([(1, column(1)), (1, column(1))]).is_err());
        assert!(DataFrame::new([(1, column(1)), (2, column(2))]).is_err());
        let text = r#"{"a": {"i32": [1]}, "b": {"i32": []}}"#;
        let json = serde_json::from_str(text).unwrap();
        assert_eq!(DataFrame::<String>::from_json(&json).unwrap_err().kind(), "FailedCast");
    }
    #[test]
    fn a_replaced_column_keeps_the_number_of_rows() {
        let column = |rows| Column::new(vec![0; rows]);
        let only = DataFrame::new([(1, column(2))]).unwrap();
        assert!(only.chunk().with_column(&1, column(2)).is_ok());
        for name in [1, 2] {
            let error = only.chunk().with_column(&name, column(3)).unwrap_err();
            assert!(error.to_string().contains("as many rows as the chunk"), "{error}");
        }
        // A frame without columns states no number of rows, so a column of any length can be added.
        assert!(DataFrame::new([]).unwrap().chunk().with_column(&1, column(3)).is_ok());
    }
    #[test]
    fn reads_what_it_writes() {
        let words = frame(&[f64::NAN, -0.0], &["", "é"]);
        assert_eq!(DataFrame::from_json(&words.to_json()).unwrap(), words);
        let numbers = DataFrame::new([(7, Column::new(vec![Some(1_u8)]))]).unwrap();
        assert_eq!(numbers.to_json().to_string(), r#"[[7,{"Option<u8>":[1]}]]"#);
        assert_eq!(DataFrame::from_json(&numbers.to_json()).unwrap(), numbers);
    }
    #[test]
    fn is_the_sum_of_its_parts_in_chunks_of_any_size() {
        let whole = frame(&[1.0, 2.0, f64::NAN, 4.0, 5.0], &["a", "b", "c", "d", "e"]);
        for size in 1..=6 {
            let mut sum = DataFrame::buffer();
            for start in (0..5).step_by(size) {
                sum.append_rows(whole.chunk().narrow(start..(start + size).min(5)));
            }
            assert_eq!(sum, whole);
        }
        let mut moved = frame(&[1.0], &["a"]);
        moved.append(frame(&[2.0], &["b"]));
        assert_eq!(moved, frame(&[1.0, 2.0], &["a", "b"]));
    }
    #[test]
    fn appends_as_many_rows_whatever_their_columns() {
        let mut whole = frame(&[1.0], &["a"]);
        let other = DataFrame::new([("y".to_owned(), Column::new(vec![1, 2]))]).unwrap();
        whole.append_rows(other.chunk());
        assert_eq!(whole, frame(&[1.0, 0.0, 0.0], &["a", "", ""]));
        whole.append(other.clone());
        assert_eq!(whole.rows(), 5);
        whole.reset();
        whole.append_rows(other.chunk());
        assert_eq!(whole, other);
    }
    #[test]
    fn compares_rows_cell_by_cell() {
        let left = frame(&[f64::NAN, 0.0], &["a", "b"]);
        let right = frame(&[f64::NAN, f64::NAN, -0.0], &["a", "b", "b"]);
        assert!(left.same_row(0, &right, 0) && left.same_row(1, &right, 2));
        assert!(!left.same_row(0, &right, 1) && !left.same_row(1, &right, 1));
        let narrower = DataFrame::new([("x".to_owned(), Column::new(vec![0.0]))]).unwrap();
        assert!(!left.same_row(1, &narrower, 0));
    }
    #[test]
    fn a_buffer_that_is_erased_takes_rows() {
        let whole = frame(&[1.0, 2.0], &["a", "b"]);
        let erased = AnyValue::new(whole.clone());
        let mut buffer = AnyValue::buffer();
        buffer.append_rows(erased.chunk().narrow(1..2));
        assert_eq!(buffer.downcast_ref::<DataFrame<String>>().unwrap(), &frame(&[2.0], &["b"]));
    }
    #[test]
    fn shows_names_and_types_and_never_its_content() {
        let shown = format!("{:?}", frame(&[42.0], &["secret"]));
        assert!(shown.contains("f64") && !shown.contains("42") && !shown.contains("secret"));
    }
}
