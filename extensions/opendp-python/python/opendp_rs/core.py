"""The module ``core`` of OpenDP 0.16: functions and queryables of a user.

All names are also in ``opendp_rs.prelude``.
"""

from .prelude import (
    new_function,
    new_queryable,
)

__all__ = [
    "new_function",
    "new_queryable",
]
