//! Functions and maps that a user writes in Python.

use std::sync::Arc;

use opendp_core::erased::{AnyDistance, AnyFunction, AnyMeasure, AnyMetric, AnyValue};
use opendp_core::{
    Arg, Codec, Distance as _, Error, Function, Named, PrivacyMap, Result, StabilityMap, TypeName,
};
use pyo3::prelude::*;
use serde_json::Value as Json;

use crate::errors::OrRaise;
use crate::objects::{Function as PyFunction, Measure, Metric};
use crate::{json, values};

/// A Python callable that threads share.
pub(crate) struct Callable(Py<PyAny>);
impl Callable {
    fn call<T>(
        &self,
        argument: impl FnOnce(Python<'_>) -> PyResult<Py<PyAny>>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<T>,
    ) -> Result<T> {
        Python::attach(|py| {
            let answer = argument(py).and_then(|argument| self.0.bind(py).call1((argument,)));
            match answer {
                Ok(answer) => read(&answer),
                Err(error) => Err(raised(py, &error)),
            }
        })
    }
    /// Evaluate a map at a distance.
    pub(crate) fn distance(
        &self,
        d_in: &AnyDistance,
        read: impl FnOnce(&Json) -> Result<AnyDistance>,
    ) -> Result<AnyDistance> {
        self.call(
            |py| Ok(json::distance(py, &d_in.to_json())?.unbind()),
            |d_out| {
                let d_out = read(&json::from_python(d_out)?)?;
                d_out.check().map(|()| d_out)
            },
        )
    }
}
/// Return an error with the class of an exception. The text of the exception can contain data, so
/// it is left out.
#[cold]
fn raised(py: Python<'_>, error: &PyErr) -> Error {
    let name = error.get_type(py).name().map_or_else(|_| "?".into(), |name| name.to_string());
    Error::FailedFunction(format!(
        "a Python function raised {name}; its message is left out, because it may contain data"
    ))
}

/// A function or a map from a user, as an argument of a constructor.
#[pyclass(frozen, module = "opendp_rs")]
pub(crate) struct Callback {
    function: Arc<Callable>,
    output: Output,
}
#[derive(Clone)]
enum Output {
    Metric(AnyMetric),
    Measure(AnyMeasure),
}
impl Callback {
    /// Convert the function or map to an argument.
    pub(crate) fn argument(&self) -> Arg {
        let function = self.function.clone();
        match self.output.clone() {
            Output::Metric(metric) => {
                Arg::value(StabilityMap::<AnyMetric, AnyMetric>::new(move |d_in| {
                    function.distance(d_in, |d_out| metric.decode(d_out))
                }))
            }
            Output::Measure(measure) => {
                Arg::value(PrivacyMap::<AnyMetric, AnyMeasure>::new(move |d_in| {
                    function.distance(d_in, |d_out| loss(&measure, d_out))
                }))
            }
        }
    }
}
/// Read a loss that a map computed. The measure reads a loss as a bound from a user, so it rounds
/// the loss down. The loss of a map must not be rounded down. So the result is an error if the
/// measure has changed the loss.
fn loss(measure: &AnyMeasure, json: &Json) -> Result<AnyDistance> {
    let loss = measure.decode(json)?;
    if same(&loss.to_json(), json) {
        return Ok(loss);
    }
    Err(Error::FailedMap("the loss does not fit the type of the measure: round it up".into()))
}
fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => left.as_f64() == right.as_f64(),
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        _ => left == right,
    }
}
/// Make a stability map from a Python callable. The callable returns distances of the given metric.
#[pyfunction]
pub(crate) fn stability_map(function: Py<PyAny>, output: &Bound<'_, Metric>) -> Callback {
    let output = Output::Metric(output.get().made.clone());
    Callback { function: Arc::new(Callable(function)), output }
}
/// Make a privacy map from a Python callable. The callable returns losses in the given measure.
#[pyfunction]
pub(crate) fn privacy_map(function: Py<PyAny>, measure: &Bound<'_, Measure>) -> Callback {
    let output = Output::Measure(measure.get().made.clone());
    Callback { function: Arc::new(Callable(function)), output }
}
/// Make a function from a Python callable. Without a type, the output of the function is a Python
/// object.
#[pyfunction]
#[pyo3(signature = (function, output = None))]
pub(crate) fn function(
    py: Python<'_>,
    function: Py<PyAny>,
    output: Option<&str>,
) -> PyResult<PyFunction> {
    let output: TypeName = output.unwrap_or("ExtrinsicObject").parse().or_raise(py)?;
    let callable = Callable(function);
    let made: AnyFunction = Function::map(move |input: &AnyValue| -> Result<AnyValue> {
        callable.call(
            |py| Ok(values::to_python(py, input)?.unbind()),
            |answer| values::of_type(answer, &output),
        )
    });
    Ok(PyFunction::new(made, 1, AnyValue::type_name()))
}
