//! The release of `conformance/speed.py` in Rust, to compare the times in one process.

use std::hint::black_box;
use std::time::Instant;

use numpy::{PyArrayMethods, PyReadonlyArray1};
use opendp_core::{
    AtomDomain, Bounds, Domain, Error, MaxDivergence, Measurement, Result, Space,
    SymmetricDistance, VectorDomain,
};
use opendp_measurements::{Scale, make_laplace};
use opendp_transformations::{make_clamp, make_sum};
use pyo3::prelude::*;

use crate::errors::{OrRaise, detached};

type Rows = VectorDomain<AtomDomain<f64>>;
type Release = Measurement<Rows, SymmetricDistance, MaxDivergence, f64>;

/// A measurement in Rust, and a copy of the rows. The measurement releases a noisy sum of the
/// clamped rows.
#[pyclass(frozen, module = "opendp_rs")]
pub(crate) struct RustRelease {
    release: Release,
    rows: Vec<f64>,
}
#[pymethods]
impl RustRelease {
    #[new]
    fn new(rows: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let (py, rows) = (rows.py(), rows.to_vec()?);
        Ok(RustRelease { release: release().or_raise(py)?, rows })
    }
    /// Release once, and return how many seconds the release took. If `checked` is true, first
    /// check that the rows are a member of the domain. Each release from Python makes this check.
    #[allow(clippy::disallowed_methods, reason = "the release does not depend on this time")]
    fn seconds(&self, py: Python<'_>, checked: bool) -> PyResult<f64> {
        detached(py, || {
            let start = Instant::now();
            if checked && !self.release.input().domain().member(&self.rows) {
                return Err(Error::argument("rows", "expected numbers other than NaN"));
            }
            black_box(self.release.invoke(&self.rows)?);
            Ok(start.elapsed().as_secs_f64())
        })
    }
}
fn release() -> Result<Release> {
    let rows = Space::new(VectorDomain::new(AtomDomain::non_nan()), SymmetricDistance)?;
    make_clamp(rows, Bounds::new(0.0, 10.0)?)?
        .then(make_sum)?
        .then(|sum| make_laplace(sum, Scale::new(1.0)?, None))
}
