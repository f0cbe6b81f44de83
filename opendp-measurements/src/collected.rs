//! Functions that fill and sort vectors. They keep the size of the compiled program small.

use std::cmp::Ordering;

use opendp_core::order;

/// Collect the items of an iterator with a plain loop. Without optimisation, the code of `collect`
/// is several times as large, and is compiled again for each type of iterator. The loop does not
/// ask for size hints, because their code is also large.
#[allow(clippy::while_let_on_iterator, reason = "a `for` loop moves the iterator first")]
pub trait Collected: Iterator + Sized {
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

/// Sort a vector. Equal items keep their order. The sort of the standard library is compiled again
/// for each comparison function. This function is compiled only once for each type of item.
pub(crate) fn sort_by<T>(list: &mut Vec<T>, compare: &dyn Fn(&T, &T) -> Ordering) {
    let places = order::places(list.len(), &|i, j| compare(&list[i], &list[j]));
    let mut items = std::mem::take(list).into_iter().map(Some).collected();
    for place in places {
        if let Some(item) = items[place].take() {
            list.push(item);
        }
    }
}
