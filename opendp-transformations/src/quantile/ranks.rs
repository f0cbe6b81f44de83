//! Counts the records that are below, equal to, and above each candidate.

use opendp_core::{Atom, Codec, Fold, Function, Result, TypeName, arith::Number};
use serde_json::Value as Json;

use crate::count::counts::Counts;
use crate::quantile::alpha::Fraction;
use crate::quantile::finder::Finder;

/// Make the function that counts the rows in the cells of candidates. Candidates are numbered from
/// zero. Cell `2 i + 1` counts the rows that are equal to candidate `i`. Cell `2 i` counts the rows
/// between candidates `i - 1` and `i`. The first cell counts the rows below all candidates, and the
/// last cell counts the rows above all candidates.
///
/// There must be at least one candidate, and the candidates must strictly increase.
pub fn counts_in_cells<T: Atom + Number>(candidates: Vec<T>) -> Function<Vec<T>, Vec<u64>> {
    Function::fold(QuantileScores::new(candidates, Rule::Counts))
}

/// Scores each candidate for a quantile, or counts the records near each candidate.
///
/// The state of this fold counts records in cells. Candidates are numbered from zero. Cell
/// `2 i + 1` counts the records that are equal to candidate `i`. Cell `0` counts the records below
/// candidate `0`. For `i > 0`, cell `2 i` counts the records between candidates `i - 1` and `i`.
/// The last cell counts the records above all candidates.
pub(crate) struct QuantileScores<T> {
    /// The candidates, which strictly increase. There is at least one candidate.
    candidates: Vec<T>,
    rule: Rule,
    finder: Finder<T>,
}
/// The rule by which the counts of the cells give the result.
pub(crate) enum Rule {
    /// The result is the counts themselves.
    Counts,
    /// The result is the scores of the candidates.
    Scores(Alphas),
}
/// The rule by which the numbers of records give the score of a candidate.
pub(crate) struct Alphas {
    pub(crate) alpha: Fraction,
    pub(crate) equal: Equal,
}
/// States how the records that are equal to a candidate affect its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Equal {
    /// The equal records are left out. The candidate has one rank among the other records.
    LeftOut,
    /// The candidate has all ranks of the equal records.
    Ranks,
}

impl<T: Atom + Number> QuantileScores<T> {
    /// Prepare to score these candidates. There must be at least one candidate, and the candidates
    /// must strictly increase.
    pub(crate) fn new(candidates: Vec<T>, rule: Rule) -> Self {
        let finder = Finder::new(&candidates);
        QuantileScores { candidates, rule, finder }
    }
}
impl Rule {
    fn label(&self, name: &TypeName, candidates: &Json) -> String {
        let Rule::Scores(Alphas { alpha, equal }) = self else {
            return format!("counts of {name} among {candidates}");
        };
        let Fraction { numerator, denominator } = alpha;
        let scores = match equal {
            Equal::LeftOut => "quantile scores",
            Equal::Ranks => "quantile rank scores",
        };
        format!("{scores} of {name} at {numerator}/{denominator} among {candidates}")
    }
    fn result(&self, state: Counts) -> Vec<u64> {
        match self {
            Rule::Counts => state.into(),
            Rule::Scores(alphas) => alphas.scores(state),
        }
    }
}
impl Alphas {
    /// Return the scores of the candidates for the counts of the cells.
    fn scores(&self, state: Counts) -> Vec<u64> {
        let state = Vec::from(state);
        let mut above = state.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
        let mut below = 0_u64;
        let scores = state.chunks_exact(2).map(|cells| {
            let (gap, hit) = (cells[0], cells[1]);
            below = below.saturating_add(gap);
            above = above.saturating_sub(gap).saturating_sub(hit);
            let score = self.score(below, hit, above);
            below = below.saturating_add(hit);
            score
        });
        scores.collect()
    }
    /// Return the score of a candidate: the distance between its ranks and the ideal rank, times
    /// the denominator of alpha. `below`, `equal` and `above` are the numbers of records below the
    /// candidate, equal to it, and above it.
    fn score(&self, below: u64, equal: u64, above: u64) -> u64 {
        let Fraction { numerator, denominator } = self.alpha;
        // A product of two numbers of 64 bits fits 128 bits.
        let weighted = |below: u64, above: u64| {
            let left = u128::from(denominator - numerator) * u128::from(below);
            (left, u128::from(numerator) * u128::from(above))
        };
        let score = match self.equal {
            Equal::LeftOut => {
                let (left, right) = weighted(below, above);
                left.abs_diff(right)
            }
            Equal::Ranks => {
                let (left, right) = weighted(below, above.saturating_add(equal));
                let too_high = left.saturating_sub(right);
                let (left, right) = weighted(below.saturating_add(equal), above);
                too_high.max(right.saturating_sub(left))
            }
        };
        u64::try_from(score).unwrap_or(u64::MAX)
    }
}

impl<T: Atom + Number> Fold<Vec<T>, Vec<u64>> for QuantileScores<T> {
    type State = Counts;
    fn label(&self) -> String {
        self.rule.label(&T::type_name(), &self.candidates.to_json())
    }
    fn start(&self) -> Counts {
        Counts::new(2 * self.candidates.len() + 1)
    }
    fn absorb(&self, state: &mut Counts, rows: &[T]) -> Result<()> {
        self.finder.count(rows, state);
        Ok(())
    }
    fn merge(&self, state: &mut Counts, other: Counts) -> Result<()> {
        state.merge(&other)
    }
    fn finish(&self, state: Counts) -> Result<Vec<u64>> {
        Ok(self.rule.result(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alphas(numerator: u64, denominator: u64) -> Alphas {
        let alpha = Fraction { numerator, denominator };
        Alphas { alpha, equal: Equal::LeftOut }
    }
    fn scores(candidates: &[f64], numerator: u64, denominator: u64) -> QuantileScores<f64> {
        let rule = Rule::Scores(alphas(numerator, denominator));
        QuantileScores::new(candidates.to_vec(), rule)
    }

    #[test]
    fn counts_every_row_whatever_their_number() {
        let quantile = scores(&[-1.0, 0.0, 2.0], 1, 2);
        use crate::quantile::finder::LANES;
        for rows in [0, 1, LANES - 1, LANES, LANES + 1, 3 * LANES + 7] {
            let data: Vec<f64> = (0..rows).map(|i| (i % 5) as f64 - 2.0).collect();
            let mut state = quantile.start();
            quantile.absorb(&mut state, &data).unwrap();
            let count = |x: f64| data.iter().filter(|row| **row == x).count() as u64;
            let expected = [count(-2.0), count(-1.0), 0, count(0.0), count(1.0), count(2.0), 0];
            assert_eq!(Vec::from(state), expected);
            let counts = counts_in_cells(vec![-1.0, 0.0, 2.0]);
            assert_eq!(counts.eval(&data).unwrap(), expected);
        }
    }
    #[test]
    fn saturates_a_score_once_and_late() {
        let huge = alphas(1, u64::MAX);
        assert_eq!(huge.score(u64::MAX, 0, 0), u64::MAX);
        assert_eq!(huge.score(1, 0, u64::MAX), 1);
        let both = alphas(1 << 62, 1 << 63);
        assert_eq!(both.score(1 << 60, 0, 1 << 60), 0);
    }
}
