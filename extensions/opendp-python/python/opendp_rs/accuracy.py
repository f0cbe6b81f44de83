"""The module ``accuracy`` of OpenDP 0.16: conversions between the scale and the error of noise.

All names are also in ``opendp_rs.prelude``.
"""

from .prelude import (
    accuracy_to_discrete_gaussian_scale,
    accuracy_to_discrete_laplacian_scale,
    accuracy_to_gaussian_scale,
    accuracy_to_laplacian_scale,
    discrete_gaussian_scale_to_accuracy,
    discrete_laplacian_scale_to_accuracy,
    gaussian_scale_to_accuracy,
    laplacian_scale_to_accuracy,
)

__all__ = [
    "accuracy_to_discrete_gaussian_scale",
    "accuracy_to_discrete_laplacian_scale",
    "accuracy_to_gaussian_scale",
    "accuracy_to_laplacian_scale",
    "discrete_gaussian_scale_to_accuracy",
    "discrete_laplacian_scale_to_accuracy",
    "gaussian_scale_to_accuracy",
    "laplacian_scale_to_accuracy",
]
