//! Conversions between the scale and the error of noise, and a good branching factor of trees.

use opendp_measurements as from;
use opendp_transformations as trees;
use pyo3::prelude::*;

use crate::errors::OrRaise;

macro_rules! conversions {
    ($($(#[$doc:meta])* $name:ident($given:ident);)*) => {
        $(
            $(#[$doc])*
            #[pyfunction]
            pub(crate) fn $name(py: Python<'_>, $given: f64, alpha: f64) -> PyResult<f64> {
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
/// Return a good branching factor of a tree of counts, for about `size_guess` leaves.
#[pyfunction]
pub(crate) fn choose_branching_factor(size_guess: u32) -> u32 {
    trees::choose_branching_factor(size_guess)
}
