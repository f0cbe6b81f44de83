//! Converts Python values to JSON, and JSON to Python values.

use std::iter;

use opendp_core::erased::AnyDistance;
use opendp_core::{AnyNumber, Codec as _, Distance as _, Error, RenyiCurve, Result, TypeName};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Number, Value as Json};

use crate::callbacks::unless_stopped;
use crate::errors::converting;
use crate::profile::Renyi;
use crate::values::is_set;

/// The largest depth of nesting of a Python value that is converted.
const MAX_DEPTH: usize = 64;

/// Convert a Python value to JSON. Errors contain names of types, but no values.
///
/// # Errors
/// `FailedCast` when a part of the value has no form in JSON. A set has no such form, because a
/// list in JSON has an order, and the order of a set is arbitrary. The error of [`unless_stopped`].
pub(crate) fn from_python(value: &Bound<'_, PyAny>) -> Result<Json> {
    converting(|| convert(value, 0))
}
/// Convert a distance that is a Python value to JSON. `name` is the name of the argument.
///
/// # Errors
/// `InvalidDistance` when the distance is NaN. In JSON, NaN is a text, and the error about a text
/// would be misleading. Further errors are the errors of [`from_python`].
pub(crate) fn distance_from_python(value: &Bound<'_, PyAny>, name: &str) -> Result<Json> {
    let json = from_python(value).map_err(|error| error.at(name))?;
    if json == "NaN" && !value.is_instance_of::<PyString>() {
        let reason = format!("{name}: expected a number of at least 0, found NaN");
        return Err(Error::InvalidDistance(reason));
    }
    Ok(json)
}
/// If `error` says that an infinite distance cannot be cast, return an error that says that the
/// distance is infinite. Otherwise return `error`. `name` is the name of the argument.
pub(crate) fn infinite(error: Error, value: &Json, name: &str) -> Error {
    if error.kind() == "FailedCast" && value == "Infinity" {
        let reason = format!("{name}: expected a finite number, found infinity");
        return Error::InvalidDistance(reason);
    }
    error
}
fn convert(value: &Bound<'_, PyAny>, depth: usize) -> Result<Json> {
    if MAX_DEPTH < depth {
        return Err(Error::FailedCast(format!("nested more than {MAX_DEPTH} levels deep")));
    }
    if value.is_none() {
        return Ok(Json::Null);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Json::Bool(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Json::String(text.to_str().map_err(|_| unknown(value))?.to_owned()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(float(number.value()));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value);
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return object(dict, depth);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return array(value, depth);
    }
    if let Ok(curve) = value.cast::<Renyi>() {
        return curve.get().points();
    }
    if is_set(value) {
        let reason = "expected a list, found a set, which has no order; make a list of it, sorted if \
                      the order does not matter";
        return Err(Error::FailedCast(reason.into()));
    }
    if let Some(number) = exact(value)? {
        return convert(&number, depth + 1);
    }
    // Convert arrays and scalars of numpy, columns, and other iterables.
    for method in ["tolist", "to_list", "to_pylist"] {
        if let Some(list) = unless_stopped(value.py(), value.call_method0(method))? {
            // If a scalar of numpy has no equivalent in Python, such as a `longdouble`, its method
            // `tolist` returns the scalar itself.
            if list.get_type().is(value.get_type()) {
                return Err(unknown(value));
            }
            return convert(&list, depth + 1);
        }
    }
    array(value, depth)
}
/// Return a fraction or a decimal number of Python as an equal number. `None` means that the value
/// is another one, or that no float is equal to it.
fn exact<'py>(value: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    let name = value.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
    if name != "Fraction" && name != "Decimal" {
        return Ok(None);
    }
    let call = || py.import("opendp_rs._losses")?.getattr("exact")?.call1((value,));
    Ok(unless_stopped(py, call())?.filter(|number| !number.is_none()))
}
fn array(value: &Bound<'_, PyAny>, depth: usize) -> Result<Json> {
    let items = part(value, value.try_iter())?;
    items.map(|item| convert(&part(value, item)?, depth + 1)).collect()
}
/// Return what a call of Python returned about a value.
///
/// # Errors
/// The error of [`unknown`] when the call raised an exception. The error of [`unless_stopped`].
fn part<T>(value: &Bound<'_, PyAny>, answer: PyResult<T>) -> Result<T> {
    unless_stopped(value.py(), answer)?.ok_or_else(|| unknown(value))
}
/// Convert a dictionary to an object if all keys become texts, and no key is a float. Otherwise,
/// convert it to an array of pairs.
fn object(dict: &Bound<'_, PyDict>, depth: usize) -> Result<Json> {
    let (mut pairs, mut texts) = (Vec::with_capacity(dict.len()), true);
    // The conversion of an item can run Python code that changes the dictionary, and its iterator
    // would then panic. So iterate over a list of the items.
    for item in dict.items() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            item.extract().map_err(|_| unknown(dict))?;
        // Infinity and NaN also become texts.
        texts &= !key.is_instance_of::<PyFloat>();
        pairs.push((convert(&key, depth + 1)?, convert(&value, depth + 1)?));
    }
    if texts && pairs.iter().all(|(key, _)| key.is_string()) {
        let pairs = pairs.into_iter().filter_map(|(key, value)| match key {
            Json::String(key) => Some((key, value)),
            _ => None,
        });
        return Ok(Json::Object(pairs.collect::<Map<_, _>>()));
    }
    Ok(pairs.into_iter().map(|(key, value)| Json::Array(vec![key, value])).collect())
}
/// Convert a float to JSON. A finite float becomes the shortest number that reads back as the same
/// float, with a point or an exponent. Any other float becomes a text.
pub(crate) fn float(value: f64) -> Json {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if 0.0 < value { "Infinity" } else { "-Infinity" }.into();
    }
    format!("{value:?}").parse::<Number>().map_or(Json::Null, Json::Number)
}
fn integer(value: &Bound<'_, PyAny>) -> Result<Json> {
    // A subclass of a Python number can change the printed form. So write the value of the number,
    // and not the printed form.
    if let Ok(number) = value.extract::<i64>() {
        return Ok(number.into());
    }
    let text = value.py().get_type::<PyInt>().call_method1("__repr__", (value,));
    let number = text.ok().and_then(|text| text.extract::<String>().ok()?.parse().ok());
    number.map(Json::Number).ok_or_else(|| unknown(value))
}
#[cold]
fn unknown(value: &Bound<'_, PyAny>) -> Error {
    let name = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    if name == "Fraction" || name == "Decimal" {
        let reason = format!(
            "expected a number that is equal to a float, found another value of type {name}; \
             round a loss down to a float, and round a distance of data up"
        );
        return Error::FailedCast(reason);
    }
    Error::FailedCast(format!(
        "expected a number, a text, a list, a dictionary or an object of this library, found a value \
         of the Python type {name}"
    ))
}

/// Convert JSON to a Python value. The same JSON can stand for several values. An array of pairs
/// can be a map or a list. Any array can be a tuple or a list. A text can be a string, or a number
/// that is not finite. A known type selects one of these values.
pub(crate) fn to_python<'py>(
    py: Python<'py>,
    json: &Json,
    type_name: Option<&TypeName>,
) -> PyResult<Bound<'py, PyAny>> {
    let head = type_name.map_or("", TypeName::head);
    if head == "DataFrame" {
        return frame(py, json);
    }
    let args = type_name.map_or(&[][..], TypeName::args);
    let tuple = type_name.is_some() && head.is_empty();
    Ok(match json {
        Json::Null => py.None().into_bound(py),
        Json::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Json::Number(number) if is_f32(type_name) => {
            let value: f32 = number.as_str().parse().unwrap_or(f32::NAN);
            PyFloat::new(py, value.into()).into_any()
        }
        Json::Number(number) => self::number(py, number)?,
        Json::String(text) => match (head, text.as_str()) {
            ("String", text) => PyString::new(py, text).into_any(),
            ("Option", _) => return to_python(py, json, args.first()),
            ("f64" | "f32", "NaN") => PyFloat::new(py, f64::NAN).into_any(),
            ("f64" | "f32", "Infinity") => PyFloat::new(py, f64::INFINITY).into_any(),
            ("f64" | "f32", "-Infinity") => PyFloat::new(py, f64::NEG_INFINITY).into_any(),
            // A release of bits has a form that the domain of bits takes in every size.
            ("BitVector", text) => {
                let bits: Vec<bool> = text.chars().map(|bit| bit == '1').collect();
                PyList::new(py, bits)?.into_any()
            }
            (_, text) => PyString::new(py, text).into_any(),
        },
        Json::Array(items) if head == "HashMap" => {
            let dict = PyDict::new(py);
            for item in items {
                if let Some([key, value]) = item.as_array().map(Vec::as_slice) {
                    let key = to_python(py, key, args.first())?;
                    dict.set_item(key, to_python(py, value, args.get(1))?)?;
                }
            }
            dict.into_any()
        }
        Json::Array(_) if head == "Option" => return to_python(py, json, args.first()),
        Json::Array(items) => {
            let item_type = |i: usize| if tuple { args.get(i) } else { args.first() };
            let items: Vec<_> = items
                .iter()
                .enumerate()
                .map(|(i, item)| to_python(py, item, item_type(i)))
                .collect::<PyResult<_>>()?;
            if tuple {
                PyTuple::new(py, items)?.into_any()
            } else {
                PyList::new(py, items)?.into_any()
            }
        }
        Json::Object(_) if head == "Option" => return to_python(py, json, args.first()),
        Json::Object(object) => {
            let value_type = args.get(1).filter(|_| head == "HashMap");
            let dict = PyDict::new(py);
            for (key, value) in object {
                dict.set_item(key, to_python(py, value, value_type)?)?;
            }
            dict.into_any()
        }
    })
}
/// Return whether a type is `f32`, possibly in an `Option`. The JSON of an `f32` is the shortest
/// text that is read as the same `f32`. If this text is read as an `f64`, the result can be another
/// number.
fn is_f32(type_name: Option<&TypeName>) -> bool {
    type_name.is_some_and(|name| match name.head() {
        "Option" => is_f32(name.args().first()),
        head => head == "f32",
    })
}
/// Convert a frame to a dictionary from names to columns. If the names are not strings, the JSON of
/// the frame is an array of pairs. In this case, return a list of pairs of a name and a column.
fn frame<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    match json {
        Json::Object(columns) => {
            let dict = PyDict::new(py);
            for (name, json) in columns {
                dict.set_item(name, column(py, json)?)?;
            }
            Ok(dict.into_any())
        }
        Json::Array(columns) => {
            let mut pairs = Vec::with_capacity(columns.len());
            for pair in columns {
                if let Some([name, json]) = pair.as_array().map(Vec::as_slice) {
                    pairs.push(PyList::new(py, [to_python(py, name, None)?, column(py, json)?])?);
                }
            }
            Ok(PyList::new(py, pairs)?.into_any())
        }
        other => to_python(py, other, None),
    }
}
/// Convert a column of a frame. The JSON of a column states the type of the cells, as in
/// `{"f64": [1.0]}`.
fn column<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    for (cell, cells) in json.as_object().into_iter().flatten() {
        let cell_type: Option<TypeName> = cell.parse().ok();
        let cells_type = cell_type.map(|cell_type| TypeName::generic("Vec", [cell_type]));
        dict.set_item(cell, to_python(py, cells, cells_type.as_ref())?)?;
    }
    Ok(dict.into_any())
}
/// Convert a distance to a number, a Renyi curve, or a tuple of its parts. The numbers keep their
/// exact values.
pub(crate) fn distance<'py>(
    py: Python<'py>,
    distance: &AnyDistance,
) -> PyResult<Bound<'py, PyAny>> {
    let curve = |curve: &RenyiCurve| Ok(Bound::new(py, Renyi::new(curve.clone()))?.into_any());
    if let Ok(only) = distance.downcast_ref::<RenyiCurve>() {
        return curve(only);
    }
    if let Ok((first, delta)) = distance.downcast_ref::<(RenyiCurve, f64)>() {
        let pair = [curve(first)?, PyFloat::new(py, *delta).into_any()];
        return Ok(PyTuple::new(py, pair)?.into_any());
    }
    parts(py, &distance.to_json(), distance.numbers())
}
/// Convert the points of a curve.
pub(crate) fn points<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, json, Some(&TypeName::plain("f64")))
}
/// Convert a distance from its JSON and its exact numbers. The JSON of an `f32` is the shortest
/// text that is read as the same `f32`. Python reads this text as an `f64`, and this `f64` can be
/// smaller than the `f32`. So floats are converted from the exact numbers.
fn parts<'py>(
    py: Python<'py>,
    json: &Json,
    numbers: [Option<AnyNumber>; 3],
) -> PyResult<Bound<'py, PyAny>> {
    let [first, _, _] = numbers;
    match (json, first) {
        (Json::Array(items), _) => {
            // There are exact numbers for at most three items.
            let numbers = numbers.into_iter().chain(iter::repeat(None));
            let items = items.iter().zip(numbers);
            let items = items.map(|(item, number)| parts(py, item, [number, None, None]));
            Ok(PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        (_, Some(AnyNumber::Float(float))) => Ok(PyFloat::new(py, float).into_any()),
        (other, _) => to_python(py, other, Some(&TypeName::plain("f64"))),
    }
}
fn number<'py>(py: Python<'py>, number: &Number) -> PyResult<Bound<'py, PyAny>> {
    let text = number.as_str();
    if text.contains(['.', 'e', 'E']) {
        let value: f64 = text.parse().unwrap_or(f64::NAN);
        return Ok(PyFloat::new(py, value).into_any());
    }
    match text.parse::<i64>() {
        Ok(value) => Ok(value.into_pyobject(py)?.into_any()),
        Err(_) => py.get_type::<PyInt>().call1((text,)),
    }
}
