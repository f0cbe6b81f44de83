"""Chains: ``space >> then_clamp(...) >> then_sum() >> then_laplace(scale=1.0)``."""

from __future__ import annotations

from . import _native
from ._errors import OpenDPError, in_python, of

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Callable


def as_space(value: Any) -> Any:
    """Return a space, given a space or a pair of a domain and a metric. Otherwise return None."""
    if isinstance(value, _native.Space):
        return value
    if (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], _native.Domain)
        and isinstance(value[1], _native.Metric)
    ):
        return _native.Space(*value)
    return None


class Partial:
    """A constructor or a chain without an input space. A call with the space makes the object."""

    def __init__(
        self, name: str, make: Callable[[Any], Any], parts: list[tuple[str | None, Any]]
    ) -> None:
        self._name = name
        self._make = make
        # An entry for each part of the chain. The entry of a constructor has the name and the
        # arguments. The entry of an object has None and the object.
        self._parts = parts

    def __call__(self, input_domain: Any, input_metric: Any) -> Any:
        """Make the object, given its input space."""
        return self._make(_native.Space(input_domain, input_metric))

    def __rshift__(self, other: Any) -> Partial:
        parts = other._parts if isinstance(other, Partial) else [(None, other)]
        make = lambda space: chain(self._make(space), other)  # noqa: E731
        return Partial(f"{self._name} >> ...", make, [*self._parts, *parts])

    def __rrshift__(self, left: Any) -> Any:
        return chain(left, self)

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        """Tell pickle and copy how to make the chain again: from its document."""
        from .prelude import deserialize, serialize

        return deserialize, (serialize(self),)

    def __repr__(self) -> str:
        return f"{self._name}(...) of a space to come"


def chain(left: Any, right: Any) -> Any:
    """Append ``right`` to ``left``.

    ``left`` is a space, a transformation or a measurement. ``right`` is an object, a
    :class:`Partial` or a Python function. A finished transformation after a measurement
    post-processes the release: its function is appended, and the loss does not change.
    """
    space = as_space(left)
    if isinstance(right, Partial):
        if space is not None:
            return right._make(space)
        if isinstance(left, _native.Transformation):
            return chain(left, right._make(left.output_space))
    elif space is not None:
        if isinstance(right, (_native.Transformation, _native.Measurement, _native.Odometer)):
            if right.input_space == space:
                return right
            found = f"expected a step on {space}, found one on {right.input_space}"
            raise of("DomainMismatch", found)
    elif isinstance(left, (_native.Transformation, _native.Measurement)):
        if callable(right) and not isinstance(right, _OBJECTS):
            right = _native.function(right)
        if isinstance(left, _native.Measurement) and isinstance(right, _native.Transformation):
            right = right.function
        try:
            made = _native.then(left, right)
        except OpenDPError as error:
            in_python(error)
            raise
        if made is not None:
            return made
    reason = f"{_name(right)} cannot follow {_name(left)}"
    raise of("Argument", f"argument `>>`: {reason}{_advice(left, right)}")


def _advice(left: Any, right: Any) -> str:
    """Return the advice for an object that cannot follow another object."""
    parts = left if isinstance(left, tuple) else (left,)
    if any(isinstance(part, (_native.Domain, _native.Metric)) for part in parts):
        return "; begin a chain with a pair, first the domain and then the metric"
    if isinstance(left, _native.Measurement):
        if isinstance(right, _native.Measurement):
            return "; a chain has only one noise: leave one out"
        post = "to change the release, append a finished transformation, such as `dp.t.make_clamp`"
        only = "; put steps on the data before the noise, and use only one noise"
        return f"{only}; {post}" if isinstance(right, Partial) else ""
    return "; append a step, such as `dp.t.then_count()`"


_OBJECTS = (
    _native.Transformation,
    _native.Measurement,
    _native.Function,
    _native.Odometer,
    _native.Queryable,
    _native.OdometerQueryable,
)


def _name(value: Any) -> str:
    if isinstance(value, Partial):
        return f"`{value._name}`"
    return f"a value of type {type(value).__name__}"
