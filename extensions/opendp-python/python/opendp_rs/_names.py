"""The names of the registered constructors, and the modules that they are in."""

from __future__ import annotations

from . import _native

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Callable

DESCRIPTIONS = ("domain", "metric", "measure")
_NAMES = _native.names()
KINDS: dict[str, str] = {name: kind for name, kind, _ in _NAMES}
"""The kind of object that each name makes."""
COMBINATORS: set[str] = {name for name, _, combines in _NAMES if combines}
"""The names of all combinators. The combinators without a prefix are in ``dp.c``."""


def last(name: str) -> str:
    """Return a name without its prefix."""
    return name.rsplit("::", 1)[-1]


def prefix_of(name: str) -> str:
    """Return the prefix of a name, or an empty text."""
    return name.rsplit("::", 1)[0].replace("::", ".") if "::" in name else ""


PREFIXES: set[str] = {prefix_of(name) for name in KINDS} - {""}
"""The prefixes of third parties' names: ``acme::make_count`` is ``dp.acme.make_count``."""


def find(attribute: str, prefix: str = "") -> str | None:
    """Find the registered name of an attribute, such as ``then_clamp``."""
    start = f"{prefix.replace('.', '::')}::" if prefix else ""
    for name in (attribute, f"make_{attribute.removeprefix('then_')}"):
        if f"{start}{name}" in KINDS and (name == attribute or attribute.startswith("then_")):
            return f"{start}{name}"
    return None


def attributes(accept: Callable[[str], bool], prefix: str = "") -> list[str]:
    """List the accepted names that have ``prefix``, without this prefix.

    The list also has the ``then_`` form of each ``make_`` name.
    """
    found = []
    for name in KINDS:
        if prefix_of(name) != prefix or not accept(name):
            continue
        short = last(name)
        found.append(short)
        if short.startswith("make_"):
            found.append(f"then_{short[5:]}")
    return sorted(found)


_DESCRIBED: dict[str, dict[str, Any]] = {}


def describe(name: str) -> dict[str, Any]:
    """Describe a constructor: parameters, type parameters, documentation, origin, signatures."""
    if name not in _DESCRIBED:
        _DESCRIBED[name] = _native.describe(name)
    return _DESCRIBED[name]


def module_of(name: str) -> str:
    """Return the module of a constructor: ``t.``, ``m.``, ``c.`` or none."""
    if prefix_of(name):
        return f"{prefix_of(name)}."
    if in_combinators(name):
        return "c."
    if in_measurements(name):
        return "m."
    return "t." if in_transformations(name) else ""


def in_combinators(name: str) -> bool:
    """Return whether a constructor is in ``dp.c``."""
    return name in COMBINATORS


def in_measurements(name: str) -> bool:
    """Return whether a constructor is in ``dp.m``."""
    return KINDS[name] == "measurement" and name not in COMBINATORS


def in_transformations(name: str) -> bool:
    """Return whether a constructor is in ``dp.t``: it makes a transformation or a function."""
    if KINDS[name] == "function":
        return last(name).startswith("make_") and name not in COMBINATORS
    return KINDS[name] == "transformation" and name not in COMBINATORS


def at_top(name: str) -> bool:
    """Return whether a constructor is in the prelude.

    A constructor is in the prelude if it makes a domain, a metric or a measure, or if its name does
    not begin with ``make_``.
    """
    return KINDS[name] in DESCRIPTIONS or not last(name).startswith("make_")
