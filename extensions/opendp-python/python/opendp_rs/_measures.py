"""Conversions between measures: of measurements, and of budgets."""

from __future__ import annotations

import math

from . import _native
from ._errors import of
from ._spaces import measure_of

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any

_make = _native.make


def cast(measurement: Any, measure: Any, d_mid: Any) -> Any:
    """Convert a measurement to the measure of a budget."""
    if not isinstance(measurement, _native.Measurement) or measurement.output_measure == measure:
        return measurement
    have, want = measurement.output_measure.type, measure.type
    given = {"measurement": measurement}
    if (have, want) == ("MaxDivergence", "Approximate<ZeroConcentratedDivergence>"):
        return _make("make_approximate", {"measurement": _make("make_pureDP_to_zCDP", given)})
    if want == f"Approximate<{have}>":
        return _make("make_approximate", given)
    if (have, want) == ("MaxDivergence", "ZeroConcentratedDivergence"):
        return _make("make_pureDP_to_zCDP", given)
    if "ZeroConcentratedDivergence" in have and want == "Approximate<MaxDivergence>" and d_mid:
        curve = _make("make_zCDP_to_approxDP", given)
        return _make("make_fix_delta", {"measurement": curve, "delta": d_mid[1]})
    advice = "state the budget in the measure of the query, or append other noise"
    raise of(
        "MeasureMismatch",
        f"argument `query`: the loss of the query is in {measurement.output_measure}, and the "
        f"budget is in {measure}; {advice}",
    )


def without_delta(measure: Any) -> Any:
    """Return the measure ``M`` of the measure ``Approximate<M>``, and any other measure itself."""
    head = "Approximate<"
    is_approximate = measure.type.startswith(head)
    return measure_of(measure.type[len(head) : -1]) if is_approximate else measure


def below(loss: Any) -> Any:
    """Return the next smaller loss, part by part."""
    if isinstance(loss, tuple):
        return tuple(below(part) for part in loss)
    return math.nextafter(loss, 0.0)


def budget_in(inner: Any, outer: Any, loss: Any, alpha: float | None) -> Any:
    """Return the largest budget in the measure ``inner`` whose conversion costs at most ``loss``.

    ``loss`` is a loss in the measure ``outer``. If both losses have a delta, ``alpha`` is the part
    of the delta of ``loss`` that the new budget gets. The rest pays for the conversion.
    """
    if not isinstance(inner, _native.Measure):
        reason = "expected a measure, such as `dp.zero_concentrated_divergence()`"
        raise of("Argument", f"argument `output_measure`: {reason}")
    if inner != outer and not _converts(inner.type, outer.type):
        found = f"expected a measure whose losses convert to {outer}, found {inner}"
        raise of("MeasureMismatch", f"argument `output_measure`: {found}")
    has_delta = inner != outer and inner.type.startswith("Approximate<")
    if alpha is not None and not has_delta:
        reason = "the conversion to `output_measure` does not divide delta"
        raise of("Argument", f"argument `alpha`: {reason}; leave `alpha` out")
    if inner == outer:
        return loss
    if has_delta and not (isinstance(alpha, (int, float)) and 0 <= alpha < 1):
        reason = "expected a number from 0 to below 1: the part of delta that the new budget gets"
        raise of("Argument", f"argument `alpha`: {reason}")
    # The conversion of a loss does not depend on the data. So use the simplest space.
    rows = _make("vector_domain", {"atom_domain": _make("atom_domain", {"T": "bool"})})
    space = _native.Space(rows, _make("symmetric_distance", {}))

    def budget(part: float) -> Any:
        return part if alpha is None else (part, alpha * loss[1])

    def fits(part: float) -> bool:
        given = {"input": space, "output_measure": inner, "d_in": 1, "d_mids": [budget(part)]}
        made = cast(_make("make_adaptive_composition", given), outer, loss)
        return bool(made.check(1, loss))

    # Without bounds, the search first finds the order of magnitude in a few steps.
    largest = _native.search_float(fits)
    if largest <= 0:
        reason = f"the share {loss} in {outer} is too small: no loss above 0 in {inner} converts to it"
        raise of("Argument", f"argument `output_measure`: {reason}")
    return budget(largest)


def _converts(inner: str, outer: str) -> bool:
    """Return whether :func:`cast` converts the type ``inner`` of a measure to the type ``outer``."""
    head, zcdp = "Approximate<", "ZeroConcentratedDivergence"
    if inner.startswith(head):
        return (inner, outer) == (f"{head}{zcdp}>", f"{head}MaxDivergence>")
    if inner == "MaxDivergence":
        return outer in (zcdp, f"{head}{inner}>", f"{head}{zcdp}>")
    return inner == zcdp and outer in (f"{head}{inner}>", f"{head}MaxDivergence>")
