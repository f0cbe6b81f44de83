"""The module ``metrics`` of OpenDP 0.16: metrics.

All names are also in ``opendp_rs.prelude``.
"""

from .prelude import (
    absolute_distance,
    change_one_distance,
    discrete_distance,
    hamming_distance,
    insert_delete_distance,
    l01inf_distance,
    l1_distance,
    l2_distance,
    linf_distance,
    symmetric_distance,
    user_distance,
)

__all__ = [
    "absolute_distance",
    "change_one_distance",
    "discrete_distance",
    "hamming_distance",
    "insert_delete_distance",
    "l01inf_distance",
    "l1_distance",
    "l2_distance",
    "linf_distance",
    "symmetric_distance",
    "user_distance",
]
