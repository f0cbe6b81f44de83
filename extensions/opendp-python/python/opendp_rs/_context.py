"""A budget that queries spend: ``Context.compositor(...)``, then ``.query()....release()``."""

from __future__ import annotations

from . import _html, _native
from ._cautions import warn
from ._columns import LAZY, is_lazy, misfit_of
from ._errors import OpenDPError, of
from ._ledger import place_of
from ._losses import check_loss, loss_of
from ._query import Query
from ._shares import account
from ._spaces import domain_of, domains_of_data

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Sequence

    from ._ledger import Ledger
    from ._losses import Amount

_make = _native.make


class Context:
    """A data set with a budget, which queries spend.

    Each query is a chain of registered constructors. One parameter of the noise may be left
    open. Then the library finds the value with which the query spends its share of the budget.

    With ``split_evenly_over``, ``split_by_weights`` or ``d_mids``, the shares are fixed beforehand.
    Then ``make_adaptive_composition`` bounds the loss of all queries. Without these arguments,
    each query states its share, as in ``query(epsilon=0.5)``. ``make_privacy_filter`` then rejects
    queries over the budget.
    """

    def __init__(
        self,
        session: Any,
        space: Any,
        d_in: Any,
        measure: Any,
        d_mids: Any,
        start: Any = None,
        d_out: Any = None,
    ) -> None:
        self._session, self._space, self._d_in, self._d_out = session, space, d_in, d_out
        # Queries begin with this object: the space, or a cast of its rows to `i64`.
        self._start = space if start is None else start
        self._measure, self._d_mids = measure, d_mids
        if d_mids is None:
            self._session = session.within(space)
        # The last releases: the name of the query, its answer, its measurement, and its share.
        self._releases: list[tuple[str, Any, Any, Any]] = []

    @staticmethod
    def compositor(
        data: Any,
        privacy_unit: tuple[Any, Any],
        privacy_loss: tuple[Any, Any],
        split_evenly_over: int | None = None,
        split_by_weights: Sequence[float] | None = None,
        domain: Any = None,
        d_mids: Sequence[Any] | None = None,
        *,
        ledger: Ledger | None = None,
        budget: str | None = None,
        id: str | None = None,
        by: str = "",
        public_types: bool = False,
        margins: None = None,
    ) -> Context:
        """Open a context on a data set, with a unit of privacy and a budget.

        Without ``domain``, the Python type of the data gives the domain. So the context discloses
        this type. For a list, the context discloses more. An empty list is an error. A list whose
        first 1000 items have several types, such as numbers and ``None``, is also an error. So pass
        ``domain`` for lists of private rows.

        A sum beyond the range of the type of its rows is replaced by the nearest number of this
        type. With a wide type, this happens rarely. So without ``domain``, queries read integers of
        up to 32 bits as ``i64``.

        With ``ledger``, the whole budget of the context is charged to the budget with the name
        ``budget`` in the ledger, before the data are read. That budget must state the unit of
        privacy. The charge is the exact value of the floats in ``privacy_loss``. The float 0.1 is
        above a tenth, so a budget of 1 pays for nine contexts with ``loss_of(epsilon=0.1)``, and
        for ten contexts with ``loss_of(epsilon=fractions.Fraction(1, 10))``. An ``id`` opens one
        context, because the ledger keeps no answers of contexts. A part of the budget that is not
        spent is lost. With ``ledger``, ``domain`` is required. Without ``domain``, an error about
        the type of the data could reveal a fact about the data before the charge. ``by`` is the
        name of the person who asks.

        With ``public_types=True``, a column whose type fits no row of ``domain``, such as a column
        of texts for ``float``, is an error before the charge. This error discloses the type of the
        column, so state it only if the program fixes this type. A type that a library inferred
        depends on the cells.

        ``margins`` of OpenDP 0.16 are not supported: ``dp.Study`` answers questions about tables.
        """
        if margins is not None:
            reason = "not supported, leave it out; `dp.Study` answers questions about tables"
            raise of("Argument", f"argument `margins`: {reason}")
        if is_lazy(data) and not getattr(domain, "type", "").startswith("DataFrameDomain"):
            reason = "`dp.Study` answers questions about tables"
            raise of("Argument", f"argument `data`: {LAZY}; {reason}")
        place = place_of(ledger, budget, id, by)
        if place is not None and domain is None:
            raise of("Argument", "argument `domain`: with `ledger`, state the domain of the data")
        metric, d_in = _pair("privacy_unit", privacy_unit, _native.Metric, "dp.unit_of(...)")
        measure, loss = _pair("privacy_loss", privacy_loss, _native.Measure, "dp.loss_of(...)")
        loss = check_loss("privacy_loss", measure, loss)
        if domain is None:
            space, start = _inferred(data, metric)
        else:
            space = start = _space(domain, metric)
        warn(measure, loss, space.domain.size)
        splits = (split_evenly_over, split_by_weights, d_mids)
        made, d_mids = account(space, measure, d_in, loss, splits)
        if public_types:
            _check_type(data, space.domain)
        if place is not None:
            place[0].charge(place[1], made, d_in)
        session = _opened(made, data, None if domain is not None else space.domain)
        return Context(session, space, d_in, measure, d_mids, start, loss)

    def query(
        self,
        *,
        epsilon: Amount | None = None,
        delta: Amount | None = None,
        rho: Amount | None = None,
    ) -> Query:
        """Begin the next query on the whole data set.

        State the share of the query as in ``loss_of``, unless all shares are fixed.
        """
        stated = {"epsilon": epsilon, "delta": delta, "rho": rho}
        loss = {name: value for name, value in stated.items() if value is not None}
        if self._d_mids is None:
            d_mid = None
            if loss:
                measure, d_mid = loss_of(**loss)
                if measure != self._measure:
                    raise of(
                        "MeasureMismatch",
                        "argument `query`: expected a share in the unit of the budget, "
                        f"{_unit(self._measure)}; "
                        f"the budget is in {self._measure}, and the share in {measure}",
                    )
            return Query(self, self._start, None, d_mid)
        if loss:
            raise of(
                "Argument", "argument `query`: the shares of the budget are fixed; state none here"
            )
        return Query(self, self._start)

    def __call__(self, query: Any) -> Any:
        """Charge the loss of a measurement to the budget, and return its release."""
        if isinstance(query, Query):
            reason = "expected a measurement, found a query; write `query.release()`"
            raise of("Argument", f"argument `query`: {reason}")
        return self._ask(query, "measurement")

    def _ask(self, query: Any, name: str) -> Any:
        """Charge the loss of a measurement with a name to the budget, and return its release."""
        try:
            answer = self._session(query)
            self._keep(name, answer, query)
            return answer
        except OpenDPError as error:
            other = getattr(query, "input_space", self._space)
            if error.kind not in ("DomainMismatch", "MetricMismatch") or other == self._space:
                raise
            kind = error.kind
        reason = f"expected a query about the data of the context, {self._space}, found {other}"
        advice = "begin it with `query()`, or state `domain` when you open the context"
        raise of(kind, f"argument `query`: {reason}; {advice}")

    def _keep(self, name: str, answer: Any, query: Any) -> None:
        """Keep a release, so that a notebook can show it."""
        # If another thread asks at the same time, this can be the share of the other query.
        share = None if self._d_mids is None else self._d_mids[max(self._asked, 1) - 1]
        self._releases.append((name, _html.shown(answer), query, share))
        del self._releases[: -_html.MOST_ROWS]

    def _repr_html_(self) -> str:
        """Return a table of the releases, for notebooks. It discloses only what is released."""
        rows = []
        for name, answer, query, share in self._releases:
            charge = _charge_of(query, self._d_in) if share is None else share
            rows.append([name, answer, _error_of(query), charge])
        unit = _unit(self._measure)
        caption = f"{self._asked} queries asked; spent {_html.shown(self.current_privacy_loss())}"
        caption += f"; left {_html.shown(self.remaining_privacy_loss())} ({unit})"
        head = ["query", "answer", "error, exceeded in at most 5 %", f"charge ({unit})"]
        more = self._asked - len(rows)
        notes = [f"{more} queries failed, or are too long ago to be shown"] if more > 0 else []
        return _html.table(caption, head, rows, notes)

    @property
    def _asked(self) -> int:
        """The number of queries that the session charged.

        If a query is rejected, its share stays for the next query. If an answer fails or is
        interrupted, the share of its query is spent. Only the session knows which of these cases
        occurred.
        """
        return int(self._session.charged)

    @property
    def d_in(self) -> Any:
        """The largest distance between data sets that one person can cause."""
        return self._d_in

    @property
    def d_out(self) -> Any:
        """The whole budget, or None if the shares are fixed."""
        return self._d_out if self._d_mids is None else None

    @property
    def d_mids(self) -> list[Any] | None:
        """The shares that are left, or None if the shares are not fixed."""
        return None if self._d_mids is None else self._d_mids[self._asked :]

    @property
    def d_mids_consumed(self) -> list[Any] | None:
        """The shares of the past queries, or None if the shares are not fixed."""
        return None if self._d_mids is None else self._d_mids[: self._asked]

    @property
    def output_measure(self) -> Any:
        """The measure of the budget."""
        return self._measure

    @property
    def input_space(self) -> Any:
        """The space of the data: a domain and a metric."""
        return self._space

    def current_privacy_loss(self) -> Any:
        """Return the shares of the past queries. If shares are not fixed, return the total loss."""
        if self._d_mids is None:
            return self._session.privacy_loss(self._d_in)
        return self._d_mids[: self._asked]

    def remaining_privacy_loss(self) -> Any:
        """Return the remaining shares. If shares are not fixed, return the rest of the budget."""
        if self._d_mids is None:
            return self._session.remaining_budget()
        return self._d_mids[self._asked :]

    def __repr__(self) -> str:
        data = f"{self._space.domain}, {self._space.metric} of {self._d_in}"
        left = f"{self.remaining_privacy_loss()} in {self._measure}"
        return f"Context({data}; {self._asked} queries asked, remaining budget: {left})"

    def _share(self, stated: Any) -> Any:
        """Return the share of the next query. If shares are not fixed, return `stated`."""
        if self._d_mids is None:
            return stated
        if self._asked == len(self._d_mids):
            raise of("BudgetExceeded", f"no query is left: the number of queries was fixed as {self._asked}")
        return self._d_mids[self._asked]


def _error_of(query: Any) -> Any:
    """Return the bounds on the errors of a release, or None if they are not known."""
    try:
        bounds = query.accuracy(0.05)
    except (AttributeError, OpenDPError):
        return None
    return bounds[0] if len(bounds) == 1 else bounds


def _charge_of(query: Any, d_in: Any) -> Any:
    """Return the loss of a measurement, or None if a map in Python fails."""
    try:
        return query.map(d_in)
    except OpenDPError:
        return None


def _unit(measure: Any) -> str:
    """Return the names of the parts of a loss in a measure."""
    unit = "rho" if "concentrated" in repr(measure) else "epsilon"
    return f"{unit} and delta" if "approximate" in repr(measure) else unit


def _check_type(data: Any, domain: Any) -> None:
    """Refuse a column whose type fits no row of a domain. No row is read."""
    T = domain.carrier_type.removeprefix("Vec<").removeprefix("Option<").rstrip(">")
    kinds = {"S": "S", "b": "b", "f": "if", "i": "i", "u": "i"}.get(T[:1])
    found = None if kinds is None or "<" in T else misfit_of(data, kinds)
    if found is not None:
        reason = f"the rows are {T}, and the type of the column is {found}"
        raise of("Argument", f"argument `data`: {reason}; convert the column; nothing is charged")


def _opened(made: Any, data: Any, inferred: Any) -> Any:
    """Open a session on data. ``inferred`` is the domain of the data, if it was inferred.

    An error about the data is the same for all data outside of the domain.
    """
    try:
        return made(data)
    except OpenDPError as error:
        if error.message.startswith("argument `arg`"):
            error.message = error.message.replace("argument `arg`", "argument `data`", 1)
            if inferred is not None and inferred.type.startswith("VectorDomain<AtomDomain<"):
                T = inferred.carrier_type.removeprefix("Vec<").removesuffix(">")
                rows = f'dp.vector_domain(dp.option_domain(dp.atom_domain(T="{T}")))'
                error.message += f"; if the column has nulls, state `domain={rows}`"
            error.args = (error.message,)
        raise


def _pair(name: str, value: Any, first: Any, maker: str) -> tuple[Any, Any]:
    """Check that a unit of privacy or a budget is a valid pair, and return the pair."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], first):
        return value
    found = f"a value of type {type(value).__name__}"
    if isinstance(value, tuple) and value:
        found = f"a tuple that begins with a value of type {type(value[0]).__name__}"
    raise of("Argument", f"argument `{name}`: expected the result of `{maker}`, found {found}")


def _inferred(data: Any, metric: Any) -> tuple[Any, Any]:
    """Return the space of data without a stated domain, and the object with which queries begin.

    The wide type of integers is ``i64``. If the registry has a cast from the type of the rows to
    the wide type, the space keeps the type of the rows. So the context also answers measurements
    about rows of this type.
    """
    domain, T, wide = domains_of_data(data, metric)
    if T == wide:
        space = _space(domain, metric)
        return space, space
    if T in ("i32", "u32"):
        space = _native.Space(domain, metric)
        return space, _make("make_cast_default", {"input": space, "TOA": wide})
    space = _native.Space(domain_of(f"Vec<{wide}>"), metric)
    return space, space


def _space(domain: Any, metric: Any) -> Any:
    """Return the space of the data of a context.

    The library accepts a domain and a metric as a space only if a registered function takes spaces
    of this type. No function takes a space of single values with the discrete distance. But
    ``make_randomized_response`` makes a measurement with such an input space, so use this space.
    """
    if not isinstance(domain, _native.Domain):
        example = "`dp.vector_domain(dp.atom_domain(T=float))`"
        found = f"expected a domain, such as {example}, found a value of type {type(domain).__name__}"
        raise of("Argument", f"argument `domain`: {found}")
    if metric.type == "DiscreteDistance" and domain.type.startswith("AtomDomain<"):
        T = domain.carrier_type
        categories = {"String": ["0", "1"], "bool": [False, True]}.get(T, [0, 1])
        given = {"categories": categories, "prob": 0.5, "T": T}
        try:
            known = _make("make_randomized_response", given).input_space
        except OpenDPError:
            known = None
        if known is not None and known.domain == domain:
            return known
    return _native.Space(domain, metric)
