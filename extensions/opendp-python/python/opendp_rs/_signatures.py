"""The Python signatures of constructors, and plans for calls."""

from __future__ import annotations

from ._names import describe
from ._types import inferring

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing these modules takes longer than importing the library.
    import inspect
    from typing import Any


def spaces_of(family: dict[str, Any]) -> list[str]:
    """Return the names of the parameters that are spaces: a domain and a metric."""
    return [
        parameter["name"]
        for parameter in family["parameters"]
        if all(name.startswith("Space<") for name in parameter["types"])
    ]


def takes_space(name: str) -> bool:
    """Return whether a constructor takes an input space, which the left operand of ``>>`` gives."""
    return "input" in plan_of(name, False).spaces


def signature(family: dict[str, Any], partial: bool = False) -> inspect.Signature:
    """Return the Python signature of a constructor."""
    key = (family["name"], partial)
    if key not in _SIGNATURES:
        _SIGNATURES[key] = _signature(family, partial)
    return _SIGNATURES[key]


_SIGNATURES: dict[tuple[str, bool], inspect.Signature] = {}


def _signature(family: dict[str, Any], partial: bool) -> inspect.Signature:
    import inspect
    import json

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    found: dict[str, Any] = {}
    spaces = spaces_of(family)
    for parameter in family["parameters"]:
        name = parameter["name"]
        if name in spaces:
            if not (partial and name == "input"):
                found |= {f"{name}_domain": _REQUIRED, f"{name}_metric": _REQUIRED}
        elif parameter["default"] is not None:
            found[name] = json.loads(parameter["default"])
        else:
            # After a parameter with a default, Python requires a default for each parameter. If
            # the caller leaves out a required value, the registry reports the missing value.
            has_default = any(default is not _REQUIRED for default in found.values())
            found[name] = ... if has_default else _REQUIRED
    for generic in sorted(family["generics"], key=lambda generic: _place(family, generic["name"])):
        erased = all(name.startswith("Any") for name in generic["types"])
        if not erased and generic["name"] not in found:
            found[generic["name"]] = None
    if family["name"] in _WITH_OUTPUT:
        found.setdefault("TO", None)
    first = _FIRST.get(family["name"], [])
    found = {name: found[name] for name in [*first, *(name for name in found if name not in first)]}
    return inspect.Signature(
        [
            inspect.Parameter(name, kind)
            if default is _REQUIRED
            else inspect.Parameter(name, kind, default=default)
            for name, default in found.items()
        ]
    )


_REQUIRED = object()
# The type arguments that the input space determines. They come after all other type arguments. So
# the first of the other type arguments can be given by its position, as in
# `then_cast_default(float)`.
_DETERMINED = set("T TIA D DI M MI K V Q".split())
# The type arguments that come first in these constructors, even if the input space determines them.
_ORDER = {"make_df_cast_default": ["TIA", "TOA"], "make_df_is_equal": ["TIA"]}
# The arguments that come first in these constructors.
_FIRST = {"linf_distance": ["T", "monotonic"]}

# The constructors whose last argument is the type that their Python function returns.
_WITH_OUTPUT = ("make_user_measurement", "new_function")


def _place(family: dict[str, Any], generic: str) -> int:
    """Return 0 for a type argument that comes first, and 1 for any other type argument."""
    if family["name"] in _ORDER:
        return int(generic not in _ORDER[family["name"]])
    return int("input" in spaces_of(family) and generic in _DETERMINED)


def takes_function(parameter: dict[str, Any] | None) -> bool:
    starts = ("AnyFunction", "StabilityMap", "PrivacyMap")
    return parameter is not None and parameter["types"][0].startswith(starts)


class Plan:
    """What a call needs to know about its constructor. A plan is made at the first call."""

    def __init__(self, family: dict[str, Any], partial: bool) -> None:
        self.name = family["name"]
        self.partial = partial
        self.names = list(signature(family, partial).parameters)
        self.spaces = spaces_of(family)
        self.parameters = {parameter["name"]: parameter for parameter in family["parameters"]}
        self.inferring = inferring(family)
        self.generics = {generic["name"] for generic in family["generics"]}
        # If one of these arguments is None, the constructor uses its default.
        self.optional = self.generics | {
            name for name, of_it in self.parameters.items() if of_it["default"] is not None
        }
        own = {name for name in self.parameters if not (partial and name == "input")}
        self.required = [name for name in self.parameters if name in own - self.optional]
        # The arguments for which None is a value, such as a null.
        self.nullable = {
            name
            for name, of_it in self.parameters.items()
            if any(type.startswith(("Option<", "AnyValue")) for type in of_it["types"])
        }
        self.known = {*self.names, *own, *self.generics}
        if any(of_it["types"][0] == "AnyFunction" for of_it in self.parameters.values()):
            self.known.add("TO")
        self.has_output = any(
            generic["name"] == "TO" and generic["types"] != ["AnyValue"]
            for generic in family["generics"]
        )


_PLANS: dict[tuple[str, bool], Plan] = {}


def plan_of(name: str, partial: bool) -> Plan:
    """Return the plan for calls of a constructor."""
    key = (name, partial)
    if key not in _PLANS:
        _PLANS[key] = Plan(describe(name), partial)
    return _PLANS[key]
