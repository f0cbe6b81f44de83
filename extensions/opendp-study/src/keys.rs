//! The keys of groups, and the rows that statistics of groups leave out.

use opendp_analysis::context::Groups;
use opendp_core::erased::AnyMeasure;
use opendp_core::{Error, Result};
use serde::Deserialize;
use serde_json::Value as Json;

use super::document::{CellType, ColumnFields, QuestionFields, Wanted, from_json};
use super::json::value;

/// The largest number of values in a range of keys.
const MOST_KEYS: i64 = 1_000_000;
/// The forms that the field `keys` can have.
const EXPECTED: &str = "expected {column: [value, ..], ..}, [[value, ..], ..] or \"found\"";

/// The whole numbers from `from` to `to`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: i64,
    to: i64,
}
impl QuestionFields {
    /// Check that the columns in `group_by` are distinct. If `keys` is an object whose names are
    /// all in `group_by`, also check that it has keys for each column in `group_by`.
    pub(super) fn check_keys(&self) -> Result<()> {
        let names = self.group_by.as_deref().unwrap_or_default();
        for (place, name) in names.iter().enumerate() {
            if names.iter().take(place).any(|before| before == name) {
                let reason = format!("`{name}` occurs twice: name each column once");
                return Err(Error::argument("group_by", reason));
            }
            if let Some(Json::Object(columns)) = &self.keys
                && columns.keys().all(|column| names.contains(column))
                && !columns.contains_key(name)
            {
                let reason = format!(
                    "`{name}` has no keys: list the values that have a group, as in \"keys\": \
                     {{\"{name}\": [value, ..]}}; or write \"keys\": \"found\", which needs a \
                     budget with a delta"
                );
                return Err(Error::argument("keys", reason));
            }
        }
        Ok(())
    }
    /// Check that the cells of the columns in `group_by` can be keys. Floats cannot be keys.
    pub(super) fn check_key_types(&self, columns: &[(String, ColumnFields)]) -> Result<()> {
        for name in self.group_by.iter().flatten() {
            let column = columns.iter().find(|(known, _)| known == name);
            if column.is_some_and(|(_, column)| column.kind == CellType::Float) {
                let reason = format!(
                    "`{name}` is a column of f64, which has no keys: read it as i64 or String"
                );
                return Err(Error::argument("group_by", reason));
            }
        }
        Ok(())
    }
    /// Return one text for each answer of a question about groups, such as `only rows with age`.
    /// The text names columns of the other statistics of the question. It names such a column if
    /// rows with a missing cell in the column are left out of the answer, and if the statistic of
    /// the answer does not use the column. The text is `None` if there are no such columns.
    /// `quantiles` has one answer for each quantile.
    ///
    /// All statistics of the question use the same rows. If a row has a missing cell in a column
    /// that drops such rows, all statistics leave out this row. The text does not name the columns
    /// of conditions and of keys, because the title of a question without a name already names
    /// these columns.
    pub(super) fn left_out_of_each(
        &self,
        columns: &[(String, ColumnFields)],
    ) -> Result<Vec<Option<String>>> {
        let statistics = self.of_groups()?;
        let mut dropping: Vec<&str> = Vec::new();
        for statistic in &statistics {
            let Some(name) = column_of(statistic) else { continue };
            let drops = columns.iter().any(|(known, column)| known == name && column.drops());
            let named = self.group_by.iter().flatten().any(|by| by == name);
            if drops && !named && !self.keep.contains_key(name) && !dropping.contains(&name) {
                dropping.push(name);
            }
        }
        let mut answers = Vec::new();
        for statistic in &statistics {
            let own = column_of(statistic);
            let mut others = dropping.clone();
            others.retain(|name| Some(*name) != own);
            let only =
                (!others.is_empty()).then(|| format!("only rows with {}", others.join(" and ")));
            let count = match statistic {
                Wanted::Quantiles(fields) => fields.alphas()?.len(),
                _ => 1,
            };
            answers.extend(std::iter::repeat_n(only, count));
        }
        Ok(answers)
    }
}
/// Return the column of a statistic. A count has no column.
pub(super) fn column_of<'a>(statistic: &Wanted<'a>) -> Option<&'a str> {
    match statistic {
        Wanted::Sum(fields) | Wanted::Mean(fields) | Wanted::Variance(fields) => {
            Some(&fields.column)
        }
        Wanted::Median(fields) | Wanted::Quantile(fields) | Wanted::Quantiles(fields) => {
            Some(&fields.column)
        }
        _ => None,
    }
}
pub(super) fn with_keys<'c>(
    mut groups: Groups<'c, AnyMeasure>,
    asked: &QuestionFields,
) -> Result<Groups<'c, AnyMeasure>> {
    match &asked.keys {
        Some(Json::Object(columns)) => {
            for (column, values) in columns {
                let values = values_of(values).map_err(|error| error.at(column.clone()))?;
                groups = groups.keys(column, values);
            }
            Ok(groups)
        }
        Some(Json::Array(keys)) => Ok(groups.groups(listed(keys)?)),
        Some(Json::String(word)) if word == "found" => Ok(groups),
        Some(_) => Err(Error::argument("keys", EXPECTED)),
        None => {
            let reason = format!("state which values have a group: {EXPECTED}");
            Err(Error::argument("keys", reason))
        }
    }
}
fn listed(keys: &[Json]) -> Result<Vec<Vec<Json>>> {
    let mut listed = Vec::with_capacity(keys.len());
    for key in keys {
        listed.push(value(key.clone())?);
    }
    Ok(listed)
}
/// Read a list of values, or a range of whole numbers.
fn values_of(json: &Json) -> Result<Vec<Json>> {
    let Json::Object(_) = json else { return value(json.clone()) };
    let Range { from, to } = from_json(json)?;
    if !(from <= to && to.saturating_sub(from) < MOST_KEYS) {
        let reason = format!("expected `from` <= `to`, and at most {MOST_KEYS} values");
        return Err(Error::argument("from", reason));
    }
    Ok((from..=to).map(Json::from).collect())
}
