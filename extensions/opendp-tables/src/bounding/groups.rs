//! Numbers of groups: each combination of keys has one.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use opendp_core::Result;

use super::prf::Keys;
use crate::engine::failed;
use crate::ir::Key;
use crate::released::Group;
use crate::{Type, Value};

/// The number of no group: the row is left out.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// The public values of a key, each with its number.
enum Public {
    /// Numbers of the integers from a first one on.
    Dense(i64, Vec<u32>),
    Whole(HashMap<i64, u32>),
    Text(HashMap<String, u32>),
}
/// Gives numbers to groups.
pub(crate) struct Groups {
    keys: Keys,
    /// Of each key, its values and the numbers of groups for each; if all keys are public.
    public: Option<Vec<(Public, u32)>>,
    names: Vec<Vec<Value>>,
    found: Mutex<Found>,
}
/// The groups that were found, if some keys are not public.
#[derive(Default)]
struct Found {
    numbers: HashMap<String, (u32, u64)>,
    groups: Vec<Group>,
}
impl Groups {
    pub(crate) fn new(plan_keys: &[Key], keys: Keys) -> Result<Self> {
        let (found, names) = (Mutex::default(), Vec::new());
        let Some(names) = plan_keys.iter().map(|key| key.public.clone()).collect() else {
            return Ok(Groups { keys, public: None, names, found });
        };
        let names: Vec<Vec<Value>> = names;
        let mut stride = 1_u32;
        let mut public = Vec::new();
        for (key, values) in plan_keys.iter().zip(&names).rev() {
            public.push((Public::of(key.kind, values)?, stride));
            let count = u32::try_from(values.len()).map_err(|_| failed())?;
            stride = stride.checked_mul(count).ok_or_else(failed)?;
        }
        public.reverse();
        Ok(Groups { keys, public: Some(public), names, found })
    }
    /// Return the number and the hash of the group of each row. Its keys are the first columns.
    pub(crate) fn of(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<(u32, u64)>> {
        match &self.public {
            Some(public) => of_public(public, columns, rows),
            None => self.of_found(columns, rows),
        }
    }
    fn of_found(&self, columns: &[ArrayRef], rows: usize) -> Result<Vec<(u32, u64)>> {
        let printed = columns.iter().map(printer).collect::<Result<Vec<_>>>()?;
        let mut near: HashMap<String, (u32, u64)> = HashMap::new();
        let mut name = String::new();
        let number = |row: usize| {
            name.clear();
            for key in &printed {
                let Some(text) = key(row) else { return Ok((NO_GROUP, 0)) };
                let _ = write!(name, "{}:{text}", text.len());
            }
            if let Some(number) = near.get(&name) {
                return Ok(*number);
            }
            let group = || printed.iter().filter_map(|key| key(row)).collect();
            let number = self.number(&name, group)?;
            near.insert(name.clone(), number);
            Ok(number)
        };
        (0..rows).map(number).collect()
    }
    /// Return the number of a group, and give it one if it has none.
    fn number(&self, name: &str, group: impl FnOnce() -> Group) -> Result<(u32, u64)> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = found.numbers.get(name) {
            return Ok(*number);
        }
        let place = u32::try_from(found.groups.len()).map_err(|_| failed())?;
        if place == NO_GROUP {
            return Err(failed());
        }
        // The hash depends on the keys alone, not on the order of rows.
        let number = (place, self.keys.ids.bytes(name.as_bytes()));
        found.groups.push(group());
        found.numbers.insert(name.to_owned(), number);
        Ok(number)
    }
    /// Return the keys of all groups, in the order of their numbers.
    pub(crate) fn names(self) -> Vec<Group> {
        match self.public {
            None => self.found.into_inner().unwrap_or_else(PoisonError::into_inner).groups,
            Some(_) => self.names.iter().fold(vec![Vec::new()], |groups, values| {
                let with = |group: &Group| -> Vec<Group> {
                    let name = |value: &Value| [&group[..], &[value.printed()]].concat();
                    values.iter().map(name).collect()
                };
                groups.iter().flat_map(with).collect()
            }),
        }
    }
}
impl Public {
    fn of(kind: Type, values: &[Value]) -> Result<Public> {
        let numbered = || values.iter().zip(0_u32..);
        let whole = numbered().filter_map(|(value, number)| match value {
            Value::Integer(value) => Some((*value, number)),
            Value::Boolean(value) => Some((i64::from(*value), number)),
            _ => None,
        });
        Ok(match kind {
            Type::Integer | Type::Boolean => {
                let whole: HashMap<i64, u32> = whole.collect();
                let first = whole.keys().copied().min().unwrap_or(0);
                let last = whole.keys().copied().max().unwrap_or(0);
                match last.checked_sub(first).and_then(|span| usize::try_from(span).ok()) {
                    Some(span) if span < 1 << 16 => {
                        let mut dense = vec![NO_GROUP; span + 1];
                        for (place, number) in (first..).zip(&mut dense) {
                            *number = whole.get(&place).copied().unwrap_or(NO_GROUP);
                        }
                        Public::Dense(first, dense)
                    }
                    _ => Public::Whole(whole),
                }
            }
            Type::Text => {
                Public::Text(numbered().map(|(v, number)| (v.printed(), number)).collect())
            }
            Type::Float => return Err(failed()),
        })
    }
    /// Pass the numbers of all values on, in order.
    fn each(&self, column: &ArrayRef, mut found: impl FnMut(usize, u32)) -> Result<()> {
        match self {
            Public::Text(numbers) => {
                let texts = texts(column)?;
                for (row, text) in texts.as_string::<i32>().iter().enumerate() {
                    let number = text.and_then(|text| numbers.get(text));
                    found(row, number.copied().unwrap_or(NO_GROUP));
                }
            }
            Public::Whole(numbers) => {
                for (row, value) in integers(column)?.as_primitive::<Int64Type>().iter().enumerate()
                {
                    let number = value.and_then(|value| numbers.get(&value));
                    found(row, number.copied().unwrap_or(NO_GROUP));
                }
            }
            Public::Dense(first, dense) => {
                let column = integers(column)?;
                for (row, value) in column.as_primitive::<Int64Type>().iter().enumerate() {
                    let place = value.and_then(|value| value.checked_sub(*first));
                    let place = place.and_then(|place| usize::try_from(place).ok());
                    let number = place.and_then(|place| dense.get(place));
                    found(row, number.copied().unwrap_or(NO_GROUP));
                }
            }
        }
        Ok(())
    }
}
fn of_public(
    public: &[(Public, u32)],
    columns: &[ArrayRef],
    rows: usize,
) -> Result<Vec<(u32, u64)>> {
    let mut numbers = vec![0_u32; rows];
    for ((key, stride), column) in public.iter().zip(columns) {
        key.each(column, |row, number| {
            if let Some(all) = numbers.get_mut(row) {
                // The product fits: it was computed when the groups were made.
                *all = match *all == NO_GROUP || number == NO_GROUP {
                    true => NO_GROUP,
                    false => *all + number * stride,
                };
            }
        })?;
    }
    // Public groups are numbered in the order of the metadata, so the number is a hash.
    Ok(numbers.into_iter().map(|number| (number, u64::from(number))).collect())
}
/// Read a column as text.
pub(crate) fn texts(column: &ArrayRef) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::Utf8 => Ok(column.clone()),
        _ => cast(column, &DataType::Utf8).map_err(|_| failed()),
    }
}
/// Read a column as integers.
pub(crate) fn integers(column: &ArrayRef) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::Int64 => Ok(column.clone()),
        _ => cast(column, &DataType::Int64).map_err(|_| failed()),
    }
}
/// Return what prints the value of a row.
fn printer(column: &ArrayRef) -> Result<Box<dyn Fn(usize) -> Option<String>>> {
    let column = texts(column)?;
    Ok(Box::new(move |row| {
        column.is_valid(row).then(|| column.as_string::<i32>().value(row).to_owned())
    }))
}
/// Return the columns of a batch from one place to another.
pub(crate) fn part(batch: &RecordBatch, places: std::ops::Range<usize>) -> Result<&[ArrayRef]> {
    batch.columns().get(places).ok_or_else(failed)
}
