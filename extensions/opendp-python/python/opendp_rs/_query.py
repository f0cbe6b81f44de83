"""Queries of a context: chains that grow step by step, such as ``.clamp(...).sum().laplace()``."""

from __future__ import annotations

from . import _native, _registry
from ._errors import OpenDPError, in_python, of
from ._losses import check_loss
from ._measures import below, budget_in, cast, without_delta
from ._names import KINDS, attributes, find
from ._partial import chain
from ._search import binary_search_param
from ._shares import account
from ._signatures import plan_of, takes_space

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Callable, Sequence

    from ._context import Context


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
        reason = "state its share, as in `query(epsilon=0.5)`"
        other = "or open the context with `split_evenly_over`, which divides the budget"
        raise of("Argument", f"argument `query`: {reason}, {other}")
    return binary_search_param(make, d_in, d_mid, bounds, T)


# The methods of lazy frames with which queries of OpenDP 0.16 begin.
_OF_TABLES = ("agg", "filter", "group_by", "select", "with_columns")


def _largest_threshold(counts: Any) -> Any:
    """Return a threshold that noisy counts almost never pass, or None for other values.

    ``counts`` is a transformation from data to a map of counts.
    """
    domain = getattr(counts, "output_domain", None)
    head, _, rest = getattr(domain, "carrier_type", "").partition("<")
    if head != "HashMap":
        return None
    T = rest.removesuffix(">").rpartition(", ")[2]
    if T in ("f32", "f64"):
        return 1e30
    return 2 ** {"i32": 31, "u32": 32}.get(T, 53) - 1


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
        largest: Any = None,
        steps: tuple[str, ...] = (),
    ) -> None:
        self._context, self._made, self._make, self._d_mid = context, made, make, d_mid
        # The names of the steps, by which a notebook shows the query.
        self._steps = steps
        self._wrap = wrap
        # If a scale and a threshold are open, the largest threshold. Otherwise None.
        self._largest = largest
        # The last steps as a text, if a parameter is open. Then the object does not exist yet.
        self._shown = shown

    def __repr__(self) -> str:
        share = "" if self._d_mid is None else f"; share {self._d_mid}"
        return f"Query({self._shown or self._made}{share}; not released)"

    def __dir__(self) -> list[str]:
        steps = attributes(lambda _: True)
        then = [name.removeprefix("then_") for name in steps if name.startswith("then_")]
        return sorted({*super().__dir__(), *then})

    def __getattr__(self, name: str) -> Callable[..., Query]:
        if name.startswith("_"):
            raise AttributeError(name)
        then = _registry.function(f"then_{name}")
        if then is None:
            reason = _registry.nearest(f"then_{name}", None, "a query")
            if name in _OF_TABLES:
                reason = f"a query has no `{name}`: `dp.Study` answers questions about tables"
            raise AttributeError(reason.replace("`then_", "`"))

        def append(*args: Any, **kwargs: Any) -> Query:
            known = find(f"then_{name}") or ""
            args, kwargs = _registry.kept(args, kwargs)
            if self._make is not None and takes_space(known):
                advice = "put steps on the data before the noise, and use only one noise"
                raise of("Argument", f"`{name}` cannot follow the noise of this query; {advice}")
            kwargs = self._with_measure(known, args, kwargs)
            opened = self._open(known, args, kwargs) if self._make is None else []
            if not opened:
                return self._then(then(*args, **kwargs), name)
            left = self._made

            def make(value: Any) -> Any:
                values = (value,) if len(opened) == 1 else value
                return chain(left, then(*args, **{**kwargs, **dict(zip(opened, values))}))

            shown = f"{left} >> then_{name}({', '.join(f'{at}=?' for at in opened)})"
            largest = _largest_threshold(left) if len(opened) == 2 else None
            return self._with(make, shown, largest, name)

        return append

    def _with(self, make: Callable[[Any], Any], shown: str, largest: Any, step: str) -> Query:
        context, d_mid, steps = self._context, self._d_mid, (*self._steps, step)
        return Query(context, None, make, d_mid, shown=shown, largest=largest, steps=steps)

    def __rshift__(self, other: Any) -> Query:
        return self._then(other, getattr(other, "_name", type(other).__name__))

    def _then(self, other: Any, step: str) -> Query:
        """Append an object, a constructor without an input space, or a Python function."""
        if self._make is not None:
            inner = self._make
            make = lambda value: chain(inner(value), other)  # noqa: E731
            return self._with(make, f"{self._shown} >> ...", self._largest, step)
        left = self._left(other)
        try:
            made = chain(left, other)
        except OpenDPError as error:
            if error.kind == "DomainMismatch":
                in_python(error).message += _of_wide_rows(left, other)
                error.args = (error.message,)
            raise
        return Query(self._context, made, None, self._d_mid, steps=(*self._steps, step))

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
        if args or given or not takes_space(name):
            return kwargs
        parameter = plan_of(name, True).parameters.get("output_measure")
        if parameter is not None:
            own = self._context._measure
            for measure in (without_delta(own), own):
                if measure.type in parameter["types"]:
                    return {**kwargs, "output_measure": measure}
        return kwargs

    def _open(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
        """Return the names of the parameters of a measurement that the library finds.

        One missing parameter is found. A missing scale and a missing threshold are also found,
        because a loss with a delta determines both.
        """
        if KINDS[name] != "measurement":
            return []
        plan = plan_of(name, True)
        rest = [known for known in plan.names[len(args) :] if known in plan.required]
        missing = [known for known in rest if kwargs.get(known) is None]
        is_pair = missing == ["scale", "threshold"] and _largest_threshold(self._made) is not None
        return missing if len(missing) == 1 or is_pair else []

    def _candidate(self, d_mid: Any) -> Callable[[Any], Any]:
        make, measure = self._make, self._context._measure
        assert make is not None
        return lambda value: cast(make(value), measure, d_mid)

    def _solved(self, d_mid: Any, bounds: tuple[Any, Any] | None, T: Any) -> Any:
        """Find the open parameter, or a pair of an open scale and an open threshold.

        First find the scale, with a threshold so large that it uses almost no delta. Then find the
        least threshold for this scale.
        """
        d_in = self._context._d_in
        if self._largest is None:
            return _solve(self._candidate(d_mid), d_in, d_mid, bounds, T)
        for argument, value in (("bounds", bounds), ("T", T)):
            if value is not None:
                reason = "a scale and a threshold are open, so leave it out, or state one of them"
                raise of("Argument", f"argument `{argument}`: {reason}")
        make, largest = self._candidate(d_mid), self._largest
        scale = _solve(lambda scale: make((scale, largest)), d_in, d_mid, None, float)
        T = float if isinstance(largest, float) else int
        return scale, _solve(lambda least: make((scale, least)), d_in, d_mid, (0, largest), T)

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
            return type(outer)(session, space, d_in, measure, d_mids, start, budget)

        return Query(outer, whole, None, self._d_mid, wrap, steps=(*self._steps, "compositor"))

    def resolve(self, bounds: tuple[Any, Any] | None = None, T: Any = None) -> Any:
        """Make the measurement, without a release.

        ``bounds`` and ``T`` are the range and the type of an open parameter of noise. If no
        parameter is open, each of them is an error.
        """
        context = self._context
        d_mid = context._share(self._d_mid)
        if self._make is not None:
            return self._candidate(d_mid)(self._solved(d_mid, bounds, T))
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
        """Find the value of the parameter of noise that was left open.

        If a scale and a threshold were left open, return the pair of both.
        """
        if self._make is None:
            raise of("Argument", "argument `param`: no parameter of this query is open")
        return self._solved(self._context._share(self._d_mid), bounds, T)

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
        answer = self._context._ask(self.resolve(bounds, T), ".".join(self._steps))
        return answer if self._wrap is None else self._wrap(answer)
