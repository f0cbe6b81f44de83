//! Checks for two facts that the author of a document can overlook: cells are read without the
//! spaces around them, and unreadable cells of `bool` become `false`.

use opendp_core::{Error, Result};
use serde_json::Value as Json;

use super::document::{CellType, ColumnFields, Condition, QuestionFields};
use super::{Study, place_of};

impl Study {
    /// Check that no text of a question begins or ends with a space. The command `opendp` reads
    /// cells without the spaces around them, so no cell is equal to such a text. In a column that
    /// states `missing`, an empty cell is missing. So also check that no text for such a column is
    /// empty. Call this function if the caller reads [`Cells`](crate::Cells) as the command does.
    /// The check does not depend on the data.
    ///
    /// A text is allowed if it is the replacement `missing` of its column, because a replaced cell
    /// is equal to this text.
    ///
    /// # Errors
    /// `Argument` when no cell can be equal to a text in a condition, in a list of categories or in
    /// a key.
    pub fn check_spaces(&self) -> Result<()> {
        for (place, question) in self.questions.iter().enumerate() {
            let located = |error: Error| error.at(place_of(place, question));
            question.check_spaces(&self.columns).map_err(located)?;
        }
        Ok(())
    }
    /// Return the columns of `bool` that do not state `missing`. A cell of such a column is `false`
    /// if the cell cannot be read.
    pub fn bools_without_missing(&self) -> impl Iterator<Item = &str> {
        let silent =
            |column: &ColumnFields| column.kind == CellType::Bool && column.missing.is_none();
        let found = self.columns.iter().filter(move |(_, column)| silent(column));
        found.map(|(name, _)| name.as_str())
    }
}
impl QuestionFields {
    fn check_spaces(&self, columns: &[(String, ColumnFields)]) -> Result<()> {
        for (name, condition) in &self.keep {
            // If a condition cannot be read, the answer to the question is an error.
            let among = Condition::read(condition).ok().and_then(|condition| condition.among);
            let among = among.unwrap_or_default();
            check_texts(name, &among, columns).map_err(|error| error.at("where"))?;
        }
        if let Some(fields) = &self.histogram {
            let names = fields.categories.as_deref().unwrap_or_default();
            check_texts(&fields.column, names, columns).map_err(|error| error.at("histogram"))?;
        }
        if let Some(fields) = &self.top_k {
            check_texts(&fields.column, &fields.categories, columns)
                .map_err(|error| error.at("top_k"))?;
        }
        self.check_keys_for_spaces(columns).map_err(|error| error.at("keys"))
    }
    fn check_keys_for_spaces(&self, columns: &[(String, ColumnFields)]) -> Result<()> {
        match &self.keys {
            Some(Json::Object(lists)) => {
                for (name, values) in lists {
                    let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
                    check_texts(name, values, columns)?;
                }
                Ok(())
            }
            Some(Json::Array(keys)) => {
                let names = self.group_by.as_deref().unwrap_or_default();
                for key in keys.iter().filter_map(Json::as_array) {
                    for (name, value) in names.iter().zip(key) {
                        check_texts(name, std::slice::from_ref(value), columns)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
/// If the column `name` contains texts, check that each element of `texts` can be equal to a cell
/// of this column.
fn check_texts(name: &str, texts: &[Json], columns: &[(String, ColumnFields)]) -> Result<()> {
    let column = columns.iter().find(|(known, _)| known == name).map(|(_, column)| column);
    let Some(column) = column.filter(|column| column.kind == CellType::Text) else {
        return Ok(());
    };
    for text in texts.iter().filter(|text| column.missing.as_ref() != Some(text)) {
        // If the JSON is not a text, the answer to the question is an error.
        let Some(word) = text.as_str() else { continue };
        if word.trim() != word {
            let reason = format!(
                "the text {text} begins or ends with a space. The cells of a table are read \
                 without the spaces around them, so no cell is equal to this text: remove the \
                 spaces"
            );
            return Err(Error::argument(name, reason));
        }
        if word.is_empty() && column.missing.is_some() {
            let reason = "an empty cell of this column is missing, because the column states \
                          `missing`, so no cell is equal to the empty text: leave this text out";
            return Err(Error::argument(name, reason));
        }
    }
    Ok(())
}
