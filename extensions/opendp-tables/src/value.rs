//! Types and values of columns.

use opendp_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::calendar;

/// The type of a column. A cell that cannot be read as this type is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    /// True or false.
    Boolean,
    /// A whole number of 64 bits.
    Integer,
    /// A float of 64 bits. NaN is read as null.
    Float,
    /// Text.
    Text,
    /// A date of the Gregorian calendar, in the years 1 to 9999.
    Date,
    /// A date and a time of the day, with microseconds and without a time zone.
    Timestamp,
}
impl Type {
    /// Return the name that metadata files use for the type.
    pub fn name(self) -> &'static str {
        match self {
            Type::Boolean => "boolean",
            Type::Integer => "integer",
            Type::Float => "float",
            Type::Text => "text",
            Type::Date => "date",
            Type::Timestamp => "timestamp",
        }
    }
    /// Return whether values of the type are numbers.
    pub fn is_number(self) -> bool {
        matches!(self, Type::Integer | Type::Float)
    }
    /// Return whether values of the type are dates or times.
    pub fn is_calendar(self) -> bool {
        matches!(self, Type::Date | Type::Timestamp)
    }
}

/// A public value: a literal of a query, or a public key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Null: no value.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A finite float.
    Float(f64),
    /// A text that does not contain the character with code 0.
    Text(String),
    /// A date, as the number of days since the first of January 1970.
    Date(i64),
    /// A time, as the number of microseconds since the first of January 1970.
    Timestamp(i64),
}
impl Value {
    /// Return the type of the value. Null has no type.
    pub fn kind(&self) -> Option<Type> {
        match self {
            Value::Null => None,
            Value::Boolean(_) => Some(Type::Boolean),
            Value::Integer(_) => Some(Type::Integer),
            Value::Float(_) => Some(Type::Float),
            Value::Text(_) => Some(Type::Text),
            Value::Date(_) => Some(Type::Date),
            Value::Timestamp(_) => Some(Type::Timestamp),
        }
    }
    pub(crate) fn key(json: &Json, kind: Type) -> Result<Value> {
        let value = match (kind, json) {
            (Type::Boolean, Json::Bool(value)) => Some(Value::Boolean(*value)),
            (Type::Integer, Json::Number(value)) => value.as_i64().map(Value::Integer),
            (Type::Text, Json::String(text)) => Value::text(text),
            (Type::Date | Type::Timestamp, Json::String(text)) => Value::dated(text, kind),
            _ => None,
        };
        value.ok_or_else(|| {
            let expected = kind.name();
            let example = example_of(kind);
            Error::argument(
                "keys",
                format!("expected keys of type {expected}{example}, found {json}"),
            )
        })
    }
    /// Read a text of ISO 8601 as a date or a time.
    pub(crate) fn dated(text: &str, kind: Type) -> Option<Value> {
        if kind == Type::Date { calendar::date(text) } else { calendar::time(text) }
    }
    /// Make a text. Return `None` if the text contains the character with code 0, because servers
    /// reject this character.
    pub(crate) fn text(text: &str) -> Option<Value> {
        (!text.contains('\0')).then(|| Value::Text(text.to_owned()))
    }
    /// Write a key in the form that engines print.
    pub(crate) fn printed(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Boolean(value) => value.to_string(),
            Value::Integer(value) => value.to_string(),
            Value::Float(value) => format!("{value:e}"),
            Value::Text(text) => text.clone(),
            Value::Date(value) | Value::Timestamp(value) => value.to_string(),
        }
    }
    /// Write a key in the form in which releases store it. Dates and times are texts of ISO 8601.
    pub(crate) fn released(&self) -> String {
        match self {
            Value::Date(day) => calendar::show_date(*day),
            Value::Timestamp(time) => calendar::show_time(*time),
            other => other.printed(),
        }
    }
    /// Read a key of a release.
    pub(crate) fn read_released(text: &str, kind: Type) -> Option<Value> {
        if kind.is_calendar() { Value::dated(text, kind) } else { Value::read(text, kind) }
    }
    /// Read a key that an engine printed.
    pub(crate) fn read(text: &str, kind: Type) -> Option<Value> {
        match kind {
            Type::Boolean => text.parse().ok().map(Value::Boolean),
            Type::Integer => text.parse().ok().map(Value::Integer),
            Type::Float => None,
            Type::Text => Value::text(text),
            Type::Date | Type::Timestamp => calendar::value(kind, text.parse().ok()?),
        }
    }
    /// Convert the value to JSON.
    pub fn to_json(&self) -> Json {
        match self {
            Value::Null => Json::Null,
            Value::Boolean(value) => (*value).into(),
            Value::Integer(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(text) => text.as_str().into(),
            Value::Date(_) | Value::Timestamp(_) => self.released().into(),
        }
    }
}
/// Return an example of a date or a time for an error, and an empty text for other types.
pub(crate) fn example_of(kind: Type) -> &'static str {
    match kind {
        Type::Date => ", as in \"2020-01-31\"",
        Type::Timestamp => ", as in \"2020-01-31T12:00:00\"",
        _ => "",
    }
}
