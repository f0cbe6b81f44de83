"""Python functions for the registered constructors. A function is made at its first use."""

from __future__ import annotations

import math

from . import _native
from ._arguments import check_budget, gather
from ._errors import OpenDPError, in_python
from ._names import attributes, describe, find, module_of
from ._partial import Partial
from ._signatures import signature, takes_space

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Callable


def _make(name: str, given: dict[str, Any]) -> Any:
    check_budget(name, given)
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
        return _make(name, gather(name, args, kwargs, False))

    if not attribute.startswith("then_"):
        return _document(make, attribute, name, False)
    if not takes_space(name):
        return _document(make, attribute, name, False)

    def then(*args: Any, **kwargs: Any) -> Partial:
        given = gather(name, *kept(args, kwargs), True)
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
