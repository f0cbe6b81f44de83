"""The module ``measures`` of OpenDP 0.16: privacy measures.

All names are also in ``opendp_rs.prelude``.
"""

from .prelude import (
    approximate,
    fixed_smoothed_max_divergence,
    max_divergence,
    new_privacy_profile,
    renyi_divergence,
    smoothed_max_divergence,
    user_divergence,
    zero_concentrated_divergence,
)

__all__ = [
    "approximate",
    "fixed_smoothed_max_divergence",
    "max_divergence",
    "new_privacy_profile",
    "renyi_divergence",
    "smoothed_max_divergence",
    "user_divergence",
    "zero_concentrated_divergence",
]
