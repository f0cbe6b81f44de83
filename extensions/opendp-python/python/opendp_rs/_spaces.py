"""Make domains, metrics, measures and units of privacy from Python types."""

from __future__ import annotations

from . import _native
from ._columns import CELLS
from ._errors import OpenDPError, of
from ._losses import number
from ._types import is_changed, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any

_make = _native.make


def domain_of(T: Any, infer: bool = False) -> Any:
    """Make the domain of a type, such as ``list[int]``. With ``infer``, ``T`` is data.

    Then the type of the data gives the domain, and the data must be public.
    """
    if infer:
        T = _type_of(T)
    name = type_name(T)
    origin, args = _parts(name)
    if len(args) != _ARGUMENTS.get(origin, len(args)) or name.count("<") > _DEEPEST:
        raise of("TypeParse", f"cannot read type `{name[:80]}`: expected a type such as Vec<i32>")
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


# The number of type arguments.
_ARGUMENTS = dict.fromkeys("Vec Option AtomDomain VectorDomain OptionDomain".split(), 1)
_ARGUMENTS["HashMap"] = 2
_DEEPEST = 32
"""The largest depth of types inside of types."""


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


def _type_of(value: Any, depth: int = 0) -> Any:
    """Return the type of public data."""
    if depth > _DEEPEST:
        raise of("TypeParse", f"cannot infer a type: lists inside of lists, {_DEEPEST} or more")
    cell = _cell_of(value)
    if cell is not None:
        return _list_of(cell)
    if hasattr(value, "dtype") and getattr(value, "ndim", 0) == 1 and value.dtype.kind in "biuf":
        # The library has no floats of 16 bits.
        is_half = value.dtype.kind == "f" and value.dtype.itemsize == 2
        return _list_of("f32" if is_half else value.dtype.type)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        kinds = {_type_of(item, depth + 1) for item in value[:1000]}
        if len(kinds) == 1:
            return _list_of(kinds.pop())
        raise of("TypeParse", "cannot infer the type of the items: state it, as in list[int]")
    return type(value)


def _cell_of(value: Any) -> str | None:
    """Return the type of the cells of a column of Polars or pyarrow, or of pandas over pyarrow.

    This type does not depend on the rows. ``None`` means that the value is not such a column, or
    that its cells are not numbers, texts or booleans.
    """
    package = type(value).__module__.partition(".")[0]
    if package not in ("polars", "pyarrow", "pandas") or not hasattr(value, "__len__"):
        return None
    dtype = getattr(value, "type" if package == "pyarrow" else "dtype", None)
    if package == "pandas":
        dtype = getattr(dtype, "pyarrow_dtype", None)
    return CELLS.get(str(dtype).lower())


_LIBRARIES = ("pandas", "polars", "pyarrow")
_NARROW = dict.fromkeys("i8 i16 i32 u8 u16 u32".split(), "i64")


def domains_of_data(data: Any, metric: Any) -> tuple[Any, str, str]:
    """Infer the domain of the data of a context, the type of its rows, and a wide type of rows.

    A sum beyond the range of its type is replaced by the nearest number of the type. So the wide
    type of integers is ``i64``. Floats keep their type, because a constant such as ``0.7`` is
    another number in another type of floats. If the user changed the type that ``int`` stands for,
    the rows keep this type. If the data are not rows under a metric of ``_ON_ROWS``, the two types
    are empty texts.
    """
    try:
        found = _type_of(data)
        name = type_name(found)
    except OpenDPError as error:
        reason = error.message.partition(":")[0]
        if not isinstance(data, list) and not hasattr(data, "tolist"):
            reason = f"cannot infer the domain of a value of type {type(data).__name__}"
        advice = "pass one column or list of one type, or state `domain`, as in"
        example = "`domain=dp.vector_domain(dp.atom_domain(T=float))`"
        kind = type(data)
        # A label of an index can also be an attribute of a column, so search only the class.
        known = [name for name in ("type", "dtype") if hasattr(kind, name)]
        cells = getattr(data, known[0]) if known else None
        if hasattr(kind, "columns"):
            example = "`domain=dp.dataframe_domain(names, element_domains)`"
            example += "; `dp.Study` answers questions about tables"
        elif cells is not None and kind.__module__.partition(".")[0] in _LIBRARIES:
            # The name of a type can end with the categories of the column. Leave the categories
            # out.
            reason = f"cannot infer the domain of a column of type {str(cells).partition('(')[0]}"
            advice = "convert dates and categories to numbers or text, or state `domain`, as in"
        raise of("TypeParse", f"argument `data`: {reason}; {advice} {example}") from None
    head, args = _parts(name)
    _check_shape(name, metric)
    rows = head == "Vec" and metric.type in _ON_ROWS
    wide = _NARROW.get(args[0], args[0]) if rows else ""
    if rows and any(is_changed(item) for item in getattr(found, "__args__", ())):
        wide = args[0]
    return domain_of(name), args[0] if rows else "", wide


def _check_shape(name: str, metric: Any) -> None:
    """Refuse data that are no column of rows, under a metric on rows. ``name`` is their type."""
    if metric.type not in (*_ON_ROWS, "ChangeOneDistance", "HammingDistance") or name == "String":
        return
    head, args = _parts(name)
    if head != "Vec":
        found = f"expected a column of rows, found a single value of type `{name}`"
        raise of("TypeParse", f"argument `data`: {found}; pass a list or a column")
    if args[0].startswith("Vec<"):
        found = "expected one column of rows, found rows that are lists or an array with rows and"
        advice = "columns; pass one column, such as `array[:, 0]`, or state `domain`"
        raise of("TypeParse", f"argument `data`: {found} {advice}")


# The metrics on rows whose number is not known. Other metrics on rows need a stated domain.
_ON_ROWS = ("SymmetricDistance", "InsertDeleteDistance")
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
    """Describe the unit of privacy: a metric, and the largest distance that one person can cause.

    The distance is a finite number.
    """
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
    number_type = type(distance)
    if name != "local":
        distance = number(name, distance)
        if name in ("contributions", "changes") and distance != int(distance):
            raise of("Argument", f"argument `{name}`: expected a whole number, found {distance!r}")
    elif not distance:
        raise of("Argument", "argument `local`: expected True, found False; leave it out instead")
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
    of_type = type_name(U if U is not None else number_type)
    return _make(
        {"absolute": "absolute_distance"}.get(name, f"{name}_distance"), {"T": of_type}
    ), distance
