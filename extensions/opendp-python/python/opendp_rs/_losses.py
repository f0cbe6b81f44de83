"""Budgets: make a loss, and check that it bounds something."""

from __future__ import annotations

import math

from . import _native
from ._errors import of

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from decimal import Decimal
    from fractions import Fraction
    from typing import Any

    Amount = float | Fraction | Decimal

_make = _native.make


def loss_of(
    epsilon: Amount | None = None, delta: Amount | None = None, rho: Amount | None = None
) -> tuple[Any, Any]:
    """Describe a budget: a measure, and the largest loss in this measure.

    An infinite loss gives no protection, and a delta of at least 1 gives none either. So both are
    errors.

    The loss is a float. The float 0.1 is slightly above a tenth. A ``fractions.Fraction`` or a
    ``decimal.Decimal``, such as ``Fraction(1, 10)``, is rounded down to a float. So the budget never
    exceeds the stated number, and a ledger with epsilon 1 pays for ten such budgets.
    """
    if (epsilon is None) == (rho is None):
        found = "neither" if epsilon is None else "both"
        raise of("Argument", f"argument `epsilon`: expected either epsilon or rho, found {found}")
    name = "max_divergence" if rho is None else "zero_concentrated_divergence"
    measure = _make(name, {})
    loss = _amount("epsilon", epsilon) if rho is None else _amount("rho", rho)
    if delta is None:
        return measure, loss
    pair = loss, _amount("delta", delta)
    _check_delta("delta", pair[1])
    return _make("approximate", {"measure": measure}), pair


def plain_loss(name: str, loss: Any, depth: int = 0) -> Any:
    """Return a loss whose parts can be read several times.

    Lists, arrays, iterators and other iterables become tuples, and so do the iterables in them.
    Numbers, texts, bytes and most dictionaries with text keys stay as they are. A fraction or a
    decimal number is rounded down to a float, so the loss never exceeds the stated number. The library reads
    iterables as tuples, too. So a check of the returned loss finds each number that the library
    reads, even a number in an array, a deque or an iterator. ``depth`` is the number of iterables
    around this part.
    """
    if isinstance(loss, (int, float, str, bytes)) or loss is None or depth > 64:
        return loss
    if is_exact(loss):
        return _amount(name, loss)
    if isinstance(loss, (set, frozenset)):
        found = f"expected a number, a list or a tuple, found a value of type {type(loss).__name__}"
        raise of("Argument", f"argument `{name}`: {found}; a set has no order")
    if isinstance(loss, dict):
        pairs = tuple(dict.items(loss))
        if all(isinstance(key, str) for key, _ in pairs):
            is_tuple = len(pairs) == 1 and pairs[0][0] == "__tuple__"
            return plain_loss(name, pairs[0][1], depth + 1) if is_tuple else loss
        # The library reads such a dictionary as a list of pairs.
        loss = pairs
    elif not isinstance(loss, (tuple, list)):
        for method in ("tolist", "to_list", "to_pylist"):
            try:
                listed = getattr(loss, method)()
            except Exception:
                continue
            return plain_loss(name, listed, depth + 1)
    # The class of another package can raise any exception.
    try:
        items = iter(loss)
    except Exception:
        return loss
    try:
        parts = tuple(items)
    except Exception as error:
        reason = f"the loss cannot be read: its iteration raised {type(error).__name__}"
        raise of("Argument", f"argument `{name}`: {reason}; pass a tuple of numbers") from None
    return tuple(plain_loss(name, part, depth + 1) for part in parts)


def check_loss(name: str, measure: Any, loss: Any) -> Any:
    """Refuse a loss that bounds nothing: an infinite loss, or a delta of at least 1.

    Return the loss that was checked. Its iterables are tuples. The caller must use this loss,
    because the check consumes an iterator.
    """
    loss = plain_loss(name, loss)
    parts = loss if isinstance(loss, tuple) else (loss,)
    # Some losses, such as curves, are not numbers. The library checks them.
    plain = [isinstance(part, (int, float, str)) or hasattr(part, "dtype") for part in parts]
    numbers = [number(name, part) if is_plain else 0 for part, is_plain in zip(parts, plain)]
    if measure.type.startswith("Approximate<") and len(numbers) == 2:
        _check_delta(name, numbers[1])
    return loss


def _check_delta(name: str, delta: float) -> None:
    if delta >= 1:
        reason = f"expected a delta below 1, found {delta!r}; a delta of 1 gives no protection"
        raise of("Argument", f"argument `{name}`: {reason}")


def is_exact(value: Any) -> bool:
    """Return whether a value is a fraction or a decimal number."""
    return type(value).__module__ in ("fractions", "decimal", "_decimal", "_pydecimal") and hasattr(
        value, "as_integer_ratio"
    )


def exact(value: Any) -> Any:
    """Return a fraction or a decimal number as an equal number of Python, or None.

    A distance must not be rounded, because its smaller or its larger neighbour is another
    statement. So None means that the value is another one, or that no float is equal to it.
    """
    if not is_exact(value):
        return None
    try:
        above, below = value.as_integer_ratio()
        if below == 1:
            return above
        near = above / below
        return near if near.as_integer_ratio() == (above, below) else None
    except (ValueError, OverflowError):  # A decimal number can be NaN or infinite.
        return None


def _amount(name: str, value: Any) -> Any:
    """Return a part of a budget. A fraction or a decimal number is rounded down to a float.

    A filter reads a float as the larger of two numbers: the float, and the shortest decimal number
    that stands for it. So neither of them may exceed the stated number.
    """
    if not is_exact(value):
        return number(name, value)
    from fractions import Fraction

    try:
        stated, near = Fraction(value), float(value)
    except (ValueError, OverflowError):  # A decimal number can be NaN or infinite.
        raise of("Argument", f"argument `{name}`: expected a finite number of at least 0") from None
    while near > 0 and max(Fraction(near), Fraction(repr(near))) > stated:
        near = math.nextafter(near, 0.0)
    return number(name, near)


def number(name: str, value: Any) -> Any:
    """Return a finite number of at least 0. A scalar of numpy becomes a number of Python."""
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        found = f"found a value of type {type(value).__name__}"
        hint = "; write numbers without quotes" if isinstance(value, str) else ""
        raise of("Argument", f"argument `{name}`: expected a number, {found}{hint}")
    if not 0 <= value <= 1.7976931348623157e308:
        shown = repr(value)
        if isinstance(value, int) and not -(10**15) < value < 10**15:
            shown = "a number below 0" if value < 0 else "a number above all floats"
        reason = f"expected a finite number of at least 0, found {shown}"
        raise of("Argument", f"argument `{name}`: {reason}")
    return value
