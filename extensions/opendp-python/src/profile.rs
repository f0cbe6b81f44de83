//! Privacy profiles.

use opendp_core::PrivacyProfile;
use pyo3::prelude::*;

use crate::errors::detached;

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
