//! Conversions between Python values and values of carriers. A carrier is the type of a domain's
//! members.

use std::{collections::HashMap, sync::LazyLock};

use opendp_core::erased::{AnyDomain, AnyValue};
use opendp_core::{Carrier, Codec, Domain, Error, Named, Result, TypeName};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyFrozenSet, PyList, PySet, PyString, PyTuple};

use crate::callbacks::{is_stop, unless_stopped};
use crate::errors::converting;
use crate::extrinsic::Extrinsic;
use crate::interactive::{self, AnySession};
use crate::objects::call_of;
use crate::{bits, frames, json};

/// A type that is converted directly from and to Python values: a scalar, an option, a pair or a
/// vector.
pub(crate) trait Cell: Sized {
    /// Convert a Python value. `None` means that `value` is not a value of this type.
    ///
    /// # Errors
    /// The error of [`unless_stopped`].
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Option<Self>>;
    /// Convert the value to a Python value.
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;
}
macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Cell for $t {
            fn from_python(value: &Bound<'_, PyAny>) -> Result<Option<Self>> {
                if value.is_instance_of::<PyBool>() {
                    return Ok(None);
                }
                unless_stopped(value.py(), value.extract())
            }
            fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                Ok(self.into_pyobject(py)?.into_any())
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
/// Convert a float. Also convert an integer if its magnitude is at most `consecutive`. The float
/// type of the cell must contain all integers up to this magnitude. This rule also applies to
/// integers in arrays and in JSON. `None` means that `value` is not such a number.
///
/// # Errors
/// The error of [`unless_stopped`].
fn float(value: &Bound<'_, PyAny>, consecutive: u64) -> Result<Option<f64>> {
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(Some(float.value()));
    }
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        return Ok(None);
    }
    let py = value.py();
    if let Some(whole) = unless_stopped(py, value.extract::<i64>())? {
        return Ok((whole.unsigned_abs() <= consecutive).then_some(whole as f64));
    }
    // The Python value can be a scalar of numpy, which is not a Python number.
    let of_numpy = || {
        let dimensions: usize = value.getattr("ndim")?.extract()?;
        let kind: String = value.getattr("dtype")?.getattr("kind")?.extract()?;
        if dimensions == 0 && kind == "f" { value.extract().map(Some) } else { Ok(None) }
    };
    Ok(unless_stopped(py, of_numpy())?.flatten())
}
/// Convert a float as [`Cell::from_python`] does.
///
/// # Errors
/// The error of [`unless_stopped`].
pub(crate) fn double(value: &Bound<'_, PyAny>) -> Result<Option<f64>> {
    float(value, 1 << 53)
}
impl Cell for f64 {
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Option<Self>> {
        double(value)
    }
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyFloat::new(py, *self).into_any())
    }
}
impl Cell for f32 {
    /// Convert a float to the nearest `f32`. A finite number beyond the range of the type is not a
    /// value of the type. An integer is not rounded.
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Option<Self>> {
        let Some(wide) = float(value, 1 << 24)? else { return Ok(None) };
        let near = wide as f32;
        Ok((near.is_finite() || !wide.is_finite()).then_some(near))
    }
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyFloat::new(py, f64::from(*self)).into_any())
    }
}
impl Cell for bool {
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Option<Self>> {
        unless_stopped(value.py(), value.extract())
    }
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyBool::new(py, *self).to_owned().into_any())
    }
}
impl Cell for String {
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Option<Self>> {
        let Ok(text) = value.cast::<PyString>() else { return Ok(None) };
        Ok(text.to_str().ok().map(str::to_owned))
    }
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyString::new(py, self).into_any())
    }
}
impl<T: Cell> Cell for Option<T> {
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Option<Self>> {
        if value.is_none() { Ok(Some(None)) } else { Ok(T::from_python(value)?.map(Some)) }
    }
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            None => Ok(py.None().into_bound(py)),
            Some(value) => value.to_python(py),
        }
    }
}
/// Return whether a value is a set. The order of a set is arbitrary: equal sets can give their
/// items in different orders. So a set has no rows.
pub(crate) fn is_set(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PySet>() || value.is_instance_of::<PyFrozenSet>()
}
impl<T: Cell> Cell for Vec<T> {
    /// Convert the rows of an iterable. A text, a dictionary and a set are not rows.
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Option<Self>> {
        if value.is_instance_of::<PyString>() || value.is_instance_of::<PyDict>() || is_set(value) {
            return Ok(None);
        }
        let py = value.py();
        // An object can state a wrong length, so the reserved memory has a limit.
        let length = unless_stopped(py, value.len())?.unwrap_or(0).min(1 << 16);
        let mut rows = Vec::with_capacity(length);
        let Some(items) = unless_stopped(py, value.try_iter())? else { return Ok(None) };
        for row in items {
            let Some(row) = unless_stopped(py, row)? else { return Ok(None) };
            let Some(row) = T::from_python(&row)? else { return Ok(None) };
            rows.push(row);
        }
        Ok(Some(rows))
    }
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.iter().map(|row| row.to_python(py)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(py, rows)?.into_any())
    }
}
impl<A: Cell, B: Cell> Cell for (A, B) {
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Option<Self>> {
        let items = || match value.is_instance_of::<PyString>() || value.len()? != 2 {
            true => Ok(None),
            false => Ok(Some((value.get_item(0)?, value.get_item(1)?))),
        };
        let Some((first, second)) = unless_stopped(value.py(), items())?.flatten() else {
            return Ok(None);
        };
        Ok(A::from_python(&first)?.zip(B::from_python(&second)?))
    }
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyTuple::new(py, [self.0.to_python(py)?, self.1.to_python(py)?])?.into_any())
    }
}
impl Cell for AnyValue {
    fn from_python(value: &Bound<'_, PyAny>) -> Result<Option<Self>> {
        Ok(Some(Extrinsic::value(value)))
    }
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self)
    }
}

/// The conversions between Python values and values of one carrier.
#[derive(Clone, Copy)]
struct Codecs {
    from: fn(&Bound<'_, PyAny>) -> Result<Option<AnyValue>>,
    to: for<'py> fn(Python<'py>, &AnyValue) -> PyResult<Bound<'py, PyAny>>,
}
impl Codecs {
    fn of<T: Carrier + Cell>() -> (String, Codecs) {
        let codecs = Codecs {
            from: |value| Ok(T::from_python(value)?.map(AnyValue::new)),
            to: |py, value| match value.downcast_ref::<T>() {
                Ok(value) => value.to_python(py),
                Err(error) => Err(crate::errors::exception(py, &error)),
            },
        };
        (T::type_name().to_string(), codecs)
    }
}
/// The direct conversions, by the name of the carrier. Frames, Python objects and interactive
/// mechanisms have other conversions. All other carriers are converted through JSON.
static CODECS: LazyLock<HashMap<String, Codecs>> = LazyLock::new(|| {
    let mut all = HashMap::new();
    macro_rules! atoms {
        ($($t:ident)*) => {$(
            all.extend([
                Codecs::of::<$t>(),
                Codecs::of::<Option<$t>>(),
                Codecs::of::<Vec<$t>>(),
                Codecs::of::<Vec<Option<$t>>>(),
            ]);
        )*};
    }
    atoms!(bool String f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);
    all.extend([
        Codecs::of::<Vec<(f32, f32)>>(),
        Codecs::of::<Vec<(f64, f64)>>(),
        Codecs::of::<Vec<Vec<String>>>(),
        Codecs::of::<Vec<AnyValue>>(),
        Codecs::of::<Option<AnyValue>>(),
        Codecs::of::<(AnyValue, AnyValue)>(),
    ]);
    all
});

/// Convert a Python value to a value of the carrier of a domain. The value can be outside of the
/// domain.
///
/// # Errors
/// `Argument` when the value cannot be converted to a value of the carrier. The text of this error
/// depends only on the domain. The text is the same for all values that cannot be converted. The
/// error of [`unless_stopped`].
pub(crate) fn of_domain(value: &Bound<'_, PyAny>, domain: &AnyDomain) -> Result<AnyValue> {
    converted(value, domain)?.ok_or_else(|| outside(domain))
}
/// Convert a Python value to a value of the carrier of a domain. `None` means that the value cannot
/// be converted.
///
/// # Errors
/// The error of [`unless_stopped`].
pub(crate) fn converted(value: &Bound<'_, PyAny>, domain: &AnyDomain) -> Result<Option<AnyValue>> {
    let carrier = domain.carrier();
    if carrier == AnyValue::type_name() {
        return Ok(Some(Extrinsic::value(value)));
    }
    converting(|| match CODECS.get(&carrier.to_string()) {
        Some(codecs) => (codecs.from)(value),
        None if carrier.head() == "DataFrame" => match frames::frame(value, domain)? {
            None => decoded(value, domain),
            frame => Ok(frame),
        },
        None if carrier.head() == "BitVector" => bits::vector(value, domain),
        None => decoded(value, domain),
    })
}
/// Convert a Python value to JSON, and read a value of the carrier of a domain from the JSON.
///
/// # Errors
/// The error of [`unless_stopped`].
pub(crate) fn decoded(value: &Bound<'_, PyAny>, domain: &AnyDomain) -> Result<Option<AnyValue>> {
    match json::from_python(value) {
        Ok(json) => Ok(domain.decode(&json).ok()),
        Err(error) if is_stop(&error) => Err(error),
        Err(_) => Ok(None),
    }
}
/// Convert a Python value to a value of a type.
///
/// # Errors
/// `TypeParse` when Python values cannot be converted to the type. `FailedCast` when the value is
/// not of the type. The error of [`unless_stopped`].
pub(crate) fn of_type(value: &Bound<'_, PyAny>, type_name: &TypeName) -> Result<AnyValue> {
    if is_object(type_name) {
        return Ok(Extrinsic::value(value));
    }
    if let Some((first, second)) = with_object(type_name) {
        let expected = || Error::FailedCast(format!("expected a value of type {type_name}"));
        let (a, b) = <(AnyValue, AnyValue)>::from_python(value)?.ok_or_else(expected)?;
        let part = |part: AnyValue, name| {
            let object = part.downcast_ref::<Extrinsic>()?;
            of_type(&object.get(value.py()), name)
        };
        return Ok(AnyValue::new((part(a, first)?, part(b, second)?)));
    }
    let codecs = CODECS.get(&type_name.to_string()).ok_or_else(|| unreadable(type_name))?;
    (codecs.from)(value)?.ok_or_else(|| {
        Error::FailedCast(match type_name.head() {
            "" if type_name.args().iter().all(is_object) => "expected a pair".into(),
            "Vec" => format!("expected a value of type {type_name}{LIST_OF_SET}"),
            _ => format!("expected a value of type {type_name}"),
        })
    })
}
/// Check that Python values can be converted to a type.
///
/// # Errors
/// `TypeParse` when Python values cannot be converted to the type.
pub(crate) fn check_type(type_name: &TypeName) -> Result<()> {
    if let Some((first, second)) = with_object(type_name) {
        return check_type(first).and_then(|()| check_type(second));
    }
    let found = is_object(type_name) || CODECS.contains_key(&type_name.to_string());
    if found { Ok(()) } else { Err(unreadable(type_name)) }
}
/// Return the two parts of a type of pairs, if a part is `ExtrinsicObject`.
fn with_object(type_name: &TypeName) -> Option<(&TypeName, &TypeName)> {
    match type_name.args() {
        [first, second] if type_name.head().is_empty() => {
            let found = [first, second].iter().any(|part| part.head() == "ExtrinsicObject");
            found.then_some((first, second))
        }
        _ => None,
    }
}
fn is_object(type_name: &TypeName) -> bool {
    matches!(type_name.head(), "AnyValue" | "ExtrinsicObject")
}
#[cold]
fn unreadable(type_name: &TypeName) -> Error {
    Error::TypeParse {
        text: type_name.to_string(),
        reason:
            "Python values cannot be converted to this type; leave the type out, and the value \
                 stays a Python object"
                .into(),
    }
}
/// The advice for rows in a set.
const LIST_OF_SET: &str =
    "; a set has no order: make a list of it, sorted if the order does not matter";
/// Return the error for data that are not a member of the input domain. The error is the same for
/// all such data.
#[cold]
pub(crate) fn outside(domain: &AnyDomain) -> Error {
    let reason = "the type, the number of rows or a value does not fit";
    let (expected, carrier) = (call_of(&domain.to_json()), domain.carrier());
    // The advice depends only on the domain.
    let advice = match carrier.head() {
        "DataFrame" => concat!(
            "; pass a dictionary or a table with exactly the columns of a domain with `col_names`",
            "; pandas stores missing numbers as NaN, so use `convert_dtypes()`; nulls need ",
            "`dp.option_domain`"
        ),
        "Vec" if carrier.to_string().contains("Option") => {
            "; in a column of pandas, missing numbers are NaN, so use `convert_dtypes()`"
        }
        "BitVector" => bits::advice(domain),
        "Vec" => "; nulls need `dp.option_domain`; convert dates and categories to numbers or text",
        _ => "",
    };
    let rows = if carrier.head() == "Vec" { LIST_OF_SET } else { "" };
    Error::argument("arg", format!("expected a member of {expected}: {reason}{advice}{rows}"))
}

/// Convert a value to a Python value.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &AnyValue) -> PyResult<Bound<'py, PyAny>> {
    // First try the types that most scalar releases have.
    if let Ok(float) = value.downcast_ref::<f64>() {
        return float.to_python(py);
    }
    if let Ok(whole) = value.downcast_ref::<i32>() {
        return whole.to_python(py);
    }
    let type_name = value.inner_type();
    if let Some(codecs) = CODECS.get(&type_name.to_string()) {
        return (codecs.to)(py, value);
    }
    if let Ok(object) = value.downcast_ref::<Extrinsic>() {
        return Ok(object.get(py));
    }
    if let Ok(session) = value.downcast_ref::<AnySession>() {
        return interactive::session(py, session.clone());
    }
    if type_name.head() == "Queryable" {
        return interactive::queryable(py, value);
    }
    json::to_python(py, &value.to_json(), Some(&type_name))
}
