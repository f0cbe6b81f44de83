"""The module ``typing`` of OpenDP 0.16: names of types, and the types of Python's numbers.

All names are also in ``opendp_rs.prelude``.
"""

from __future__ import annotations

from . import _types, prelude
from ._types import TypeHead, set_default_float_type, set_default_int_type

__all__ = [*_types.NAMES, *_types.HEADS, "set_default_float_type", "set_default_int_type"]


def __getattr__(attribute: str) -> str | TypeHead:
    if attribute not in __all__:
        reason = f"`opendp_rs.typing` has no `{attribute}`: `opendp_rs.prelude` has all names"
        raise AttributeError(reason)
    found: str | TypeHead = getattr(prelude, attribute)
    return found
