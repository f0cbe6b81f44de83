//! The best scores of blocks.

use crate::samplers::{Optimize, score::Score};
use std::ops::Range;

/// The best score of each block of a list, and of all.
pub(super) struct Blocks<T> {
    scores: usize,
    bests: Vec<T>,
    best: Option<T>,
}

impl<T: Score> Blocks<T> {
    pub(super) fn new(scores: &[T], optimize: Optimize) -> Self {
        match optimize {
            Optimize::Max => Self::by(scores, |a, b| a > b),
            Optimize::Min => Self::by(scores, |a, b| a < b),
        }
    }

    fn by(scores: &[T], better: impl Fn(T, T) -> bool) -> Self {
        let pick = |a: T, b: T| if better(b, a) { b } else { a };
        let best_of = |block: &[T]| {
            // Several are compared at once.
            let mut lanes = [*block.first()?; LANES];
            let rows = block.chunks_exact(LANES);
            let rest = rows.remainder();
            for row in rows {
                for (lane, score) in lanes.iter_mut().zip(row) {
                    *lane = pick(*lane, *score);
                }
            }
            lanes.into_iter().chain(rest.iter().copied()).reduce(pick)
        };
        let bests: Vec<T> = scores.chunks(BLOCK).filter_map(best_of).collect();
        let best = bests.iter().copied().reduce(pick);
        Self { scores: scores.len(), bests, best }
    }

    /// The best of all scores, if there are any.
    pub(super) fn best(&self) -> Option<T> {
        self.best
    }

    /// The blocks, each with its best score; some of those with the best ones come first. Floats are
    /// good enough to say which.
    pub(super) fn ordered(&self) -> impl Iterator<Item = (Range<usize>, T)> {
        let distance = |best: T| self.best.map_or(0.0, |all| best.distance(all).0);
        let numbered = self.bests.iter().enumerate();
        let mut order: Vec<_> =
            numbered.map(|(number, best)| (distance(*best), number, *best)).collect();
        if FIRST < order.len() {
            order.select_nth_unstable_by(FIRST, |(a, ..), (b, ..)| a.total_cmp(b));
        }
        order
            .into_iter()
            .map(|(_, number, best)| (number * BLOCK..self.scores.min((number + 1) * BLOCK), best))
    }
}

/// So many blocks are chosen to come first.
const FIRST: usize = 16;
const LANES: usize = 8;
const BLOCK: usize = 32 * LANES;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_its_best_and_the_best_comes_early() {
        for n in [1, 7, 8, 9, 255, 256, 257, 1300, 20_000] {
            for at in [0, 5, 300, n - 1] {
                let mut scores: Vec<u64> = (0..n as u64).map(|i| i * 7919 % 997).collect();
                let at = at.min(n - 1);
                scores[at] = 5000;
                let blocks = Blocks::new(&scores, Optimize::Max);
                assert_eq!(blocks.best(), Some(5000));
                let ordered: Vec<_> = blocks.ordered().collect();
                assert!(ordered.iter().take(FIRST).any(|(block, _)| block.contains(&at)));
                let mut seen = vec![false; n];
                for (block, best) in ordered {
                    assert_eq!(scores[block.clone()].iter().max(), Some(&best));
                    seen[block].iter_mut().for_each(|seen| *seen = !*seen);
                }
                assert!(seen.iter().all(|seen| *seen));
                let floats: Vec<f64> = scores.iter().map(|score| -(*score as f64)).collect();
                assert_eq!(Blocks::new(&floats, Optimize::Min).best(), Some(-5000.0));
            }
        }
        assert_eq!(Blocks::<u8>::new(&[], Optimize::Max).best(), None);
    }
}
