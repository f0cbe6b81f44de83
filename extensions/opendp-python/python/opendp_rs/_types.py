"""Names of types as arguments: ``int`` is ``"i32"`` and ``float`` is ``"f64"``."""

from __future__ import annotations

import types

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any

_ATOMS: dict[Any, str] = {int: "i32", float: "f64", str: "String", bool: "bool"}
_DEFAULTS = dict(_ATOMS)
_HEADS: dict[Any, str] = {list: "Vec", dict: "HashMap", tuple: ""}
_ITEMS: dict[Any, str] = {list: "float", dict: "str, int", tuple: "float, float"}


class TypeHead:
    """A type that takes arguments: ``L1Distance[int]`` is ``"L1Distance<i32>"``."""

    def __init__(self, head: str) -> None:
        self.head = head

    def __getitem__(self, args: Any) -> str:
        args = args if isinstance(args, tuple) else (args,)
        return f"{self.head}<{', '.join(type_name(arg) for arg in args)}>"

    def __repr__(self) -> str:
        return self.head


def is_type(value: Any) -> bool:
    """Return whether a value is a type: of Python, of ``typing``, or a :class:`TypeHead`."""
    if isinstance(value, (type, types.GenericAlias, types.UnionType, TypeHead)):
        return True
    return type(value).__module__ == "typing"


def type_name(value: Any) -> str:
    """Return the name of a type of Python, ``typing`` or numpy, or the name itself.

    A tuple of types is the type of tuples: ``(float, int)`` is ``"(f64, i32)"``.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, TypeHead):
        return value.head
    if isinstance(value, (list, tuple)) and len(value) > 1:
        # `_registry.py` passes the parts of a tuple as a list of names.
        return f"({', '.join(type_name(part) for part in value)})"
    try:
        hash(value)
    except Exception:  # Types are hashable. The message leaves the value out: it can be data.
        from ._errors import of

        reason = f"expected a type such as int or list[float], found a {type(value).__name__}"
        raise of("TypeParse", f"cannot read a type: {reason}") from None
    if value in _ATOMS:
        return _ATOMS[value]
    import typing

    origin, args = typing.get_origin(value), typing.get_args(value)
    if origin in _HEADS:
        inner = ", ".join(type_name(arg) for arg in args)
        return f"{_HEADS[origin]}<{inner}>" if _HEADS[origin] else f"({inner})"
    if origin is typing.Union or isinstance(value, types.UnionType):
        present = [arg for arg in args if arg is not type(None)]
        if len(present) == 1 and len(args) == 2:
            return f"Option<{type_name(present[0])}>"
    name = getattr(value, "__name__", "")
    if type(value).__module__ == "numpy" or getattr(value, "__module__", "") == "numpy":
        numpy_names = {"float64": "f64", "float32": "f32", "str_": "String", "bool": "bool"}
        if name in numpy_names:
            return numpy_names[name]
        if name.startswith("uint"):
            return f"u{name[4:]}"
        if name.startswith("int"):
            return f"i{name[3:]}"
    from ._errors import of

    hint = 'a name such as "i64"'
    if value in _HEADS:
        hint = f"a type with its items, such as {value.__name__}[{_ITEMS[value]}]"
    raise of(
        "TypeParse", f"cannot read type `{value!r}`: expected int, float, str, bool, or {hint}"
    )


def is_changed(value: Any) -> bool:
    """Return whether the user changed the type that ``int`` or ``float`` stands for."""
    return isinstance(value, type) and _ATOMS.get(value) != _DEFAULTS.get(value)


def set_default_int_type(T: Any) -> None:
    """Set the type that ``int`` stands for. Without this call it is ``"i32"``.

    The type applies to ``int`` as a type argument, to whole numbers from which a type is inferred,
    and to outputs that are counts.
    """
    _set_default(int, T, ("u8 u16 u32 u64 usize i8 i16 i32 i64").split())


def set_default_float_type(T: Any) -> None:
    """Set the type that ``float`` stands for, ``"f64"`` or ``"f32"``."""
    _set_default(float, T, ["f32", "f64"])


def _set_default(python: Any, T: Any, known: list[str]) -> None:
    name = type_name(T)
    if name not in known:
        from ._errors import of

        raise of("Argument", f"argument `T`: expected one of {', '.join(known)}, found {name}")
    _ATOMS[python] = name


# The type arguments that are `int` or `float` by default.
_OUTPUTS: dict[str, dict[str, Any]] = {
    "make_cdf": {"TA": float},
    "make_consistent_b_ary_tree": {"TOA": float, "TIA": int},
    "make_count": {"TO": int},
    "make_count_by": {"TV": int},
    "make_count_by_categories": {"TOA": int},
    "make_count_distinct": {"TO": int},
    "make_quantiles_from_counts": {"F": float},
}


def default_types(name: str, generics: set[str], given: dict[str, Any]) -> dict[str, Any]:
    """Return the type arguments that a changed default of ``int`` or ``float`` implies."""
    if _ATOMS == _DEFAULTS:
        return {}
    implied = dict(_OUTPUTS.get(name, {}))
    bounds = given.get("bounds")
    if name == "atom_domain" and isinstance(bounds, (tuple, list)) and bounds:
        if type(bounds[0]) in (int, float):
            implied["T"] = type(bounds[0])
    return {
        generic: _ATOMS[python]
        for generic, python in implied.items()
        if _ATOMS[python] != _DEFAULTS[python]
        and generic in generics
        and given.get(generic) is None
    }


_PLACES = "{} Vec<{}> Bounds<{}> Option<{}> Option<Vec<{}>> Option<Bounds<{}>>".split()


def inferring(family: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    """Return the parameters of a constructor from whose floats a type argument can be inferred.

    An entry is the name of the parameter, the name of the type argument, and the possible types of
    the type argument. If a constructor has an input space, the space determines the types whose
    names do not begin with ``TO``.
    """
    has_input = any(parameter["name"] == "input" for parameter in family["parameters"])
    generics = [
        (generic, [{place.format(name) for name in generic["types"]} for place in _PLACES])
        for generic in family["generics"]
        if len(generic["types"]) > 1 and (generic["name"].startswith("TO") or not has_input)
    ]
    found = []
    for parameter in family["parameters"]:
        types = set(parameter["types"])
        fitting = [generic for generic, places in generics if types in places]
        if len(fitting) == 1:
            found.append((parameter["name"], fitting[0]["name"], fitting[0]["types"]))
    return found


def float_types(
    inferring: list[tuple[str, str, list[str]]], given: dict[str, Any]
) -> dict[str, Any]:
    """Return the type arguments that floats among the arguments imply.

    In JSON, a whole float such as ``10.0`` also fits an integer type. In Python, a float stays a
    float. Replace each column without a numeric type in ``given`` by a list, because an iterator
    can be read only once. The function :func:`inferring` returns the first argument.
    """
    implied = {}
    for name, generic, known in inferring:
        if given.get(generic) is not None:
            continue
        if name in given:
            given[name] = _listed(name, given[name])
        found = _float_of(given.get(name))
        if found is None:
            continue
        types = [type for type in (found, "f64", "f32") if type in known]
        if not types:
            from ._errors import of

            reason = "expected whole numbers, texts or booleans, found a float; write 1, not 1.0"
            raise of("Argument", f"argument `{name}`: {reason}")
        implied[generic] = types[0]
    return implied


def _dtype(value: Any) -> str:
    """Return the type of the cells of a column or a scalar, or an empty text."""
    if isinstance(value, type):
        return ""
    found = getattr(value, "dtype", None)
    if found is None and hasattr(value, "to_pylist"):
        found = getattr(value, "type", None)
    return "" if found is None else str(found).lower()


def _listed(name: str, value: Any) -> Any:
    """Return a list of the items of a column without a numeric type, or the value itself."""
    if isinstance(value, (str, bytes, list, tuple, dict)) or isinstance(value, type):
        return value
    if _dtype(value).startswith(("int", "uint", "float", "double", "halffloat", "bool")):
        return value
    for method in ("tolist", "to_list", "to_pylist"):
        try:
            return getattr(value, method)()
        except Exception:  # The next method can work. `json.rs` tries the same methods.
            continue
    if not hasattr(value, "__iter__"):
        return value
    try:
        return list(value)
    except Exception:
        from ._errors import of

        raise of("Argument", f"argument `{name}`: its items cannot be read; pass a list") from None


def _float_of(value: Any) -> str | None:
    """Return the type of the first float in an argument, or None if it has no floats."""
    items = value if isinstance(value, (list, tuple)) else [value]
    for item in items:
        dtype = _dtype(item).partition("[")[0]
        if dtype.startswith(("float", "double", "halffloat")):
            return "f32" if dtype in ("float", "float32", "float16", "halffloat") else "f64"
        if isinstance(item, float):
            return _ATOMS[float]
    return None


NAMES = (
    "i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 String "
    "SymmetricDistance InsertDeleteDistance ChangeOneDistance HammingDistance DiscreteDistance "
    "MaxDivergence SmoothedMaxDivergence FixedSmoothedMaxDivergence ZeroConcentratedDivergence "
    "RenyiDivergence BitVector"
).split()
HEADS = (
    "AbsoluteDistance L1Distance L2Distance LInfDistance RangeDistance Approximate Pairwise "
    "Sequential AtomDomain VectorDomain OptionDomain MapDomain Vec HashMap"
).split()
