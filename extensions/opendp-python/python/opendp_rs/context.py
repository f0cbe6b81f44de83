"""The module ``context`` of OpenDP 0.16: budgets that queries spend.

All names are also in ``opendp_rs.prelude``.
"""

from .prelude import (
    Context,
    Query,
    domain_of,
    loss_of,
    metric_of,
    space_of,
    unit_of,
)

__all__ = [
    "Context",
    "Query",
    "domain_of",
    "loss_of",
    "metric_of",
    "space_of",
    "unit_of",
]
