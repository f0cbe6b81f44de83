//! Checks of the names of questions.

use std::collections::HashMap;

use opendp_core::{Error, Result};

use super::document::QuestionFields;
use super::{Study, place_of};

impl Study {
    /// Check that no name of a question is empty, and that a name is not the title of another
    /// question. Otherwise, a reader could not tell their answers apart. Earlier versions made no
    /// such checks. So check only before a new answer. Then a ledger can still return the answers
    /// that it keeps for an earlier document.
    pub(super) fn check_names(&self) -> Result<()> {
        let mut seen: HashMap<String, (usize, &QuestionFields)> = HashMap::new();
        for (place, question) in self.questions.iter().enumerate() {
            let located =
                |reason: String| Error::argument("name", reason).at(place_of(place, question));
            if question.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
                let reason = "the name is empty: write a name, or leave `name` out";
                return Err(located(reason.into()));
            }
            let title = question.title();
            match seen.get(&title) {
                Some((first, other)) if question.name.is_some() || other.name.is_some() => {
                    let first = first + 1;
                    return Err(located(format!(
                        "question {first} has the same name, `{title}`, so readers cannot tell the \
                         answers apart: give each question its own name"
                    )));
                }
                Some(_) => {}
                None => {
                    seen.insert(title, (place, question));
                }
            }
        }
        Ok(())
    }
}
