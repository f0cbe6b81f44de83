//! Columns of frames: vectors whose type is known at run time.

use std::{any::Any, fmt, ops::Range};

use serde_json::{Map, Value as Json};

use crate::codec::unexpected;
use crate::metrics::same;
use crate::{Atom, AtomDomain, Codec, Domain, Error, Named, OptionDomain, Result, TypeName};

/// The type of a cell in a column: an atom, or an optional atom.
pub trait Cell: Named + Codec + Clone + Default + PartialEq + Send + Sync {
    /// The type of the atom in a cell.
    type Atom: Atom;
    /// The domain of the cells of a column.
    type Domain: Domain<Carrier = Self> + Default;
    /// Convert any external value to a member of a domain. `None` is a missing or unreadable value.
    fn admit(domain: &Self::Domain, value: Option<Self::Atom>) -> Self;
}
impl<T: Atom> Cell for T {
    type Atom = T;
    type Domain = AtomDomain<T>;
    fn admit(domain: &AtomDomain<T>, value: Option<T>) -> T {
        domain.admit(value)
    }
}
impl<T: Atom> Cell for Option<T> {
    type Atom = T;
    type Domain = OptionDomain<AtomDomain<T>>;
    fn admit(domain: &OptionDomain<AtomDomain<T>>, value: Option<T>) -> Option<T> {
        domain.admit(value)
    }
}

/// The functions of a vector of cells, in a trait that can be a trait object.
trait Cells: Any + Send + Sync {
    fn cell_type(&self) -> TypeName;
    fn count(&self) -> usize;
    fn json(&self) -> Json;
    fn clear(&mut self);
    fn empty(&self) -> Box<dyn Cells>;
    /// If `other` has the same type as these cells, append the cells of `other` in `range`. Return
    /// whether the types are the same.
    fn copy_from(&mut self, other: &dyn Cells, range: Range<usize>) -> bool;
    /// If `other` has the same type as these cells, move the cells of `other` to the end of these
    /// cells. Return whether the types are the same.
    fn take_from(&mut self, other: &mut dyn Cells) -> bool;
    fn pad(&mut self, count: usize);
    fn kept(&self, range: Range<usize>, mask: &[bool]) -> Box<dyn Cells>;
    fn same_cell(&self, row: usize, other: &dyn Cells, other_row: usize) -> bool;
}
impl<T: Cell> Cells for Vec<T> {
    fn cell_type(&self) -> TypeName {
        T::type_name()
    }
    fn count(&self) -> usize {
        self.len()
    }
    fn json(&self) -> Json {
        self.to_json()
    }
    fn clear(&mut self) {
        self.clear();
    }
    fn empty(&self) -> Box<dyn Cells> {
        Box::new(Vec::<T>::new())
    }
    fn copy_from(&mut self, other: &dyn Cells, range: Range<usize>) -> bool {
        let other = (other as &dyn Any).downcast_ref::<Self>().and_then(|cells| cells.get(range));
        other.is_some_and(|cells| {
            self.extend_from_slice(cells);
            true
        })
    }
    fn take_from(&mut self, other: &mut dyn Cells) -> bool {
        (other as &mut dyn Any).downcast_mut::<Self>().is_some_and(|cells| {
            if self.is_empty() {
                std::mem::swap(self, cells);
            } else {
                self.append(cells);
            }
            true
        })
    }
    fn pad(&mut self, count: usize) {
        self.resize_with(count, T::default);
    }
    fn kept(&self, range: Range<usize>, mask: &[bool]) -> Box<dyn Cells> {
        let mut kept = Vec::new();
        for (cell, keep) in self.get(range).unwrap_or_default().iter().zip(mask) {
            if *keep {
                kept.push(cell.clone());
            }
        }
        Box::new(kept)
    }
    fn same_cell(&self, row: usize, other: &dyn Cells, other_row: usize) -> bool {
        let other = (other as &dyn Any).downcast_ref::<Self>();
        match (self.get(row), other.and_then(|cells| cells.get(other_row))) {
            (Some(left), Some(right)) => same(left, right),
            _ => false,
        }
    }
}

/// A column of a frame. Its cells have one type, which is known at run time.
///
/// In JSON, a column states its type, as in `{"f64": [1.0, 2.0]}`. So a reader never guesses the
/// type from the data.
///
/// ```
/// # use opendp_core::{Codec, Column};
/// let ages = Column::new(vec![Some(36_u32), None]);
/// assert_eq!(ages.to_json().to_string(), r#"{"Option<u32>":[36,null]}"#);
/// assert_eq!(ages.cells::<Option<u32>>(), Some(&[Some(36), None][..]));
/// assert_eq!(ages.cells::<u32>(), None);
/// ```
pub struct Column(Box<dyn Cells>);

impl Column {
    /// Make a column from cells.
    pub fn new<T: Cell>(cells: Vec<T>) -> Self {
        Column(Box::new(cells))
    }
    /// Count the rows of the column.
    pub fn rows(&self) -> usize {
        self.0.count()
    }
    /// Return the name of the type of a cell.
    pub fn cell_type(&self) -> TypeName {
        self.0.cell_type()
    }
    /// Return the cells, if they are of type `T`.
    pub fn cells<T: Cell>(&self) -> Option<&[T]> {
        (&*self.0 as &dyn Any).downcast_ref::<Vec<T>>().map(Vec::as_slice)
    }
    /// Make a column without rows, of the same type as this column.
    pub(super) fn empty(&self) -> Self {
        Column(self.0.empty())
    }
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
    /// Append the cells in a range of another column. If there is no other column, or if the other
    /// column has another type, append the same number of default values.
    pub(super) fn copy_from(&mut self, other: Option<&Column>, range: Range<usize>) {
        let rows = self.rows() + range.len();
        if !other.is_some_and(|other| self.0.copy_from(&*other.0, range)) {
            self.0.pad(rows);
        }
    }
    /// Move the cells of another column to the end of this column. If there is no other column, or
    /// if the other column has another type, append `rows` default values.
    pub(super) fn take_from(&mut self, other: Option<&mut Column>, rows: usize) {
        let rows = self.rows() + rows;
        if !other.is_some_and(|other| self.0.take_from(&mut *other.0)) {
            self.0.pad(rows);
        }
    }
    /// Copy the cells in a range. Leave out each cell whose entry in `mask` is `false`.
    pub(super) fn kept(&self, range: Range<usize>, mask: &[bool]) -> Self {
        Column(self.0.kept(range, mask))
    }
    /// Return whether two cells are equal, as in dataset metrics: NaN equals NaN, and -0.0 equals
    /// 0.0.
    pub(super) fn same_cell(&self, row: usize, other: &Column, other_row: usize) -> bool {
        self.0.same_cell(row, &*other.0, other_row)
    }
    pub(super) fn copy(&self, range: Range<usize>) -> Self {
        let mut copy = self.empty();
        copy.copy_from(Some(self), range);
        copy
    }
}
impl Clone for Column {
    fn clone(&self) -> Self {
        self.copy(0..self.rows())
    }
}
impl fmt::Debug for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Column({}, rows: {})", self.cell_type(), self.rows())
    }
}
impl PartialEq for Column {
    /// Return whether both columns have the same type and equal cells. NaN equals NaN, and -0.0
    /// equals 0.0.
    fn eq(&self, other: &Self) -> bool {
        self.cell_type() == other.cell_type()
            && self.rows() == other.rows()
            && (0..self.rows()).all(|row| self.same_cell(row, other, row))
    }
}

impl Codec for Column {
    fn to_json(&self) -> Json {
        let pair = [(self.cell_type().to_string(), self.0.json())];
        Json::Object(pair.into_iter().collect::<Map<_, _>>())
    }
    fn from_json(json: &Json) -> Result<Self> {
        let expected = "a column as an object of its type and its cells, such as {\"i32\": [1, 2]}";
        let pair = json.as_object().filter(|object| object.len() == 1);
        let (name, cells) = pair
            .and_then(|object| object.iter().next())
            .ok_or_else(|| unexpected(expected, json))?;
        // The key can be data, if the JSON is not a column. So the error must not show the key.
        let another = || Error::FailedCast(format!("expected {expected}, found another type"));
        let name: TypeName = name.parse().map_err(|_| another())?;
        macro_rules! first {
            ($($t:ident)*) => {$(
                if name == <$t as Named>::type_name() {
                    return Vec::<$t>::from_json(cells).map(Column::new);
                }
                if name == <Option<$t> as Named>::type_name() {
                    return Vec::<Option<$t>>::from_json(cells).map(Column::new);
                }
            )*};
        }
        first!(bool String f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
        Err(another())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_its_type_and_values_as_text() {
        let columns = [
            Column::new(vec![1.5, f64::NAN, f64::NEG_INFINITY]),
            Column::new(vec![Some(i64::MIN), None]),
            Column::new(vec!["é".to_owned(), String::new()]),
            Column::new(Vec::<Option<bool>>::new()),
        ];
        for column in columns {
            assert_eq!(Column::from_json(&column.to_json()).unwrap(), column);
        }
    }
    #[test]
    fn does_not_guess_a_type() {
        for text in [
            "[1, 2]",
            "{\"i8\": [300]}",
            "{\"Vec<i8>\": []}",
            "{\"i8\": [], \"u8\": []}",
            "{\"Ada 300\": [1]}",
        ] {
            let error = Column::from_json(&serde_json::from_str(text).unwrap()).unwrap_err();
            assert!(error.kind() == "FailedCast" && !error.to_string().contains("300"), "{error}");
        }
    }
    #[test]
    fn tells_cells_apart_as_the_metrics_do() {
        let column = Column::new(vec![0.0, -0.0, f64::NAN, f64::NAN]);
        assert!(column.same_cell(0, &column, 1) && column.same_cell(2, &column, 3));
        assert!(!column.same_cell(0, &column, 2) && !column.same_cell(0, &column, 9));
        assert!(!column.same_cell(0, &Column::new(vec![0.0_f32]), 0));
    }
    #[test]
    fn shows_its_type_and_never_its_content() {
        assert_eq!(format!("{:?}", Column::new(vec![42_u8])), "Column(u8, rows: 1)");
    }
}
