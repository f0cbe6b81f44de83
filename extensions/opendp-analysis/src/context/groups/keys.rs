//! The keys of groups, and the group of each record.

use std::collections::HashMap;
use std::sync::Arc;

use opendp_core::{Codec, Error, IBig, Result};
use serde_json::Value as Json;

use super::super::Table;
use super::super::table::{Places, Source};

/// The largest number of groups of a question.
const MOST_GROUPS: usize = 1 << 20;

/// The keys of groups: the combinations of values that have a group, in the order of the answers.
#[derive(Clone, Debug)]
pub(super) enum Keys {
    /// All combinations that have one listed value for each column. A column without listed values
    /// is `None`.
    Product(Vec<Option<Vec<Json>>>),
    /// A list of combinations of values.
    Listed(Vec<Vec<Json>>),
}

/// A function that finds the group of each record.
///
/// # Proof
/// The group of a record depends only on the cells of this record and on public keys. So the
/// methods `rows` and `numbers` give at most one row for each record. By the proof of [`Source`],
/// these two methods are 1-stable.
#[derive(Clone)]
pub(super) struct Grouping {
    columns: Vec<(String, Places)>,
    /// The place of each group in the list of groups. A key of this map has one number for each
    /// column. The number is the place of the group's value in the list of all values that the
    /// groups have in this column.
    groups: Arc<HashMap<Vec<usize>, usize>>,
    /// The place of the group of all other records, if there is such a group.
    others: Option<usize>,
    count: usize,
}
impl Grouping {
    /// Make the function that finds the group of each record. `keys` are the keys of the groups.
    /// The function is for tables that have the columns of `table`.
    pub(super) fn new(
        table: &Table,
        names: &[String],
        keys: &[Vec<Json>],
        others: bool,
    ) -> Result<Self> {
        if let Some(key) = keys.iter().find(|key| key.len() != names.len()) {
            let (expected, found) = (names.len(), key.len());
            let reason =
                format!("expected one value for each column, {expected} in total, found {found}");
            return Err(Error::argument("keys", reason));
        }
        let mut places_of = vec![Vec::new(); keys.len()];
        let mut columns = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let cells = table.cells(name)?;
            refuse_nullable(name, cells.nullable())?;
            let (mut values, mut seen) = (Vec::new(), HashMap::new());
            for (key, places) in keys.iter().zip(&mut places_of) {
                let Some(value) = key.get(place) else { continue };
                let known = seen.entry(value.to_string()).or_insert_with(|| {
                    values.push(value.clone());
                    values.len() - 1
                });
                places.push(*known);
            }
            let found =
                cells.places(&values).map_err(|error| error.at(format!("keys `{name}`")))?;
            columns.push((name.clone(), found));
        }
        let count = keys.len();
        let groups: HashMap<_, _> = places_of.into_iter().zip(0..).collect();
        if groups.len() != count {
            return Err(Error::argument("keys", "a key is listed twice: list each key once"));
        }
        if count == 0 || MOST_GROUPS < count {
            let reason = format!("expected from 1 to {MOST_GROUPS} groups, found {count}");
            return Err(Error::argument("keys", reason));
        }
        let (groups, others) = (Arc::new(groups), others.then_some(count));
        Ok(Grouping { columns, groups, others, count })
    }
    /// Make a list of groups without rows. The cost of a release about these groups is an upper
    /// bound on the cost of the same release about any number of groups.
    ///
    /// # Proof
    /// If at most `rows` rows change, at most `rows` groups change. So a release about more than
    /// `rows` groups does not cost more than the same release about `rows` groups. No list of
    /// groups has more than `MOST_GROUPS` groups. By the documentation of
    /// `make_parallel_composition`, fewer groups do not cost more either, because all groups share
    /// one measurement.
    pub(super) fn of_nothing(rows: u32) -> Self {
        let count = usize::try_from(rows).unwrap_or(MOST_GROUPS).min(MOST_GROUPS);
        Grouping { columns: Vec::new(), groups: Arc::default(), others: None, count }
    }
    /// Count the groups. If there is a group of all other records, the count includes it.
    pub(super) fn count(&self) -> usize {
        self.count + usize::from(self.others.is_some())
    }
    /// For each record, return the place of its group in the list of groups, or `None` if the
    /// record has no group.
    fn places(&self, table: &Table) -> Result<Vec<Option<usize>>> {
        let mut columns = Vec::new();
        for (name, places) in &self.columns {
            columns.push(places(table.cells(name)?)?);
        }
        let mut key = Vec::new();
        let key_of = |row: usize| {
            key.clear();
            key.extend(columns.iter().map_while(|column| column.get(row).copied().flatten()));
            self.groups.get(&key).copied().or(self.others)
        };
        Ok((0..table.size()).map(key_of).collect())
    }
    /// For each record that the filters keep, return the place of its group. Leave out records
    /// without a group.
    pub(super) fn rows(&self, source: &Source, table: &Table) -> Result<Vec<usize>> {
        let kept = source.kept(table)?.into_iter().zip(self.places(table)?);
        Ok(kept.filter_map(|(kept, place)| place.filter(|_| kept)).collect())
    }
    /// Return two numbers for each record that the filters keep: the place of its group, and the
    /// number that `number` computes from its cell in `column`. Leave out records without a group.
    pub(super) fn numbers(
        &self,
        source: &Source,
        table: &Table,
        column: &str,
        number: &dyn Fn(f64) -> f64,
    ) -> Result<Vec<(usize, f64)>> {
        let cells = table.cells(column)?.numbers().ok_or_else(|| no_numbers(column))?;
        let kept = source.kept(table)?.into_iter().zip(self.places(table)?).zip(cells);
        Ok(kept
            .filter_map(|((kept, place), cell)| Some((place.filter(|_| kept)?, number(cell))))
            .collect())
    }
}
/// For each record that the filters keep, write its key as a JSON text.
pub(super) fn texts(names: &[String], source: &Source, table: &Table) -> Result<Vec<String>> {
    let columns = names.iter().map(|name| table.cells(name)).collect::<Result<Vec<_>>>()?;
    let kept = source.kept(table)?.into_iter().enumerate().filter(|(_, kept)| *kept);
    let key = |row| Json::Array(columns.iter().map(|cells| cells.cell(row)).collect());
    Ok(kept.map(|(row, _)| key(row).to_string()).collect())
}
/// Read a key from a text that [`texts`] wrote.
fn read(text: &str) -> Result<Vec<Json>> {
    match serde_json::from_str(text) {
        Ok(Json::Array(key)) => Ok(key),
        _ => Err(Error::FailedCast("expected the key of a group".into())),
    }
}
/// Read the keys of a map of counts. Return the keys and their counts, in the order of the keys.
pub(super) fn sorted(counts: &HashMap<String, i64>) -> Result<Vec<(Vec<Json>, i64)>> {
    let keys = counts.iter().map(|(key, count)| Ok((read(key)?, *count)));
    let mut keys = keys.collect::<Result<Vec<_>>>()?;
    keys.sort_by(|left, right| order(&left.0, &right.0));
    Ok(keys)
}
/// Check that the cells of a column can be keys. Floats cannot be keys.
pub(super) fn refuse_nullable(name: &str, nullable: bool) -> Result<()> {
    match nullable {
        false => Ok(()),
        true => Err(Error::argument(
            name,
            "a column of floats has no keys: derive one of integers or texts, with \
             `.with_derived(..)`",
        )),
    }
}
impl Keys {
    /// Return whether the question lists neither values of a column nor groups.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Keys::Product(columns) if columns.iter().all(Option::is_none))
    }
    /// Check that keys can come from an answer: the question does not list keys itself, or its keys
    /// are to be found later (`later`). `name` is the method that takes the keys of the answer.
    pub(super) fn check_open(&self, name: &str, later: bool) -> Result<()> {
        if later || self.is_open() {
            return Ok(());
        }
        let reason = "the question has keys already: leave out `.keys(..)`, `.groups(..)` and earlier answers";
        Err(Error::argument(name, reason))
    }
    /// Return the list of all keys: one combination of values for each group.
    pub(super) fn list(&self, names: &[String]) -> Result<Vec<Vec<Json>>> {
        let columns = match self {
            Keys::Listed(keys) => return Ok(keys.clone()),
            Keys::Product(columns) => columns,
        };
        let mut keys = vec![Vec::new()];
        for (values, name) in columns.iter().zip(names) {
            let Some(values) = values else {
                let reason = format!(
                    "list the values that have a group, with `.keys(\"{name}\", values)`; or find \
                     them with `.find()`, which needs a budget with a delta"
                );
                return Err(Error::argument(name, reason));
            };
            if MOST_GROUPS / keys.len().max(1) < values.len() {
                let reason = format!("expected from 1 to {MOST_GROUPS} groups, found more");
                return Err(Error::argument("keys", reason));
            }
            let with = |key: &Vec<Json>| {
                let key = key.clone();
                values.iter().map(move |value| {
                    let mut key = key.clone();
                    key.push(value.clone());
                    key
                })
            };
            keys = keys.iter().flat_map(with).collect();
        }
        Ok(keys)
    }
}
/// Write a key as text for readers.
pub(super) fn label(key: &[Json]) -> String {
    let words = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    key.iter().map(words).collect::<Vec<_>>().join(", ")
}
/// Order keys. Compare integers of any length by their values, texts by the code points of their
/// characters, and all other pairs of values by their texts in JSON.
fn order(left: &[Json], right: &[Json]) -> std::cmp::Ordering {
    let integer = |json: &Json| IBig::from_json(json).ok();
    let both = left.iter().zip(right).map(|(left, right)| {
        let texts = || left.to_string().cmp(&right.to_string());
        let texts = || match (left.as_str(), right.as_str()) {
            (Some(left), Some(right)) => left.cmp(right),
            _ => texts(),
        };
        integer(left).zip(integer(right)).map_or_else(texts, |(left, right)| left.cmp(&right))
    });
    both.fold(std::cmp::Ordering::Equal, |order, next| order.then(next))
}
#[cold]
pub(super) fn no_numbers(column: &str) -> Error {
    Error::argument(column, "expected a column of numbers")
}
