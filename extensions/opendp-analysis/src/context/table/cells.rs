//! The cells of a column, without their type.

use std::any::Any;
use std::sync::Arc;

use opendp_core::{Atom, Codec, Error, Result};
use opendp_measurements::Parts;
use serde_json::Value as Json;

pub(crate) trait Cells: Any + Send + Sync {
    /// Return whether cells may be NaN.
    fn nullable(&self) -> bool;
    /// Return a partition with one part for each value in the array `keys`.
    fn parts(&self, keys: &Json) -> Result<PartsOfCells>;
    /// Find the part of each cell, or `None` for a cell without a part.
    fn places(&self, parts: &PartsOfCells) -> Result<Vec<Option<usize>>>;
    /// Return the cell in row `row` as JSON, or `null` if there is no such row.
    fn cell(&self, row: usize) -> Json;
}
impl dyn Cells {
    pub(crate) fn are_numbers(&self) -> bool {
        are_numbers(self)
    }
    /// Return the cells as floats, if they are numbers.
    pub(crate) fn numbers(&self) -> Option<Vec<f64>> {
        numbers_of(self)
    }
}
/// The [`Parts`] of the cells of a column, without the type of the cells.
pub(crate) type PartsOfCells = Arc<dyn Any + Send + Sync>;
impl<T: Atom> Cells for Vec<T> {
    fn nullable(&self) -> bool {
        T::NULLABLE
    }
    fn parts(&self, keys: &Json) -> Result<PartsOfCells> {
        Ok(Arc::new(Parts::categories(Vec::<T>::from_json(keys)?)?))
    }
    fn places(&self, parts: &PartsOfCells) -> Result<Vec<Option<usize>>> {
        let Some(parts) = parts.downcast_ref::<Parts<T>>() else { return Err(retyped()) };
        let mut places = Vec::with_capacity(self.len());
        for cell in self {
            places.push(parts.of(cell));
        }
        Ok(places)
    }
    fn cell(&self, row: usize) -> Json {
        match self.get(row) {
            Some(cell) => cell.to_json(),
            None => Json::Null,
        }
    }
}
macro_rules! number_types {
    ($each:ident) => {
        $each!(i64 f64 i32 f32 u32 u64 u8 i8 i16 u16 usize isize i128 u128)
    };
}
fn are_numbers(cells: &dyn Any) -> bool {
    macro_rules! known {
        ($($number:ty)*) => { false $(|| cells.is::<Vec<$number>>())* };
    }
    number_types!(known)
}
/// Convert cells to floats, if their type is in the list above. Return `None` for cells of another
/// type. This function is compiled only once, because it is not generic.
fn numbers_of(cells: &dyn Any) -> Option<Vec<f64>> {
    macro_rules! convert {
        ($($number:ty)*) => {
            $(if let Some(cells) = cells.downcast_ref::<Vec<$number>>() {
                let mut numbers = Vec::with_capacity(cells.len());
                for cell in cells {
                    numbers.push(*cell as f64);
                }
                return Some(numbers);
            })*
        };
    }
    number_types!(convert);
    None
}
/// Return rows as floats, or `None` if their type is not in the list of `number_types`.
pub(crate) fn numbers<T: Atom>(rows: Vec<T>) -> Option<Vec<f64>> {
    numbers_of(&rows)
}
#[cold]
fn retyped() -> Error {
    let reason = "the type of a column differs from its type in the table of the groups";
    Error::FailedFunction(reason.into())
}
