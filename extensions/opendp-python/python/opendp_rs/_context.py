"""A budget that queries spend: ``Context.compositor(...)``, then ``.query()....release()``."""

from __future__ import annotations

from . import _native, _registry
from ._cautions import warn
from ._columns import LAZY, is_lazy
from ._errors import OpenDPError, in_python, of
from ._ledger import place_of
from ._losses import check_loss, loss_of
from ._measures import below, budget_in, cast, without_delta
from ._partial import chain
from ._search import binary_search_param
from ._shares import account
from ._spaces import domain_of, domains_of_data

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Callable, Sequence

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
        self, session: Any, space: Any, d_in: Any, measure: Any, d_mids: Any, start: Any = None
    ) -> None:
        self._session, self._space, self._d_in = session, space, d_in
        # Queries begin with this object: the space, or a cast of its rows to `i64`.
        self._start = space if start is None else start
        self._measure, self._d_mids = measure, d_mids
        if d_mids is None:
            self._session = session.within(space)

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

        ``margins`` of OpenDP 0.16 are not supported: ``dp.Study`` answers questions about tables.
        """
        if margins is not None:
            reason = "not supported, leave it out; `dp.Study` answers questions about tables"
            raise of("Argument", f"argument `margins`: {reason}")
        if is_lazy(data):
            raise of("Argument", f"argument `data`: {LAZY}")
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
        if place is not None:
            place[0].charge(place[1], made, d_in)
        return Context(made(data), space, d_in, measure, d_mids, start)

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
                    unit = "rho" if "concentrated" in repr(self._measure) else "epsilon"
                    unit += " and delta" if "approximate" in repr(self._measure) else ""
                    raise of(
                        "MeasureMismatch",
                        f"argument `query`: expected a share in the unit of the budget, {unit}; "
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
        try:
            return self._session(query)
        except OpenDPError as error:
            other = getattr(query, "input_space", self._space)
            if error.kind not in ("DomainMismatch", "MetricMismatch") or other == self._space:
                raise
            kind = error.kind
        reason = f"expected a query about the data of the context, {self._space}, found {other}"
        advice = "begin it with `query()`, or state `domain` when you open the context"
        raise of(kind, f"argument `query`: {reason}; {advice}")

    @property
    def _asked(self) -> int:
        """The number of queries that the session charged.

        If a query is rejected, its share stays for the next query. If an answer fails or is
        interrupted, the share of its query is spent. Only the session knows which of these cases
        occurred.
        """
        return int(self._session.charged)

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


def _of_wide_rows(left: Any, right: Any) -> str:
    """Return the advice for a step on other whole numbers than the `i64` of a query."""
    rows = getattr(left, "domain", None) or getattr(left, "output_domain", None)
    wanted = getattr(right, "input_carrier_type", "").removeprefix("Vec<").removesuffix(">")
    narrow = wanted in ("u8", "u16", "u32", "i8", "i16", "i32")
    if rows is None or "i64" not in rows.carrier_type or not narrow:
        return ""
    return (
        "; without `domain`, a context reads whole numbers as `i64`: make the step with "
        '`T="i64"`, or open the context with `domain`'
    )


def _solve(
    make: Callable[[Any], Any], d_in: Any, d_mid: Any, bounds: tuple[Any, Any] | None, T: Any
) -> Any:
    if d_mid is None:
        raise of("Argument", "argument `query`: state its share, as in `query(epsilon=0.5)`")
    return binary_search_param(make, d_in, d_mid, bounds, T)


class Query:
    """A chain that grows: ``.clamp(...)`` appends ``then_clamp(...)``."""

    def __init__(
        self,
        context: Context,
        made: Any,
        make: Callable[[Any], Any] | None = None,
        d_mid: Any = None,
        wrap: Callable[[Any], Any] | None = None,
        shown: str = "",
    ) -> None:
        self._context, self._made, self._make, self._d_mid = context, made, make, d_mid
        self._wrap = wrap
        # The last steps as a text, if a parameter is open. Then the object does not exist yet.
        self._shown = shown

    def __repr__(self) -> str:
        share = "" if self._d_mid is None else f"; share {self._d_mid}"
        return f"Query({self._shown or self._made}{share}; not released)"

    def __dir__(self) -> list[str]:
        steps = _registry.attributes(lambda _: True)
        then = [name.removeprefix("then_") for name in steps if name.startswith("then_")]
        return sorted({*super().__dir__(), *then})

    def __getattr__(self, name: str) -> Callable[..., Query]:
        if name.startswith("_"):
            raise AttributeError(name)
        then = _registry.function(f"then_{name}")
        if then is None:
            reason = _registry.nearest(f"then_{name}", None, "a query")
            raise AttributeError(reason.replace("`then_", "`"))

        def append(*args: Any, **kwargs: Any) -> Query:
            known = _registry.find(f"then_{name}") or ""
            args, kwargs = _registry.kept(args, kwargs)
            if self._make is not None and _registry.takes_space(known):
                reason = f"`then_{name}` cannot follow a value of type Measurement"
                raise of("Argument", f"argument `>>`: {reason}; put it before the noise")
            kwargs = self._with_measure(known, args, kwargs)
            open_at = self._open(known, args, kwargs) if self._make is None else None
            if open_at is None:
                return self.__rshift__(then(*args, **kwargs))
            left = self._made
            return self._with(
                lambda value: chain(left, then(*args, **{**kwargs, open_at: value})),
                f"{left} >> then_{name}({open_at}=?)",
            )

        return append

    def _with(self, make: Callable[[Any], Any], shown: str) -> Query:
        return Query(self._context, None, make, self._d_mid, shown=shown)

    def __rshift__(self, other: Any) -> Query:
        if self._make is not None:
            inner = self._make
            return self._with(lambda value: chain(inner(value), other), f"{self._shown} >> ...")
        left = self._left(other)
        try:
            made = chain(left, other)
        except OpenDPError as error:
            if error.kind == "DomainMismatch":
                in_python(error).message += _of_wide_rows(left, other)
                error.args = (error.message,)
            raise
        return Query(self._context, made, None, self._d_mid)

    def _left(self, other: Any) -> Any:
        """Return the object that `other` follows.

        Leave out the cast to `i64` under two conditions: `other` takes the rows as they were before
        this cast, and no step follows the cast.
        """
        context = self._context
        is_plain = getattr(other, "input_space", None) == context._space
        return context._space if is_plain and self._made is context._start else self._made

    def _with_measure(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """Add the measure of the context to the arguments of a step that needs a measure.

        If the budget has a delta, first try the measure of the losses without delta. Then try the
        measure of the budget. Add the first of these measures that the step lists. If the step
        accepts every measure, add nothing. The user gives the map of such a step, so the user must
        also state the measure of this map.
        """
        given = any(kwargs.get(key) is not None for key in ("output_measure", "MO"))
        if args or given or not _registry.takes_space(name):
            return kwargs
        parameter = _registry.plan_of(name, True).parameters.get("output_measure")
        if parameter is not None:
            own = self._context._measure
            for measure in (without_delta(own), own):
                if measure.type in parameter["types"]:
                    return {**kwargs, "output_measure": measure}
        return kwargs

    def _open(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Return the name of the missing parameter of a measurement, if exactly one is missing."""
        if _registry.KINDS[name] != "measurement":
            return None
        plan = _registry.plan_of(name, True)
        rest = [known for known in plan.names[len(args) :] if known in plan.required]
        missing = [known for known in rest if kwargs.get(known) is None]
        return missing[0] if len(missing) == 1 else None

    def _candidate(self, d_mid: Any) -> Callable[[Any], Any]:
        make, measure = self._make, self._context._measure
        assert make is not None
        return lambda value: cast(make(value), measure, d_mid)

    def compositor(
        self,
        split_evenly_over: int | None = None,
        split_by_weights: Sequence[float] | None = None,
        d_out: Any = None,
        d_mids: Sequence[Any] | None = None,
        *,
        output_measure: Any = None,
        alpha: float | None = None,
    ) -> Query:
        """Open a context inside this context. Its release is a new :class:`Context`.

        The budget of the new context is ``d_out``, or else the share of this query. Steps before
        ``compositor``, such as a clamp, change the data of the new context.

        With ``output_measure``, the new context counts its losses in another measure, such as
        ``dp.zero_concentrated_divergence()`` in a context with epsilon and delta. Its budget is the
        largest loss in this measure whose conversion costs at most ``d_out`` or the share. State
        ``d_mids`` in this measure. If the losses in both measures have a delta, ``alpha`` is the
        part of delta that the new budget gets, and the conversion uses the rest.
        """
        outer = self._context
        if d_out is not None:
            d_out = check_loss("d_out", outer._measure, d_out)
        loss = outer._share(self._d_mid) if d_out is None else d_out
        if loss is None or self._make is not None:
            reason = "state the share of the query, and no noise before `compositor`"
            raise of("Argument", f"argument `query`: {reason}")
        made, start = self._made, None
        if made is outer._start:
            made, start = outer._space, outer._start
        step = isinstance(made, _native.Transformation)
        space = made.output_space if step else made
        d_in = made.map(outer._d_in) if step else outer._d_in
        splits = (split_evenly_over, split_by_weights, d_mids)
        measure = outer._measure if output_measure is None else output_measure
        budget = budget_in(measure, outer._measure, loss, alpha)
        opens, d_mids = account(space, measure, d_in, budget, splits)
        whole = cast(chain(made, opens), outer._measure, loss)
        if not whole.check(outer._d_in, loss):
            # The budget of a filter is the larger of two numbers: the float, and the shortest
            # decimal number that stands for this float. So the budget can exceed the stated
            # float. Then use the next smaller float as the budget.
            opens, d_mids = account(space, measure, d_in, below(budget), splits)
            whole = cast(chain(made, opens), outer._measure, loss)

        def wrap(session: Any) -> Context:
            return Context(session, space, d_in, measure, d_mids, start)

        return Query(outer, whole, None, self._d_mid, wrap)

    def resolve(self, bounds: tuple[Any, Any] | None = None, T: Any = None) -> Any:
        """Make the measurement, without a release.

        ``bounds`` and ``T`` are the range and the type of an open parameter of noise. If no
        parameter is open, each of them is an error.
        """
        context = self._context
        d_mid = context._share(self._d_mid)
        if self._make is not None:
            make = self._candidate(d_mid)
            return make(_solve(make, context._d_in, d_mid, bounds, T))
        for name, value in (("bounds", bounds), ("T", T)):
            if value is not None:
                reason = "no parameter of this query is open, so leave it out"
                raise of("Argument", f"argument `{name}`: {reason}")
        if not isinstance(self._made, _native.Measurement):
            reason = "expected a measurement; append noise, such as `.laplace()`"
            raise of("Argument", f"argument `query`: {reason}")
        made = cast(self._made, context._measure, d_mid)
        if d_mid is not None and context._d_mids is None and not made.check(context._d_in, d_mid):
            raise of("BudgetExceeded", "the query costs more than the share that it states")
        return made

    def param(self, bounds: tuple[Any, Any] | None = None, T: Any = None) -> Any:
        """Find the value of the parameter of noise that was left open."""
        if self._make is None:
            raise of("Argument", "argument `param`: no parameter of this query is open")
        d_mid = self._context._share(self._d_mid)
        return _solve(self._candidate(d_mid), self._context._d_in, d_mid, bounds, T)

    def accuracy(
        self, alpha: float, bounds: tuple[Any, Any] | None = None, T: Any = None
    ) -> list[float | None]:
        """Return a bound on the error of each number of the release.

        The error of a number exceeds its bound with probability at most ``alpha``. A bound is None
        if it is not known. This method releases nothing and charges nothing.
        """
        return list(self.resolve(bounds, T).accuracy(alpha))

    def release(self, bounds: tuple[Any, Any] | None = None, T: Any = None) -> Any:
        """Spend the query's share of the budget, and return the release."""
        answer = self._context(self.resolve(bounds, T))
        return answer if self._wrap is None else self._wrap(answer)
