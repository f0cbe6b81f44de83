//! Counts of records in cells.

use opendp_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// The number of records in each cell.
///
/// Consecutive records are often in the same cell. If two consecutive increments use the same
/// counter, the second increment waits until the first is stored. So each cell has two counters,
/// and the records alternate between them. Only the sum of the two counters of a cell is visible.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
pub(crate) struct Counts(Vec<[u64; 2]>);

impl Counts {
    /// Make a count of zero for each of `cells` cells.
    pub(crate) fn new(cells: usize) -> Self {
        Counts(vec![[0; 2]; cells])
    }
    /// For each index in `cells`, count one record in the cell with this index. An index without a
    /// cell is ignored. A counter overflows only after 2^64 records.
    #[inline]
    pub(crate) fn add(&mut self, cells: impl Iterator<Item = usize>) {
        for (turn, cell) in cells.enumerate() {
            if let Some(counts) = self.0.get_mut(cell) {
                counts[turn & 1] = counts[turn & 1].wrapping_add(1);
            }
        }
    }
    /// Add `records` to the count of one cell. An index without a cell is ignored.
    pub(crate) fn raise(&mut self, cell: usize, records: u64) {
        if let Some(counts) = self.0.get_mut(cell) {
            counts[0] = counts[0].wrapping_add(records);
        }
    }
    /// Add the counts of `other`, cell by cell. Return `FailedFunction` if the numbers of cells
    /// differ.
    pub(crate) fn merge(&mut self, other: &Counts) -> Result<()> {
        if self.0.len() != other.0.len() {
            return Err(Error::FailedFunction(
                "the partial result belongs to another function".into(),
            ));
        }
        for (counts, more) in self.0.iter_mut().zip(&other.0) {
            counts[0] = counts[0].saturating_add(more[0].saturating_add(more[1]));
        }
        Ok(())
    }
}
impl From<Vec<u64>> for Counts {
    fn from(counts: Vec<u64>) -> Self {
        Counts(counts.into_iter().map(|count| [count, 0]).collect())
    }
}
impl From<Counts> for Vec<u64> {
    fn from(counts: Counts) -> Self {
        counts.0.into_iter().map(|[first, second]| first.saturating_add(second)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_each_record_once_in_any_turn() {
        let mut counts = Counts::new(3);
        counts.add([2, 2, 2, 0, 7].into_iter());
        counts.add([2, 0].into_iter());
        let bytes = serde_json::to_vec(&counts).unwrap();
        assert_eq!(bytes, b"[2,0,4]");
        let again: Counts = serde_json::from_slice(&bytes).unwrap();
        counts.merge(&again).unwrap();
        assert_eq!(Vec::from(counts), [4, 0, 8]);
    }
    #[test]
    fn refuses_counts_of_other_cells() {
        assert!(Counts::new(3).merge(&Counts::new(2)).is_err());
    }
}
