//! The shares of the questions in the budget.

use opendp_analysis::{Budget, Context, Split};
use opendp_core::Result;

use super::document::QuestionFields;
use super::questions::{Asker, Mode};
use super::table::blank;
use super::{Study, place_of};

impl Study {
    /// Return the split of the budget among all releases. If no question has a release, the budget
    /// stays as it is.
    pub(super) fn split(&self) -> Result<Split> {
        // A wrong weight is an error, even if its question has no release.
        Split::by_weights(&self.weights)?;
        let steps = self.steps()?;
        if steps.is_empty() { Ok(Split::as_you_go()) } else { Split::by_weights(&steps) }
    }
    /// Return the weight of each release. A question of several releases divides its weight among
    /// the releases. A question without releases has no weight, so all other questions get more.
    pub(super) fn steps(&self) -> Result<Vec<f64>> {
        let mut steps = Vec::new();
        for (place, (question, weight)) in self.questions.iter().zip(&self.weights).enumerate() {
            let releases = match question.group_by {
                None => Ok(question.releases(&self.columns, self.rows)),
                Some(_) => self.releases_of_groups(question),
            };
            let releases = releases.map_err(|error| error.at(place_of(place, question)))?;
            steps.extend(std::iter::repeat_n(weight / releases.max(1) as f64, releases));
        }
        Ok(steps)
    }
    /// Return the number of releases of a question about groups. Two statistics share a sum only if
    /// they have the same column and the same bounds. So the number of releases depends on the
    /// bounds. The number does not depend on the rows, so a table without rows is enough.
    fn releases_of_groups(&self, question: &QuestionFields) -> Result<usize> {
        let (budget, split) = (Budget::epsilon(1.0)?.erase(), Split::as_you_go());
        let table = blank(&self.columns, None).map_err(|error| error.at("context"))?;
        let context = Context::new(table, self.unit, budget, split)?;
        let (columns, rows, mode) = (self.columns.as_slice(), self.rows, Mode::Rehearse);
        Asker { context: &context, columns, rows, alpha: 1.0, mode, trial: None }
            .releases_of_groups(question)
    }
}
