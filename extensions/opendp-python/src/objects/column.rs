//! Finds the arrays of columns that come from other libraries.

use opendp_core::erased::{AnyDomain, AnyFunction, AnyValue};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString};

use crate::callbacks::unless_stopped;
use crate::columns::texts::{self, Parts};
use crate::errors::OrRaise;
use crate::{columns, values};

/// A value from Python. If the domain contains vectors, `Arrays` holds a column of numbers or
/// booleans without nulls, or the content of a value with a buffer. If the domain contains vectors
/// of texts, `Texts` holds a column of texts. `Other` holds any other value.
pub(super) enum Column<'py> {
    /// A list, a number or another value that is not an array.
    Other(Bound<'py, PyAny>),
    /// The arrays that hold the column, in the order of the rows.
    Arrays(Vec<Bound<'py, PyAny>>),
    /// The arrays that hold the texts of the column, in the order of the rows.
    Texts(Vec<Parts<'py>>),
}
impl<'py> Column<'py> {
    /// Find the arrays of a value. Return `Other` if the value has no arrays, or if the domain does
    /// not contain vectors.
    pub(super) fn of(arg: &Bound<'py, PyAny>, domain: &AnyDomain) -> PyResult<Column<'py>> {
        let plain = arg.is_instance_of::<PyFloat>()
            || arg.is_instance_of::<PyInt>()
            || arg.is_instance_of::<PyList>()
            || arg.is_instance_of::<PyString>()
            || arg.is_instance_of::<PyDict>();
        if plain || domain.carrier().head() != "Vec" {
            return Ok(Column::Other(arg.clone()));
        }
        if is_texts(domain).is_some()
            && let Some(column) = Column::of_texts(arg)?
        {
            return Ok(column);
        }
        if is_array(arg) {
            return Ok(Column::Arrays(vec![arg.clone()]));
        }
        let as_arrays = arg.py().import("opendp_rs._columns")?.getattr("as_arrays")?;
        // The text of an exception of another library can contain data. So replace the exception
        // by an error without data.
        let found = as_arrays.call1((arg,)).and_then(|found| found.extract());
        let found: Option<(bool, Bound<'py, PyAny>)> =
            unless_stopped(arg.py(), found).or_raise(arg.py())?;
        let found = found.ok_or_else(|| values::outside(domain)).or_raise(arg.py())?;
        match found {
            (true, arrays) => Ok(Column::Arrays(arrays.extract()?)),
            (false, other) => Ok(Column::Other(other)),
        }
    }
    /// Find the texts of a value. `None` means that the value is not a column of texts.
    fn of_texts(arg: &Bound<'py, PyAny>) -> PyResult<Option<Column<'py>>> {
        let as_texts = arg.py().import("opendp_rs._columns")?.getattr("as_texts")?;
        let found = as_texts.call1((arg,)).and_then(|found| found.extract());
        let found: Option<Option<(bool, Bound<'py, PyAny>)>> =
            unless_stopped(arg.py(), found).or_raise(arg.py())?;
        Ok(match found.flatten() {
            None => None,
            Some((true, parts)) => Some(Column::Texts(parts.extract()?)),
            Some((false, list)) => Some(Column::Other(list)),
        })
    }
    /// Run a function on the column, without a Python object for each row. Return `None` if this is
    /// not possible, for example for a list of numbers.
    pub(super) fn run(
        &self,
        function: &AnyFunction,
        domain: &AnyDomain,
        py: Python<'_>,
    ) -> Option<PyResult<AnyValue>> {
        match self {
            Column::Arrays(arrays) => columns::run(arrays, function, domain),
            Column::Texts(parts) if is_texts(domain) == Some(false) => {
                texts::run(parts, function, domain, py)
            }
            Column::Texts(_) => None,
            Column::Other(value) => {
                let list = value.cast_exact::<PyList>().ok()?;
                if is_texts(domain) != Some(false) {
                    return None;
                }
                texts::run_list(list, function, domain)
            }
        }
    }
    /// Convert the column to a value of the carrier of the domain. The value can be outside of the
    /// domain.
    pub(super) fn value(self, py: Python<'py>, domain: &AnyDomain) -> PyResult<AnyValue> {
        let whole = match self {
            Column::Other(value) => value,
            Column::Texts(parts) => {
                let cells = texts::collect(&parts);
                let value = match is_texts(domain) {
                    // A null is not a text.
                    Some(false) => cells
                        .and_then(|cells| cells.into_iter().collect::<Option<Vec<_>>>())
                        .map(AnyValue::new),
                    _ => cells.map(AnyValue::new),
                };
                return value.ok_or_else(|| values::outside(domain)).or_raise(py);
            }
            Column::Arrays(arrays) => match &arrays[..] {
                [array] => array.clone(),
                _ => {
                    let joined = py.import("numpy")?.call_method1("concatenate", (arrays,));
                    let joined = unless_stopped(py, joined).or_raise(py)?;
                    joined.ok_or_else(|| values::outside(domain)).or_raise(py)?
                }
            },
        };
        values::of_domain(&whole, domain).or_raise(py)
    }
}
/// If the members of a domain are vectors of texts, return whether a text can be null. Otherwise
/// return `None`.
fn is_texts(domain: &AnyDomain) -> Option<bool> {
    let carrier = domain.carrier();
    let row = carrier.args().first().filter(|_| carrier.head() == "Vec")?;
    match (row.head(), row.args()) {
        ("String", _) => Some(false),
        ("Option", [row]) if row.head() == "String" => Some(true),
        _ => None,
    }
}
/// Return whether a value is an array of numpy. This check does not load numpy.
fn is_array(arg: &Bound<'_, PyAny>) -> bool {
    arg.get_type().name().is_ok_and(|name| name.to_string_lossy() == "ndarray")
        && arg.get_type().module().is_ok_and(|module| module.to_string_lossy() == "numpy")
}
