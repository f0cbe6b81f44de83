//! The keys of groups, and the group of each record.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use opendp_core::order::places;
use opendp_core::{Codec, Error, IBig, Result};
use opendp_measurements::Collected;
use opendp_measurements::accuracy::{Estimate, Noise};
use serde_json::Value as Json;

use super::super::Table;
use super::super::table::{PartsOfCells, Source};
use super::super::terms::FOUND;
use super::answer::Released;

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
    /// The combinations of an earlier answer, with their noisy counts. If there is one more count,
    /// it is the count of all other rows.
    Counted(Vec<Vec<Json>>, Released),
    /// The combinations will be found later. The question has a cost but cannot be answered.
    ToBeFound,
}

/// A function that finds the group of each record.
///
/// # Proof
/// The group of a record depends only on the cells of this record and on public keys. So the
/// methods `rows` and `numbers` give at most one row for each record. By the proof of [`Source`],
/// these two methods are 1-stable.
#[derive(Clone)]
pub(super) struct Grouping {
    columns: Vec<(String, PartsOfCells)>,
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
            let parts = cells.parts(&Json::Array(values));
            columns
                .push((name.clone(), parts.map_err(|error| error.at(format!("keys `{name}`")))?));
        }
        let count = keys.len();
        let mut groups = HashMap::with_capacity(count);
        for (place, key) in places_of.into_iter().enumerate() {
            groups.insert(key, place);
        }
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
    /// For each record that the filters keep, return the place of its group in the list of groups.
    /// Return `None` for the other records, and for records without a group.
    fn places(&self, source: &Source, table: &Table) -> Result<Vec<Option<usize>>> {
        let kept = source.kept(table)?;
        let mut columns = Vec::new();
        for (name, parts) in &self.columns {
            columns.push(table.cells(name)?.places(parts)?);
        }
        let (mut places, mut key) = (Vec::with_capacity(kept.len()), Vec::new());
        for (row, kept) in kept.iter().enumerate() {
            key.clear();
            for column in &columns {
                let Some(Some(place)) = column.get(row) else { break };
                key.push(*place);
            }
            let place = self.groups.get(&key).copied().or(self.others);
            places.push(place.filter(|_| *kept));
        }
        Ok(places)
    }
    /// For each record that the filters keep, return the place of its group. Leave out records
    /// without a group.
    pub(super) fn rows(&self, source: &Source, table: &Table) -> Result<Vec<usize>> {
        let mut rows = Vec::new();
        for place in self.places(source, table)? {
            rows.extend(place);
        }
        Ok(rows)
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
        let Some(cells) = table.cells(column)?.numbers() else { return Err(no_numbers(column)) };
        let mut numbers = Vec::new();
        for (row, place) in self.places(source, table)?.into_iter().enumerate() {
            if let (Some(place), Some(cell)) = (place, cells.get(row)) {
                numbers.push((place, number(*cell)));
            }
        }
        Ok(numbers)
    }
}
/// For each record that the filters keep, write its key as a JSON text.
pub(super) fn texts(names: &[String], source: &Source, table: &Table) -> Result<Vec<String>> {
    let (mut columns, mut texts) = (Vec::new(), Vec::new());
    for name in names {
        columns.push(table.cells(name)?);
    }
    for (row, kept) in source.kept(table)?.into_iter().enumerate() {
        if kept {
            let mut key = Vec::with_capacity(columns.len());
            for cells in &columns {
                key.push(cells.cell(row));
            }
            texts.push(Json::Array(key).to_string());
        }
    }
    Ok(texts)
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
    let mut keys = Vec::with_capacity(counts.len());
    for (key, count) in counts {
        keys.push((read(key)?, *count));
    }
    let places = places(keys.len(), &|left, right| order(&keys[left].0, &keys[right].0));
    Ok(places.into_iter().map(|place| keys[place].clone()).collected())
}
/// Read the keys of a map of counts, whose noise must be known. Return the keys in increasing
/// order, and their counts with the distribution of the noise.
pub(super) fn keys_and_estimates(
    found: &HashMap<String, i64>,
    noise: Option<Noise>,
) -> Result<(Vec<Vec<Json>>, Vec<Estimate>)> {
    let unknown = "the noise of the counts of these keys is not known";
    let Some(noise) = noise else { return Err(Error::NotImplemented(unknown.into())) };
    let (mut keys, mut estimates) = (Vec::new(), Vec::new());
    for (key, count) in sorted(found)? {
        keys.push(key);
        estimates.push(Estimate::released(count as f64, noise));
    }
    Ok((keys, estimates))
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
    /// Return whether the question needs no release of counts.
    pub(super) fn have_counts(&self) -> bool {
        matches!(self, Keys::Counted(..) | Keys::ToBeFound)
    }
    /// Return the noisy counts of an earlier answer. If the keys will be found later, the list of
    /// counts is empty.
    pub(super) fn counts(&self) -> Option<Released> {
        match self {
            Keys::Product(_) | Keys::Listed(_) => None,
            Keys::Counted(_, counts) => Some(counts.clone()),
            Keys::ToBeFound => {
                Some(Released { estimates: Vec::new(), mechanism: FOUND, scale: f64::NAN })
            }
        }
    }
    /// Check that keys can come from an answer: the question does not list keys itself, or its keys
    /// are to be found later. `name` is the method that takes the keys of the answer.
    pub(super) fn check_open(&self, name: &str) -> Result<()> {
        if self.is_open() || matches!(self, Keys::ToBeFound) {
            return Ok(());
        }
        let reason = "the question has keys already: leave out `.keys(..)`, `.groups(..)` and earlier answers";
        Err(Error::argument(name, reason))
    }
    /// Return the list of all keys: one combination of values for each group.
    pub(super) fn list(&self, names: &[String]) -> Result<Vec<Vec<Json>>> {
        let columns = match self {
            Keys::Listed(keys) | Keys::Counted(keys, _) => return Ok(keys.clone()),
            Keys::ToBeFound => return Ok(Vec::new()),
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
            let mut longer = Vec::with_capacity(keys.len() * values.len());
            for key in &keys {
                for value in values {
                    let mut key = key.clone();
                    key.push(value.clone());
                    longer.push(key);
                }
            }
            keys = longer;
        }
        Ok(keys)
    }
}
/// Write a key as text for readers.
pub(super) fn label(key: &[Json]) -> String {
    let words = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    key.iter().map(words).collected().join(", ")
}
/// Order keys. Compare integers of any length by their values, texts by the code points of their
/// characters, and all other pairs of values by their texts in JSON.
fn order(left: &[Json], right: &[Json]) -> Ordering {
    for (left, right) in left.iter().zip(right) {
        let order = match (IBig::from_json(left), IBig::from_json(right)) {
            (Ok(left), Ok(right)) => left.cmp(&right),
            _ => match (left.as_str(), right.as_str()) {
                (Some(left), Some(right)) => left.cmp(right),
                _ => left.to_string().cmp(&right.to_string()),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}
#[cold]
pub(super) fn no_numbers(column: &str) -> Error {
    Error::argument(column, "expected a column of numbers")
}
