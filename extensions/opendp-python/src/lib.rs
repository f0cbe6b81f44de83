//! Every registered constructor in Python: the package `opendp_rs`.
//!
//! The binding has no code for single constructors. [`Registry`] lists the constructors and their
//! parameters. The package makes Python functions from this list, and [`Registry`] resolves each
//! call.
#![forbid(unsafe_code)]

mod accuracy;
mod arguments;
mod callbacks;
mod columns;
mod errors;
mod extrinsic;
mod forked;
mod interactive;
mod json;
mod listing;
mod objects;
mod profile;
mod search;
mod values;

use opendp_core::TypeName;
use opendp_registry::{Document, Registry};
use pyo3::prelude::*;
use pyo3::types::PyDict;

// These crates contain the constructors. The registry contains the constructors only if code names
// the crates.
#[cfg(feature = "example")]
use custom_mechanism as _;
use opendp_analysis as _;
use opendp_measurements as _;
use opendp_transformations as _;

use errors::{OrRaise, detached};

/// Call a constructor by its name, with arguments by their names.
#[pyfunction]
fn make(py: Python<'_>, name: &str, given: &Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let arguments::Given { args, links } = arguments::read(given).or_raise(py)?;
    let registry = Registry::global();
    let (made, output) = detached(py, || {
        let entry = registry.resolve(name, &args)?;
        Ok((entry.construct(&args)?, entry.output().clone()))
    })?;
    objects::to_python(py, made, &output, links)
}
/// The assumed number of constructors on the longest path through a loaded object. The true number
/// is unknown here, but there is a limit on the depth of documents. With the assumed number, a path
/// through an object can contain one or two loaded objects.
const LOADED_LINKS: usize = 100;

/// Build the pipeline of a JSON document, of this library or of OpenDP 0.16.
#[pyfunction]
fn load(py: Python<'_>, text: &str) -> PyResult<Py<PyAny>> {
    let made = detached(py, || Document::parse(text)?.build(Registry::global()))?;
    objects::to_python(py, made, &TypeName::plain("Function"), LOADED_LINKS)
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        accuracy::{
            accuracy_to_discrete_gaussian_scale, accuracy_to_discrete_laplacian_scale,
            accuracy_to_gaussian_scale, accuracy_to_laplacian_scale,
            discrete_gaussian_scale_to_accuracy, discrete_laplacian_scale_to_accuracy,
            gaussian_scale_to_accuracy, laplacian_scale_to_accuracy,
        },
        callbacks::{Callback, function, privacy_map, stability_map},
        interactive::{OdometerQueryable, PyQueryable},
        listing::{describe, names},
        load, make,
        objects::chain::then,
        objects::{
            Domain, Function, Measure, Measurement, Metric, Odometer, PySpace, Transformation,
        },
        profile::Profile,
        search::{bounds_float, bounds_int, search_float, search_int},
    };
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::forked::remember();
        Ok(())
    }
}
