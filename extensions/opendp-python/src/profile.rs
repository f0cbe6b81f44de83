//! Privacy profiles.

use opendp_core::PrivacyProfile;
use pyo3::prelude::*;

use crate::errors::detached;

/// For each epsilon the smallest delta that is known, and the other way round.
#[pyclass(frozen, name = "PrivacyProfile", module = "opendp_rs")]
pub(crate) struct Profile(PrivacyProfile);
impl Profile {
    pub(crate) fn new(profile: PrivacyProfile) -> Self {
        Profile(profile)
    }
}
#[pymethods]
impl Profile {
    /// Bound delta, given epsilon.
    fn delta(&self, py: Python<'_>, epsilon: f64) -> PyResult<f64> {
        detached(py, || self.0.delta(epsilon))
    }
    /// Bound epsilon, given delta.
    fn epsilon(&self, py: Python<'_>, delta: f64) -> PyResult<f64> {
        detached(py, || self.0.epsilon(delta))
    }
    fn __repr__(&self) -> &'static str {
        "PrivacyProfile"
    }
}
