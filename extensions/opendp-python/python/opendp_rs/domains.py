"""The module ``domains`` of OpenDP 0.16: domains.

All names are also in ``opendp_rs.prelude``.
"""

from .prelude import (
    atom_domain,
    bitvector_domain,
    map_domain,
    option_domain,
    user_domain,
    vector_domain,
)

__all__ = [
    "atom_domain",
    "bitvector_domain",
    "map_domain",
    "option_domain",
    "user_domain",
    "vector_domain",
]
