"""Exceptions: one class for each kind of error."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any


class OpenDPError(Exception):
    """An error of the library. No message contains data.

    ``kind`` and ``variant`` name the kind. ``message`` says what is wrong and what to do.
    """

    kind = "Unknown"

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message

    @property
    def variant(self) -> str:
        """The kind of the error."""
        return self.kind

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        """Tell pickle how to make the error again, for example in another process of a pool."""
        # If the class is a subclass that a user defined, make an error of this subclass again.
        if type(self) is not _CLASSES.get(self.kind, OpenDPError):
            return type(self), (self.message,)
        return of, (self.kind, self.message)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


KINDS = (
    "TypeParse FailedFunction FailedMap FailedCast DomainMismatch MetricMismatch MeasureMismatch "
    "MakeDomain MakeTransformation MakeMeasurement MetricSpace InvalidDistance Search Overflow "
    "NotImplemented NotFound Ambiguous Argument BudgetExceeded"
).split()

_CLASSES: dict[str, type[OpenDPError]] = {}
for _kind in KINDS:
    _name = f"{_kind}Error"
    _doc = f"An error of the kind {_kind}."
    _class = type(
        _name, (OpenDPError,), {"kind": _kind, "__doc__": _doc, "__module__": "opendp_rs"}
    )
    _CLASSES[_kind] = _class
    globals()[_name] = _class


# The library writes its advice in the syntax of documents. This table converts it to Python syntax.
_SPELLINGS = (
    (r'\{"(\w+)": \{"(\w+)": ([^{}]+)\}\}', r"`then_\1(\2=\3)`"),
    (r'write \{"param": "(\w+)"\}, and `solve` finds', "`dp.binary_search_param` finds"),
    (r'"(\w+)": false', r"`\1=False`"),
    (r'"(\w+)": ("[^"]*")', r"`\1=\2`"),
)


def in_python(error: OpenDPError) -> OpenDPError:
    """Convert the advice of an error to Python syntax. Do not call this for errors of documents."""
    import re

    error.message = _with_calls(error.message)
    for pattern, spelling in _SPELLINGS:
        error.message = re.sub(pattern, spelling, error.message)
    if error.kind == "MeasureMismatch":
        error.message += "; convert one measure, as by `dp.c.make_pureDP_to_zCDP`"
    error.args = (error.message,)
    return error


def _with_calls(text: str) -> str:
    """Write each domain, metric and measure in a text as the Python call that makes it."""
    import json

    done, rest = "", text
    while '{"' in rest:
        start = rest.index('{"')
        done, rest = done + rest[:start], rest[start:]
        try:
            value, length = json.JSONDecoder().raw_decode(rest)
        except ValueError:
            value, length = None, 2
        done += _argument("", value) if _describes(value) else rest[:length]
        rest = rest[length:]
    return done + rest


def _describes(value: Any) -> bool:
    """Return whether a value is the document of a domain, a metric or a measure."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    [(name, given)] = value.items()
    ends = ("_domain", "_distance", "_divergence")
    return isinstance(given, dict) and (name.endswith(ends) or name == "approximate")


def _call(name: str, given: dict[str, Any]) -> str:
    return f"{name}({', '.join(_argument(key, item) for key, item in given.items())})"


def _argument(name: str, value: Any) -> str:
    """Write an argument of a call. ``value`` is its value in a document."""
    import json

    start = f"{name}=" if name else ""
    if _describes(value):
        [(maker, given)] = value.items()
        # The argument `atom_domain` of `vector_domain` is shown without its name.
        return f"{'' if name == 'atom_domain' else start}{_call(maker, given)}"
    if isinstance(value, dict) and name == "atom_domain":
        return _call(name, value)
    if isinstance(value, str) and name in ("metric", "measure"):
        return f"{start}{value}()"
    if isinstance(value, list):
        items = ", ".join(_argument("", item) for item in value)
        return f"{start}({items})" if name == "bounds" else f"{start}[{items}]"
    return start + (json.dumps(value) if isinstance(value, (str, dict)) else repr(value))


def of(kind: str, message: str) -> OpenDPError:
    """Make the exception for a kind of error."""
    return _CLASSES.get(kind, OpenDPError)(message)
