//! Vectors of the items of an iterator.

/// Fills a vector with a plain loop. Without optimisation, `collect` compiles to several times as
/// much code for each type of iterators.
pub(crate) trait Collected: Iterator + Sized {
    /// Return all items.
    fn collected(self) -> Vec<Self::Item> {
        let mut list = Vec::with_capacity(self.size_hint().0);
        for item in self {
            list.push(item);
        }
        list
    }
    /// Return all values, or the first error.
    fn try_collected<T, E>(self) -> Result<Vec<T>, E>
    where
        Self: Iterator<Item = Result<T, E>>,
    {
        let mut list = Vec::with_capacity(self.size_hint().0);
        for item in self {
            match item {
                Ok(value) => list.push(value),
                Err(error) => return Err(error),
            }
        }
        Ok(list)
    }
    /// Return all values, or `None` if a value is missing.
    fn known_collected<T>(self) -> Option<Vec<T>>
    where
        Self: Iterator<Item = Option<T>>,
    {
        let mut list = Vec::with_capacity(self.size_hint().0);
        for item in self {
            list.push(item?);
        }
        Some(list)
    }
}
impl<I: Iterator> Collected for I {}
