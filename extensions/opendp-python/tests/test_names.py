"""Names of OpenDP 0.16 that are not registered constructors."""

import re

import pytest

import opendp_rs.prelude as dp

WHOLE = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()


def test_a_profile_is_made_of_a_curve():
    profile = dp.new_privacy_profile(lambda epsilon: 1.0 if epsilon < 0.5 else 1e-8)
    assert profile.delta(epsilon=0.499) == 1.0
    assert profile.epsilon(delta=1e-8) == 0.5
    assert profile.epsilon(delta=1e-9) == float("inf")


@pytest.mark.parametrize(
    "curve", [lambda _: 1.5, lambda _: -0.1, lambda _: float("nan"), lambda _: "x", lambda _: 1 / 0]
)
def test_a_curve_that_returns_no_delta_is_an_error(curve):
    with pytest.raises(dp.OpenDPError):
        dp.new_privacy_profile(curve).delta(1.0)


def test_a_curve_that_rises_is_an_error():
    profile = dp.new_privacy_profile(lambda epsilon: min(1.0, epsilon / 4))
    profile.delta(1.0)
    with pytest.raises(dp.FailedMapError, match="rise"):
        profile.delta(2.0)


def test_a_map_of_ones_own_returns_a_profile():
    def curve(d_in):
        return dp.new_privacy_profile(lambda epsilon: max(0.0, min(1.0, d_in - epsilon)))

    told = dp.m.make_user_measurement(*WHOLE, dp.smoothed_max_divergence(), lambda rows: 0, curve)
    assert told.map(1).delta(0.75) == 0.25
    assert dp.c.make_fix_delta(told, 0.25).map(1) == (0.75, 0.25)
    # In another measure, a profile is not a valid loss.
    pure = dp.m.make_user_measurement(*WHOLE, dp.max_divergence(), lambda rows: 0, curve)
    with pytest.raises(dp.OpenDPError):
        pure.map(1)
    with pytest.raises(dp.OpenDPError):
        dp.c.make_composition([pure, pure]).map(1)


@pytest.fixture
def restored():
    yield
    dp.set_default_int_type("i32")
    dp.set_default_float_type("f64")


def test_the_default_types_can_be_changed(restored):
    dp.set_default_int_type("i64")
    dp.set_default_float_type(dp.f32)
    rows = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    assert rows[0].carrier_type == "Vec<i64>"
    assert (rows >> dp.t.then_count()).output_domain.carrier_type == "i64"
    assert dp.t.make_count(*rows, TO="u32").output_domain.carrier_type == "u32"
    assert dp.atom_domain(bounds=(0, 10)).carrier_type == "i64"
    assert dp.atom_domain(bounds=(0.0, 10.0)).carrier_type == "f32"
    assert dp.space_of(list[float]).domain.carrier_type == "Vec<f32>"
    for wrong in ("f64", "text", bool):
        with pytest.raises(dp.ArgumentError, match="`T`"):
            dp.set_default_int_type(wrong)
    dp.set_default_int_type("i32")
    assert dp.t.make_count(*rows).output_domain.carrier_type == "i32"


def test_a_type_is_given_by_its_place():
    """As in OpenDP, the types that the input determines come after the other types."""
    text = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    floats = text >> dp.t.then_cast_default(float)
    assert floats.output_domain.carrier_type == "Vec<f64>"
    assert (floats >> dp.t.then_count(float)).output_domain.carrier_type == "f64"
    assert dp.t.make_count(*text, "u32").output_domain.carrier_type == "u32"
    norm = dp.L2Distance[float]
    counts = text >> dp.t.then_count_by_categories(["a"], True, norm, float)
    assert counts.output_metric == dp.l2_distance(T=float)
    assert dp.linf_distance(int, True) == dp.linf_distance(monotonic=True, T=int)


def test_the_shape_of_a_tree_is_chosen():
    assert dp.t.choose_branching_factor(1_000_000) == 20
    assert "choose_branching_factor" in dir(dp.t)


def test_randomized_bits_are_counted():
    answers = ["110", "100", "101", [True, False, False]]
    assert dp.m.debias_randomized_response_bitvec(answers, 0.0) == [4.0, 1.0, 1.0]
    assert dp.m.debias_randomized_response_bitvec(answers, 0.5) == [6.0, 0.0, 0.0]
    for f in (1.0, -0.1, float("nan")):
        with pytest.raises(dp.ArgumentError, match="`f`"):
            dp.m.debias_randomized_response_bitvec(answers, f)
    with pytest.raises(dp.ArgumentError, match="`answers`"):
        dp.m.debias_randomized_response_bitvec(["1", "11"], 0.5)
    # A single release is no list of releases.
    for wrong in ("0110", [True, False], b"01", [b"\0\1"], ["0a"], [[0.5]], [[float("nan")]], None):
        with pytest.raises(dp.ArgumentError, match="`answers`: expected a list of releases"):
            dp.m.debias_randomized_response_bitvec(wrong, 0.5)
    for f in ("0.5", None):
        with pytest.raises(dp.ArgumentError, match="`f`"):
            dp.m.debias_randomized_response_bitvec(answers, f)


def test_names_that_are_left_out_point_to_others():
    for name in ("polars", "len", "margins", "numpy", "register", "RuntimeType"):
        assert not hasattr(dp, name) and name not in dir(dp)
    with pytest.raises(AttributeError, match="no `polars`: `dp.Study` answers"):
        dp.polars
    with pytest.raises(AttributeError, match="no `register`: .* `query >> measurement`"):
        dp.register


def test_lazy_frames_and_margins_are_answered_with_advice():
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame({"a": [1, 2]})
    people = dp.dataframe_domain(["a"], [dp.atom_domain(T="i64")])
    budget = {"privacy_unit": dp.unit_of(contributions=1), "privacy_loss": dp.loss_of(epsilon=1.0)}
    rows = dp.vector_domain(dp.atom_domain(T="i64"))
    for domain in (None, rows):
        with pytest.raises(dp.ArgumentError, match=r"data.*the result of `.collect\(\)`; `dp.Study`"):
            dp.Context.compositor(frame, **budget, domain=domain)
    with pytest.raises(dp.ArgumentError, match="`margins`: .* `dp.Study`"):
        dp.Context.compositor([1, 2], **budget, margins=[])
    for data in (frame, frame.collect()):
        dp.Context.compositor(data, **budget, domain=people)


def test_the_help_of_new_queryable_opens_a_conversation():
    [program] = re.findall(r"```python\n(.*?)```", dp.new_queryable.__doc__, re.DOTALL)
    names = {"dp": dp}
    exec(program, names)
    assert names["counter"](1) == 44
    assert dp.new_queryable.__doc__.index("In Python") < dp.new_queryable.__doc__.index("Arguments")
