//! Partitions of the rows of a data set.

use std::{fmt, sync::Arc};

use opendp_core::{Atom, Codec, Error, Result, named, order};
use serde_json::{Value as Json, json};

type Place<T> = Arc<dyn Fn(&T) -> Option<usize> + Send + Sync>;

/// A partition of rows into parts. The indices of the parts begin at 0. A row can also have no
/// part.
///
/// The part that a row belongs to depends only on this row. In JSON documents, a partition is
/// `{"categories": [...]}` or `{"edges": [...]}`.
///
/// ```
/// # use opendp_measurements::Parts;
/// let ages = Parts::edges(vec![18, 65])?;
/// assert_eq!([17, 18, 64, 65].map(|age| ages.of(&age)), [Some(0), Some(1), Some(1), Some(2)]);
/// let towns = Parts::categories(vec!["Bonn".to_owned(), "Ulm".to_owned()])?;
/// assert_eq!((towns.of(&"Ulm".into()), towns.of(&"Rome".into())), (Some(1), None));
/// # Ok::<(), opendp_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Parts<T> {
    place: Place<T>,
    count: Option<usize>,
    written: Json,
}
impl<T> Parts<T> {
    /// Make a partition from a function that returns the part of a row, or `None` for a row without
    /// a part. Equal rows must be in the same part. Here `0.0` and `-0.0` are equal rows, and all
    /// NaN are equal rows. [`make_parallel_composition`](crate::make_parallel_composition) leaves
    /// out each row whose part has no measurement.
    pub fn by(place: impl Fn(&T) -> Option<usize> + Send + Sync + 'static) -> Self {
        Parts { place: Arc::new(place), count: None, written: Json::Null }
    }
    /// Return the part of a row, or `None` if the row has no part.
    pub fn of(&self, row: &T) -> Option<usize> {
        (self.place)(row)
    }
    /// Return the number of parts, if this number is known.
    pub fn count(&self) -> Option<usize> {
        self.count
    }
}
impl<T: Atom> Parts<T> {
    /// Make a part for each of the given values. Rows with other values are left out.
    ///
    /// # Errors
    /// `MakeMeasurement` when a value occurs twice, or when a value is not equal to itself (NaN).
    pub fn categories(categories: Vec<T>) -> Result<Self> {
        let (places, values) = (order::ascending(&categories), order::sorted(&categories));
        let written = written(CATEGORIES, categories.to_json());
        Parts::listed(CATEGORIES, values, places, written)
    }
    /// Make parts between edges. The first part contains the rows below the first edge. Each
    /// further part starts at an edge and ends below the next edge. The last part contains the rows
    /// that are equal to or above the last edge. NaN is in no part.
    ///
    /// # Errors
    /// `MakeMeasurement` when an edge is not above the previous edge, or when an edge is NaN.
    pub fn edges(edges: Vec<T>) -> Result<Self> {
        let written = written(EDGES, edges.to_json());
        Parts::listed(EDGES, edges, Vec::new(), written)
    }
    /// Make parts from increasing values. If the values are categories, `places` lists their parts.
    fn listed(kind: &str, values: Vec<T>, places: Vec<usize>, written: Json) -> Result<Self> {
        increasing(kind, &values)?;
        let edges = kind == EDGES;
        let count = Some(values.len() + usize::from(edges));
        let place = move |row: &T| {
            row.partial_cmp(row)?;
            let found = order::below(&values, row);
            let equal = values.get(found) == Some(row);
            match edges {
                true => Some(found + usize::from(equal)),
                false if equal => places.get(found).copied(),
                false => None,
            }
        };
        Ok(Parts { place: Arc::new(place), count, written })
    }
}
const CATEGORIES: &str = "categories";
const EDGES: &str = "edges";
fn written(kind: &str, values: Json) -> Json {
    json!({ kind: values })
}
fn increasing<T: Atom>(name: &str, values: &[T]) -> Result<()> {
    let mut last: Option<&T> = None;
    for value in values {
        if value.partial_cmp(value).is_none() || last.is_some_and(|last| !(last < value)) {
            return Err(unordered(name));
        }
        last = Some(value);
    }
    Ok(())
}
#[cold]
fn unordered(name: &str) -> Error {
    let order = if name == EDGES { "in increasing order" } else { "without a repetition" };
    Error::MakeMeasurement(format!("{name}: expected values {order}, and no NaN"))
}
impl<T> fmt::Debug for Parts<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("count", &self.count).finish_non_exhaustive()
    }
}
/// In a JSON document, a partition that is made from a function is written as null. Such a document
/// cannot be read.
impl<T: Atom> Codec for Parts<T> {
    fn to_json(&self) -> Json {
        self.written.clone()
    }
    fn from_json(json: &Json) -> Result<Self> {
        let (kind, values) = entry(json)?;
        let values = Vec::from_json(values)?;
        if kind == EDGES { Parts::edges(values) } else { Parts::categories(values) }
    }
}
/// Return the kind of a written partition, and its values.
fn entry(json: &Json) -> Result<(&str, &Json)> {
    let mut entries = json.as_object().into_iter().flatten();
    match (entries.next(), entries.next()) {
        (Some((kind, values)), None) if kind == CATEGORIES || kind == EDGES => Ok((kind, values)),
        _ => Err(Error::FailedCast(
            "expected an object with `categories` or with `edges`".to_owned(),
        )),
    }
}
named!(Parts<T> as "Parts");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_in_one_part_or_in_none() {
        let edges = Parts::edges(vec![-1.5, 0.0, 2.5]).unwrap();
        let rows = [f64::NEG_INFINITY, -1.5, -0.0, 2.4, 2.5, f64::INFINITY];
        assert_eq!(rows.map(|row| edges.of(&row)), [0, 1, 2, 2, 3, 3].map(Some));
        assert_eq!((edges.of(&f64::NAN), edges.count()), (None, Some(4)));
        let values = Parts::categories(vec![3.0, -1.0, 0.0]).unwrap();
        let rows = [3.0, -1.0, -0.0, 1.0, f64::NAN];
        assert_eq!(rows.map(|row| values.of(&row)), [Some(0), Some(1), Some(2), None, None]);
        let odd = Parts::by(|row: &i32| (row % 2 == 1).then_some(0));
        assert_eq!((odd.of(&7), odd.of(&8), odd.count()), (Some(0), None, None));
    }
    #[test]
    fn refuses_what_does_not_decide() {
        for bad in [vec![1.0, 1.0], vec![f64::NAN], vec![0.0, f64::NAN, 1.0], vec![0.0, -0.0]] {
            assert_eq!(Parts::categories(bad.clone()).unwrap_err().kind(), "MakeMeasurement");
            assert_eq!(Parts::edges(bad).unwrap_err().kind(), "MakeMeasurement");
        }
        assert_eq!(Parts::edges(vec![2, 1]).unwrap_err().kind(), "MakeMeasurement");
        assert_eq!(Parts::<i32>::edges(vec![]).unwrap().count(), Some(1));
    }
    #[test]
    fn is_read_as_it_is_written() {
        for json in [json!({"categories": ["b", "a"]}), json!({"edges": ["a", "b"]})] {
            assert_eq!(Parts::<String>::from_json(&json).unwrap().to_json(), json);
        }
        for bad in [json!({"edges": [1], "categories": [1]}), json!([1]), json!({"edges": ["x"]})] {
            assert_eq!(Parts::<i32>::from_json(&bad).unwrap_err().kind(), "FailedCast");
        }
    }
}
