//! The scores of candidates, divided into blocks, with the best score of each block.

use crate::collected::Collected;
use crate::samplers::{Optimize, score::Score};
use dashu_int::{IBig, UBig};
use std::ops::Range;

/// The scores of the candidates, without their type. The methods of this trait read many scores
/// during the first draws of noise (see `Heats`). So these methods are compiled for each score
/// type. The code that calls these methods is compiled once for all score types.
pub(super) trait Field {
    fn count(&self) -> usize;
    /// For each block, return the approximate distance between its best score and the best of all
    /// scores.
    fn distances_of_blocks(&self) -> Vec<f64>;
    /// Return a lower and an upper bound on the distance between a score and the best score. Return
    /// `None` if no score has this index.
    fn distance(&self, index: usize) -> Option<(f64, f64)>;
    /// Return the distance `m 2^e` between a score and the best score, as the pair `(m, e)`.
    fn exact_distance(&self, index: usize) -> (UBig, i64);
    /// Set the gate, which is a score. From then on, scores that are not better than the gate are
    /// excluded. The gate must be worse than the best score by at least `distance`. Return true if
    /// the gate is set. Return false if no such gate can be computed. Then no score is excluded.
    fn shut(&mut self, distance: f64) -> bool;
    /// Find the index of the first score that is better than the gate. Search only a range of
    /// indices within one block.
    fn find(&self, some: Range<usize>, block: usize) -> Option<usize>;
}

/// The scores of one type, with the best score of each block and the best of all scores.
pub(super) struct Blocks<'a, T> {
    scores: &'a [T],
    optimize: Optimize,
    bests: Vec<T>,
    best: T,
    /// The gate. A score passes if the score is better than the gate.
    pub(super) gate: Option<T>,
}

impl<'a, T: Score> Blocks<'a, T> {
    /// Find the best score of each block, and the best of all scores. Return `None` if there are no
    /// scores.
    pub(super) fn new(scores: &'a [T], optimize: Optimize) -> Option<Self> {
        let (bests, best) = match optimize {
            Optimize::Max => bests(scores, |a, b| a > b),
            Optimize::Min => bests(scores, |a, b| a < b),
        }?;
        Some(Blocks { scores, optimize, bests, best, gate: None })
    }
}

fn bests<T: Copy>(scores: &[T], better: impl Fn(T, T) -> bool) -> Option<(Vec<T>, T)> {
    let mut bests = Vec::with_capacity(scores.len().div_ceil(BLOCK));
    for block in scores.chunks(BLOCK) {
        bests.push(best_of(block, &better)?);
    }
    let best = best_of(&bests, &better)?;
    Some((bests, best))
}
fn best_of<T: Copy>(block: &[T], better: &impl Fn(T, T) -> bool) -> Option<T> {
    // Compare several scores at once, one in each lane.
    let mut lanes = [*block.first()?; LANES];
    let mut rest = block;
    while let Some((row, others)) = rest.split_first_chunk::<LANES>() {
        for lane in 0..LANES {
            lanes[lane] = if better(row[lane], lanes[lane]) { row[lane] } else { lanes[lane] };
        }
        rest = others;
    }
    let mut best = lanes[0];
    for score in &lanes[1..] {
        best = if better(*score, best) { *score } else { best };
    }
    for score in rest {
        best = if better(*score, best) { *score } else { best };
    }
    Some(best)
}

impl<T: Score> Field for Blocks<'_, T> {
    fn count(&self) -> usize {
        self.scores.len()
    }
    fn distances_of_blocks(&self) -> Vec<f64> {
        let mut distances = Vec::with_capacity(self.bests.len());
        for best in &self.bests {
            distances.push(best.distance(self.best).0);
        }
        distances
    }
    fn distance(&self, index: usize) -> Option<(f64, f64)> {
        Some(self.scores.get(index)?.distance(self.best))
    }
    fn exact_distance(&self, index: usize) -> (UBig, i64) {
        let score = self.scores.get(index).copied().unwrap_or(self.best);
        difference(score.dyadic(), self.best.dyadic())
    }
    fn shut(&mut self, distance: f64) -> bool {
        self.gate = self.best.away(distance, self.optimize);
        self.gate.is_some()
    }
    fn find(&self, some: Range<usize>, block: usize) -> Option<usize> {
        let (gate, best, from) = (self.gate?, *self.bests.get(block)?, some.start);
        let scores = self.scores.get(some)?;
        let place = match self.optimize {
            Optimize::Max if best > gate => scores.iter().position(|score| *score > gate),
            Optimize::Min if best < gate => scores.iter().position(|score| *score < gate),
            _ => None,
        };
        place.map(|place| from + place)
    }
}

/// Compute the exact distance between the numbers `m 2^e` and `n 2^f`. Return the distance in the
/// same form, as an integer and an exponent of 2.
fn difference((m, e): (IBig, i64), (n, f): (IBig, i64)) -> (UBig, i64) {
    let exponent = e.min(f);
    let aligned = |m: IBig, e: i64| m << (e - exponent).unsigned_abs() as usize;
    let (_, distance) = (aligned(m, e) - aligned(n, f)).into_parts();
    (distance, exponent)
}

/// Return the number of each block and its range of indices. The list begins with the 16 blocks
/// (`FIRST`) whose best scores are nearest to the best of all scores. The distances are rounded
/// before they are compared. Every order of the blocks gives a correct result, so the rounding can
/// change only the speed.
pub(super) fn ordered(field: &dyn Field) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
    let scores = field.count();
    let mut order: Vec<(f64, usize)> = field.distances_of_blocks().into_iter().zip(0..).collected();
    if FIRST < order.len() {
        order.select_nth_unstable_by(FIRST, |(a, _), (b, _)| a.total_cmp(b));
    }
    order
        .into_iter()
        .map(move |(_, number)| (number, number * BLOCK..scores.min((number + 1) * BLOCK)))
}

/// The number of blocks that come first because their best scores are nearest to the best of all
/// scores.
const FIRST: usize = 16;
const LANES: usize = 8;
const BLOCK: usize = 32 * LANES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_its_best_and_the_best_comes_early() {
        for n in [1, 7, 8, 9, 255, 256, 257, 1300, 20_000] {
            for place in [0, 5, 300, n - 1] {
                let mut scores: Vec<u64> = (0..n as u64).map(|i| i * 7919 % 997).collect();
                let place = place.min(n - 1);
                scores[place] = 5000;
                let blocks = Blocks::new(&scores, Optimize::Max).unwrap();
                assert_eq!(blocks.best, 5000);
                let ordered: Vec<_> = ordered(&blocks).collect();
                assert!(ordered.iter().take(FIRST).any(|(_, block)| block.contains(&place)));
                let mut seen = vec![false; n];
                for (number, block) in ordered {
                    assert_eq!(scores[block.clone()].iter().max(), Some(&blocks.bests[number]));
                    seen[block].iter_mut().for_each(|seen| *seen = !*seen);
                }
                assert!(seen.iter().all(|seen| *seen));
                let floats: Vec<f64> = scores.iter().map(|score| -(*score as f64)).collect();
                assert_eq!(Blocks::new(&floats, Optimize::Min).unwrap().best, -5000.0);
            }
        }
        assert!(Blocks::<u8>::new(&[], Optimize::Max).is_none());
    }
}
