"""A mistake does not lead to a release without protection, or to a wrong answer."""

import json
import math
import re

import pytest
from contexts import ROWS, UNIT, context

import opendp_rs.prelude as dp

SIZED = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0), nan=False), size=1000)


def mean(noise):
    """Return a function from a scale to a chain: the mean of a known number of rows, and noise."""
    then = {"laplace": dp.m.then_laplace, "gaussian": dp.m.then_gaussian}[noise]
    return lambda scale: (SIZED, dp.symmetric_distance()) >> dp.t.then_mean() >> then(scale)


@pytest.mark.parametrize("find", [dp.binary_search_param, dp.binary_search_chain])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_search_finds_no_scale_without_noise(find, noise):
    for d_in, d_out, says in (
        (1, 1.0, "one replaced row is distance 2"),
        (0, 1.0, "expected a distance above 0"),
        (2, math.inf, "argument `d_out`: expected a finite number of at least 0, found inf"),
    ):
        with pytest.raises(dp.OpenDPError, match=re.escape(says)):
            find(mean(noise), d_in, d_out)
    assert dp.binary_search_param(mean(noise), 2, 1.0) > 0.0005


def test_a_search_without_a_boundary_is_refused():
    def nothing(scale):
        return ROWS >> dp.t.then_clamp((0, 0)) >> dp.t.then_sum() >> dp.m.then_laplace(scale)

    for bounds in (None, (-1, 10), (-1.0, 10.0)):
        with pytest.raises(dp.SearchError, match="every value .* no noise; choose the value"):
            dp.binary_search_param(nothing, 1, 1.0, bounds)


def test_a_map_without_neighbours_warns():
    for ask in (lambda made: made.map(1), lambda made: made.check(1, 0.0)):
        for made in (mean("laplace")(0.0), dp.t.make_mean(SIZED, dp.symmetric_distance())):
            with pytest.warns(UserWarning, match="one replaced row is distance 2"):
                ask(made)


def released(data, unit=UNIT):
    """Return the sum of rows in a context. Its budget is large, so the noise is nearly always 0."""
    ours = context(data, unit, dp.loss_of(epsilon=1e9))
    return ours.query().clamp((0, 100_000)).sum().laplace().release()


@pytest.mark.parametrize("unit", [UNIT, dp.unit_of(contributions=1, ordered=True)])
def test_a_sum_in_a_context_is_not_cut_to_a_narrow_type(unit):
    assert released([100_000] * 50_000, unit) == 5_000_000_000
    np = pytest.importorskip("numpy")
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"):
        assert released(np.full(1000, 100, dtype=dtype), unit) == 100_000, dtype
    assert released(np.full(70_000, 100_000, dtype="uint32"), unit) == 7_000_000_000


def test_floats_keep_their_type_in_a_context():
    """In another type of floats, the constant 0.7 is another number."""
    np = pytest.importorskip("numpy")
    ours = context(np.array([0.1, 0.7, 0.7] * 20, dtype="float32"), loss=dp.loss_of(epsilon=1e6))
    assert ours.query().filter_bounds((0.7, 1.0)).count().laplace().release() == 40


def test_a_context_also_answers_measurements_about_the_narrow_type():
    count = ROWS >> dp.t.then_count() >> dp.m.then_laplace(10.0)
    ours = context(split_evenly_over=4)
    assert isinstance(ours(count), int)
    assert isinstance((ours.query() >> count).release(), int)
    inner = ours.query().compositor(split_evenly_over=1).release()
    assert isinstance((inner.query() >> count).release(), int)
    resolved = ours.query().clamp((0, 5)).sum().laplace().resolve()
    assert resolved.input_space == dp.Space(*ROWS)
    assert dp.deserialize(dp.serialize(resolved)).map(1) == resolved.map(1)


@pytest.mark.parametrize("epsilon", [0.1, 0.2, 0.3, 0.7, 1.0])
def test_a_context_inside_a_context_can_have_the_whole_share(epsilon):
    """The exact budget of an inner context does not exceed the share of the outer query."""
    outer = dp.Context.compositor([1, 2], UNIT, dp.loss_of(epsilon=1.0))
    inner = outer.query(epsilon=epsilon).compositor().release()
    assert isinstance(inner.query(epsilon=epsilon / 2).count().laplace().release(), int)
    shares = context(split_evenly_over=3)
    assert shares.query().compositor().release().remaining_privacy_loss() <= 1.0


def test_a_search_stays_within_its_bounds():
    bounds, seen = (0.0, 0.7), []

    def make(prob):
        seen.append(prob)
        return dp.m.make_randomized_response_bool(prob)

    # The chain can be made if the probability is at least 0.5. Every probability from 0.5 to 0.7
    # meets the loss.
    with pytest.raises(dp.SearchError, match="every value that was tried meets the loss"):
        dp.binary_search_param(make, 1, math.log(4), bounds=bounds)
    assert all(bounds[0] <= value <= bounds[1] for value in seen)
    for bounds in (None, (0.0, 1.0), (0.6, 0.9)):
        found = dp.binary_search_param(make, 1, math.log(4), bounds=bounds)
        assert found == pytest.approx(0.8) and make(found).check(1, math.log(4)), bounds


def test_an_error_of_a_condition_is_no_answer():
    def condition(low, high, value):
        if not low <= value <= high:
            raise dp.OpenDPError("out of range")
        return value <= 5

    for T, low, high in ((float, 1.0, 100.0), (int, 1, 100), (float, -7.0, 5.5)):
        for bounds in (None, (low, high), (low - 100, high)):
            found = dp.binary_search(lambda value: condition(low, high, value), bounds, T, True)
            assert found == (5, -1)
    for bounds in (None, (1.0, 4.0), (-100.0, 4.0)):
        with pytest.raises(dp.SearchError, match="the condition is the same"):
            dp.binary_search(lambda value: condition(1, 4, value), bounds, float)

    def gap(value):
        if 20 <= value <= 30:
            raise dp.OpenDPError("too odd")
        return value < 25

    with pytest.raises(dp.SearchError, match="the condition is an error at 25: .*too odd"):
        dp.binary_search(gap, (10, 40))
    assert dp.binary_search(lambda value: value >= 5, (0, 9), return_sign=True) == (5, 1)


def test_a_stated_type_is_kept():
    narrow = dp.vector_domain(dp.atom_domain(T="i8"))
    ours = context(domain=narrow)
    assert ours.query().clamp((0, 5)).sum().laplace().resolve().input_domain == narrow
    dp.set_default_int_type("i16")
    try:
        assert ours._space.domain == narrow and context()._start.domain.carrier_type == "Vec<i16>"
    finally:
        dp.set_default_int_type("i32")


def test_a_query_about_other_data_is_refused_and_names_both():
    floats = dp.vector_domain(dp.atom_domain(T=float)), dp.symmetric_distance()
    count = floats >> dp.t.then_count() >> dp.m.then_laplace(1.0)
    says = f"data of the context, {dp.Space(*ROWS)}, found {dp.Space(*floats)}; begin it with"
    with pytest.raises(dp.DomainMismatchError, match=re.escape(says)):
        context()(count)


COLUMNS = {
    "polars": ["Series([1, 2])", "Series([1, 2], dtype=lib.Int8)", "Series([1.0, 2.0])"],
    "pyarrow": ["chunked_array([[1], [2]])", "array([1, 2], lib.int8())", "array([1.0, 2.0])"],
    "pandas": ["Series([1, 2])", "Series([1, 2], dtype='Int8')", "Series([1, 2], dtype='float32')"],
}


@pytest.mark.parametrize("package", COLUMNS)
def test_the_type_of_a_column_is_inferred_from_its_type(package):
    lib = pytest.importorskip(package)
    for code in COLUMNS[package]:
        column = eval(code, {"lib": lib, "Series": getattr(lib, "Series", None), **vars(lib)})
        query = context(column, loss=dp.loss_of(epsilon=1e9)).query()
        assert query.count().laplace().release() == 2, code
    table = (lib.table if package == "pyarrow" else lib.DataFrame)({"age": [1, 2]})
    says = "argument `data`: cannot infer the domain of a value of type .* or state `domain`"
    for data in (table, {"age": [1, 2]}, (1, 2).__iter__()):
        with pytest.raises(dp.TypeParseError, match=says):
            context(data)


def error(append, loss=None):
    with pytest.raises(dp.OpenDPError) as caught:
        append(context(loss=loss).query()).param()
    return caught.value.message


def test_a_search_reports_its_first_error():
    """A search ends at the least float. An error about this float would not help the user."""
    chained = error(lambda query: query.count().laplace().laplace())
    assert "`laplace` cannot follow the noise of this query" in chained
    assert "cannot follow" in error(lambda query: query.count().laplace().clamp((0, 1)))
    assert error(lambda query: query.count().laplace(k=3)).startswith("k: expected null or 0")
    threshold = error(lambda query: query.count_by().laplace_threshold(threshold=5))
    assert threshold.startswith("argument `query`: the loss of the query is in approximate")
    with pytest.raises(dp.OpenDPError, match="d_out: cannot cast: .* without a delta"):
        dp.binary_search_param(mean("laplace"), 2, (1.0, 1e-6))


def test_a_search_reports_the_first_error_of_a_condition():
    def condition(value):
        raise dp.OpenDPError(repr(value))

    for find in (dp.binary_search, dp.exponential_bounds_search):
        for T, first in ((float, "0.0"), (int, "0")):
            with pytest.raises(dp.OpenDPError) as caught:
                find(condition, T=T)
            assert caught.value.message == first


@pytest.mark.parametrize(
    "data,append",
    [
        (True, lambda query: query.randomized_response_bool()),
        (1, lambda query: query.randomized_response([1, 2])),
        ("a", lambda query: query.randomized_response(["a", "b"])),
    ],
    ids=["bool", "int", "str"],
)
def test_a_local_unit_opens_a_context(data, append):
    unit, loss = dp.unit_of(local=True), dp.loss_of(epsilon=math.log(3))
    assert append(context(data, unit, loss).query()).param() == pytest.approx(0.75)
    assert type(append(context(data, unit, loss).query()).release()) is type(data)


def test_laplace_noise_meets_a_concentrated_budget_with_a_delta():
    ours = context(loss=dp.loss_of(rho=0.5, delta=1e-6))
    measurement = ours.query().count().laplace().resolve()
    assert measurement.check(1, (0.5, 1e-6)) and measurement.output_measure == ours._measure
    rho, delta = measurement.map(1)
    assert rho == pytest.approx(0.5) and delta == 0.0
    assert isinstance(ours.query().count().laplace().release(), int)


@pytest.mark.parametrize("stop", [KeyboardInterrupt("815"), SystemExit(815)], ids=["key", "exit"])
def test_a_request_to_stop_passes_the_library_without_data(stop):
    def stopping(_):
        raise stop

    fails = dp.m.make_user_measurement(*ROWS, dp.max_divergence(), stopping, lambda d_in: 0.5)
    unmapped = dp.m.make_user_measurement(*ROWS, dp.max_divergence(), len, stopping)
    for run in (
        lambda: fails([815]),
        lambda: context()(fails),
        lambda: unmapped.map(1),
        lambda: dp.binary_search_param(lambda _: unmapped, 1, 1.0),
    ):
        with pytest.raises(type(stop)) as caught:
            run()
        error = caught.value
        assert error is not stop and "815" not in repr(error)
        assert error.__cause__ is None and error.__context__ is None
        assert stop.__traceback__ is None or error.__traceback__ is not stop.__traceback__
    # The exit status can contain data, so it is replaced by 1, which means a failure.
    assert not isinstance(error, SystemExit) or error.code == 1


def test_documents_say_nothing_about_the_cast_of_a_stated_domain():
    ours = context(domain=dp.vector_domain(dp.atom_domain(T="i64")))
    text = dp.serialize(ours.query().count().laplace().resolve())
    assert "cast" not in json.dumps(json.loads(text))
