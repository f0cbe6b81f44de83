//! Give each group of rows a number.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use opendp_core::Result;

use crate::engine::failed;
use crate::ir::Key;
use crate::released::Group;
use crate::{Type, Value};

/// The group number of rows that are in no group.
pub(crate) const NO_GROUP: u32 = u32::MAX;

pub(crate) struct Groups {
    kinds: Vec<Type>,
    /// For each column of keys, if its keys are public: the numbers of these keys, and a factor. If
    /// the keys of all columns are public, the number of a group is a sum over its keys. Each key
    /// adds its number, multiplied by the factor of its column.
    public: Vec<Option<(Public, u32)>>,
    /// Whether all keys are public.
    complete: bool,
    found: Mutex<Found>,
}
/// The groups that have numbers so far. If all keys are public, all groups have numbers from the
/// start, and `numbers` is empty.
#[derive(Default)]
struct Found {
    numbers: HashMap<Vec<u8>, u32>,
    names: Vec<Vec<Value>>,
}
/// The numbers of public keys.
enum Public {
    /// Integers in a short range. The first field is the first integer of the range. The second
    /// field is a list with the number of each integer of the range.
    Dense(i64, Vec<u32>),
    Whole(HashMap<i64, u32>),
    Text(HashMap<String, u32>),
}
/// One column of keys, with the keys of the rows of a batch.
enum Column {
    Whole(ArrayRef),
    Text(ArrayRef),
}
impl Groups {
    /// Prepare the groups of these keys. Return `None` if public keys do not have the type of their
    /// column, or if the number of public groups does not fit into 32 bits.
    pub(crate) fn new(keys: &[Key]) -> Option<Groups> {
        let kinds = keys.iter().map(|key| key.kind).collect();
        let complete = keys.iter().all(|key| key.public.is_some());
        let mut factor = 1_u32;
        let mut public = Vec::new();
        for key in keys.iter().rev() {
            let Some(values) = &key.public else {
                public.push(None);
                continue;
            };
            public.push(Some((Public::of(key.kind, values)?, factor)));
            if complete {
                factor = factor.checked_mul(u32::try_from(values.len()).ok()?)?;
            }
        }
        public.reverse();
        let names = if complete {
            names(keys.iter().filter_map(|key| key.public.as_deref()))
        } else {
            Vec::new()
        };
        let found = Mutex::new(Found { names, numbers: HashMap::new() });
        Some(Groups { kinds, public, complete, found })
    }
    /// Return the number of groups, if all keys are public.
    pub(crate) fn count(&self) -> Option<u32> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        u32::try_from(found.names.len()).ok().filter(|_| self.complete)
    }
    /// Return the number of the group of each row. The number is [`NO_GROUP`] if a key is null, or
    /// if a key is not in the list of public keys.
    pub(crate) fn of(&self, columns: &[&ArrayRef], rows: usize) -> Result<Vec<u32>> {
        let mut read = Vec::new();
        for (kind, column) in self.kinds.iter().zip(columns) {
            read.push(match kind {
                Type::Text => Column::Text(as_type(column, &DataType::Utf8)?),
                _ => Column::Whole(as_type(column, &DataType::Int64)?),
            });
        }
        let public = self.of_public(&read, rows);
        if self.complete { Ok(public) } else { self.of_found(&read, &public) }
    }
    /// Return [`NO_GROUP`] for each row with a key that is not in the list of public keys of its
    /// column. For any other row, return the number of its group if all keys are public, and
    /// otherwise 0.
    fn of_public(&self, columns: &[Column], rows: usize) -> Vec<u32> {
        let mut numbers = vec![0_u32; rows];
        for (key, column) in self.public.iter().zip(columns) {
            let Some((key, factor)) = key else { continue };
            key.each(column, |row, number| {
                if let Some(all) = numbers.get_mut(row) {
                    // The sum cannot overflow. The sum is less than the number of all groups, and
                    // `new` has checked that this number fits into 32 bits.
                    *all = match number {
                        Some(_) if !self.complete => *all,
                        Some(number) if *all != NO_GROUP => *all + number * factor,
                        _ => NO_GROUP,
                    };
                }
            });
        }
        numbers
    }
    fn of_found(&self, columns: &[Column], public: &[u32]) -> Result<Vec<u32>> {
        // `near` has the groups of earlier rows of the batch. Most rows are in one of these groups.
        // For such a row, the lock of `found` is not needed.
        let mut near: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut name = Vec::new();
        let number = |(row, public): (usize, &u32)| {
            if *public == NO_GROUP {
                return Ok(NO_GROUP);
            }
            name.clear();
            for column in columns {
                if !column.write(row, &mut name) {
                    return Ok(NO_GROUP);
                }
            }
            if let Some(number) = near.get(&name) {
                return Ok(*number);
            }
            let values = || columns.iter().zip(&self.kinds).map(|(c, kind)| c.value(row, *kind));
            let number = self.number(&name, || values().collect())?;
            near.insert(name.clone(), number);
            Ok(number)
        };
        public.iter().enumerate().map(number).collect()
    }
    /// Return the number of a group. A new group gets the next number.
    fn number(&self, name: &[u8], values: impl FnOnce() -> Vec<Value>) -> Result<u32> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = found.numbers.get(name) {
            return Ok(*number);
        }
        let number = u32::try_from(found.names.len()).ok().filter(|number| *number != NO_GROUP);
        let number = number.ok_or_else(failed)?;
        found.names.push(values());
        found.numbers.insert(name.to_vec(), number);
        Ok(number)
    }
    /// Return the place of each group in the order of the keys. The SQL statements also sort groups
    /// in this order.
    pub(crate) fn ranks(&self) -> Vec<u32> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: Vec<(&Vec<Value>, usize)> = found.names.iter().zip(0..).collect();
        sorted.sort_by(|(a, _), (b, _)| {
            let differ = a.iter().zip(b.iter()).map(|(a, b)| order(a, b));
            differ.fold(Ordering::Equal, Ordering::then)
        });
        let mut ranks = vec![0; sorted.len()];
        for ((_, number), place) in sorted.iter().zip(0_u32..) {
            if let Some(rank) = ranks.get_mut(*number) {
                *rank = place;
            }
        }
        ranks
    }
    /// Return the keys of all groups, in the order of the numbers of the groups. The keys have the
    /// form in which engines print them.
    pub(crate) fn names(&self) -> Vec<Group> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let printed = |group: &Vec<Value>| group.iter().map(Value::printed).collect();
        found.names.iter().map(printed).collect()
    }
}
/// List all combinations of public keys, in the order of the numbers of the groups.
fn names<'a>(keys: impl Iterator<Item = &'a [Value]>) -> Vec<Vec<Value>> {
    keys.fold(vec![Vec::new()], |groups, values| {
        let with = |group: &Vec<Value>| -> Vec<Vec<Value>> {
            let with = |value| [&group[..], std::slice::from_ref(value)].concat();
            values.iter().map(with).collect()
        };
        groups.iter().flat_map(with).collect()
    })
}
fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::Integer(a), Value::Integer(b)) | (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}
impl Public {
    fn of(kind: Type, values: &[Value]) -> Option<Public> {
        let text = |(value, number): (&Value, u32)| match value {
            Value::Text(text) if kind == Type::Text => Some((text.clone(), number)),
            _ => None,
        };
        if kind == Type::Text {
            return values.iter().zip(0..).map(text).collect::<Option<_>>().map(Public::Text);
        }
        let whole = |(value, number): (&Value, u32)| match (value, kind) {
            (Value::Integer(value), Type::Integer) => Some((*value, number)),
            (Value::Boolean(value), Type::Boolean) => Some((i64::from(*value), number)),
            (Value::Date(value), Type::Date) => Some((*value, number)),
            (Value::Timestamp(value), Type::Timestamp) => Some((*value, number)),
            _ => None,
        };
        let whole: HashMap<i64, u32> = values.iter().zip(0..).map(whole).collect::<Option<_>>()?;
        let first = whole.keys().copied().min().unwrap_or(0);
        let last = whole.keys().copied().max().unwrap_or(0);
        Some(match last.checked_sub(first).and_then(|span| usize::try_from(span).ok()) {
            Some(span) if span < 1 << 16 => {
                let number = |key: i64| whole.get(&key).copied().unwrap_or(NO_GROUP);
                Public::Dense(first, (first..=last).map(number).collect())
            }
            _ => Public::Whole(whole),
        })
    }
    /// Call `found` with the index of each row and the number of the key of this row. The number is
    /// `None` if the key is null or not public.
    fn each(&self, column: &Column, mut found: impl FnMut(usize, Option<u32>)) {
        match (self, column) {
            (Public::Text(numbers), Column::Text(texts)) => {
                for (row, text) in texts.as_string::<i32>().iter().enumerate() {
                    found(row, text.and_then(|text| numbers.get(text)).copied());
                }
            }
            (Public::Whole(numbers), Column::Whole(keys)) => {
                for (row, key) in keys.as_primitive::<Int64Type>().iter().enumerate() {
                    found(row, key.and_then(|key| numbers.get(&key)).copied());
                }
            }
            (Public::Dense(first, numbers), Column::Whole(keys)) => {
                let number = |key: i64| {
                    let place = key.checked_sub(*first).and_then(|key| usize::try_from(key).ok());
                    place.and_then(|place| numbers.get(place)).copied()
                };
                let keys = keys.as_primitive::<Int64Type>();
                for (row, key) in keys.iter().enumerate() {
                    found(row, key.and_then(number).filter(|number| *number != NO_GROUP));
                }
            }
            _ => {}
        }
    }
}
impl Column {
    /// Append a key to the name of its group. Return `false` if the key is null.
    fn write(&self, row: usize, name: &mut Vec<u8>) -> bool {
        match self {
            Column::Whole(keys) if keys.is_valid(row) => {
                name.extend(keys.as_primitive::<Int64Type>().value(row).to_le_bytes());
            }
            Column::Text(texts) if texts.is_valid(row) => {
                let text = texts.as_string::<i32>().value(row);
                name.extend(text.len().to_le_bytes());
                name.extend(text.as_bytes());
            }
            _ => return false,
        }
        true
    }
    fn value(&self, row: usize, kind: Type) -> Value {
        match self {
            Column::Text(texts) => Value::Text(texts.as_string::<i32>().value(row).to_owned()),
            Column::Whole(keys) => {
                let key = keys.as_primitive::<Int64Type>().value(row);
                match kind {
                    Type::Boolean => Value::Boolean(key != 0),
                    Type::Date => Value::Date(key),
                    Type::Timestamp => Value::Timestamp(key),
                    _ => Value::Integer(key),
                }
            }
        }
    }
}
pub(crate) fn as_type(column: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    if column.data_type() == kind {
        return Ok(column.clone());
    }
    cast(column, kind).map_err(|_| failed())
}
