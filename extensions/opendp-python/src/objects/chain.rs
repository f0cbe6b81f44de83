//! Properties that describe the input of an object, and functions that chain two objects.

use opendp_core::erased::{AnyDomain, AnyMetric};
use opendp_core::{Error, Result, Space, TypeName};
use pyo3::prelude::*;

use super::{Domain, Function, Measurement, Metric, Odometer, PySpace, Transformation, known};
use crate::arguments::check_links;
use crate::errors::OrRaise;

macro_rules! inputs {
    ($($class:ident)*) => {$(
        #[pymethods]
        impl $class {
            /// The domain of the object's input.
            #[getter]
            fn input_domain(&self) -> Domain {
                Domain { made: self.made.input().domain().clone() }
            }
            /// The metric on the object's inputs.
            #[getter]
            fn input_metric(&self) -> Metric {
                Metric { made: self.made.input().metric().clone() }
            }
            /// The space of the object's input: a domain and a metric.
            #[getter]
            fn input_space(&self) -> PySpace {
                let space: &Space<AnyDomain, AnyMetric> = self.made.input();
                PySpace::of(space)
            }
            /// The name of the type of the object's inputs.
            #[getter]
            fn input_carrier_type(&self) -> String {
                self.made.input().domain().carrier().to_string()
            }
        }
    )*};
}
inputs!(Transformation Measurement Odometer);

macro_rules! shifts {
    ($($class:ident)*) => {$(
        #[pymethods]
        impl $class {
            fn __rshift__<'py>(
                this: &Bound<'py, Self>,
                next: &Bound<'py, PyAny>,
            ) -> PyResult<Bound<'py, PyAny>> {
                let chain = this.py().import("opendp_rs._partial")?.getattr("chain")?;
                chain.call1((this, next))
            }
        }
    )*};
}
shifts!(Transformation Measurement);

/// Append the object `next` to the transformation or measurement `first`. `None` means that an
/// object of this kind cannot follow `first`.
#[pyfunction]
pub(crate) fn then(
    py: Python<'_>,
    first: &Bound<'_, PyAny>,
    next: &Bound<'_, PyAny>,
) -> PyResult<Option<Py<PyAny>>> {
    if let (Ok(first), Ok(next)) = (first.cast::<Transformation>(), next.cast::<Transformation>()) {
        let (first, next) = (first.get(), next.get());
        let links = check_links(first.links + next.links).or_raise(py)?;
        let made = first.made.then(|_| Ok(next.made.clone())).or_raise(py)?;
        let by = ["make_chain_tt", "transformation0", "transformation1"];
        let recipe = first.recipe.then(&next.recipe, first.made.input(), by);
        let chained = Transformation { made, links, recipe };
        return Ok(Some(Py::new(py, chained)?.into_any()));
    }
    let (made, links, recipe, release) = if let (Ok(first), Ok(next)) =
        (first.cast::<Transformation>(), next.cast::<Measurement>())
    {
        let (first, next) = (first.get(), next.get());
        let by = ["make_chain_mt", "transformation0", "measurement1"];
        let recipe = first.recipe.then(&next.recipe, first.made.input(), by);
        let made = first.made.then(|_| Ok(next.made.clone()));
        (made, first.links + next.links, recipe, next.release.clone())
    } else if let (Ok(first), Ok(next)) = (first.cast::<Measurement>(), next.cast::<Function>()) {
        let (first, next) = (first.get(), next.get());
        fits(first.release.as_ref(), &next.input).or_raise(py)?;
        let by = ["make_chain_pm", "measurement0", "postprocess1"];
        let recipe = first.recipe.then(&next.recipe, first.made.input(), by);
        let made = first.made.then(|| Ok(next.made.clone()));
        (made, first.links + next.links, recipe, next.output.clone())
    } else {
        return Ok(None);
    };
    let made = made.or_raise(py)?;
    let links = check_links(links).or_raise(py)?;
    Ok(Some(Py::new(py, Measurement::new(made, links, recipe, release))?.into_any()))
}
/// Check that a function takes releases of a type. Without this check, the error would come at the
/// first release, after the loss of this release is charged. If a type is unknown, check nothing.
fn fits(release: Option<&TypeName>, input: &TypeName) -> Result<()> {
    let (Some(release), Some(input)) = (release, known(input)) else { return Ok(()) };
    if *release == input {
        return Ok(());
    }
    let advice = if release.head() == "ExtrinsicObject" {
        format!("state what the Python function before this step returns, as in `TO=\"{input}\"`")
    } else {
        "change a type argument, such as `TOA` of the step before the noise or `TA` of the function"
            .to_owned()
    };
    let reason = format!("the function takes {input}, and the release before it is {release}");
    Err(Error::argument(">>", format!("{reason}; {advice}")))
}
