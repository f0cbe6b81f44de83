"""All names in one module: ``import opendp_rs.prelude as dp``.

``dp.t`` has transformations, ``dp.m`` has measurements, and ``dp.c`` has combinators. This module
has domains, metrics and measures, such as ``dp.atom_domain``. The constructors of a third party are
in a module with the name of their prefix.
"""

from __future__ import annotations

import builtins as _builtins

from . import _errors, _names, _native, _registry, _types
from . import combinators, measurements, transformations
from ._accountant import Accountant, Event
from ._context import Context
from ._errors import OpenDPError
from ._ledger import Ledger
from ._losses import loss_of
from ._native import (
    Domain,
    Function,
    Measure,
    Measurement,
    Metric,
    Odometer,
    OdometerQueryable,
    PrivacyProfile,
    RenyiCurve,
    Queryable,
    Space,
    Transformation,
    accuracy_to_discrete_gaussian_scale,
    accuracy_to_discrete_laplacian_scale,
    accuracy_to_gaussian_scale,
    accuracy_to_laplacian_scale,
    discrete_gaussian_scale_to_accuracy,
    discrete_laplacian_scale_to_accuracy,
    gaussian_scale_to_accuracy,
    laplacian_scale_to_accuracy,
)
from ._partial import Partial as _Partial, as_space as _as_space
from ._query import Query
from ._search import (
    binary_search,
    binary_search_chain,
    binary_search_param,
    exponential_bounds_search,
)
from ._spaces import domain_of, measure_of, metric_of, space_of, unit_of
from ._study import Outcome, Study
from ._types import set_default_float_type, set_default_int_type

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any as _Any

t, m, c = transformations, measurements, combinators
OpenDPException = OpenDPError
UnknownTypeException = _errors._CLASSES["TypeParse"]

globals().update({name: name for name in _types.NAMES})
globals().update({head: _types.TypeHead(head) for head in _types.HEADS})
globals().update({error.__name__: error for error in _errors._CLASSES.values()})


def enable_features(*features: str) -> None:
    """Accept names of features, and do nothing. This library has no features.

    If a constructor relies on promises of the caller, its documentation has a section ``Trust``.
    """


def disable_features(*features: str) -> None:
    """Accept names of features, and do nothing. This library has no features."""


def assert_features(*features: str) -> None:
    """Accept names of features, and do nothing. This library has no features."""


def serialize(dp_obj: _Any) -> str:
    """Write an object, a space, or a chain without an input space, as a document.

    :func:`deserialize` and the command ``opendp`` read the document. The document states its
    version, so it keeps its meaning. Objects with Python functions have no document.
    """
    if isinstance(dp_obj, _Partial):
        return _native.write_partial(dp_obj._parts)
    space = _as_space(dp_obj)
    return _native.write(dp_obj if space is None else space)


def deserialize(dp_json: str | bytes) -> _Any:
    """Build the object of a document of this library or of OpenDP 0.16."""
    try:
        text = dp_json.decode() if isinstance(dp_json, bytes) else dp_json
    except UnicodeDecodeError:
        raise _errors.of("Argument", "argument `dp_json`: the bytes are not UTF-8") from None
    if not isinstance(text, str):
        found = f"found a value of type {type(text).__name__}"
        raise _errors.of("Argument", f"argument `dp_json`: expected the text of a document, {found}")
    if not _native.is_partial(text):
        return _native.load(text)
    return _Partial("document", lambda space: _native.load(text, space), [(None, text)])


def new_privacy_profile(curve: _Any) -> PrivacyProfile:
    """Make a privacy profile from a function: for each epsilon, the function returns delta.

    The caller promises that the function never increases, and that its deltas are never too small.
    Each evaluation checks the first promise against earlier evaluations.
    """
    if not callable(curve):
        found = f"expected a function, found a value of type {type(curve).__name__}"
        raise _errors.of("Argument", f"argument `curve`: {found}")
    return _native.privacy_profile(curve)


def describe(name: str) -> dict[str, _Any]:
    """Describe a constructor: parameters, types, documentation, origin and signatures."""
    if not isinstance(name, str):
        found = f"found a value of type {type(name).__name__}"
        raise _errors.of("Argument", f'argument `name`: expected a name, such as "make_count", {found}')
    # The result is new, so a change of it changes nothing else.
    return _native.describe(_names.find(name) or name)


def names() -> list[str]:
    """List the names of all registered constructors."""
    return list(_names.KINDS)


_TABLES = "`dp.Study` answers questions about tables, and also about a `LazyFrame`"
# Names of OpenDP 0.16 that are left out, and what to use instead.
_LEFT_OUT = {
    "polars": _TABLES,
    "len": _TABLES,
    "margins": _TABLES,
    "Margin": _TABLES,
    "numpy": "describe values of other packages with `dp.user_domain`",
    "register": "append a measurement of your own to a query, as in `query >> measurement`",
    "PartialChain": "`dp.binary_search_param` finds the value of a parameter",
    "RuntimeType": 'a type is a name, such as `"Vec<i32>"`',
}

_get, _listed = _registry.module(_names.at_top, "`opendp_rs.prelude`")


def __getattr__(attribute: str) -> _Any:
    if attribute in _names.PREFIXES:
        return _of_prefix(attribute)
    if attribute in _LEFT_OUT:
        reason = f"`opendp_rs.prelude` has no `{attribute}`: {_LEFT_OUT[attribute]}"
        raise AttributeError(reason)
    return _get(attribute)


def _of_prefix(prefix: str) -> _Any:
    """Return the constructors of a third party, whose names begin with ``prefix``."""

    class Prefixed:
        def __getattr__(self, attribute: str) -> _Any:
            return get(attribute)

        def __dir__(self) -> list[str]:
            return listed()

    get, listed = _registry.module(lambda _: True, f"`dp.{prefix}`", prefix)
    namespace = Prefixed()
    globals()[prefix] = namespace
    return namespace


def __dir__() -> list[str]:
    return sorted({*globals(), *_listed(), *_names.PREFIXES})


# `from opendp_rs.prelude import *` must not replace a name of Python: `except OverflowError` would
# then catch another class. So `dp.OverflowError` and `dp.NotImplementedError` need `dp.`.
__all__ = [
    name
    for name in [*globals(), *_listed()]
    if not name.startswith("_")
    and name not in ("annotations", "TYPE_CHECKING")
    and not hasattr(_builtins, name)
]
