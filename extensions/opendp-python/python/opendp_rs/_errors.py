"""Exceptions: one class for each kind of error."""

from __future__ import annotations


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

    for pattern, spelling in _SPELLINGS:
        error.message = re.sub(pattern, spelling, error.message)
    if error.kind == "MeasureMismatch":
        error.message += "; convert one measure, as by `dp.c.make_pureDP_to_zCDP`"
    error.args = (error.message,)
    return error


def of(kind: str, message: str) -> OpenDPError:
    """Make the exception for a kind of error."""
    return _CLASSES.get(kind, OpenDPError)(message)
