//! Functions and maps that a user writes in Python.

use std::sync::Arc;

use opendp_core::erased::{AnyDistance, AnyFunction, AnyMeasure, AnyMetric, AnyValue};
use opendp_core::{
    Arg, Codec, Distance as _, Domain as _, Error, Function, Named, PrivacyMap, PrivacyProfile,
    RenyiCurve, Result, StabilityMap, TypeName,
};
use opendp_measurements::new_privacy_profile;
use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};
use serde_json::{Value as Json, json};

use crate::errors::{self, OrRaise, TOO_NESTED};
use crate::extrinsic::Extrinsic;
use crate::json;
use crate::objects::{Domain as PyDomain, Function as PyFunction, Measure, Metric, call_of, known};
use crate::profile::{Profile, Renyi};
use crate::values::{self, Cell as _};

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
                Err(error) => {
                    let error = raised(py, &error);
                    if is_stop(&error) {
                        errors::keep_stop(error.clone());
                    }
                    Err(error)
                }
            }
        })
    }
    /// Evaluate a curve that is a Python function. `name` is the name of the curve.
    fn at(&self, x: f64, name: &str) -> Result<f64> {
        let expected = || Error::FailedMap(format!("{name}: expected a number"));
        self.call(
            |py| Ok(PyFloat::new(py, x).into_any().unbind()),
            |y| bound(y)?.ok_or_else(expected),
        )
    }
    /// Evaluate a map that is a Python function at a distance. `read` converts the distance that
    /// the map returns.
    pub(crate) fn distance(
        &self,
        d_in: &AnyDistance,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<AnyDistance>,
    ) -> Result<AnyDistance> {
        self.call(
            |py| Ok(json::distance(py, d_in)?.unbind()),
            |d_out| {
                let d_out = read(d_out).and_then(|d_out| d_out.check().map(|()| d_out));
                d_out.map_err(|error| error.at("the distance that a map in Python returned"))
            },
        )
    }
}
/// Return an error that names the class of an exception. The text of the exception can contain
/// data, so the text is left out.
///
/// `KeyboardInterrupt` and `SystemExit` ask the program to stop. The error for each of these
/// exceptions has a fixed text. [`stopped`] recognizes these two texts. The error of a call that is
/// nested too deeply also has a fixed text, which is kept.
#[cold]
pub(crate) fn raised(py: Python<'_>, error: &PyErr) -> Error {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Error::FailedFunction(INTERRUPTED.into());
    }
    if error.is_instance_of::<PySystemExit>(py) {
        return Error::FailedFunction(EXITED.into());
    }
    let name = error.get_type(py).name().map_or_else(|_| "?".into(), |name| name.to_string());
    let message = || error.value(py).getattr("message")?.extract::<String>();
    if name == "FailedFunctionError" && message().is_ok_and(|text| text == TOO_NESTED) {
        return Error::FailedFunction(TOO_NESTED.into());
    }
    Error::FailedFunction(format!(
        "a Python function raised {name}; its message is left out, because it may contain data"
    ))
}

const INTERRUPTED: &str = "a Python function was stopped by KeyboardInterrupt";
const EXITED: &str = "a Python function was stopped by SystemExit";

/// If a function or a map of a user raised an exception that asks the program to stop, return a new
/// exception of the same class. Code that handles errors of this library would catch any other
/// error and continue. So Python must receive an exception of this class. The exception is new,
/// because the text, the frames and the exit status of the raised exception can contain data. The
/// new exit status is 1, which means a failure.
#[cold]
pub(crate) fn stopped(error: &Error) -> Option<PyErr> {
    match error {
        Error::At { source, .. } => stopped(source),
        Error::FailedFunction(text) if text == INTERRUPTED => {
            Some(PyKeyboardInterrupt::new_err(()))
        }
        Error::FailedFunction(text) if text == EXITED => Some(PySystemExit::new_err(1)),
        _ => None,
    }
}
/// Return whether an error stands for an exception that asks the program to stop.
pub(crate) fn is_stop(error: &Error) -> bool {
    stopped(error).is_some()
}

/// Return the value of a call of Python, or `None` if the call raised an exception.
///
/// # Errors
/// The error of [`raised`] when the exception asks the program to stop.
pub(crate) fn unless_stopped<T>(py: Python<'_>, answer: PyResult<T>) -> Result<Option<T>> {
    let asks_to_stop = |error: &PyErr| {
        error.is_instance_of::<PyKeyboardInterrupt>(py) || error.is_instance_of::<PySystemExit>(py)
    };
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if asks_to_stop(&error) => Err(raised(py, &error)),
        Err(_) => Ok(None),
    }
}

/// A stability map or a privacy map from a user, as an argument of a constructor.
#[pyclass(frozen, module = "opendp_rs")]
pub(crate) struct Callback {
    function: Arc<Callable>,
    output: Output,
}
/// The metric of the distances or the measure of the losses that a map returns.
#[derive(Clone)]
enum Output {
    Metric(AnyMetric),
    Measure(AnyMeasure),
}
impl Callback {
    /// Convert the map to an argument.
    pub(crate) fn argument(&self) -> Arg {
        let function = self.function.clone();
        match self.output.clone() {
            Output::Metric(metric) => {
                Arg::value(StabilityMap::<AnyMetric, AnyMetric>::new(move |d_in| {
                    function.distance(d_in, |d_out| {
                        let json = json::distance_from_python(d_out, "d_out")?;
                        let located = |error| json::infinite(error, &json, "d_out");
                        metric.decode(&json).map_err(located)
                    })
                }))
            }
            Output::Measure(measure) => {
                let read = reader(&measure);
                Arg::value(PrivacyMap::<AnyMetric, AnyMeasure>::new(move |d_in| {
                    function.distance(d_in, |d_out| read(&measure, d_out))
                }))
            }
        }
    }
}
/// Read a float that bounds a loss. A float of numpy with more than 64 bits would be rounded,
/// perhaps down, so it is refused.
fn bound(value: &Bound<'_, PyAny>) -> Result<Option<f64>> {
    let bytes = value.getattr("itemsize").and_then(|bytes| bytes.extract::<usize>());
    let is_wide = unless_stopped(value.py(), bytes)?.is_some_and(|bytes| 8 < bytes);
    if is_wide { Ok(None) } else { f64::from_python(value) }
}
type Read = fn(&AnyMeasure, &Bound<'_, PyAny>) -> Result<AnyDistance>;
/// Return the function that reads the losses of a measure.
fn reader(measure: &AnyMeasure) -> Read {
    let empty = json!({"renyi": []});
    if measure.decode(&empty).is_ok_and(|loss| loss.downcast_ref::<RenyiCurve>().is_ok()) {
        return |_, loss| curve(loss).map(AnyDistance::new);
    }
    let pair = measure.decode(&json!([empty, 0.0]));
    if pair.is_ok_and(|loss| loss.downcast_ref::<(RenyiCurve, f64)>().is_ok()) {
        return |_, loss| {
            let pair = loss.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
            let parts =
                pair.and_then(|pair| Some((pair.get_item(0).ok()?, pair.get_item(1).ok()?)));
            let expected =
                || Error::FailedMap("expected a tuple of a Renyi curve and a delta".into());
            let (first, delta) = parts.ok_or_else(expected)?;
            let delta = bound(&delta)?.ok_or_else(expected)?;
            Ok(AnyDistance::new((curve(&first)?, delta)))
        };
    }
    loss
}
/// Read a Renyi curve that a map computed. The curve can be a Python function that takes an order.
/// This function is called only when its value at an order is needed.
///
/// # Errors
/// `FailedMap` when the curve is not a Renyi curve, a function, or a dictionary with points. The
/// orders of the points must be above 1 and increase. The losses must not decrease.
fn curve(loss: &Bound<'_, PyAny>) -> Result<RenyiCurve> {
    if let Ok(curve) = loss.cast::<Renyi>() {
        return Ok(curve.get().inner().clone());
    }
    if loss.is_callable() {
        let function = Callable(loss.clone().unbind());
        return Ok(RenyiCurve::new(move |order| {
            function.at(order, "the loss at an order of a Renyi curve")
        }));
    }
    let json = json::from_python(loss)?;
    let points = json.as_object().filter(|json| json.len() == 1).and_then(|json| json.get("renyi"));
    let points = points.and_then(|points| Vec::<(f64, f64)>::from_json(points).ok());
    let valid = |points: &Vec<(f64, f64)>| {
        let first = points.first().is_some_and(|(order, loss)| 1.0 < *order && 0.0 <= *loss);
        first && points.is_sorted_by(|(a, x), (b, y)| a < b && x <= y)
    };
    points.filter(valid).map(RenyiCurve::from_points).ok_or_else(|| {
        Error::FailedMap(
            "a loss in Renyi divergence: expected a function that takes an order, such as `lambda \
             order: rho * order`, or points such as `{\"renyi\": [[2.0, 0.5], [8.0, 2.0]]}`; each \
             point has an order and a loss; the orders must be above 1 and increase, and the losses \
             must be at least 0 and must not decrease"
                .into(),
        )
    })
}
/// Read a loss that a map computed. A measure rounds every loss down when it reads the loss. This
/// rounding is right for a bound that a user states. But the loss of a map must not be rounded
/// down. So if the measure has changed the loss, the result is an error.
fn loss(measure: &AnyMeasure, d_out: &Bound<'_, PyAny>) -> Result<AnyDistance> {
    if let Ok(profile) = d_out.cast::<Profile>() {
        // Find out whether the losses of the measure are profiles. They are profiles if the measure
        // can read an empty profile.
        let read = measure.decode(&json!({"profile": []}))?;
        return read
            .downcast_ref::<PrivacyProfile>()
            .map(|_| AnyDistance::new(profile.get().inner().clone()));
    }
    let json = json::from_python(d_out)?;
    let loss = measure.decode(&json)?;
    if same(&loss.to_json(), &json) {
        return Ok(loss);
    }
    let advice = if json.get("profile").is_some() {
        "return a privacy profile, which `dp.new_privacy_profile` makes from a function"
    } else {
        "round it up"
    };
    Err(Error::FailedMap(format!("the loss does not fit the type of the measure: {advice}")))
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
/// Make a privacy profile from a Python callable, which returns a delta for each epsilon.
#[pyfunction]
pub(crate) fn privacy_profile(py: Python<'_>, curve: Py<PyAny>) -> PyResult<Profile> {
    let curve = Callable(curve);
    let profile =
        new_privacy_profile(move |epsilon| curve.at(epsilon, "the curve of a privacy profile"));
    profile.map(Profile::new).or_raise(py)
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
    values::check_type(&output).map_err(|error| error.at("argument `TO`")).or_raise(py)?;
    let (callable, result) = (Callable(function), known(&output));
    let made: AnyFunction = Function::map(move |input: &AnyValue| -> Result<AnyValue> {
        callable.call(
            |py| Ok(values::to_python(py, input)?.unbind()),
            |answer| {
                let value = values::of_type(answer, &output);
                value.map_err(|error| error.at("the value that a function in Python returned"))
            },
        )
    });
    Ok(PyFunction::new(made, 1, AnyValue::type_name(), result))
}
/// Make a function from a Python callable whose outputs are members of a domain. Check each output,
/// because the losses of later steps hold only for members of this domain. A function of the
/// library is evaluated without Python, unless its input is a Python object.
#[pyfunction]
pub(crate) fn function_into(function: Py<PyAny>, output: &Bound<'_, PyDomain>) -> PyFunction {
    let (py, domain) = (output.py(), output.get().made.clone());
    let result = known(&domain.carrier());
    let own = function.bind(py).cast::<PyFunction>().ok().map(|own| own.get().made.clone());
    let callable = Callable(function);
    let made: AnyFunction = Function::map(move |input: &AnyValue| -> Result<AnyValue> {
        let value = match &own {
            // If the input is a Python object, call the function from Python. This call converts
            // the object to the input type of the function.
            Some(own) if input.downcast_ref::<Extrinsic>().is_err() => {
                let value = own.eval(input)?;
                if value.inner_type() == domain.carrier() {
                    Some(value)
                } else {
                    Python::attach(|py| {
                        let Ok(value) = values::to_python(py, &value) else { return Ok(None) };
                        values::converted(&value, &domain)
                    })?
                }
            }
            _ => callable.call(
                |py| Ok(values::to_python(py, input)?.unbind()),
                |answer| values::converted(answer, &domain),
            )?,
        };
        value.filter(|value| domain.member(value)).ok_or_else(|| {
            Error::FailedFunction(format!(
                "a Python function returned a value outside of its output domain {}; return only \
                 members, or state a wider output domain",
                call_of(&domain.to_json())
            ))
        })
    });
    PyFunction::new(made, 1, AnyValue::type_name(), result)
}
