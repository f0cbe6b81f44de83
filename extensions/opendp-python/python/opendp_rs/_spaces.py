"""Domains, metrics and measures from Python types, units of privacy and budgets."""

from __future__ import annotations

from . import _native
from ._errors import of
from ._types import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any

_make = _native.make


def domain_of(T: Any, infer: bool = False) -> Any:
    """Make the domain of a type, such as ``list[int]``. With ``infer``, ``T`` is public data."""
    if infer:
        T = _type_of(T)
    name = type_name(T)
    origin, args = _parts(name)
    if origin == "Vec":
        return _make("vector_domain", {"atom_domain": domain_of(args[0])})
    if origin == "Option":
        return _make("option_domain", {"element_domain": domain_of(args[0])})
    if origin == "HashMap":
        key, value = domain_of(args[0]), domain_of(args[1])
        return _make("map_domain", {"key_domain": key, "value_domain": value})
    if origin == "AtomDomain":
        return _make("atom_domain", {"T": args[0]})
    if origin in ("VectorDomain", "OptionDomain"):
        inner = domain_of(args[0])
        key = "atom_domain" if origin == "VectorDomain" else "element_domain"
        return _make("vector_domain" if key == "atom_domain" else "option_domain", {key: inner})
    return _make("atom_domain", {"T": name})


def _parts(name: str) -> tuple[str, list[str]]:
    head, _, rest = name.partition("<")
    if not rest:
        return head.strip(), []
    inside, depth, args, start = rest.rstrip()[:-1], 0, [], 0
    for i, char in enumerate(inside):
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            args.append(inside[start:i].strip())
            start = i + 1
    return head.strip(), [*args, inside[start:].strip()]


def _list_of(item: Any) -> Any:
    return list.__class_getitem__(item)


def _type_of(value: Any) -> Any:
    """Return the type of public data."""
    if hasattr(value, "dtype") and getattr(value, "ndim", 0) == 1 and value.dtype.kind in "biuf":
        return _list_of(value.dtype.type)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        kinds = {_type_of(item) for item in value[:1000]}
        if len(kinds) == 1:
            return _list_of(kinds.pop())
        raise of("TypeParse", "cannot infer the type of the items: state it, as in list[int]")
    return type(value)


_METRICS = {
    "SymmetricDistance": "symmetric_distance",
    "InsertDeleteDistance": "insert_delete_distance",
    "ChangeOneDistance": "change_one_distance",
    "HammingDistance": "hamming_distance",
    "DiscreteDistance": "discrete_distance",
    "AbsoluteDistance": "absolute_distance",
    "L1Distance": "l1_distance",
    "L2Distance": "l2_distance",
    "LInfDistance": "linf_distance",
    "RangeDistance": "range_distance",
}
_MEASURES = {
    "MaxDivergence": "max_divergence",
    "SmoothedMaxDivergence": "smoothed_max_divergence",
    "ZeroConcentratedDivergence": "zero_concentrated_divergence",
    "RenyiDivergence": "renyi_divergence",
}


def metric_of(M: Any) -> Any:
    """Make a metric from the name of its type: ``metric_of("L1Distance<i32>")``."""
    if isinstance(M, _native.Metric):
        return M
    head, args = _parts(type_name(M))
    if head not in _METRICS:
        raise of("TypeParse", f"cannot read metric `{M}`: expected one of {', '.join(_METRICS)}")
    return _make(_METRICS[head], {"T": args[0]} if args else {})


def measure_of(M: Any) -> Any:
    """Make a measure from the name of its type: ``measure_of("MaxDivergence")``."""
    if isinstance(M, _native.Measure):
        return M
    head, args = _parts(type_name(M))
    if head == "Approximate" and args:
        return _make("approximate", {"measure": measure_of(args[0])})
    if head not in _MEASURES:
        raise of("TypeParse", f"cannot read measure `{M}`: expected one of {', '.join(_MEASURES)}")
    return _make(_MEASURES[head], {})


def space_of(T: Any, M: Any = None, infer: bool = False) -> Any:
    """Make a space of a Python type: ``space_of(list[int])``, ``space_of(float)``.

    ``M`` is the metric. It defaults to the symmetric distance for data sets, and to the absolute
    distance for numbers.
    """
    domain = T if isinstance(T, _native.Domain) else domain_of(T, infer=infer)
    carrier = domain.carrier_type
    if M is None:
        is_row = carrier.startswith("Vec<")
        scalar = {"T": carrier}
        metric = _make("symmetric_distance", {}) if is_row else _make("absolute_distance", scalar)
    elif isinstance(M, _native.Metric):
        metric = M
    else:
        name = type_name(M)
        head, args = _parts(name)
        if head in ("AbsoluteDistance", "L1Distance", "L2Distance") and not args:
            name = f"{head}<{_parts(carrier)[1][0] if '<' in carrier else carrier}>"
        metric = metric_of(name)
    return _native.Space(domain, metric)


def unit_of(
    *,
    contributions: int | None = None,
    changes: int | None = None,
    absolute: float | None = None,
    l1: float | None = None,
    l2: float | None = None,
    local: bool | None = None,
    ordered: bool = False,
    U: Any = None,
) -> tuple[Any, Any]:
    """Describe the unit of privacy: a metric, and the distance that one person can cause."""
    stated = {
        name: value
        for name, value in {
            "contributions": contributions,
            "changes": changes,
            "absolute": absolute,
            "l1": l1,
            "l2": l2,
            "local": local,
        }.items()
        if value is not None
    }
    if len(stated) != 1:
        raise of(
            "Argument",
            "argument `contributions`: expected one of contributions, changes, absolute, l1, l2, "
            f"local, found {len(stated) or 'none'} of them",
        )
    [(name, distance)] = stated.items()
    if ordered and name not in ("contributions", "changes"):
        raise of("Argument", "argument `ordered`: only contributions and changes have an order")
    metrics = {
        ("contributions", False): "symmetric_distance",
        ("contributions", True): "insert_delete_distance",
        ("changes", False): "change_one_distance",
        ("changes", True): "hamming_distance",
    }
    if (name, ordered) in metrics:
        return _make(metrics[name, ordered], {}), distance
    if name == "local":
        return _make("discrete_distance", {}), 1
    of_type = type_name(U if U is not None else type(distance))
    return _make(
        {"absolute": "absolute_distance"}.get(name, f"{name}_distance"), {"T": of_type}
    ), distance


def loss_of(
    epsilon: float | None = None, delta: float | None = None, rho: float | None = None
) -> tuple[Any, Any]:
    """Describe a budget: a measure, and the largest loss in this measure."""
    if (epsilon is None) == (rho is None):
        found = "none of them" if epsilon is None else "both"
        raise of("Argument", f"argument `epsilon`: expected either epsilon or rho, found {found}")
    name = "max_divergence" if rho is None else "zero_concentrated_divergence"
    measure, loss = _make(name, {}), epsilon if rho is None else rho
    if delta is None:
        return measure, loss
    return _make("approximate", {"measure": measure}), (loss, delta)
