//! Releases, maps and checks.

use std::ffi::CString;

use opendp_core::erased::{AnyDistance, AnyDomain, AnyFunction, AnyMetric, AnyValue};
use opendp_core::{Constructed, Domain as _, Error, PrivacyProfile, Result, Space, TypeName};
use opendp_ledger::Caution;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use super::column::Column;
use super::{
    Domain, Function, Measure, Measurement, Metric, Odometer, PySpace, Transformation, known,
};
use crate::errors::{OrRaise, detached};
use crate::interactive::{AnySession, OdometerQueryable};
use crate::profile::Profile;
use crate::{json, values};

/// Check that a value from Python is a member of a domain, and run a function on it.
fn run(arg: &Bound<'_, PyAny>, domain: &AnyDomain, function: &AnyFunction) -> PyResult<AnyValue> {
    let py = arg.py();
    let column = Column::of(arg, domain)?;
    if let Some(result) = column.run(function, domain, py) {
        return result;
    }
    let value = column.value(py, domain)?;
    detached(py, || {
        if !domain.member(&value) {
            return Err(values::outside(domain));
        }
        function.eval(&value)
    })
}

macro_rules! runs {
    ($($class:ident { $(#[$run:meta])* __call__; $(#[$map:meta])* map; })*) => {$(
        #[pymethods]
        impl $class {
            $(#[$run])*
            fn __call__<'py>(&self, arg: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                self.before(arg.py())?;
                let value = run(arg, self.made.input().domain(), self.made.function())?;
                self.output(arg.py(), &value)
            }
            $(#[$run])*
            fn invoke<'py>(&self, arg: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                self.__call__(arg)
            }
            $(#[$map])*
            fn map<'py>(&self, d_in: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                bound(d_in, self.made.input(), |d_in| self.made.map(d_in))
            }
            /// Return whether the map proves the bound `d_out` at the distance `d_in`.
            fn check(&self, d_in: &Bound<'_, PyAny>, d_out: &Bound<'_, PyAny>) -> PyResult<bool> {
                check(Constructed::from(self.made.clone()), d_in, d_out)
            }
            /// The function of the object, without the map. A call checks that the data are a
            /// member of the input domain.
            #[getter]
            fn function(&self) -> Function {
                let domain = self.made.input().domain();
                let (made, input) = (self.made.function().clone(), domain.carrier());
                let function = Function::new(made, self.links, input, self.result());
                Function { domain: Some(domain.clone()), ..function }
            }
        }
    )*};
}
runs! {
    Transformation {
        /// Run the transformation on data.
        __call__;
        /// Bound the distance of outputs, given the distance of inputs.
        map;
    }
    Measurement {
        /// Release: run the measurement once on data.
        __call__;
        /// Bound the privacy loss, given the distance of data sets.
        map;
    }
}
impl Transformation {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "a measurement can warn")]
    fn before(&self, _py: Python<'_>) -> PyResult<()> {
        Ok(())
    }
    fn output<'py>(&self, py: Python<'py>, value: &AnyValue) -> PyResult<Bound<'py, PyAny>> {
        values::to_python(py, value)
    }
    fn result(&self) -> Option<TypeName> {
        known(&self.made.output().domain().carrier())
    }
}
/// The constructors whose releases are sessions on their input space.
const SESSIONS: [&str; 3] =
    ["make_adaptive_composition", "make_privacy_filter", "make_sequential_composition"];

impl Measurement {
    /// Warn before a release if the loss at a small distance has no bound, as the command `opendp`
    /// does. Such a release may be the exact answer, for example if the scale of its noise is 0.
    fn before(&self, py: Python<'_>) -> PyResult<()> {
        if self.warning.get().is_none() {
            let made = Constructed::from(self.made.clone());
            let caution = || Caution::at_small_distance(&made, |_| None)?.of_release();
            // A map can run Python code, which can also call this measurement. So no lock is held.
            let text = detached(py, || Ok(caution()))?.and_then(|text| CString::new(text).ok());
            let _ = self.warning.set(text);
        }
        match self.warning.get() {
            Some(Some(text)) => PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1),
            _ => Ok(()),
        }
    }
    /// Convert a release to a Python value. If the release is a session, the session can state its
    /// loss at a distance in the metric of the measurement. The session can do so only if the input
    /// space of the measurement is the input space of the session. So a session that a chain opens
    /// does not get a metric: a step before the session can change the distances.
    pub(crate) fn output<'py>(
        &self,
        py: Python<'py>,
        value: &AnyValue,
    ) -> PyResult<Bound<'py, PyAny>> {
        match value.downcast_ref::<AnySession>() {
            Ok(session) if self.recipe.is_call_of(&SESSIONS) => {
                let metric = Some(self.made.input().metric().clone());
                let opened = OdometerQueryable::new(session.clone(), metric);
                Ok(Bound::new(py, opened)?.into_any())
            }
            _ => values::to_python(py, value),
        }
    }
    fn result(&self) -> Option<TypeName> {
        self.release.clone()
    }
}
#[pymethods]
impl Transformation {
    /// The domain of the transformation's output.
    #[getter]
    fn output_domain(&self) -> Domain {
        Domain { made: self.made.output().domain().clone() }
    }
    /// The metric on the transformation's outputs.
    #[getter]
    fn output_metric(&self) -> Metric {
        Metric { made: self.made.output().metric().clone() }
    }
    /// The space of the transformation's output.
    #[getter]
    fn output_space(&self) -> PySpace {
        PySpace::of(self.made.output())
    }
    fn __repr__(&self) -> String {
        let (input, output) = (self.made.input(), self.made.output());
        format!("Transformation({} -> {})", shown(input), shown(output))
    }
}
#[pymethods]
impl Measurement {
    /// Return a bound on the error of each number of a release. The error exceeds the bound with
    /// probability at most `alpha`. A bound is `None` if it is not known.
    fn accuracy(&self, py: Python<'_>, alpha: f64) -> PyResult<Vec<Option<f64>>> {
        self.made.accuracy(alpha).or_raise(py)
    }
    /// The privacy measure of the measurement.
    #[getter]
    fn output_measure(&self) -> Measure {
        Measure { made: self.made.measure().clone() }
    }
    fn __repr__(&self) -> String {
        format!("Measurement({} -> {})", shown(self.made.input()), measure(self.made.measure()))
    }
}
#[pymethods]
impl Function {
    /// Run the function on a value. If the function belongs to a measurement or a transformation,
    /// the value must be a member of the input domain.
    fn __call__<'py>(&self, arg: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = arg.py();
        if let Some(domain) = &self.domain {
            let value = run(arg, domain, &self.made)?;
            return values::to_python(py, &value);
        }
        let value = values::of_type(arg, &self.input).or_raise(py)?;
        let value = detached(py, || self.made.eval(&value))?;
        values::to_python(py, &value)
    }
    fn __repr__(&self) -> &'static str {
        "Function"
    }
}
#[pymethods]
impl Odometer {
    /// Open the odometer on data, to ask questions.
    fn __call__(&self, arg: &Bound<'_, PyAny>) -> PyResult<OdometerQueryable> {
        let py = arg.py();
        let domain = self.made.input().domain();
        let value = Column::of(arg, domain)?.value(py, domain)?;
        let session = detached(py, || {
            if domain.member(&value) {
                self.made.invoke(&value)
            } else {
                Err(values::outside(domain))
            }
        })?;
        Ok(OdometerQueryable::new(session, Some(self.made.input().metric().clone())))
    }
    /// Open the odometer on data, to ask questions.
    fn invoke(&self, arg: &Bound<'_, PyAny>) -> PyResult<OdometerQueryable> {
        self.__call__(arg)
    }
    /// The privacy measure of the odometer.
    #[getter]
    fn output_measure(&self) -> Measure {
        Measure { made: self.made.measure().clone() }
    }
    fn __repr__(&self) -> String {
        format!("Odometer({} -> {})", shown(self.made.input()), measure(self.made.measure()))
    }
}
/// Evaluate a map at a distance that is a Python value. Some privacy losses are curves. Return a
/// curve as a `Profile`. Warn if there are no neighbours at the distance.
fn bound<'py>(
    d_in: &Bound<'py, PyAny>,
    space: &Space<AnyDomain, AnyMetric>,
    map: impl Fn(&AnyDistance) -> Result<AnyDistance> + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let py = d_in.py();
    let d_in = json::distance_from_python(d_in, "d_in").or_raise(py)?;
    let (d_out, neighbours) = detached(py, || {
        let located = |error: Error| json::infinite(error.at("d_in"), &d_in, "d_in");
        let d_in = space.metric().decode(&d_in).map_err(located)?;
        Ok((map(&d_in)?, space.check_neighbours(&d_in)))
    })?;
    warn(py, neighbours)?;
    match d_out.downcast_ref::<PrivacyProfile>() {
        Ok(profile) => Ok(Bound::new(py, Profile::new(profile.clone()))?.into_any()),
        Err(_) => json::distance(py, &d_out),
    }
}
fn check(made: Constructed, d_in: &Bound<'_, PyAny>, d_out: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = d_in.py();
    let d_in = json::distance_from_python(d_in, "d_in").or_raise(py)?;
    let d_out = json::distance_from_python(d_out, "d_out").or_raise(py)?;
    let (holds, neighbours) = detached(py, move || {
        let located = |error: Error| json::infinite(error, &d_in, "d_in");
        Ok((made.check(&d_in, &d_out).map_err(located)?, made.check_neighbours(&d_in)))
    })?;
    warn(py, neighbours)?;
    Ok(holds)
}
/// Warn if a check found no neighbours at a distance, as the command `opendp` does. Without
/// neighbours, the loss is 0 even without noise. This loss is correct, but such a release is not
/// protected. During a search, do not warn: a search tries values of its own.
fn warn(py: Python<'_>, neighbours: Result<()>) -> PyResult<()> {
    let Err(error) = neighbours else { return Ok(()) };
    let searches = py.import("opendp_rs._cautions")?.getattr("SEARCHES")?;
    if searches.getattr("running")?.is_truthy()? {
        return Ok(());
    }
    let text = CString::new(error.to_string()).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
}
/// Check the distances of a search for a parameter. They must be valid, and there must be
/// neighbours at `d_in`. The command `opendp` makes the same check. If `made` is neither a
/// measurement nor a transformation, check nothing.
#[pyfunction]
pub(crate) fn check_distances(
    made: &Bound<'_, PyAny>,
    d_in: &Bound<'_, PyAny>,
    d_out: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = made.py();
    let made = if let Ok(made) = made.cast::<Measurement>() {
        Constructed::from(made.get().made.clone())
    } else if let Ok(made) = made.cast::<Transformation>() {
        Constructed::from(made.get().made.clone())
    } else {
        return Ok(());
    };
    let d_in = json::distance_from_python(d_in, "d_in").or_raise(py)?;
    let d_out = json::distance_from_python(d_out, "d_out").or_raise(py)?;
    detached(py, move || {
        made.check_distances(&d_in, &d_out)?;
        made.check_neighbours(&d_in)
    })
}
fn shown(space: &Space<AnyDomain, AnyMetric>) -> String {
    format!(
        "{}, {}",
        Domain { made: space.domain().clone() }.call(),
        Metric { made: space.metric().clone() }.call()
    )
}
fn measure(measure: &opendp_core::erased::AnyMeasure) -> String {
    Measure { made: measure.clone() }.call()
}
