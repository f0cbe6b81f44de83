"""Measurements: the functions ``make_*`` and ``then_*`` of each registered measurement.

The first arguments of ``make_*`` are the domain and the metric of the input. ``then_*`` takes the
domain and the metric from its left operand: ``space >> then_*()``.
"""

from __future__ import annotations

from ._errors import of
from ._names import in_measurements
from ._registry import module

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Sequence

__getattr__, _listed = module(in_measurements, "`dp.m`")


def debias_randomized_response_bitvec(answers: Sequence[Any], f: float) -> list[float]:
    """Estimate the number of ones at each place of bit vectors.

    Each answer is a release of ``make_randomized_response_bitvec``: a list of booleans, or a text
    of the digits 0 and 1. All answers have the same length. ``f`` is the argument of the
    measurement: with probability ``f``, a bit is replaced by a fair coin. The estimate for a place
    with ``Y`` ones in ``n`` answers is ``(Y - n f / 2) / (1 - f)``, which is correct on average.
    """
    if not (isinstance(f, (int, float)) and 0.0 <= f < 1.0):
        reason = f"expected a number of at least 0 and below 1, found {f!r}"
        raise of("Argument", f"argument `f`: {reason}")
    # A single text is one release, and each of its characters would count as a release of one bit.
    listed = None if isinstance(answers, (str, bytes, bytearray)) else _lists(answers)
    found = [None] if listed is None else [_bits(answer) for answer in listed]
    rows = [row for row in found if row is not None]
    if len(rows) < len(found):
        expected = "expected a list of releases: lists of booleans, or texts of the digits 0 and 1"
        raise of("Argument", f"argument `answers`: {expected}; unpack packed bits")
    if len({len(row) for row in rows}) > 1:
        raise of("Argument", "argument `answers`: expected the same length for all")
    return [(sum(place) - len(rows) * f / 2) / (1 - f) for place in zip(*rows)]


def _lists(values: Any) -> list[Any] | None:
    """Return a list of the items of an iterable. Return None for any other value."""
    try:
        return list(values)
    except TypeError:
        return None


def _bits(answer: Any) -> list[int] | None:
    """Return the bits of a release as integers. Return None if the value is no such release."""
    if isinstance(answer, (bytes, bytearray)):
        return None
    known = "01" if isinstance(answer, str) else (0, 1)
    listed = _lists(answer)
    if listed is None or not all(bit in known for bit in listed):
        return None
    return [int(bit) for bit in listed]


def __dir__() -> list[str]:
    return sorted([*_listed(), debias_randomized_response_bitvec.__name__])


__all__ = __dir__()
