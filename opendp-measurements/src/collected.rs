//! Vectors that are filled and sorted by code that is compiled to few instructions.

use std::cmp::Ordering;

use opendp_core::order;

/// Fills a vector with a plain loop. Without optimisation, `collect` compiles to several times as
/// much code for each type of iterators. The size hints of iterators are not used, because they
/// also compile to much code.
#[allow(clippy::while_let_on_iterator, reason = "a `for` loop moves the iterator first")]
pub(crate) trait Collected: Iterator + Sized {
    /// Return all items.
    fn collected(mut self) -> Vec<Self::Item> {
        let mut list = Vec::new();
        while let Some(item) = self.next() {
            list.push(item);
        }
        list
    }
    /// Return all values, or the first error.
    fn try_collected<T, E>(mut self) -> Result<Vec<T>, E>
    where
        Self: Iterator<Item = Result<T, E>>,
    {
        let mut list = Vec::new();
        while let Some(item) = self.next() {
            match item {
                Ok(value) => list.push(value),
                Err(error) => return Err(error),
            }
        }
        Ok(list)
    }
    /// Return all values, or `None` if a value is missing.
    fn known_collected<T>(mut self) -> Option<Vec<T>>
    where
        Self: Iterator<Item = Option<T>>,
    {
        let mut list = Vec::new();
        while let Some(item) = self.next() {
            list.push(item?);
        }
        Some(list)
    }
}
impl<I: Iterator> Collected for I {}

/// Sort a vector. Equal items keep their order. Unlike the sort of the standard library, the sort
/// is not compiled again for each comparison.
pub(crate) fn sort_by<T>(list: &mut Vec<T>, compare: &dyn Fn(&T, &T) -> Ordering) {
    let places = order::places(list.len(), &|i, j| compare(&list[i], &list[j]));
    let mut items = std::mem::take(list).into_iter().map(Some).collected();
    for place in places {
        if let Some(item) = items[place].take() {
            list.push(item);
        }
    }
}
