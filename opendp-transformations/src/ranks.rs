//! How many records lie below, at, and above each of some candidates.

use opendp_core::{Atom, Codec, Fold, Result, arith::Number};

use crate::alpha::Fraction;
use crate::symmetric::add_counts;

/// Scores each candidate for a quantile.
///
/// Its state counts the records in each gap between candidates and at each candidate: cell `2 i` is
/// the gap below candidate `i`, cell `2 i + 1` is the candidate, and the last cell the gap above
/// all.
pub(crate) struct QuantileScores<T> {
    /// Strictly increasing and not empty.
    candidates: Vec<T>,
    alpha: Fraction,
    /// The candidates, with the last one repeated until their number is a power of two, which is
    /// greater than the number of candidates.
    sorted: Vec<T>,
    /// The same, but for the last, as a tree for binary search: node one is the root, and nodes
    /// `2 i` and `2 i + 1` are the children of node `i`.
    tree: Vec<T>,
}

/// Rows that are searched for in step, so that none waits for the memory alone.
const LANES: usize = 32;

impl<T: Atom + Number> QuantileScores<T> {
    /// Score these candidates, which are strictly increasing, and of which there is at least one.
    pub(crate) fn new(candidates: Vec<T>, alpha: Fraction) -> Self {
        let leaves = (candidates.len() + 1).next_power_of_two();
        let last = candidates.last().copied().unwrap_or_else(T::zero);
        let mut sorted = candidates.clone();
        sorted.resize(leaves, last);
        // A level of the tree takes every second of the candidates that levels below it split.
        let mut tree = vec![last; leaves];
        for (node, place) in tree.iter_mut().enumerate().skip(1) {
            let level = node.ilog2();
            let gap = leaves >> level;
            *place = sorted[(node - (1 << level)) * gap + gap / 2 - 1];
        }
        QuantileScores { candidates, alpha, sorted, tree }
    }
    /// Find the cell of each row: twice the number of candidates below it, and one more if it is a
    /// candidate itself.
    ///
    /// Every row takes as many steps as the tree has levels, without a branch on the data. A row
    /// goes right where the candidate is below it, and so ends at the leaf whose number is that of
    /// the candidates below it, repeated ones included.
    #[inline]
    fn cells(&self, rows: &[T; LANES]) -> [usize; LANES] {
        let tree = self.tree.as_slice();
        let sorted = &self.sorted[..tree.len()];
        // The number of leaves is a power of two, so that this mask drops the leading one.
        let mask = tree.len() - 1;
        let mut nodes = [1; LANES];
        for _ in 0..tree.len().ilog2() {
            for (node, row) in nodes.iter_mut().zip(rows) {
                *node = 2 * *node + usize::from(tree[*node & mask] < *row);
            }
        }
        for (node, row) in nodes.iter_mut().zip(rows) {
            let leaf = *node & mask;
            *node = 2 * leaf.min(self.candidates.len()) + usize::from(sorted[leaf] == *row);
        }
        nodes
    }
    /// The distance of a candidate's rank from the ideal one, times the denominator of alpha.
    fn score(&self, below: u64, above: u64) -> u64 {
        let Fraction { numerator, denominator } = self.alpha;
        // A product of two numbers of 64 bits fits 128.
        let left = u128::from(denominator - numerator) * u128::from(below);
        let right = u128::from(numerator) * u128::from(above);
        u64::try_from(left.abs_diff(right)).unwrap_or(u64::MAX)
    }
}

impl<T: Atom + Number> Fold<Vec<T>, Vec<u64>> for QuantileScores<T> {
    type State = Vec<u64>;
    fn label(&self) -> String {
        let Fraction { numerator, denominator } = self.alpha;
        let (name, candidates) = (T::type_name(), self.candidates.to_json());
        format!("quantile scores of {name} at {numerator}/{denominator} among {candidates}")
    }
    fn start(&self) -> Vec<u64> {
        vec![0; 2 * self.candidates.len() + 1]
    }
    fn absorb(&self, state: &mut Vec<u64>, rows: &[T]) -> Result<()> {
        let (groups, rest) = rows.as_chunks::<LANES>();
        let mut count = |cells: &[usize]| {
            for cell in cells {
                if let Some(count) = state.get_mut(*cell) {
                    *count = count.wrapping_add(1);
                }
            }
        };
        for group in groups {
            count(&self.cells(group));
        }
        let mut last = [T::zero(); LANES];
        last[..rest.len()].copy_from_slice(rest);
        count(&self.cells(&last)[..rest.len()]);
        Ok(())
    }
    fn merge(&self, state: &mut Vec<u64>, other: Vec<u64>) -> Result<()> {
        add_counts(state, &other)
    }
    fn finish(&self, state: Vec<u64>) -> Result<Vec<u64>> {
        let mut above = state.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let mut below = 0_u64;
        let scores = state.chunks_exact(2).map(|cells| {
            let (gap, hit) = (cells[0], cells[1]);
            below = below.saturating_add(gap);
            above = above.saturating_sub(gap).saturating_sub(hit);
            let score = self.score(below, above);
            below = below.saturating_add(hit);
            score
        });
        Ok(scores.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(candidates: &[f64], numerator: u64, denominator: u64) -> QuantileScores<f64> {
        let alpha = Fraction { numerator, denominator };
        QuantileScores::new(candidates.to_vec(), alpha)
    }

    #[test]
    fn finds_the_cell_of_every_row_whatever_the_number_of_candidates() {
        for length in 1_u32..=70 {
            let candidates: Vec<f64> = (0..length).map(f64::from).collect();
            let found = |row: f64| scores(&candidates, 1, 2).cells(&[row; LANES])[LANES - 1];
            for i in 0..length {
                let cell = usize::try_from(2 * i).unwrap();
                assert_eq!(found(f64::from(i) - 0.5), cell);
                assert_eq!(found(f64::from(i)), cell + 1);
                assert_eq!(found(f64::from(i) + 0.5), cell + 2);
            }
            assert_eq!(found(f64::INFINITY), 2 * candidates.len());
            assert_eq!(found(f64::NEG_INFINITY), 0);
        }
    }
    #[test]
    fn takes_zeros_of_either_sign_for_one_candidate() {
        assert_eq!(scores(&[-0.0], 1, 2).cells(&[0.0; LANES]), [1; LANES]);
        assert_eq!(scores(&[0.0], 1, 2).cells(&[-0.0; LANES]), [1; LANES]);
    }
    #[test]
    fn saturates_a_score_once_and_late() {
        let huge = scores(&[0.0], 1, u64::MAX);
        assert_eq!(huge.score(u64::MAX, 0), u64::MAX);
        assert_eq!(huge.score(1, u64::MAX), 1);
        let both = scores(&[0.0], 1 << 62, 1 << 63);
        assert_eq!(both.score(1 << 60, 1 << 60), 0);
    }
}
