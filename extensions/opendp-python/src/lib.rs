//! The Python package `opendp_rs`, which contains a function for every registered constructor.
//!
//! Only a few constructors need code of their own in this crate, for example in the module
//! `candidates`. [`Registry`] lists all constructors and their parameters. The Python code of the
//! package makes functions from this list, and [`Registry`] resolves each call.
#![forbid(unsafe_code)]

mod accuracy;
mod arguments;
mod bits;
mod callbacks;
mod candidates;
mod columns;
mod documents;
mod errors;
mod events;
mod extrinsic;
mod forked;
mod frames;
mod interactive;
mod json;
mod ledger;
mod listing;
mod objects;
mod profile;
mod recipe;
mod search;
#[cfg(feature = "example")]
mod sorted;
mod study;
#[cfg(feature = "example")]
mod timed;
mod values;

use opendp_registry::Registry;
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
use recipe::Recipe;

/// Call a constructor by its name, with arguments by their names.
#[pyfunction]
fn make(py: Python<'_>, name: &str, given: &Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let arguments::Given { args, links, inner } = arguments::read(given).or_raise(py)?;
    let registry = Registry::global();
    let release = arguments::measurement(given, "measurement");
    let (made, entry) = detached(py, || {
        let entry = registry.resolve(name, &args)?;
        let prepared = candidates::prepared(entry.name(), &args, release.as_ref())?;
        Ok((entry.construct(prepared.as_ref().unwrap_or(&args))?, entry))
    })?;
    let (output, result) = (entry.output().clone(), arguments::result(entry.name(), given));
    objects::to_python(py, made, &output, links, Recipe::call(name, args, inner), result)
}
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        accuracy::{
            accuracy_to_discrete_gaussian_scale, accuracy_to_discrete_laplacian_scale,
            accuracy_to_gaussian_scale, accuracy_to_laplacian_scale, choose_branching_factor,
            discrete_gaussian_scale_to_accuracy, discrete_laplacian_scale_to_accuracy,
            gaussian_scale_to_accuracy, laplacian_scale_to_accuracy,
        },
        callbacks::{
            Callback, function, function_into, privacy_map, privacy_profile, stability_map,
        },
        documents::{is_partial, load, write, write_partial},
        events::{composed_profile, event_profile, renyi_profile, sampled_profile},
        interactive::{OdometerQueryable, PyQueryable},
        ledger::PyLedger,
        listing::{describe, names},
        make,
        objects::{
            Domain, Function, Measure, Measurement, Metric, Odometer, PySpace, Transformation,
        },
        objects::{chain::then, run::check_distances},
        profile::{Profile, Renyi},
        search::{bounds_float, bounds_int, search_float, search_int},
        study::{PyStudy, outcome_page},
    };
    #[cfg(feature = "example")]
    #[pymodule_export]
    use super::{sorted::copy_ascending, timed::RustRelease};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::forked::remember();
        Ok(())
    }
}
