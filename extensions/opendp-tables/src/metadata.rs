//! Public facts about tables: types, bounds, keys and units of privacy.
//!
//! Metadata come from a TOML or JSON file, or from the builder functions here. Nothing in metadata
//! may be taken from the data. An unknown field is an error. Otherwise, a limit with a misspelled
//! name would have no effect.

use std::collections::BTreeMap;

use opendp_core::arith::shown;
use opendp_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{Type, Value};

mod dates;
mod file;

pub use file::{BudgetText, Metadata};

/// The largest magnitude of bounds of integers. A float can store every integer up to this number
/// exactly.
const MOST: f64 = 9_007_199_254_740_992.0;
/// The largest magnitude of bounds of floats.
const MOST_FLOAT: f64 = 1e100;
/// At least one of the two bounds of floats must have a magnitude of at least this number. Plans
/// round floats near 0 to multiples of about 1e-116. With such bounds, a sum rounds its values to
/// multiples of a step that is far larger than 1e-116.
const LEAST_FLOAT: f64 = 1e-70;

/// A privacy unit: the protected individuals of a table, and limits on the number of rows that one
/// individual contributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivacyUnit {
    /// Protect individuals who add or remove at most this many rows. No engine enforces this
    /// number. The caller states that no individual has more rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u32>,
    /// Protect each value in this column as one individual. The rows of the individual are all rows
    /// with this value. Rows without a value are dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Use at most this many rows of an id. The engine leaves out further rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rows: Option<u32>,
    /// Use at most this many groups of an id. The engine leaves out further groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_groups: Option<u32>,
    /// Use at most this many rows of an id in each group. The engine leaves out further rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rows_per_group: Option<u32>,
}
impl PrivacyUnit {
    /// Protect individuals who add or remove at most this many rows.
    pub fn rows(rows: u32) -> Self {
        PrivacyUnit { rows: Some(rows), ..PrivacyUnit::default() }
    }
    /// Protect each value in a column as one individual, and use at most `max_rows` rows with the
    /// same value.
    pub fn id(column: &str, max_rows: u32) -> Self {
        let (id, max_rows) = (Some(column.to_owned()), Some(max_rows));
        PrivacyUnit { id, max_rows, ..PrivacyUnit::default() }
    }
    /// Use at most `groups` groups of an id, and at most `rows` rows of an id in each group.
    #[must_use]
    pub fn per_group(self, groups: u32, rows: u32) -> Self {
        PrivacyUnit { max_groups: Some(groups), max_rows_per_group: Some(rows), ..self }
    }
    fn check(&self) -> Result<()> {
        for (name, limit) in [
            ("rows", self.rows),
            ("max_rows", self.max_rows),
            ("max_groups", self.max_groups),
            ("max_rows_per_group", self.max_rows_per_group),
        ] {
            if let Some(limit) = limit.filter(|limit| !(1..=1 << 24).contains(limit)) {
                let reason =
                    format!("`{name}`: expected a number from 1 to 16777216, found {limit}");
                return Err(Error::argument("unit", reason));
            }
        }
        let of_ids = self.max_rows.is_some()
            || self.max_groups.is_some()
            || self.max_rows_per_group.is_some();
        let reason = match (&self.id, self.rows) {
            (None, None) => "expected `rows = 1`, or `id = \"column\"` and `max_rows`",
            (Some(_), Some(_)) => "expected `rows` or `id`, found both",
            (None, Some(_)) if of_ids => {
                "`max_rows`, `max_groups` and `max_rows_per_group` need an `id` instead of `rows`"
            }
            (Some(_), None)
                if self.max_rows.is_none()
                    && (self.max_groups.is_none() || self.max_rows_per_group.is_none()) =>
            {
                "an `id` needs `max_rows`, or both `max_groups` and `max_rows_per_group`"
            }
            _ => return Ok(()),
        };
        Err(Error::argument("unit", reason))
    }
}

/// The public facts about a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// The type of the column's cells. A cell that cannot be read as this type is null.
    #[serde(rename = "type")]
    pub kind: Type,
    /// Numbers are moved into these bounds before they are aggregated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<[f64; 2]>,
    /// The first date or time of a column of dates or times, as a text of ISO 8601. It needs
    /// `upper`. If both are stated, the periods and years between them are public keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<String>,
    /// The last date or time of a column of dates or times, as a text of ISO 8601.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<String>,
    /// All keys that groups may have. Each key gives a group of the answer, even if the group has
    /// no rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Vec<Json>>,
    /// Candidates for quantiles, in increasing order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Vec<f64>>,
    /// The weight of aggregates of this column. The aggregates of a query share its loss in
    /// proportion to their weights. The default is 1. A larger weight gives less noise to the
    /// aggregates of this column, and more noise to the other aggregates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Whether every row has a value in this column. If the number of rows is public too, a mean of
    /// this column over the whole table is a noisy sum divided by this public number. In this mean,
    /// a missing value counts as the middle of the bounds. Releases are private even if the column
    /// has missing values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub complete: bool,
}
impl Column {
    /// Describe a column of a type.
    pub fn new(kind: Type) -> Self {
        let (bounds, keys, candidates) = (None, None, None);
        let (lower, upper) = (None, None);
        Column { kind, bounds, lower, upper, keys, candidates, weight: None, complete: false }
    }
    /// State the bounds of the column.
    #[must_use]
    pub fn bounds(self, low: f64, high: f64) -> Self {
        Column { bounds: Some([low, high]), ..self }
    }
    /// State the first and the last date or time of the column, as texts of ISO 8601.
    #[must_use]
    pub fn between(self, lower: &str, upper: &str) -> Self {
        Column { lower: Some(lower.to_owned()), upper: Some(upper.to_owned()), ..self }
    }
    /// State all keys that groups may have.
    #[must_use]
    pub fn keys<J: Into<Json>>(self, keys: impl IntoIterator<Item = J>) -> Self {
        Column { keys: Some(keys.into_iter().map(Into::into).collect()), ..self }
    }
    /// State the candidates for quantiles of the column.
    #[must_use]
    pub fn candidates(self, candidates: Vec<f64>) -> Self {
        Column { candidates: Some(candidates), ..self }
    }
    /// State the weight of aggregates of the column.
    #[must_use]
    pub fn weight(self, weight: f64) -> Self {
        Column { weight: Some(weight), ..self }
    }
    /// State that every row has a value in the column.
    #[must_use]
    pub fn complete(self) -> Self {
        Column { complete: true, ..self }
    }
    pub(crate) fn public_keys(&self) -> Result<Option<Vec<Value>>> {
        let Some(keys) = &self.keys else { return Ok(None) };
        let read = |key: &Json| Value::key(key, self.kind);
        keys.iter().map(read).collect::<Result<Vec<_>>>().map(Some)
    }
    /// Return the first and the last date or time, if they are stated.
    pub(crate) fn range(&self) -> Result<Option<(i64, i64)>> {
        dates::range(self)
    }
    fn check(&self) -> Result<()> {
        self.weight.map_or(Ok(()), check_weight)?;
        self.range()?;
        if let Some([low, high]) = self.bounds {
            if self.kind.is_calendar() {
                return Err(Error::argument("bounds", dates::INSTEAD));
            }
            if !self.kind.is_number() {
                return Err(Error::argument("bounds", "expected a column of numbers"));
            }
            check_bounds(low, high, self.kind)?;
        }
        if let Some(keys) = self.public_keys()? {
            let mut seen: Vec<String> = keys.iter().map(Value::printed).collect();
            seen.sort_unstable();
            seen.dedup();
            if seen.is_empty() || seen.len() < keys.len() {
                return Err(Error::argument("keys", "expected at least one key, and no key twice"));
            }
        }
        if let Some(candidates) = &self.candidates {
            check_candidates(candidates, self.kind)?;
        }
        Ok(())
    }
}
/// Check that the column has numbers, that there is at least one candidate, that the candidates
/// strictly increase, and that their magnitudes are at most [`MOST_FLOAT`].
fn check_candidates(candidates: &[f64], kind: Type) -> Result<()> {
    let falls = |pair: &&[f64]| !matches!(pair, [a, b] if a < b);
    let reason = if !kind.is_number() {
        "expected a column of numbers".to_owned()
    } else if candidates.is_empty() {
        "expected at least one candidate".to_owned()
    } else if let Some(far) = candidates.iter().find(|c| !(c.abs() <= MOST_FLOAT)) {
        format!("expected numbers from -1e100 to 1e100, found {}", shown(*far))
    } else if let Some([a, b]) = candidates.windows(2).find(falls) {
        let (a, b) = (shown(*a), shown(*b));
        format!("expected numbers in increasing order, each once, found {a} and then {b}")
    } else {
        return Ok(());
    };
    Err(Error::argument("candidates", reason))
}
/// Check that a weight is at least 1e-6 and at most 1e6.
pub(crate) fn check_weight(weight: f64) -> Result<()> {
    if (1e-6..=1e6).contains(&weight) {
        return Ok(());
    }
    let reason = format!("expected a number from 0.000001 to 1000000, found {}", shown(weight));
    Err(Error::argument("weight", reason))
}
/// Check that `low <= high`. Check that both magnitudes are at most [`MOST`] for integers and at
/// most [`MOST_FLOAT`] for floats, and that the larger magnitude is at least [`LEAST_FLOAT`]. The
/// bounds of integers must be whole numbers.
pub(crate) fn check_bounds(low: f64, high: f64, kind: Type) -> Result<()> {
    let limit = if kind == Type::Integer { MOST } else { MOST_FLOAT };
    let fits = low <= high && -limit <= low && high <= limit;
    let whole = kind != Type::Integer || (low.fract() == 0.0 && high.fract() == 0.0);
    if fits && whole && LEAST_FLOAT <= low.abs().max(high.abs()) {
        return Ok(());
    }
    let expected = match kind {
        Type::Integer => "expected two whole numbers, -2^53 to 2^53, the lower first, not both 0",
        _ => "expected two numbers, -1e100 to 1e100, the lower first, one at least 1e-70 from 0",
    };
    let reason = format!("{expected}; found {} and {}", shown(low), shown(high));
    Err(Error::argument("bounds", reason))
}

/// The public facts about a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The file or folder of the table, relative to the metadata file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The format of the table: `csv` or `parquet`. The default is the extension of the path, or
    /// `parquet` if the path has no extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Whether all content of the table is public.
    #[serde(default)]
    pub public: bool,
    /// The key column of a public table, for joins. All values of this column are different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The privacy unit of the table. A public table has no unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<PrivacyUnit>,
    /// The number of rows, if it is public. With a public number of rows, neighbouring tables have
    /// the same number of rows. The rows of an individual are replaced by other rows, and not added
    /// or removed. The number of rows itself has no noise. If an individual has `k` rows, the noise
    /// of every other aggregate covers the replacement of `k` rows by `k` other rows. The unit must
    /// be `rows`. Before each new release, this number is compared with the data. If it is wrong,
    /// nothing is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// The columns that queries may use. Queries cannot name other columns.
    pub columns: BTreeMap<String, Column>,
}
impl Table {
    /// Describe a private table.
    pub fn private(unit: PrivacyUnit) -> Self {
        Table { unit: Some(unit), ..Table::default() }
    }
    /// Describe a public table. Queries can join private tables with this table by the column
    /// `key`.
    pub fn public(key: &str) -> Self {
        Table { public: true, key: Some(key.into()), ..Table::default() }
    }
    /// Add a column.
    #[must_use]
    pub fn with(mut self, name: &str, column: Column) -> Self {
        self.columns.insert(name.into(), column);
        self
    }
    /// State the public number of rows.
    #[must_use]
    pub fn rows(self, rows: u64) -> Self {
        Table { rows: Some(rows), ..self }
    }
    /// State the file or folder of the table.
    #[must_use]
    pub fn at(self, path: &str) -> Self {
        Table { path: Some(path.into()), ..self }
    }
    pub(crate) fn check(&self) -> Result<()> {
        for (name, column) in &self.columns {
            check_name(name)?;
            column.check().map_err(|error| error.at(format!("column `{name}`")))?;
        }
        let known = |name: &Option<String>| match name {
            Some(name) if !self.columns.contains_key(name) => Err(Error::NotFound(format!(
                "column `{name}` is not among the described `columns`: correct the name, or \
                     describe the column"
            ))),
            _ => Ok(()),
        };
        if let Some(rows) = self.rows {
            check_rows(rows, self.unit.as_ref())?;
        }
        match (&self.unit, self.public) {
            (Some(unit), false) => {
                unit.check()?;
                known(&unit.id)?;
                let kind = unit.id.as_ref().and_then(|id| self.columns.get(id)).map(|c| c.kind);
                if !matches!(kind, None | Some(Type::Integer | Type::Text)) {
                    return Err(Error::argument("id", "expected a column of integers or text"));
                }
                if self.key.is_some() {
                    return Err(Error::argument("key", "only a public table has a key"));
                }
                Ok(())
            }
            (None, true) => known(&self.key),
            (Some(_), true) => Err(Error::argument(
                "unit",
                "a public table has no individuals to protect: leave `unit` out",
            )),
            (None, false) => Err(Error::argument(
                "unit",
                "missing: state whom to protect, as in `unit = { rows = 1 }`, or `public = true`",
            )),
        }
    }
}
fn check_rows(rows: u64, unit: Option<&PrivacyUnit>) -> Result<()> {
    let reason = match unit {
        None => "only a private table can state its number of rows: leave `rows` out",
        Some(PrivacyUnit { id: Some(_), .. }) => {
            "individuals with ids have different numbers of rows, so the total number of rows \
             reveals something about each of them: leave `rows` out, or protect rows instead of ids"
        }
        _ if rows == 0 || 1 << 53 < rows => "expected a number from 1 to 2^53",
        _ => return Ok(()),
    };
    Err(Error::argument("rows", reason))
}
pub(crate) fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == ' ' || c == '-';
    if !name.is_empty() && name.len() <= 60 && name.chars().all(plain) && !name.starts_with("__") {
        return Ok(());
    }
    let reason =
        "expected at most 60 bytes: letters, digits, spaces, `-` and `_`, not `__` at the start";
    Err(Error::argument("name", format!("`{name}`: {reason}")))
}
