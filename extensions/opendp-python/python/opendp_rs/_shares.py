"""The shares of a budget: the parts into which it is divided beforehand."""

from __future__ import annotations

from . import _native
from ._errors import of
from ._losses import plain_loss

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Sequence

_make = _native.make


def _compose(space: Any, measure: Any, d_in: Any, d_mids: Sequence[Any]) -> Any:
    given = {"input": space, "output_measure": measure, "d_in": d_in, "d_mids": list(d_mids)}
    return _make("make_adaptive_composition", given)


def account(
    space: Any, measure: Any, d_in: Any, loss: Any, splits: tuple[Any, Any, Any]
) -> tuple[Any, list[Any] | None]:
    """Make the measurement that opens a context, and divide the budget of the context.

    Return the measurement and the list of shares. If the budget is not divided, return None instead
    of the list.
    """
    evenly, weights, d_mids = splits
    if sum(option is not None for option in splits) > 1:
        raise of(
            "Argument",
            "argument `split_evenly_over`: expected at most one of split_evenly_over, "
            "split_by_weights, d_mids",
        )
    if all(option is None for option in splits):
        given = {"input": space, "output_measure": measure}
        odometer = _make("make_fully_adaptive_composition", given)
        given = {"odometer": odometer, "d_in": d_in, "d_out": loss}
        return _make("make_privacy_filter", given), None
    if d_mids is None:
        weights = _weights(weights) if evenly is None else [1.0] * _whole(evenly)
        d_mids = _divide(space, measure, d_in, loss, weights)
    else:
        d_mids = [plain_loss("d_mids", share) for share in _listed("d_mids", d_mids, _LOSSES)]
    composed = _compose(space, measure, d_in, d_mids)
    if not composed.check(d_in, loss):
        raise of("BudgetExceeded", "the shares together exceed the budget; make them smaller")
    return composed, d_mids


_LOSSES = "expected a list of losses"


def _whole(evenly: Any) -> int:
    """Return the number of equal parts of a budget."""
    try:
        whole = int(evenly)
    except (TypeError, ValueError, OverflowError):
        whole = 0
    if isinstance(evenly, (bool, str)) or not 1 <= whole <= _MOST or whole != evenly:
        reason = f"expected a whole number above 0, and at most {_MOST}"
        raise of("Argument", f"argument `split_evenly_over`: {reason}")
    return whole


_MOST = 1_000_000
"""The largest number of equal parts. A list of all parts must fit into memory."""


def _weights(weights: Any) -> list[float]:
    """Return the weights of the parts of a budget."""
    reason = "expected numbers above 0"
    listed = _listed("split_by_weights", weights, reason)
    try:
        numbers = [float(weight) for weight in listed if not isinstance(weight, (str, bytes))]
    except (TypeError, ValueError, OverflowError):
        numbers = []
    if not numbers or len(numbers) < len(listed) or not all(number > 0 for number in numbers):
        raise of("Argument", f"argument `split_by_weights`: {reason}")
    if sum(numbers) == float("inf"):
        raise of("Argument", f"argument `split_by_weights`: {reason}, and a finite sum")
    return numbers


def _listed(name: str, values: Any, reason: str) -> list[Any]:
    try:
        listed = [] if isinstance(values, (str, bytes)) else list(values)
    except TypeError:
        listed = []
    if not listed:
        raise of("Argument", f"argument `{name}`: {reason}")
    return listed


def _divide(space: Any, measure: Any, d_in: Any, loss: Any, weights: list[float]) -> list[Any]:
    """Divide a loss by weights, so that the parts compose to at most the loss."""
    total = float(sum(weights))

    def parts(scale: float) -> list[Any]:
        shares = [scale * weight / total for weight in weights]
        if isinstance(loss, tuple):
            return [tuple(part * share for part in loss) for share in shares]
        return [loss * share for share in shares]

    def fits(scale: float) -> bool:
        return bool(_compose(space, measure, d_in, parts(scale)).check(d_in, loss))

    if fits(1.0):
        return parts(1.0)
    # The exact sum of the rounded parts can be a little above the loss. Then shrink the parts. For
    # most measures, a scale slightly below 1 fits, and the search takes a few steps.
    near = 1.0 - 2.0**-48
    return parts(_native.search_float(fits, (near if fits(near) else 0.5, 1.0)))
