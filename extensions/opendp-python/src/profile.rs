//! Losses that are curves: privacy profiles and Renyi curves.

use opendp_core::{Codec as _, PrivacyProfile, RenyiCurve, RenyiDivergence, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use serde_json::{Value as Json, json};

use crate::errors::detached;
use crate::json;

/// The smallest known delta for each epsilon, and the smallest known epsilon for each delta.
#[pyclass(frozen, name = "PrivacyProfile", module = "opendp_rs")]
pub(crate) struct Profile(PrivacyProfile);
impl Profile {
    pub(crate) fn new(profile: PrivacyProfile) -> Self {
        Profile(profile)
    }
    pub(crate) fn inner(&self) -> &PrivacyProfile {
        &self.0
    }
}
#[pymethods]
impl Profile {
    /// Return a bound on delta, given epsilon.
    fn delta(&self, py: Python<'_>, epsilon: f64) -> PyResult<f64> {
        detached(py, || self.0.delta(epsilon))
    }
    /// Return a bound on epsilon, given delta.
    fn epsilon(&self, py: Python<'_>, delta: f64) -> PyResult<f64> {
        detached(py, || self.0.epsilon(delta))
    }
    fn __repr__(&self) -> &'static str {
        "PrivacyProfile"
    }
}

/// A bound on the Renyi divergence of each order. A call with an order returns the bound.
///
/// Budgets in Renyi divergence add up losses at twenty orders, from 1.125 to 128. The key `"renyi"`
/// has the points of the curve at these orders. So `dict(curve)` is the form of the curve in a
/// document.
#[pyclass(frozen, name = "RenyiCurve", module = "opendp_rs")]
pub(crate) struct Renyi(RenyiCurve);
impl Renyi {
    pub(crate) fn new(curve: RenyiCurve) -> Self {
        Renyi(curve)
    }
    pub(crate) fn inner(&self) -> &RenyiCurve {
        &self.0
    }
    /// Write the curve as points at the [orders](RenyiDivergence::ORDERS) of a budget. At these
    /// orders, a budget that is read from the points is exactly this curve.
    ///
    /// # Errors
    /// The error of the curve when the curve fails at an order. A budget without this order would
    /// be larger than the curve.
    pub(crate) fn points(&self) -> Result<Json> {
        let bound = |order: f64| self.0.epsilon(order).map(|loss| (order, loss));
        let points: Result<Vec<(f64, f64)>> =
            RenyiDivergence::ORDERS.into_iter().map(bound).collect();
        Ok(json!({"renyi": points?.to_json()}))
    }
}
#[pymethods]
impl Renyi {
    /// Return a bound on the Renyi divergence of the order `alpha`, which is above 1.
    fn __call__(&self, py: Python<'_>, alpha: f64) -> PyResult<f64> {
        detached(py, || self.0.epsilon(alpha))
    }
    /// Return a bound on the Renyi divergence of the order `alpha`, which is above 1.
    fn epsilon(&self, py: Python<'_>, alpha: f64) -> PyResult<f64> {
        self.__call__(py, alpha)
    }
    /// A curve has no items in an order.
    fn __iter__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a Renyi curve is not a list: call the curve with an order"))
    }
    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        let points = detached(py, || self.points())?;
        json::points(py, &points)?.get_item(key)
    }
    fn keys(&self) -> [&'static str; 1] {
        ["renyi"]
    }
    fn __repr__(&self) -> &'static str {
        "RenyiCurve"
    }
}

macro_rules! copied {
    ($($class:ident: $reason:expr;)*) => {$(
        #[pymethods]
        impl $class {
            /// Return the curve itself, because a curve never changes.
            fn __copy__(this: Py<Self>) -> Py<Self> {
                this
            }
            /// Return the curve itself, because a curve never changes.
            fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
                this
            }
            /// A curve can be a function, which cannot be written down. So a curve is not pickled.
            fn __reduce__(&self) -> PyResult<()> {
                Err(PyTypeError::new_err($reason))
            }
        }
    )*};
}
copied! {
    Profile: "a privacy profile can be a function, so it cannot be pickled; pickle the measurement \
              whose map returned it, or the numbers that you need, as in `profile.delta(epsilon)`";
    Renyi: "a Renyi curve can be a function, so it cannot be pickled; pickle the measurement whose \
            map returned it, or the points of the curve, as in `dict(curve)`";
}
