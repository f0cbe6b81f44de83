//! Notes about the meaning of answers.

use opendp_analysis::context::short;

use super::{Mode, NO_NOISE, Outcome, StudyAnswer};

impl Outcome {
    /// Return notes about the meaning of the answers: which statistics are about cells that were
    /// moved to bounds, which answers depend on a stated number of rows, and which groups were
    /// found in the data.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut moved = Vec::new();
        for answer in &self.answers {
            let StudyAnswer { question, rows_stated, bounds, keys_found, .. } = answer;
            if answer.mechanism == NO_NOISE {
                notes.push(format!(
                    "`{question}` is the public number of rows. It has no noise, and costs nothing"
                ));
            }
            if let Some((lower, upper)) = bounds {
                moved.push(format!("`{question}`: {} to {}", short(*lower), short(*upper)));
            }
            if let Some(rows) = rows_stated {
                notes.push(format!(
                    "`{question}` uses the stated number of rows, {rows}. This number is not \
                     compared with the data. If it is wrong, the answer and its interval are wrong"
                ));
            }
            if *keys_found {
                notes.push(format!(
                    "`{question}` shows only groups whose noisy count passed a threshold. So the \
                     intervals of the shown groups can miss more often than stated"
                ));
            }
        }
        if !moved.is_empty() {
            let moved = moved.join("; ");
            let note = format!(
                "each cell outside of its bounds counts as the nearest bound, and the intervals do \
                 not include the effect of this: {moved}"
            );
            notes.insert(0, note);
        }
        notes
    }
    /// Describe the error of an answer without values.
    pub(super) fn unreleased(&self, answer: &StudyAnswer) -> String {
        match self.mode {
            Mode::Ask => "no group passed the threshold".into(),
            Mode::Rehearse => answer.range(None),
        }
    }
}
