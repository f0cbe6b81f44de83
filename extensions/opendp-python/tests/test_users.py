"""Functions that a user writes, and the types of the steps around them."""

import array
import math

import pytest

import opendp_rs.prelude as dp

ROWS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
NOISY = ROWS >> dp.t.then_clamp((0.0, 1.0)) >> dp.t.then_sum() >> dp.m.then_laplace(1.0)
NUMBER = dp.atom_domain(bounds=(0.0, 10.0)), dp.absolute_distance(T=float)


def scored(function):
    return dp.m.make_user_measurement(
        *ROWS, dp.max_divergence(), function, lambda d_in: 0.5 * d_in
    )


def select(measurement, threshold=1.0, stop_probability=0.0):
    return dp.c.make_select_private_candidate(measurement, stop_probability, threshold)


@pytest.mark.parametrize("score", [5.0, 5])
def test_candidates_can_be_pairs_of_python(score):
    value = object()
    chosen = select(scored(lambda _: (score, value)))
    assert chosen.map(1) == 1.0
    found = chosen([1.0])
    assert found == (5.0, value) and found[1] is value
    numpy = pytest.importorskip("numpy")
    assert select(scored(lambda _: (numpy.float64(5.0), "a")))([1.0]) == (5.0, "a")


def test_a_score_below_the_threshold_is_not_selected():
    scores = iter([0.5, float("nan"), 2.0, 3.0])
    assert select(scored(lambda _: (next(scores), "a")))([1.0]) == (2.0, "a")
    assert select(scored(lambda _: (0.0, "a")), stop_probability=1.0)([1.0]) is None


def test_a_step_of_python_makes_candidates():
    chosen = select(NOISY >> (lambda total: (total, "total")), threshold=-50.0)
    score, name = chosen([1.0])
    assert isinstance(score, float) and name == "total"
    # The release of a composition is a list that begins with the score.
    assert len(select(dp.c.make_composition([NOISY, NOISY]), threshold=-50.0)([1.0])) == 2


def test_releases_without_a_score_are_refused_when_the_selection_is_made():
    with pytest.raises(dp.ArgumentError, match="pairs of a score and a value, found .* type f64"):
        select(NOISY)


@pytest.mark.parametrize("release", [1.0, "ab", (1.0,), ("a", 1.0), (True, 1.0), None, (1, 2, 3)])
def test_a_release_of_python_without_a_score_gives_one_error(release):
    with pytest.raises(dp.FailedFunctionError, match="not a pair of a score and a value"):
        select(scored(lambda _: release))([1.0])


@pytest.mark.parametrize("wrap", [lambda function: function, dp.new_function])
@pytest.mark.parametrize("value", [100.0, -0.5, float("nan"), "5", None, [1.0]])
def test_an_output_outside_of_the_stated_domain_is_an_error(value, wrap):
    made = dp.t.make_user_transformation(*ROWS, *NUMBER, wrap(lambda _: value), lambda d_in: 1.0)
    with pytest.raises(dp.FailedFunctionError) as caught:
        (made >> dp.m.then_laplace(1.0))([1.0])
    expected = "a Python function returned a value outside of its output domain atom_domain("
    assert caught.value.message.startswith(expected) and "100" not in caught.value.message


def test_a_member_of_the_stated_domain_is_returned():
    made = dp.t.make_user_transformation(*ROWS, *NUMBER, len, lambda d_in: float(d_in))
    assert made([1.0, 2.0]) == 2.0
    sized = dp.vector_domain(dp.atom_domain(T=float), size=2), dp.symmetric_distance()
    pair = dp.t.make_user_transformation(*ROWS, *sized, lambda rows: rows, lambda d_in: d_in)
    assert pair([1, 2]) == [1, 2]
    with pytest.raises(dp.FailedFunctionError, match="outside of its output domain"):
        pair([1, 2, 3])


def wrapped(step, output=None):
    """Make a transformation from the function of another transformation."""
    same = lambda d_in: d_in  # noqa: E731
    output = output or (step.output_domain, step.output_metric)
    return dp.t.make_user_transformation(
        step.input_domain, step.input_metric, *output, step.function, same
    )


def test_a_function_of_the_library_is_evaluated_without_python():
    counts = TEXTS >> dp.t.then_count_by()
    assert wrapped(counts)(["a", "b", "a"]) == {"a": 2, "b": 1}
    maps = counts.output_domain, counts.output_metric
    same = dp.t.make_user_transformation(*maps, *maps, lambda found: found, lambda d_in: d_in)
    assert (counts >> wrapped(wrapped(same)))(["a", "a"]) == {"a": 2}
    frames = dp.dataframe_domain(["pay"], [dp.atom_domain(T=float)]), dp.symmetric_distance()
    pay = wrapped(frames >> dp.t.then_select_column("pay", TOA=float))
    assert pay({"pay": [1.0, 2.5]}) == [1.0, 2.5]
    objects = dp.user_domain("rows", lambda rows: isinstance(rows, list)), dp.user_distance("rows")
    made = dp.t.make_user_transformation(
        *objects, *ROWS, (ROWS >> dp.t.then_clamp((0.0, 1.0))).function, lambda d_in: d_in
    )
    assert made([0.5, 2.0]) == [0.5, 1.0]
    numpy = pytest.importorskip("numpy")
    clamp = ROWS >> dp.t.then_clamp((0.0, 1.0))
    assert (wrapped(clamp) >> dp.t.then_sum())(numpy.ones(1000)) == 1000.0


def test_an_output_of_a_function_of_the_library_is_checked_as_well():
    clamp = ROWS >> dp.t.then_clamp((0.0, 9.0))
    narrow = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0))), dp.symmetric_distance()
    made = wrapped(clamp, narrow)
    assert made([0.5, 1.0]) == [0.5, 1.0]
    with pytest.raises(dp.FailedFunctionError, match="outside of its output domain"):
        made([5.0])
    with pytest.raises(dp.FailedFunctionError, match="outside of its output domain"):
        wrapped(clamp, TEXTS)([0.5])


FLOAT = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
RENYI = dp.renyi_divergence()


def lost(loss, measure=RENYI):
    return dp.m.make_user_measurement(*FLOAT, measure, lambda x: x, lambda d_in: loss)


def test_a_renyi_loss_is_a_function_of_the_order():
    one = dp.m.make_user_measurement(
        *FLOAT, RENYI, lambda x: x, lambda d_in: lambda order: order * d_in / 2
    )
    assert one.map(1.0)(4.0) == one.map(1.0).epsilon(4) == 2.0 and one.map(3.0)(100.0) == 150.0
    assert dp.c.make_composition([one, one]).map(1.0)(4.0) == 4.0
    assert [2.0, 1.0] in dict(one.map(1.0))["renyi"]
    zcdp = lost(0.5, dp.zero_concentrated_divergence())
    known = dp.c.make_zCDP_to_approxDP(zcdp).map(1.0).epsilon(1e-6)
    assert dp.c.make_RDP_to_approxDP(one).map(1.0).epsilon(1e-6) == pytest.approx(known)
    # A curve from one map can be the loss of another map, or a budget. It keeps its values at all
    # orders.
    assert lost(one.map(1.0)).map(1.0)(3.0) == 1.5
    parts = dp.c.make_adaptive_composition(*FLOAT, RENYI, d_in=1.0, d_mids=[one.map(1.0)] * 2)
    session = parts(1.0)
    session(one)
    assert parts.map(1.0)(3.0) == 3.0 and session.privacy_loss(1.0)(4.0) == 2.0
    with pytest.raises(dp.InvalidDistanceError, match="above 1"):
        one.map(1.0)(1.0)


def test_a_renyi_loss_with_a_delta_is_a_pair():
    measure = dp.c.make_approximate(lost(lambda order: order)).output_measure
    curve, delta = lost((lambda order: order, 1e-7), measure).map(1.0)
    assert (curve(3.0), delta) == (3.0, 1e-7)
    for loss in (lambda order: order, (1.0, 0.0), (lambda order: order, -1.0), (lambda: 0,)):
        with pytest.raises(dp.FailedMapError):
            lost(loss, measure).map(1.0)


def test_points_of_a_renyi_loss_bound_it_at_smaller_orders():
    curve = lost({"renyi": [[2, 0.5], [8.0, 2]]}).map(1.0)
    found = [curve(order) for order in (1.5, 2.0, 2.5, 8.0, 9.0)]
    assert found == [0.5, 0.5, 2.0, 2.0, math.inf]


@pytest.mark.parametrize(
    "points", [[], [[2, 1], [4, 0.5]], [[4, 1], [2, 1]], [[1, 1]], [[2, math.nan]], [[2, -1]], [2]]
)
def test_points_that_are_no_renyi_loss_are_refused(points):
    with pytest.raises(dp.FailedMapError, match="expected a function that takes an order"):
        lost({"renyi": points}).map(1.0)


@pytest.mark.parametrize("loss", [math.nan, -1.0, None, "1", True, 2**53 + 1])
def test_a_value_that_is_no_loss_at_an_order_is_an_error(loss):
    with pytest.raises(dp.FailedMapError, match="expected a"):
        lost(lambda order: loss).map(1.0)(2.0)
    with pytest.raises(dp.FailedMapError):
        dp.c.make_composition([lost(lambda order: loss)] * 2).map(1.0)(2.0)


def test_a_profile_in_points_is_refused_with_the_way_to_make_one():
    with pytest.raises(dp.FailedMapError, match="dp.new_privacy_profile"):
        lost({"profile": [[0.3, 0.1]]}, dp.smoothed_max_divergence()).map(1.0)


TEXTS = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
COUNTS = TEXTS >> dp.t.then_count_by_categories(["a", "b"]) >> dp.m.then_laplace(1.0)


def test_a_function_that_cannot_take_the_release_is_refused_when_it_is_appended():
    with pytest.raises(dp.ArgumentError) as caught:
        COUNTS >> dp.t.make_cdf()
    expected = "the function takes Vec<f64>, and the release before it is Vec<i32>"
    assert expected in caught.value.message and "TOA" in caught.value.message
    with pytest.raises(dp.ArgumentError, match=r"TO=\"Vec<f64>\""):
        COUNTS >> (lambda counts: counts) >> dp.t.make_cdf()


def test_a_wrong_step_of_a_context_costs_nothing():
    ours = dp.Context.compositor(
        data=["a", "b"],
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
    )
    for noise in ({}, {"scale": 50.0}):
        with pytest.raises(dp.ArgumentError, match="the function takes"):
            query = ours.query().count_by_categories(["a", "b"]).laplace(**noise)
            (query >> dp.t.make_cdf()).release()
    assert ours.current_privacy_loss() == []


def test_a_tuple_of_types_is_the_type_of_pairs():
    pair = lambda TO, value: dp.m.make_user_measurement(  # noqa: E731
        *ROWS, dp.max_divergence(), lambda _: value, lambda d_in: 0.5 * d_in, TO=TO
    )
    value = object()
    made = pair((float, "ExtrinsicObject"), (5, value))
    assert made([1.0]) == (5.0, value) and type(made([1.0])[0]) is float
    assert select(made)([1.0]) == (5.0, value)
    for wrong in (("x", value), (5.0,), "ab", 5.0):
        with pytest.raises(dp.FailedCastError):
            pair((float, "ExtrinsicObject"), wrong)([1.0])
    for TO in ([float], (float,), (float, str), [1.5], {"a": float}, (list, "ExtrinsicObject")):
        with pytest.raises(dp.TypeParseError) as caught:
            pair(TO, (5.0, value))
        assert "1.5" not in str(caught.value)


def test_a_function_that_takes_the_release_is_appended():
    counts = TEXTS >> dp.t.then_count_by_categories(["a", "b"], TOA=float)
    assert len((counts >> dp.m.then_laplace(1.0) >> dp.t.make_cdf())(["a", "b"])) == 3
    floats = dp.new_function(lambda counts: [float(count) for count in counts], TO="Vec<f64>")
    assert len((COUNTS >> floats >> dp.t.make_cdf())(["a", "b"])) == 3
    made = dp.m.make_user_measurement(
        *TEXTS, dp.max_divergence(), lambda _: [1.0], lambda _: 1.0, TO="Vec<f64>"
    )
    assert (made >> dp.t.make_cdf())(["a"]) == [1.0]


def test_a_finished_transformation_after_the_noise_post_processes_the_release():
    rows = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    counts = rows >> dp.t.then_count_by_categories([1, 2]) >> dp.m.then_laplace(1.0)
    cast = dp.t.make_cast_default(*rows, TOA=float)
    quantiles = dp.t.make_quantiles_from_counts([0.0, 1.0, 2.0, 3.0], [0.5])
    chain = counts >> cast >> quantiles
    assert chain.map(1) == counts.map(1) == 1.0
    assert 0.0 <= chain([1] * 500 + [2] * 500)[0] <= 3.0
    assert type((counts >> cast)([1, 2])[0]) is float
    # A loss of a stable transformation is not multiplied: the transformation sees only the release.
    twice = dp.t.make_user_transformation(*rows, *rows, lambda found: found * 2, lambda d: 2 * d)
    assert (counts >> twice).map(1) == 1.0 and len((counts >> twice)([1])) == 6
    with pytest.raises(dp.ArgumentError, match="the function takes Vec<String>"):
        counts >> dp.t.make_count_by(*TEXTS)
    for wrong in (counts, dp.m.then_laplace(1.0)):
        with pytest.raises(dp.ArgumentError, match="only one noise"):
            counts >> wrong


def test_a_float_stays_a_float_when_a_type_is_inferred():
    quantiles = dp.t.make_quantiles_from_counts([0.0, 10.0, 20.0], [0.5])
    assert quantiles([3, 6]) == [12.5]
    numpy = pytest.importorskip("numpy")
    for edges in (numpy.array([0.0, 10.0, 20.0]), list(numpy.array([0.0, 10.0, 20.0]))):
        assert dp.t.make_quantiles_from_counts(edges, [0.5])([3, 6]) == [12.5]
    assert dp.t.make_quantiles_from_counts([0, 10, 20], [0.5])([3, 6]) == [12]
    assert dp.t.make_quantiles_from_counts([0.0, 10.0, 20.0], [0.5], TA=int)([3, 6]) == [12]
    index = (dp.vector_domain(dp.atom_domain(T="usize")), dp.symmetric_distance())
    assert (index >> dp.t.then_index([1.0, 2.0], 0.0)).output_domain.carrier_type == "Vec<f64>"


_FLOATS = [0.0, 10.0, 20.0]
# Code that makes a column of the floats `values`, by the package that the code needs.
COLUMNS = {
    "array": "lib.array('d', values)",
    "builtins": "memoryview(__import__('array').array('d', values))",
    "collections": "lib.deque(values)",
    "itertools": "iter(values)",
    "types": "dict.fromkeys(values).keys()",
    "numpy": "lib.array(values, dtype=object)",
    "pandas": "lib.Series(values, dtype=object)",
    "pandas and pyarrow": "lib.Series(values, dtype='double[pyarrow]')",
    "polars": "lib.Series(values)",
    "pyarrow": "lib.array(values)",
    "pyarrow, in chunks": "lib.chunked_array([values])",
}


@pytest.mark.parametrize("package", COLUMNS)
def test_a_column_of_floats_stays_one_when_a_type_is_inferred(package):
    for name in package.partition(",")[0].split(" and ")[::-1]:
        lib = pytest.importorskip(name)
    column = lambda values: eval(COLUMNS[package], {"lib": lib, "values": values})  # noqa: E731
    assert dp.t.make_quantiles_from_counts(column(_FLOATS), [0.5])([3, 6]) == [12.5]
    with pytest.raises(dp.ArgumentError, match="found a float; write 1, not 1.0"):
        dp.m.make_randomized_response(column([1.0, 2.0]), 0.75)


def test_columns_of_other_cells_keep_their_types():
    ints = array.array("i", [0, 10, 20])
    for edges in (ints, iter([0, 10, 20]), {0: "", 10: "", 20: ""}.keys()):
        assert dp.t.make_quantiles_from_counts(edges, [0.5])([3, 6]) == [12]
    with pytest.raises(dp.ArgumentError, match="`bin_edges`: its items cannot be read"):
        dp.t.make_quantiles_from_counts((1 / n for n in (2, 1, 0)), [0.5])
    texts = iter(["a", "b"])
    assert dp.m.make_randomized_response(texts, 0.75).input_carrier_type == "String"


def test_an_input_space_determines_the_type_of_bounds():
    ints = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    assert (ints >> dp.t.then_clamp((0.0, 10.0)))([20]) == [10]


def test_categories_of_floats_are_refused_where_no_type_of_floats_fits():
    with pytest.raises(dp.ArgumentError, match="`categories`: .* found a float; write 1, not 1.0"):
        dp.m.make_randomized_response([1.0, 2.0], 0.75)
    assert dp.m.make_randomized_response([1, 2], 0.75).input_carrier_type == "i32"


def test_one_answer_of_one_person_needs_no_rows():
    """The discrete distance fits every domain, so programs of local privacy work."""
    bit = dp.atom_domain(T=bool), dp.discrete_distance()
    session = dp.c.make_fully_adaptive_composition(*bit, dp.max_divergence())(True)
    for _ in range(2):
        assert session(dp.m.make_randomized_response_bool(prob=0.6)) in (True, False)
    assert session.privacy_loss(1) == pytest.approx(2 * math.log(1.5))
    text = dp.atom_domain(T=str), dp.discrete_distance()
    user = dp.m.make_user_measurement(*text, dp.max_divergence(), lambda x: x, lambda d: float(d))
    assert user.map(1) == 1.0 and user("a") == "a"
    with pytest.raises(dp.OpenDPError, match="choose another metric"):
        dp.m.make_user_measurement(
            bit[0], dp.symmetric_distance(), dp.max_divergence(), lambda x: x, lambda d: 1.0
        )


def test_a_selection_reads_integer_scores(ints):
    count = ints >> dp.t.then_count() >> dp.m.then_laplace(1.0)
    chosen = dp.c.make_select_private_candidate(dp.c.make_composition([count, count]), 0.1, 1.0)
    assert chosen.map(1) == pytest.approx(4.0)
    assert chosen([1] * 30)[0] >= 1


def test_a_renyi_curve_as_a_budget_is_not_rounded_up():
    renyi = dp.renyi_divergence()

    def loses(curve):
        return dp.m.make_user_measurement(*ROWS, renyi, lambda x: 1.0, lambda d_in: curve, TO="f64")

    budget = loses(lambda order: 0.5 * order).map(1)
    steep = loses(lambda order: 0.5 * order if order <= 64 else 1e12)
    odometer = dp.c.make_fully_adaptive_composition(*ROWS, renyi)
    session = dp.c.make_privacy_filter(odometer, 1, budget)([0.5])
    with pytest.raises(dp.OpenDPError, match="budget"):
        session(steep)
    assert session(loses(lambda order: 0.5 * order)) == 1.0
    adaptive = dp.c.make_adaptive_composition(*ROWS, renyi, 1, [budget])
    assert adaptive.map(1)(3.0) == 1.5 and adaptive.map(1)(128.0) == 64.0

    def fails(order):
        if order == 4.0:
            raise KeyboardInterrupt
        return 0.5 * order

    with pytest.raises(KeyboardInterrupt):
        dp.c.make_adaptive_composition(*ROWS, renyi, 1, [loses(fails).map(1)])
    numpy = pytest.importorskip("numpy")
    if numpy.dtype(numpy.longdouble).itemsize > 8:
        with pytest.raises(dp.OpenDPError, match="expected a number"):
            loses(lambda order: numpy.longdouble(1) / 3).map(1)(2.0)
