"""Warnings about budgets that give little or no protection. The command ``opendp`` also warns."""

from __future__ import annotations

from threading import local

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any

LARGE = 10.0
"""The largest epsilon or rho without a warning."""
LARGE_DELTA = 1e-3
"""The smallest delta that gives a warning, if the number of people is not known."""
LARGEST_DELTA = 1e-2
"""The smallest delta that gives a warning for every number of people."""


class Searches(local):
    """Whether a search runs in this thread.

    During a search, maps do not warn about distances without neighbours. A search does not yield to
    other tasks of its thread, so a task that is started in a search runs after the search. A
    context variable would still be set in this task.
    """

    running = False


SEARCHES = Searches()


def warn(measure: Any, loss: Any, size: int | None) -> None:
    """Warn if a budget gives little protection. ``size`` is the number of people, if known."""
    texts = cautions(measure, loss, size)
    if texts:
        import warnings

        for text in texts:
            # The warning shows the line that calls `Context.compositor`.
            warnings.warn(f"argument `privacy_loss`: {text}", UserWarning, stacklevel=3)


def cautions(measure: Any, loss: Any, size: int | None) -> list[str]:
    """Return the texts of the warnings about a budget."""
    has_delta = measure.type.startswith("Approximate<") and isinstance(loss, (tuple, list))
    first, delta = loss if has_delta and len(loss) == 2 else (loss, 0.0)
    name = "rho" if "ZeroConcentratedDivergence" in measure.type else "epsilon"
    texts = []
    if _is_number(first) and first > LARGE:
        texts.append(
            f"{name} is {float(first):.4g}, which is above {LARGE:g}: it gives little protection; "
            f"choose a smaller {name}, such as 1"
        )
    if not _is_number(delta):
        return texts
    if size and delta * size >= 1:
        texts.append(
            f"delta is {float(delta):.4g}, which is not below 1 in {size}: the data of some "
            "people may be released unchanged"
        )
    elif delta >= (LARGEST_DELTA if size else LARGE_DELTA):
        texts.append(
            f"delta is {float(delta):.4g}, which is large: the data of each person may be released "
            "unchanged with this probability; choose a delta far below 1 / (number of people)"
        )
    return texts


def _is_number(value: Any) -> bool:
    """Return whether a part of a loss is a number. A curve, for example, is not a number."""
    return isinstance(value, (int, float)) or getattr(value, "ndim", None) == 0
