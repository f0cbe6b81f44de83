"""Budgets that remain in a file after the process ends: ``Ledger(path)``."""

from __future__ import annotations

import os

from . import _html, _native
from ._errors import OpenDPError, of

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from decimal import Decimal
    from fractions import Fraction
    from typing import Any

    Amount = float | str | Fraction | Decimal


class Ledger:
    """Budgets in a file. The command ``opendp budget`` reads and writes the same files.

    ``path`` names the file. :meth:`create` makes the file if it does not exist. All other methods
    need a file that exists. The file must be on a local disk. ``Study.ask`` charges the answers of
    a study to a budget of a ledger, and ``Context.compositor`` charges the budget of a context.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        path = os.fspath(path)
        if not isinstance(path, str) or not path:
            raise of("Argument", "argument `path`: expected the path of a file, as a text")
        # After `os.chdir`, a relative path would name another file, which has other budgets.
        # `os.path.abspath` would also remove `..`, which leads elsewhere after a symbolic link.
        self._path = path if os.path.isabs(path) else os.path.join(os.getcwd(), path)
        self._ledger = _native.Ledger(self._path)

    @property
    def path(self) -> str:
        """The absolute path of the file. It was found when the ledger was made."""
        return self._path

    def create(
        self,
        name: str,
        *,
        epsilon: Amount | None = None,
        delta: Amount | None = None,
        rho: Amount | None = None,
        tight: bool = False,
        unit: int | None = None,
        metric: Any = None,
        contributions: int | None = None,
        digest: str | None = None,
        size: int | None = None,
    ) -> None:
        """Create a budget: ``epsilon``, ``epsilon`` with ``delta``, or ``rho``.

        A float stands for the decimal number that is printed for it. A text can also be a fraction,
        such as ``"1/3"``. With ``tight``, the losses compose tightly, so many releases together can
        cost less than the sum of their losses.

        ``unit`` is the distance in ``metric`` between data sets that differ in one person, or in
        one record. ``metric`` is a metric or its name, such as ``"symmetric_distance"``. Each
        person has at most ``contributions`` records. A study with ``{"person": n}`` needs the
        symmetric distance ``n``, and a study with ``{"answers_of_person": n}`` needs the change-one
        distance ``n``.

        ``digest`` is the SHA-256 of the data file. A budget with a digest refuses tables in memory,
        so only the command ``opendp`` can use it. ``size`` is the number of people in the data. If
        each person has one record, ``size`` makes the number of rows public.
        """
        if unit is not None and metric is None:
            reason = "also state the metric of the unit, such as `\"symmetric_distance\"`"
            raise of("Argument", f"argument `metric`: {reason}")
        if unit is None and metric is not None:
            reason = "also state the distance between data sets that differ in one person, such as 1"
            raise of("Argument", f"argument `unit`: {reason}")
        if contributions is not None and unit is None:
            raise of("Argument", "argument `contributions`: also state `unit` and `metric`")
        stated = [_amount(*pair) for pair in (("epsilon", epsilon), ("delta", delta), ("rho", rho))]
        protected = None
        if unit is not None:
            made = _native.make(metric, {}) if isinstance(metric, str) else metric
            if not isinstance(made, _native.Metric):
                reason = "expected a metric, or the name of a metric, such as `symmetric_distance`"
                raise of("Argument", f"argument `metric`: {reason}")
            protected = (
                made,
                _whole("unit", unit, 2**32 - 1),
                None if contributions is None else _whole("contributions", contributions, 2**32 - 1),
            )
        people = None if size is None else _whole("size", size, 2**64 - 1, 1)
        amounts = (stated[0], stated[1], stated[2])
        texts = self._ledger.create(name, amounts, tight, protected, (digest, people))
        if texts:
            import warnings

            for text in texts:
                warnings.warn(f"budget {name!r}: {text}", UserWarning, stacklevel=2)

    def budgets(self) -> list[dict[str, Any]]:
        """Return all budgets, each as :meth:`show` does."""
        return list(self._ledger.budgets())

    def show(self, name: str) -> dict[str, Any]:
        """Return a budget: its total, what is spent and what remains, as exact numbers in texts."""
        return dict(self._ledger.show(name))

    def history(self, name: str) -> list[dict[str, Any]]:
        """Return all releases that were charged to a budget, in their order."""
        return list(self._ledger.history(name))

    def settle_clock(self, name: str, by: str = "") -> dict[str, Any]:
        """Accept requests to a budget again after a correction of the clock.

        If the clock was ahead at the last entry, the corrected clock can be more than a second
        behind this entry. Then the budget refuses requests. Call this method only if the clock is
        correct now. Return the entry of zero loss that records the call. ``by`` is the name of the
        person who calls.
        """
        return dict(self._ledger.settle_clock(name, by))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy in another process reads and charges the same file.
        return type(self), (self.path,)

    def __repr__(self) -> str:
        return f"Ledger({self.path!r})"

    def _repr_html_(self) -> str | None:
        """Return a table of the budgets, for notebooks. Without a file, return None."""
        try:
            budgets = self.budgets()
        except OpenDPError:
            return None
        head = ["budget", "total", "spent", "remaining", "releases"]
        rows = []
        for known in budgets:
            parts = [known[part] for part in head[1:4]]
            texts = [", ".join(f"{name} {amount}" for name, amount in part.items()) for part in parts]
            rows.append([known["name"], *texts, known["releases"]])
        return _html.table(self.path, head, rows)


def place_of(
    ledger: Any, budget: Any, id: Any, by: Any
) -> tuple[_native.Ledger, tuple[str, str, str]] | None:
    """Return the ledger, and the budget, the id and the person. Without a ledger, return None."""
    if ledger is None:
        if budget is not None or id is not None or by:
            raise of("Argument", "argument `ledger`: state the ledger, as in `dp.Ledger(path)`")
        return None
    if not isinstance(ledger, Ledger):
        raise of("Argument", "argument `ledger`: expected a ledger, as in `dp.Ledger(path)`")
    for name, value in (("budget", budget), ("id", id), ("by", by)):
        if not isinstance(value, str):
            reason = "with `ledger`, state the texts `budget` and `id`, and optionally the text `by`"
            raise of("Argument", f"argument `{name}`: {reason}")
    return ledger._ledger, (budget, id, by)


def _amount(name: str, value: Any) -> str | None:
    """Return an amount as a text. The text of a float is the decimal number that stands for it."""
    import numbers
    from decimal import Decimal

    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool):
        # The text of a float of numpy can differ from the text of an equal float.
        exact = isinstance(value, (numbers.Rational, Decimal))
        return str(value) if exact else repr(float(value))
    raise of("Argument", f"argument `{name}`: expected a number, or a text such as `1/3`")


def _whole(name: str, value: Any, largest: int, least: int = 0) -> int:
    """Return a whole number from ``least`` to ``largest``."""
    import operator

    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if isinstance(value, bool) or not least <= number <= largest:
        reason = f"expected a whole number from {least} to {largest}"
        raise of("Argument", f"argument `{name}`: {reason}")
    return number
