//! Conversions between the scale and the error of noise, and a good branching factor of trees.

use opendp_core::Error;
use opendp_measurements as from;
use opendp_transformations as trees;
use pyo3::prelude::*;

use crate::errors::OrRaise;

macro_rules! conversions {
    ($($(#[$doc:meta])* $name:ident($given:ident);)*) => {
        $(
            $(#[$doc])*
            #[pyfunction]
            #[pyo3(signature = ($given, alpha, T=None))]
            #[allow(non_snake_case, reason = "the name of the argument in Python")]
            pub(crate) fn $name(
                py: Python<'_>,
                $given: f64,
                alpha: f64,
                T: Option<&Bound<'_, PyAny>>,
            ) -> PyResult<f64> {
                check_float(py, T)?;
                from::$name($given, alpha).or_raise(py)
            }
        )*
    };
}
conversions! {
    /// Return the error that Laplace noise exceeds with probability at most alpha.
    laplacian_scale_to_accuracy(scale);
    /// Return the scale at which Laplace noise exceeds `accuracy` with probability at most alpha.
    accuracy_to_laplacian_scale(accuracy);
    /// Return the error that discrete Laplace noise exceeds with probability at most alpha.
    discrete_laplacian_scale_to_accuracy(scale);
    /// Return the scale at which discrete Laplace noise reaches `accuracy` with probability at most
    /// alpha.
    accuracy_to_discrete_laplacian_scale(accuracy);
    /// Return the error that Gaussian noise exceeds with probability at most alpha.
    gaussian_scale_to_accuracy(scale);
    /// Return the scale at which Gaussian noise exceeds `accuracy` with probability at most alpha.
    accuracy_to_gaussian_scale(accuracy);
    /// Return the error that discrete Gaussian noise exceeds with probability at most alpha.
    discrete_gaussian_scale_to_accuracy(scale);
    /// Return the scale at which discrete Gaussian noise reaches `accuracy` with probability at
    /// most alpha.
    accuracy_to_discrete_gaussian_scale(accuracy);
}
/// Check that the type of a number is a type of floats. The number is computed as an `f64` anyway.
fn check_float(py: Python<'_>, number: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(number) = number else { return Ok(()) };
    let name = py.import("opendp_rs._types")?.getattr("type_name")?.call1((number,))?;
    let name: String = name.extract()?;
    if name == "f64" || name == "f32" {
        return Ok(());
    }
    let reason = format!("expected float, \"f64\" or \"f32\", found `{name}`; or leave it out");
    Err(Error::argument("T", reason)).or_raise(py)
}
/// Return a good branching factor of a tree of counts, for about `size_guess` leaves.
#[pyfunction]
pub(crate) fn choose_branching_factor(size_guess: u32) -> u32 {
    trees::choose_branching_factor(size_guess)
}
