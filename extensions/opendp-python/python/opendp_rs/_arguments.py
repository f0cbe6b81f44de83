"""The arguments of a call: check them, and convert them for the registry."""

from __future__ import annotations

from . import _native
from ._errors import of
from ._losses import check_loss, plain_loss
from ._names import last, module_of
from ._partial import as_space
from ._signatures import Plan, plan_of, takes_function
from ._types import default_types, float_types, is_type, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any


def _argument(parameter: dict[str, Any] | None, value: Any, given: dict[str, Any]) -> Any:
    """Convert an argument if it is a Python type, a Python function, or a pair that is a space."""
    if is_type(value) and not takes_function(parameter):
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


_PARTS = (_native.Domain, _native.Metric)


def gather(
    constructor: str, args: tuple[Any, ...], kwargs: dict[str, Any], partial: bool
) -> dict[str, Any]:
    """Assign the arguments of a call to the names of the registered parameters."""
    plan = plan_of(constructor, partial)
    given = _named(plan, args, kwargs)
    _join_spaces(plan, given)
    _require(plan, given)
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
        name: value if takes_function(plan.parameters.get(name)) else _argument(None, value, {})
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


def _named(plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by their names."""
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
    number = given.get("T")
    if "T" in plan.generics and isinstance(number, (int, float)) and "bounds" in plan.names:
        example = f"`{_then(plan.name)}((lower, upper))`"
        reason = f"expected a type, found a number; write both bounds as one pair, as in {example}"
        raise of("Argument", f"argument `T`: {reason}")
    return given


def _join_spaces(plan: Plan, given: dict[str, Any]) -> None:
    """Replace each pair of a domain and a metric by a space."""
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


def _require(plan: Plan, given: dict[str, Any]) -> None:
    """Refuse a call without a required argument."""
    for name in plan.required:
        if name in plan.spaces and name not in given:
            reason = f"missing, expected a domain, and then a metric as `{name}_metric`"
            raise of("Argument", f"argument `{name}_domain`: {reason}{_in_chain(plan, name)}")
        if plan.partial and given.get(name) is None and name not in plan.nullable:
            example = f"`{_then(plan.name)}({name}=...)`"
            form = _form(plan.parameters[name]["types"])
            raise of("Argument", f"argument `{name}`: missing{form}; write {example}")


def _then(name: str) -> str:
    return f"then_{last(name).removeprefix('make_')}"


def _form(types: list[str]) -> str:
    """Return the form of the values of a parameter, if its types show it."""
    forms = {"Bounds<": "a pair [lower, upper]", "Vec<": "a list", "AnyFunction": "a function"}
    for start, form in forms.items():
        if all(name.startswith(start) for name in types):
            return f", expected {form}"
    return ""


def _unknown(plan: Plan, name: str) -> str:
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


def _in_chain(plan: Plan, name: str) -> str:
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
    if is_type(value) and types and all(_names_domain(name) for name in types):
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
    if takes_function(parameter) and not callable(value) and type(value).__module__ != "opendp_rs":
        raise of("Argument", f"argument `{name}`: expected a function, found {_kind(value)}")


def _names_domain(name: str) -> bool:
    """Return whether this is the name of a single type of domains."""
    return "Domain<" in name or (name.endswith("Domain") and name != "AnyDomain")


def _list_of_objects(name: str, value: Any) -> Any:
    """Return a list of the objects in an iterable. Any other value is returned unchanged."""
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        return value
    try:
        return list(value)
    except Exception:
        raise of("Argument", f"argument `{name}`: its items cannot be read; pass a list") from None


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


def check_budget(name: str, given: dict[str, Any]) -> None:
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
