//! Scales of noise and the errors that they give.

use opendp_measurements as from;
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
    /// The error of Laplace noise that is exceeded with probability at most alpha.
    laplacian_scale_to_accuracy(scale);
    /// The scale of Laplace noise whose error exceeds `accuracy` with probability at most alpha.
    accuracy_to_laplacian_scale(accuracy);
    /// The error of discrete Laplace noise that is exceeded with probability at most alpha.
    discrete_laplacian_scale_to_accuracy(scale);
    /// The scale of discrete Laplace noise whose error reaches `accuracy` with probability at most
    /// alpha.
    accuracy_to_discrete_laplacian_scale(accuracy);
    /// The error of Gaussian noise that is exceeded with probability at most alpha.
    gaussian_scale_to_accuracy(scale);
    /// The scale of Gaussian noise whose error exceeds `accuracy` with probability at most alpha.
    accuracy_to_gaussian_scale(accuracy);
    /// The error of discrete Gaussian noise that is exceeded with probability at most alpha.
    discrete_gaussian_scale_to_accuracy(scale);
    /// The scale of discrete Gaussian noise whose error reaches `accuracy` with probability at most
    /// alpha.
    accuracy_to_discrete_gaussian_scale(accuracy);
}
