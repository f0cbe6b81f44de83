//! Types and values of columns.

use opendp_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

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
}
impl Type {
    /// Return the name that metadata files use for the type.
    pub fn name(self) -> &'static str {
        match self {
            Type::Boolean => "boolean",
            Type::Integer => "integer",
            Type::Float => "float",
            Type::Text => "text",
        }
    }
    /// Return whether values of the type are numbers.
    pub fn is_number(self) -> bool {
        matches!(self, Type::Integer | Type::Float)
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
        }
    }
    pub(crate) fn key(json: &Json, kind: Type) -> Result<Value> {
        let value = match (kind, json) {
            (Type::Boolean, Json::Bool(value)) => Some(Value::Boolean(*value)),
            (Type::Integer, Json::Number(value)) => value.as_i64().map(Value::Integer),
            (Type::Text, Json::String(text)) => Value::text(text),
            _ => None,
        };
        value.ok_or_else(|| {
            let expected = kind.name();
            Error::argument("keys", format!("expected keys of type {expected}, found {json}"))
        })
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
        }
    }
    /// Read a key that an engine printed.
    pub(crate) fn read(text: &str, kind: Type) -> Option<Value> {
        match kind {
            Type::Boolean => text.parse().ok().map(Value::Boolean),
            Type::Integer => text.parse().ok().map(Value::Integer),
            Type::Float => None,
            Type::Text => Value::text(text),
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
        }
    }
}
