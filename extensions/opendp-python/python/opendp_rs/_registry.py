"""Python functions for the registered constructors. A function is made at its first use."""

from __future__ import annotations

import math

from . import _native
from ._errors import OpenDPError, in_python, of
from ._losses import check_loss, plain_loss
from ._partial import Partial, as_space
from ._types import default_types, float_types, inferring, is_type, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing these modules takes longer than importing the library.
    import inspect
    from typing import Any, Callable

DESCRIPTIONS = ("domain", "metric", "measure")

_NAMES = _native.names()
KINDS: dict[str, str] = {name: kind for name, kind, _ in _NAMES}
"""The kind of object that each name makes."""
COMBINATORS: set[str] = {name for name, _, combines in _NAMES if combines}
"""The names of all combinators. The combinators without a prefix are in ``dp.c``."""


def _last(name: str) -> str:
    return name.rsplit("::", 1)[-1]


def _prefix(name: str) -> str:
    return name.rsplit("::", 1)[0].replace("::", ".") if "::" in name else ""


PREFIXES: set[str] = {_prefix(name) for name in KINDS} - {""}
"""The prefixes of third parties' names: ``acme::make_count`` is ``dp.acme.make_count``."""


def find(attribute: str, prefix: str = "") -> str | None:
    """Find the registered name of an attribute, such as ``then_clamp``."""
    start = f"{prefix.replace('.', '::')}::" if prefix else ""
    for name in (attribute, f"make_{attribute.removeprefix('then_')}"):
        if f"{start}{name}" in KINDS and (name == attribute or attribute.startswith("then_")):
            return f"{start}{name}"
    return None


def attributes(accept: Callable[[str], bool], prefix: str = "") -> list[str]:
    """List the accepted names with a prefix, and the ``then_`` form of each ``make_`` name."""
    found = []
    for name in KINDS:
        if _prefix(name) != prefix or not accept(name):
            continue
        last = _last(name)
        found.append(last)
        if last.startswith("make_"):
            found.append(f"then_{last[5:]}")
    return sorted(found)


_DESCRIBED: dict[str, dict[str, Any]] = {}


def describe(name: str) -> dict[str, Any]:
    """Describe a constructor: parameters, type parameters, documentation, origin, signatures."""
    if name not in _DESCRIBED:
        _DESCRIBED[name] = _native.describe(name)
    return _DESCRIBED[name]


def _spaces(family: dict[str, Any]) -> list[str]:
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
    spaces = _spaces(family)
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


def _place(family: dict[str, Any], generic: str) -> int:
    """Return 0 for a type argument that comes first, and 1 for any other type argument."""
    if family["name"] in _ORDER:
        return int(generic not in _ORDER[family["name"]])
    return int("input" in _spaces(family) and generic in _DETERMINED)


def _takes_function(parameter: dict[str, Any] | None) -> bool:
    starts = ("AnyFunction", "StabilityMap", "PrivacyMap")
    return parameter is not None and parameter["types"][0].startswith(starts)


def _argument(parameter: dict[str, Any] | None, value: Any, given: dict[str, Any]) -> Any:
    """Convert an argument if it is a Python type, a Python function, or a pair that is a space."""
    if is_type(value) and not _takes_function(parameter):
        return type_name(value)
    if isinstance(value, (list, tuple)) and any(is_type(item) for item in value):
        return [type_name(item) for item in value]
    space = as_space(value)
    if space is not None:
        return space
    if parameter is None or not callable(value):
        return value
    expected = parameter["types"][0]
    output, measure = given.get("output"), given.get("output_measure")
    if expected == "AnyFunction" and isinstance(output, _native.Space):
        return _native.function_into(value, output.domain)
    if isinstance(value, _native.Function):
        return value
    if expected.startswith("StabilityMap"):
        if not isinstance(output, _native.Space):
            raise of("Argument", "argument `output_domain`: expected a domain and a metric")
        return _native.stability_map(value, output.metric)
    if expected.startswith("PrivacyMap"):
        if not isinstance(measure, _native.Measure):
            raise of("Argument", "argument `output_measure`: expected a measure")
        return _native.privacy_map(value, measure)
    if expected == "AnyFunction":
        if parameter["name"] == "member":
            return _native.function(value, "bool")
        if parameter["name"] == "transition":
            pair = "(AnyValue, AnyValue)"
            return _native.function(lambda both: value(*both), pair)
        to = given.get("TO")
        return _native.function(value, None if to is None else type_name(to))
    return value


class _Plan:
    """What a call needs to know about its constructor. A plan is made at the first call."""

    def __init__(self, family: dict[str, Any], partial: bool) -> None:
        self.name = family["name"]
        self.partial = partial
        self.names = list(signature(family, partial).parameters)
        self.spaces = _spaces(family)
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


_PARTS = (_native.Domain, _native.Metric)
_PLANS: dict[tuple[str, bool], _Plan] = {}


def plan_of(name: str, partial: bool) -> _Plan:
    """Return the plan for calls of a constructor."""
    key = (name, partial)
    if key not in _PLANS:
        _PLANS[key] = _Plan(describe(name), partial)
    return _PLANS[key]


def _gather(
    constructor: str, args: tuple[Any, ...], kwargs: dict[str, Any], partial: bool
) -> dict[str, Any]:
    """Assign the arguments of a call to the names of the registered parameters."""
    plan = plan_of(constructor, partial)
    if len(args) > len(plan.names):
        found = f"too many arguments: expected at most {len(plan.names)}, found {len(args)}"
        raise of("Argument", f"argument `{plan.name}`: {found}")
    given = dict(zip(plan.names, args))
    for name, value in kwargs.items():
        if name in given:
            raise of("Argument", f"argument `{name}`: given twice")
        if name not in plan.known:
            raise of("Argument", f"argument `{name}`: {_unknown(plan, name)}")
        given[name] = value
    for name in plan.spaces:
        domain, metric = given.pop(f"{name}_domain", None), given.pop(f"{name}_metric", None)
        if domain is None and metric is None:
            continue
        if given.get(name) is not None:
            other = f"{name}_domain" if domain is not None else f"{name}_metric"
            found = f"expected either `{name}`, or `{name}_domain` and `{name}_metric`"
            raise of("Argument", f"argument `{name}`: {found}, found `{name}` and `{other}`")
        space = as_space((domain, metric) if metric is not None else domain)
        if space is None:
            if isinstance(domain, _native.Domain) and metric is None:
                raise of("Argument", f"argument `{name}_metric`: missing, expected a metric")
            described = isinstance(domain, _PARTS) or isinstance(metric, _PARTS)
            raise of(
                "Argument",
                f"argument `{name}_domain`: expected a domain, and then a metric as "
                f"`{name}_metric`, found {_kind(domain)} and {_kind(metric)}"
                f"{'' if described else _in_chain(plan, name)}",
            )
        given[name] = space
    for name in plan.required:
        if name in plan.spaces and name not in given:
            reason = f"missing, expected a domain, and then a metric as `{name}_metric`"
            raise of("Argument", f"argument `{name}_domain`: {reason}{_in_chain(plan, name)}")
        if plan.partial and given.get(name) is None and name not in plan.nullable:
            example = f"`{_then(plan.name)}({name}=...)`"
            form = _form(plan.parameters[name]["types"])
            raise of("Argument", f"argument `{name}`: missing{form}; write {example}")
    given = {name: _plain(name, value) for name, value in given.items()}
    converted = float_types(plan.inferring, given)
    converted |= default_types(plan.name, plan.generics, given)
    for name, value in given.items():
        if value is None and name in plan.optional:
            continue
        parameter = plan.parameters.get(name)
        if parameter is not None and parameter["types"] == ["Vec<AnyMeasurement>"]:
            value = _list_of_objects(name, value)
        converted[name] = value
    for name, value in converted.items():
        _check(name, plan.parameters.get(name), value)
    first = {
        name: value if _takes_function(plan.parameters.get(name)) else _argument(None, value, {})
        for name, value in converted.items()
    }
    result = {
        name: _argument(plan.parameters.get(name), value, first) for name, value in first.items()
    }
    # If `TO` is not a type parameter of the constructor, `TO` states the return type of a Python
    # function. The conversion of this function has used `TO`, so leave it out here.
    if not plan.has_output:
        result.pop("TO", None)
    return result


def _then(name: str) -> str:
    return f"then_{_last(name).removeprefix('make_')}"


def _form(types: list[str]) -> str:
    """Return the form of the values of a parameter, if its types show it."""
    forms = {"Bounds<": "a pair [lower, upper]", "Vec<": "a list", "AnyFunction": "a function"}
    for start, form in forms.items():
        if all(name.startswith(start) for name in types):
            return f", expected {form}"
    return ""


def _unknown(plan: _Plan, name: str) -> str:
    """Say that a constructor has no argument with this name, and which arguments it has."""
    found = f"unknown argument of `{_then(plan.name) if plan.partial else plan.name}`"
    if plan.partial and name in ("input", "input_domain", "input_metric"):
        return f"{found}; the input space is the left operand of `>>`"
    import difflib

    near = difflib.get_close_matches(name, plan.names, n=1)
    hint = f" did you mean `{near[0]}`?" if near else ""
    if name in ("lower", "upper", "min", "max") and "bounds" in plan.names:
        hint = " write both bounds as the pair `bounds`;"
    if name in ("budget", "delta", "epsilon", "rho") and "scale" in plan.names:
        hint = " noise has a `scale`: `dp.binary_search_param` finds it for a loss;"
    known = ", ".join(f"`{known}`" for known in plan.names)
    return f"{found};{hint} the known ones are {known}"


def _in_chain(plan: _Plan, name: str) -> str:
    """Show how to give an input space as the left operand of ``>>``."""
    if name != "input":
        return ""
    space = "(domain, metric)"
    [types, *others] = plan.parameters["input"]["types"]
    atoms = {"String": "str", "f64": "float", "i32": "int", "bool": "bool"}
    for rust, python in atoms.items():
        domains = {
            f"AtomDomain<{rust}>": f"dp.atom_domain(T={python})",
            f"VectorDomain<AtomDomain<{rust}>>": f"dp.vector_domain(dp.atom_domain(T={python}))",
        }
        for domain, call in domains.items():
            if not others and types == f"Space<{domain}, SymmetricDistance>":
                space = f"({call}, dp.symmetric_distance())"
    step = f"dp.{module_of(plan.name)}{_then(plan.name)}(...)"
    return f"; or write `{space} >> {step}`"


def _kind(value: Any) -> str:
    return f"a value of type {type(value).__name__}"


def _check(name: str, parameter: dict[str, Any] | None, value: Any) -> None:
    """Refuse a value of a wrong kind. A later error would use names of Rust types."""
    types = [] if parameter is None else parameter["types"]
    if is_type(value) and types and all("Domain<" in name for name in types):
        example = f"`dp.atom_domain(T={getattr(value, '__name__', 'int')})`"
        found = f"expected a domain, such as {example}, found a type"
        raise of("Argument", f"argument `{name}`: {found}")
    if types == ["AnyMeasurement"]:
        _check_measurement(name, value)
    start, end = "Measurement<AnyDomain, AnyMetric, ", ", AnyValue>"
    if types and all(kind.startswith(start) and kind.endswith(end) for kind in types):
        _check_measure(name, [kind[len(start) : -len(end)] for kind in types], value)
    if types == ["Vec<AnyMeasurement>"] and isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            _check_measurement(f"{name}[{i}]", item)
    if _takes_function(parameter) and not callable(value) and type(value).__module__ != "opendp_rs":
        raise of("Argument", f"argument `{name}`: expected a function, found {_kind(value)}")


def _list_of_objects(name: str, value: Any) -> Any:
    """Return a list of the objects in an iterable. Any other value is returned unchanged."""
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        return value
    try:
        return list(value)
    except Exception:
        raise of("Argument", f"argument `{name}`: its items cannot be read") from None


def _check_measure(name: str, known: list[str], value: Any) -> None:
    """Refuse a measurement whose loss is in another measure than the known ones."""
    _check_measurement(name, value)
    found = _kind(value)
    if isinstance(value, _native.Measurement):
        measure = value.output_measure.type
        if measure in known:
            return
        found = f"one in `{measure}`"
    listed = ", ".join(f"`{measure}`" for measure in known)
    reason = f"expected a measurement whose loss is in one of {listed}, found {found}"
    raise of("Argument", f"argument `{name}`: {reason}")


def _check_measurement(name: str, value: Any) -> None:
    if isinstance(value, _native.Transformation):
        advice = "append noise to it, such as `dp.m.then_laplace(1.0)`"
        found = f"expected a measurement, found a transformation; {advice}"
        raise of("Argument", f"argument `{name}`: {found}")


def _check_budget(name: str, given: dict[str, Any]) -> None:
    """Refuse a budget that bounds nothing. `_plain` has converted its losses."""
    if name == "make_privacy_filter" and isinstance(given.get("odometer"), _native.Odometer):
        check_loss("d_out", given["odometer"].output_measure, given.get("d_out"))
    if name in ("make_adaptive_composition", "make_sequential_composition"):
        measure, d_mids = given.get("output_measure"), given.get("d_mids", ())
        if isinstance(measure, _native.Measure) and isinstance(d_mids, list):
            for i, loss in enumerate(d_mids):
                check_loss(f"d_mids[{i}]", measure, loss)


def _plain(name: str, value: Any) -> Any:
    """Convert the losses of a budget, so that they can be read several times."""
    if name not in ("d_out", "d_mids"):
        return value
    loss = plain_loss(name, value)
    return list(loss) if name == "d_mids" and isinstance(loss, tuple) else loss


def _make(name: str, given: dict[str, Any]) -> Any:
    _check_budget(name, given)
    try:
        return _native.make(name, given)
    except OpenDPError as error:
        _without_text(in_python(error), given)
        raise


def _without_text(error: OpenDPError, given: dict[str, Any]) -> None:
    """Name NaN and infinities in an error. The library reads them as texts."""
    start, found, _ = error.message.partition("found a string; write numbers without quotes")
    name = start.partition("argument `")[2].partition("`")[0]
    value = given.get(name)
    items = value if isinstance(value, (list, tuple)) else [value]
    floats = [item for item in items if isinstance(item, float) and not math.isfinite(item)]
    if found and floats:
        kind = "an infinite number" if floats[0] == floats[0] else "NaN"
        error.message = f"{start}found {kind}"
        error.args = (error.message,)


# What the help in Python says in addition, before the section `Arguments`. The documentation of the
# registry describes the constructor in Rust.
_IN_PYTHON = {
    "bitvector_domain": """# In Python
A vector of bits is a text such as `"0011"` or a list of booleans. If `size` is stated, it can also
be a list of the integers 0 and 1, or packed bits: bytes, or an array of numpy with the type `uint8`.
The first bit of packed bits is the lowest bit of the first byte, as in
`numpy.packbits(bits, bitorder="little")`. Without `bitorder`, `numpy.packbits` packs in the other
order, and such bytes are another vector. Unpack them: `numpy.unpackbits(packed, count=size)` is an
array of the integers 0 and 1.

""",
    "make_randomized_response_bitvec": """# In Python
The release is a list of booleans, for every form of the data.
`dp.m.debias_randomized_response_bitvec(answers, f)` takes a list of such releases.

""",
    "new_queryable": """# In Python
The function `transition(state, question)` takes two arguments, and returns a pair of the next state
and the answer. Call the result of `new_queryable` with the first state, and not with a question.
This call opens the queryable, which answers questions:
```python
counter = dp.new_queryable(lambda state, question: (state + question, state))(40)
assert (counter(2), counter(2)) == (40, 42)
```

""",
}


def _document(function: Any, attribute: str, name: str, partial: bool) -> Any:
    family = describe(name)
    function.__name__ = function.__qualname__ = attribute
    head, arguments, rest = family["documentation"].partition("# Arguments")
    function.__doc__ = f"{head}{_IN_PYTHON.get(name, '')}{arguments}{rest}" or None
    function.__module__ = "opendp_rs"
    function.__signature__ = signature(family, partial)
    return function


def function(attribute: str, prefix: str = "") -> Any:
    """Make the Python function for an attribute. Return None if no constructor has this name."""
    name = find(attribute, prefix)
    if name is None:
        return None

    def make(*args: Any, **kwargs: Any) -> Any:
        return _make(name, _gather(name, args, kwargs, False))

    if not attribute.startswith("then_"):
        return _document(make, attribute, name, False)
    if not takes_space(name):
        return _document(make, attribute, name, False)

    def then(*args: Any, **kwargs: Any) -> Partial:
        given = _gather(name, *kept(args, kwargs), True)
        make = lambda space: _make(name, {**given, "input": space})  # noqa: E731
        return Partial(attribute, make, [(name, given)])

    return _document(then, attribute, name, True)


def kept(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments that can be read several times, and that later changes do not change.

    A step without an input space keeps its arguments, and reads them whenever it gets a space.
    """
    return tuple(map(_kept, args)), {name: _kept(value) for name, value in kwargs.items()}


def _kept(value: Any, depth: int = 0) -> Any:
    if depth > 64:  # The library refuses such a value.
        return value
    if isinstance(value, (list, tuple)) or hasattr(value, "__next__"):
        items = [_kept(item, depth + 1) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {key: _kept(item, depth + 1) for key, item in value.items()}
    if isinstance(value, type) or not hasattr(value, "dtype"):
        return value
    # The copy of an array of numpy, or of a column of pandas or Polars.
    for method in ("copy", "clone"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def module(accept: Callable[[str], bool], where: str, prefix: str = "") -> tuple[Any, Any]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a module of constructors."""
    made: dict[str, Any] = {}

    def get(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        if attribute not in made:
            name = find(attribute, prefix)
            if name is None or not accept(name):
                raise AttributeError(nearest(attribute, name, where))
            made[attribute] = function(attribute, prefix)
        return made[attribute]

    def names() -> list[str]:
        return attributes(accept, prefix)

    return get, names


def nearest(attribute: str, name: str | None, where: str) -> str:
    if name is not None:
        return f"`{attribute}` is not in {where}: write `dp.{module_of(name)}{attribute}`"
    import difflib

    known = attributes(lambda _: True)
    near = [name for name in (f"then_{attribute}", f"make_{attribute}") if name in known]
    near = near or difflib.get_close_matches(attribute, known, n=1)
    hint = f"; did you mean `{near[0]}`?" if near else "; `dir()` lists the names"
    return f"{where} has no `{attribute}`{hint}"


def module_of(name: str) -> str:
    """Return the module of a constructor: ``t.``, ``m.``, ``c.`` or none."""
    if _prefix(name):
        return f"{_prefix(name)}."
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
        return _last(name).startswith("make_") and name not in COMBINATORS
    return KINDS[name] == "transformation" and name not in COMBINATORS


def at_top(name: str) -> bool:
    """Return whether a constructor is in the prelude.

    A constructor is in the prelude if it makes a domain, a metric or a measure, or if its name does
    not begin with ``make_``.
    """
    return KINDS[name] in DESCRIPTIONS or not _last(name).startswith("make_")
