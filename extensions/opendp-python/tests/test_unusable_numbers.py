"""A number that gives no protection is refused, in every form."""

import math
import re
from collections import deque

import pytest
from contexts import ROWS, UNIT, context

import opendp_rs.prelude as dp

MEASURE = dp.max_divergence()
FREE = dp.c.make_fully_adaptive_composition(*ROWS, MEASURE)

# Calls with an unusable argument, and a part of the message of each error.
UNUSABLE = {
    "dp.loss_of(epsilon=math.inf)": "`epsilon`: expected a finite number of at least 0, found inf",
    "dp.loss_of(rho=math.inf)": "`rho`: expected a finite number of at least 0, found inf",
    "dp.loss_of(epsilon=10**400)": "`epsilon`: expected a finite number of at least 0, found a",
    "dp.loss_of(epsilon=-1)": "`epsilon`: expected a finite number of at least 0, found -1",
    "dp.loss_of(epsilon='1')": "`epsilon`: expected a number, found a value of type str; write",
    "dp.loss_of(epsilon=1, delta=1.0)": "`delta`: expected a delta below 1, found 1.0",
    "dp.loss_of(rho=1, delta=2.0)": "`delta`: expected a delta below 1, found 2.0",
    "context(loss=(dp.max_divergence(), math.inf))": "`privacy_loss`: expected a finite number",
    "context(loss=(dp.loss_of(1, 0.5)[0], (1.0, 1.0)))": "`privacy_loss`: expected a delta below",
    "context().query().compositor(d_out=math.inf)": "`d_out`: expected a finite number",
    "context().query(epsilon=math.inf)": "the shares of the budget are fixed",
    "dp.unit_of(contributions=math.nan)": "`contributions`: expected a finite number",
    "dp.unit_of(contributions=1.5)": "`contributions`: expected a whole number, found 1.5",
    "dp.unit_of(l1=math.inf)": "`l1`: expected a finite number of at least 0, found inf",
    "dp.unit_of(local=False)": "`local`: expected True, found False; leave it out instead",
    "context(split_evenly_over=1.5)": "`split_evenly_over`: expected a whole number above 0",
    "context(split_evenly_over='2')": "`split_evenly_over`: expected a whole number above 0",
    "context(split_by_weights=[1, math.inf])": "`split_by_weights`: expected numbers above 0, and",
    "context(split_by_weights=['1'])": "`split_by_weights`: expected numbers above 0",
    "context(split_by_weights=3)": "`split_by_weights`: expected numbers above 0",
    "context(d_mids=0.5)": "`d_mids`: expected a list of losses",
    "dp.c.make_privacy_filter(FREE, 1, math.inf)": "`d_out`: expected a finite number",
    "dp.c.make_adaptive_composition(*ROWS, MEASURE, 1, [1.0, math.inf])": (
        "`d_mids[1]`: expected a finite number of at least 0, found inf"
    ),
}


@pytest.mark.parametrize("code", UNUSABLE)
def test_an_unusable_number_is_refused_by_the_name_of_its_argument(code):
    with pytest.raises(dp.ArgumentError, match=re.escape(UNUSABLE[code])) as caught:
        eval(code, globals())
    assert len(caught.value.message) < 300


def test_numbers_of_numpy_are_numbers():
    np = pytest.importorskip("numpy")
    assert dp.loss_of(epsilon=np.float32(1), delta=np.float64(0))[1] == (1.0, 0.0)
    ours = context(split_by_weights=np.array([1, 3]))
    assert ours.remaining_privacy_loss() == [0.25, 0.75]
    assert len(context(split_evenly_over=np.int64(2)).remaining_privacy_loss()) == 2
    with pytest.raises(dp.ArgumentError, match=re.escape("`d_mids[1]`: expected a finite number")):
        dp.c.make_adaptive_composition(*ROWS, MEASURE, 1, np.array([1.0, math.inf]))
    assert dp.c.make_adaptive_composition(*ROWS, MEASURE, 1, np.array([1.0, 0.5])).map(1) == 1.5


class Listed:
    """A value that is not iterable, with a method that returns a list."""

    def __init__(self, parts):
        self.parts = parts

    def tolist(self):
        return list(self.parts)


# Functions from a pair to a loss that the library reads as this pair.
PAIRS = {
    "tuple": tuple,
    "list": list,
    "deque": deque,
    "iterator": iter,
    "generator": lambda pair: (part for part in pair),
    "values": lambda pair: dict(enumerate(pair)).values(),
    "keys": lambda pair: dict.fromkeys(pair).keys(),
    "object": Listed,
    "document": lambda pair: {"__tuple__": list(pair)},
    "nested": lambda pair: Listed(deque(pair)),
}
APPROXIMATE = dp.loss_of(1.0, 1e-6)[0]
UNBOUNDED = {(math.inf, 1e-6): "expected a finite number", (2.0, 1.0): "expected a delta below 1"}


def as_array(pair):
    return pytest.importorskip("numpy").array(pair)


def as_column(pair):
    return pytest.importorskip("pandas").Series(pair)


@pytest.mark.parametrize("pair", UNBOUNDED)
@pytest.mark.parametrize("kind", [*PAIRS, as_array, as_column])
def test_a_budget_without_protection_is_refused_in_every_iterable(kind, pair):
    make = PAIRS.get(kind, kind)
    odometer = dp.c.make_fully_adaptive_composition(*ROWS, APPROXIMATE)
    compose = dp.c.make_adaptive_composition
    count = ROWS >> dp.t.then_count()

    def noisy(scale):
        return dp.c.make_approximate(count >> dp.m.then_laplace(scale))

    opens = [
        ("privacy_loss", lambda loss: context(loss=(APPROXIMATE, loss))),
        ("d_out", lambda loss: dp.c.make_privacy_filter(odometer, 1, loss)),
        ("d_out", lambda loss: dp.binary_search_param(noisy, 1, loss)),
        ("d_mids[0]", lambda loss: compose(*ROWS, APPROXIMATE, 1, [loss])),
        ("d_mids[0]", lambda loss: compose(*ROWS, APPROXIMATE, 1, iter([loss]))),
    ]
    for name, call in opens:
        with pytest.raises(dp.ArgumentError, match=re.escape(f"`{name}`: {UNBOUNDED[pair]}")):
            call(make(pair))
        # The control: a loss of the same kind is accepted if it bounds something.
        assert call(make((1.0, 1e-6))) is not None
    ours = context(loss=(APPROXIMATE, make((1.0, 1e-6))))
    assert ours.remaining_privacy_loss() == [(1.0, 1e-6)]
    inner = ours.query().compositor(split_evenly_over=2, d_out=make((0.5, 1e-7))).release()
    assert len(inner.remaining_privacy_loss()) == 2


@pytest.mark.parametrize("kind", [list, tuple, deque, iter, Listed, as_array, as_column])
def test_shares_in_every_iterable_are_checked_and_kept(kind):
    compose = dp.c.make_adaptive_composition
    with pytest.raises(dp.ArgumentError, match=re.escape("`d_mids[1]`: expected a finite number")):
        compose(*ROWS, MEASURE, 1, kind([1.0, math.inf]))
    assert compose(*ROWS, MEASURE, 1, kind([1.0, 0.5])).map(1) == 1.5
    # A chain without a left operand makes several objects from the same argument.
    then = dp.c.then_adaptive_composition(MEASURE, 1, kind([1.0, 0.5]))
    assert (ROWS >> then).map(1) == (ROWS >> then).map(1) == 1.5
    if kind is not Listed:
        ours = context(d_mids=kind([0.5, 0.25]))
        assert ours.remaining_privacy_loss() == [0.5, 0.25]


def test_shares_that_are_pairs_of_a_dictionary_are_checked():
    shares = {1.0: 1e-6, math.inf: 1e-7}
    with pytest.raises(dp.ArgumentError, match=re.escape("`d_mids[1]`: expected a finite number")):
        dp.c.make_adaptive_composition(*ROWS, APPROXIMATE, 1, shares)


@pytest.mark.parametrize("loss", [{1.0, 1e-6}, frozenset([1.0, 1e-6])])
def test_a_loss_is_not_a_set(loss):
    with pytest.raises(dp.ArgumentError, match="`d_mids`: .* of type (frozen)?set; a set has no"):
        dp.c.make_adaptive_composition(*ROWS, APPROXIMATE, 1, [loss])


@pytest.mark.parametrize("kind", PAIRS)
def test_a_large_budget_in_every_iterable_gives_a_warning(kind):
    with pytest.warns(UserWarning) as caught:
        context(loss=(APPROXIMATE, PAIRS[kind]((20.0, 0.5))))
    texts = sorted(str(warning.message) for warning in caught)
    assert len(texts) == 2 and "delta is 0.5" in texts[0] and "epsilon is 20" in texts[1]
