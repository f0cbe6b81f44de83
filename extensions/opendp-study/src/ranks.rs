//! Questions about quantiles.

use opendp_core::{Codec, Error, Result};

use super::document::{QuestionFields, RankFields};
use super::outcome::{Cell, StudyAnswer};
use super::questions::{Asker, cell};

impl Asker<'_> {
    /// Return the candidates of a question. Check that there are at least two candidates, and that
    /// their comparisons with the cells are exact.
    pub(super) fn candidates(&self, rank: &RankFields) -> Result<Vec<f64>> {
        let candidates = rank.candidates()?;
        if candidates.len() < 2 {
            let reason = "expected at least two candidates: otherwise, nothing is chosen";
            return Err(Error::argument("candidates", reason));
        }
        self.check_exact("candidates", &rank.column, &candidates)?;
        Ok(candidates)
    }
    pub(super) fn rank(
        &self,
        asked: &QuestionFields,
        rank: &RankFields,
        alpha: Option<f64>,
    ) -> Result<StudyAnswer> {
        let missing = "a quantile needs an alpha, such as 0.25";
        let alpha = alpha.ok_or_else(|| Error::argument("alpha", missing))?;
        let cells = self.numbers(asked, &rank.column)?;
        let question = cells.quantile(alpha, self.candidates(rank)?).choose()?;
        let mut answer = StudyAnswer::before(asked.title(), question.noised(self.alpha));
        if let Some(chosen) = self.spend(question)? {
            answer.cells.push(Cell { value: chosen.value.to_json(), ..Cell::default() });
        }
        Ok(answer)
    }
    pub(super) fn ranks(&self, asked: &QuestionFields, ranks: &RankFields) -> Result<StudyAnswer> {
        let alphas = ranks.alphas()?;
        let cells = self.numbers(asked, &ranks.column)?;
        let question = cells.quantiles(alphas, self.candidates(ranks)?).choose()?;
        let mut answer = StudyAnswer::before(asked.title(), question.noised(self.alpha));
        if let Some(chosen) = self.spend(question)? {
            for (alpha, chosen) in alphas.iter().zip(&chosen.value) {
                answer.cells.push(cell(alpha.to_string(), chosen, None));
            }
        }
        Ok(answer)
    }
}
