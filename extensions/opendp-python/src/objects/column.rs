//! Finds the arrays of columns that come from other libraries.

use opendp_core::erased::AnyDomain;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString};

use crate::callbacks::unless_stopped;
use crate::errors::OrRaise;
use crate::values;

/// A value from Python. If the domain contains vectors, `Arrays` holds a column of numbers or
/// booleans without nulls, or the content of a value with a buffer. `Other` holds any other value.
pub(super) enum Column<'py> {
    /// A list, a number or another value that is not an array.
    Other(Bound<'py, PyAny>),
    /// The arrays that hold the column, in the order of the rows.
    Arrays(Vec<Bound<'py, PyAny>>),
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
    /// Return the arrays. If the value is not an array, return an empty slice.
    pub(super) fn pieces(&self) -> &[Bound<'py, PyAny>] {
        match self {
            Column::Other(_) => &[],
            Column::Arrays(arrays) => arrays,
        }
    }
    /// Return the column as one value. Several arrays are joined.
    pub(super) fn whole(self, py: Python<'py>, domain: &AnyDomain) -> PyResult<Bound<'py, PyAny>> {
        let arrays = match self {
            Column::Other(value) => return Ok(value),
            Column::Arrays(arrays) => arrays,
        };
        if let [array] = &arrays[..] {
            return Ok(array.clone());
        }
        let joined = py.import("numpy")?.call_method1("concatenate", (arrays,));
        let joined = unless_stopped(py, joined).or_raise(py)?;
        joined.ok_or_else(|| values::outside(domain)).or_raise(py)
    }
}
/// Return whether a value is an array of numpy. This check does not load numpy.
fn is_array(arg: &Bound<'_, PyAny>) -> bool {
    arg.get_type().name().is_ok_and(|name| name.to_string_lossy() == "ndarray")
        && arg.get_type().module().is_ok_and(|module| module.to_string_lossy() == "numpy")
}
