//! Properties that name the types of distances and losses.

use opendp_core::TypeName;
use opendp_core::erased::{AnyDistance, AnyMeasure, AnyMetric};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use serde_json::json;

use super::{Measure, Measurement, Metric, Odometer, Transformation};

macro_rules! numbers {
    ($($t:ident)*) => {
        /// Return the name of the type of a distance that is one number.
        fn number(distance: &AnyDistance) -> Option<&'static str> {
            $(
                if distance.downcast_ref::<$t>().is_ok() {
                    return Some(stringify!($t));
                }
            )*
            None
        }
    };
}
numbers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

/// Return the name of the type of the distances of a metric.
fn of_metric(metric: &AnyMetric) -> PyResult<String> {
    let distance = metric.decode(&json!(1)).ok();
    named(distance.as_ref().and_then(number).map(str::to_owned), &metric.inner_type())
}
/// Return the name of the type of the losses of a measure.
fn of_measure(measure: &AnyMeasure) -> PyResult<String> {
    let name = measure.inner_type();
    named(loss(measure, &name), &name)
}
fn loss(measure: &AnyMeasure, name: &TypeName) -> Option<String> {
    let curve = match name.head() {
        "SmoothedMaxDivergence" => Some("PrivacyProfile"),
        "RenyiDivergence" => Some("RenyiCurve"),
        _ => None,
    };
    if curve.is_some() {
        return curve.map(str::to_owned);
    }
    if name.head() == "Approximate" {
        let inner = match name.args().first()?.head() {
            "SmoothedMaxDivergence" => "PrivacyProfile",
            "RenyiDivergence" => "RenyiCurve",
            _ => "f64",
        };
        return Some(format!("({inner}, f64)"));
    }
    number(&measure.decode(&json!(1)).ok()?).map(str::to_owned)
}
fn named(found: Option<String>, owner: &TypeName) -> PyResult<String> {
    found.ok_or_else(|| {
        PyAttributeError::new_err(format!("the distances of {owner} are not numbers"))
    })
}

#[pymethods]
impl Metric {
    /// The name of the type of the distances.
    #[getter]
    fn distance_type(&self) -> PyResult<String> {
        of_metric(&self.made)
    }
}
#[pymethods]
impl Measure {
    /// The name of the type of the losses.
    #[getter]
    fn distance_type(&self) -> PyResult<String> {
        of_measure(&self.made)
    }
}
macro_rules! inputs {
    ($($class:ident)*) => {$(
        #[pymethods]
        impl $class {
            /// The name of the type of the distances of inputs.
            #[getter]
            fn input_distance_type(&self) -> PyResult<String> {
                of_metric(self.made.input().metric())
            }
        }
    )*};
}
inputs!(Transformation Measurement Odometer);
#[pymethods]
impl Transformation {
    /// The name of the type of the distances of outputs.
    #[getter]
    fn output_distance_type(&self) -> PyResult<String> {
        of_metric(self.made.output().metric())
    }
}
macro_rules! losses {
    ($($class:ident)*) => {$(
        #[pymethods]
        impl $class {
            /// The name of the type of the losses.
            #[getter]
            fn output_distance_type(&self) -> PyResult<String> {
                of_measure(self.made.measure())
            }
        }
    )*};
}
losses!(Measurement Odometer);
