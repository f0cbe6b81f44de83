//! Values as JSON. Numbers are exact, and errors never show a value.

use std::{borrow::Cow, collections::HashMap, hash::Hash};

use serde_json::{Map, Number, Value as Json};

use crate::decimal::{Whole, whole_number};
use crate::{Error, Result, Turn};

/// A value that is written as JSON and read back unchanged.
///
/// An integer literal is read as an `f64` only if its magnitude is at most `2^53`, and as an `f32`
/// only if its magnitude is at most `2^24`. The float type represents each of these integers
/// exactly. Non-finite floats are written as the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.
/// Reading a value makes the same checks as the constructor of its type. If the JSON does not have
/// the form of the type, the error states the expected form and the kind of the JSON. The error
/// never states the value.
///
/// ```
/// # use opendp_core::Codec;
/// use serde_json::json;
/// let numbers = Vec::<f64>::from_json(&json!([1, 0.5, "-Infinity"]))?;
/// assert_eq!(numbers, [1.0, 0.5, f64::NEG_INFINITY]);
/// assert!(i8::from_json(&json!(128)).is_err());
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub trait Codec: Sized {
    /// If `true`, values of this type never contain a queryable or a session. In this case,
    /// [`bound_to`](Codec::bound_to) does nothing, and vectors and maps do not call `bound_to` on
    /// the values that they contain.
    #[doc(hidden)]
    const COMPLETE: bool = false;
    /// Write the value as JSON.
    fn to_json(&self) -> Json;
    /// Read a value from JSON.
    ///
    /// # Errors
    /// `FailedCast` when the JSON does not have the form of this type, or when a number is out of
    /// range. If the value is invalid, the constructor of the type gives the error.
    fn from_json(json: &Json) -> Result<Self>;
    /// Bind every queryable and every session in this value to a [`Turn`]. A bound queryable or
    /// session stops answering when the turn ends.
    ///
    /// The default does nothing, which is correct for a value without queryables and sessions. A
    /// type that contains other values must call `bound_to` on each contained value that can be, or
    /// can contain, a [`Queryable`](crate::Queryable) or a [`Session`](crate::Session).
    #[must_use]
    fn bound_to(self, turn: &Turn) -> Self {
        let _ = turn;
        self
    }
}

/// Return the kind of a JSON value, such as an array, without showing the value.
pub fn json_kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

/// Make the error for JSON that does not have the expected kind.
#[cold]
pub fn unexpected(expected: impl Into<String>, json: &Json) -> Error {
    Error::FailedCast(format!("expected {}, found {}", expected.into(), json_kind(json)))
}
/// Make the error for JSON that is not a number. The message states only the expected form and the
/// kind of the JSON. So the message shows no part of the value.
#[cold]
pub(crate) fn no_number(expected: &str, json: &Json) -> Error {
    let quotes = if json.is_string() { "; write numbers without quotes" } else { "" };
    Error::FailedCast(format!("expected {expected}, found {}{quotes}", json_kind(json)))
}

/// Read the items of an array or of a tuple written as `{"__tuple__": [...]}`.
pub fn items<'a>(json: &'a Json, expected: &str) -> Result<&'a [Json]> {
    match json {
        Json::Array(items) => Ok(items),
        Json::Object(object) if object.len() == 1 => match object.get("__tuple__") {
            Some(Json::Array(items)) => Ok(items),
            _ => Err(unexpected(expected, json)),
        },
        _ => Err(unexpected(expected, json)),
    }
}

/// Make the error for a number outside of the range of a type. `name` is the name of the type, and
/// `range` is a text that describes the range of this type.
#[cold]
fn range_error(name: &str, range: &str) -> Error {
    Error::FailedCast(format!(
        "expected a value of type {name}, which is {range}, found a number outside its range"
    ))
}

/// Read the integer value of a JSON number that has a point or an exponent, such as `3.0` or `1e3`.
/// The magnitude must be at most `2^53`, because a float of larger magnitude can stand for several
/// integers.
pub(crate) fn whole_value(text: &str, expected: &str) -> Result<i64> {
    let found = match whole_number(text) {
        Whole::Is(value) => return Ok(value),
        Whole::Fraction => "a number that is not an integer",
        Whole::Beyond => "a number beyond 2^53; write it without a point or an exponent",
    };
    Err(Error::FailedCast(format!("expected {expected}, found {found}")))
}
/// Return whether a JSON number is written as an integer.
fn is_integer_literal(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Codec for $t {
            const COMPLETE: bool = true;
            fn to_json(&self) -> Json {
                // The text of every integer is a JSON number, so the result is never null.
                self.to_string().parse::<Number>().map_or(Json::Null, Json::Number)
            }
            fn from_json(json: &Json) -> Result<Self> {
                let expected = concat!("an integer of type ", stringify!($t));
                let outside = || {
                    range_error(stringify!($t), &format!("from {} to {}", <$t>::MIN, <$t>::MAX))
                };
                let Json::Number(number) = json else { return Err(no_number(expected, json)) };
                let text = number.as_str();
                if is_integer_literal(text) {
                    return text.parse().map_err(|_| outside());
                }
                whole_value(text, expected)?.try_into().map_err(|_| outside())
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

macro_rules! floats {
    ($($t:ident $consecutive:literal $largest:literal $smallest:literal)*) => {$(
        impl Codec for $t {
            const COMPLETE: bool = true;
            fn to_json(&self) -> Json {
                if self.is_nan() {
                    Json::from("NaN")
                } else if self.is_infinite() {
                    Json::from(if 0.0 < *self { "Infinity" } else { "-Infinity" })
                } else {
                    // The debug text of a float is read back as the same float. The text has a
                    // point or an exponent, so a reader never reads the text as an integer.
                    format!("{self:?}").parse::<Number>().map_or(Json::Null, Json::Number)
                }
            }
            fn from_json(json: &Json) -> Result<Self> {
                let text = match json {
                    Json::String(text) => return match text.as_str() {
                        "NaN" | "nan" => Ok($t::NAN),
                        "Infinity" | "inf" => Ok($t::INFINITY),
                        "-Infinity" | "-inf" => Ok($t::NEG_INFINITY),
                        _ => Err(no_number(concat!("a number of type ", stringify!($t)), json)),
                    },
                    Json::Number(number) => number.as_str(),
                    _ => return Err(no_number(concat!("a number of type ", stringify!($t)), json)),
                };
                if is_integer_literal(text) {
                    let exact = text.parse::<i128>().is_ok_and(|v| v.unsigned_abs() <= $consecutive);
                    if !exact {
                        return Err(Error::FailedCast(format!(
                            "expected a number of type {t}, found an integer beyond {c}, where {t} \
                             skips integers; to accept rounding, write it with a point or an \
                             exponent",
                            t = stringify!($t), c = $consecutive
                        )));
                    }
                }
                let value: $t = text.parse().map_err(|_| range_error(stringify!($t), $largest))?;
                let underflows = value == 0.0
                    && text.split(['e', 'E']).next().is_some_and(|m| m.contains(['1', '2', '3', '4', '5', '6', '7', '8', '9']));
                if underflows {
                    return Err(range_error(stringify!($t), $smallest));
                }
                if value.is_infinite() { Err(range_error(stringify!($t), $largest)) } else { Ok(value) }
            }
        }
    )*};
}
floats!(
    f32 16_777_216_u128 "at most 3.4e38" "0 or at least 1.4e-45 in size"
    f64 9_007_199_254_740_992_u128 "at most 1.79e308" "0 or at least 4.94e-324 in size"
);

impl Codec for Json {
    const COMPLETE: bool = true;
    fn to_json(&self) -> Json {
        self.clone()
    }
    fn from_json(json: &Json) -> Result<Self> {
        Ok(json.clone())
    }
}
impl Codec for bool {
    const COMPLETE: bool = true;
    fn to_json(&self) -> Json {
        Json::Bool(*self)
    }
    fn from_json(json: &Json) -> Result<Self> {
        json.as_bool().ok_or_else(|| unexpected("a boolean", json))
    }
}
impl Codec for String {
    const COMPLETE: bool = true;
    fn to_json(&self) -> Json {
        Json::String(self.clone())
    }
    fn from_json(json: &Json) -> Result<Self> {
        json.as_str().map(str::to_owned).ok_or_else(|| unexpected("a string", json))
    }
}
impl<T: Codec> Codec for Option<T> {
    const COMPLETE: bool = T::COMPLETE;
    fn to_json(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::to_json)
    }
    fn from_json(json: &Json) -> Result<Self> {
        if json.is_null() { Ok(None) } else { T::from_json(json).map(Some) }
    }
    fn bound_to(self, turn: &Turn) -> Self {
        self.map(|value| value.bound_to(turn))
    }
}
impl<T: Codec> Codec for Vec<T> {
    const COMPLETE: bool = T::COMPLETE;
    fn to_json(&self) -> Json {
        let mut array = Vec::with_capacity(self.len());
        for value in self {
            array.push(value.to_json());
        }
        Json::Array(array)
    }
    fn from_json(json: &Json) -> Result<Self> {
        let mut values = Vec::new();
        for item in items(json, "an array")? {
            values.push(T::from_json(item)?);
        }
        Ok(values)
    }
    fn bound_to(self, turn: &Turn) -> Self {
        if T::COMPLETE {
            return self;
        }
        self.into_iter().map(|value| value.bound_to(turn)).collect()
    }
}
macro_rules! tuples {
    ($($n:literal ($($t:ident $x:ident),*))*) => {$(
        impl<$($t: Codec),*> Codec for ($($t,)*) {
            const COMPLETE: bool = true $(&& $t::COMPLETE)*;
            fn to_json(&self) -> Json {
                let ($($x,)*) = self;
                Json::Array(vec![$($x.to_json()),*])
            }
            fn from_json(json: &Json) -> Result<Self> {
                let expected = concat!("an array of ", $n, " items");
                let [$($x),*] = items(json, expected)? else { return Err(unexpected(expected, json)) };
                Ok(($($t::from_json($x)?,)*))
            }
            fn bound_to(self, turn: &Turn) -> Self {
                let ($($x,)*) = self;
                ($($x.bound_to(turn),)*)
            }
        }
    )*};
}
tuples!(2 (A a, B b) 3 (A a, B b, C c));

/// A map is written as an object if all keys are strings that do not begin with
/// `$serde_json::private::`. Any other map is written as an array of pairs. The keys are sorted by
/// their text, so equal maps are written identically.
///
/// `serde_json` reserves the keys that begin with `$serde_json::private::`, such as [`NUMBER`]. A
/// category in the data can be such a key.
impl<K: Codec + Eq + Hash, V: Codec> Codec for HashMap<K, V> {
    const COMPLETE: bool = V::COMPLETE;
    fn to_json(&self) -> Json {
        let mut pairs = Vec::with_capacity(self.len());
        for (key, value) in self {
            pairs.push((key.to_json(), value.to_json()));
        }
        json_of_pairs(pairs)
    }
    fn from_json(json: &Json) -> Result<Self> {
        let mut map = HashMap::new();
        match insert_pairs(json, &mut map) {
            Ok(()) => Ok(map),
            Err(error) => Err(error),
        }
    }
    fn bound_to(self, turn: &Turn) -> Self {
        if V::COMPLETE {
            return self;
        }
        let mut bound = HashMap::with_capacity(self.len());
        for (key, value) in self {
            bound.insert(key, value.bound_to(turn));
        }
        bound
    }
}

/// The beginning of the keys that `serde_json` reserves for its own use.
const PRIVATE: &str = "$serde_json::private::";
/// The key with which `serde_json` writes a number as an object. `serde_json` reads an object as a
/// number if its first key is this text. A category in the data can be this text.
pub const NUMBER: &str = "$serde_json::private::Number";

/// Write a map as an object if all keys are strings that do not begin with `PRIVATE`. Otherwise
/// write the map as an array of pairs.
pub(crate) fn json_of_pairs(mut pairs: Vec<(Json, Json)>) -> Json {
    pairs.sort_by_cached_key(|(key, _)| key.to_string());
    let fits = |key: &Json| key.as_str().is_some_and(|key| !key.starts_with(PRIVATE));
    if pairs.iter().all(|(key, _)| fits(key)) {
        let entry = |(key, value): (Json, Json)| match key {
            Json::String(key) => Some((key, value)),
            _ => None,
        };
        Json::Object(pairs.into_iter().filter_map(entry).collect::<Map<_, _>>())
    } else {
        pairs.into_iter().map(|(key, value)| Json::Array(vec![key, value])).collect()
    }
}
/// A map to which pairs in JSON can be added.
trait Pairs {
    /// Insert a pair. Return whether the key is new.
    fn insert_json(&mut self, key: &Json, value: &Json) -> Result<bool>;
}
impl<K: Codec + Eq + Hash, V: Codec> Pairs for HashMap<K, V> {
    fn insert_json(&mut self, key: &Json, value: &Json) -> Result<bool> {
        let (key, value) = (K::from_json(key)?, V::from_json(value)?);
        Ok(self.insert(key, value).is_none())
    }
}
/// Insert each pair of a map in JSON into `map`.
fn insert_pairs(json: &Json, map: &mut dyn Pairs) -> Result<()> {
    for (key, value) in pairs_of_json(json)? {
        if !map.insert_json(&key, value)? {
            return Err(Error::FailedCast(
                "expected distinct keys, found the same key twice".into(),
            ));
        }
    }
    Ok(())
}
/// Read the pairs of a map in JSON, which is an object or an array of pairs.
pub(crate) fn pairs_of_json(json: &Json) -> Result<Vec<(Cow<'_, Json>, &Json)>> {
    if let Json::Object(object) = json {
        let pair = |(key, value)| (Cow::Owned(Json::String(String::clone(key))), value);
        return Ok(object.iter().map(pair).collect());
    }
    let expected = "an array of 2 items";
    let pair = |pair| match items(pair, expected)? {
        [key, value] => Ok((Cow::Borrowed(key), value)),
        _ => Err(unexpected(expected, pair)),
    };
    items(json, "an array")?.iter().map(pair).collect()
}

#[cfg(test)]
mod tests;
