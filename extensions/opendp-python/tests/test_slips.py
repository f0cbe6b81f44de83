"""Slips of a caller: each slip is an error that names it, and no slip changes a result silently."""

import copy
import math
import pickle
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import pytest

import opendp_rs.prelude as dp

DOMAIN, METRIC = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
SPACE = dp.space_of(list[int])
COUNT = SPACE >> dp.t.then_count()


def context(**options):
    return dp.Context.compositor(
        data=[1, 2, 3],
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        **options,
    )


@pytest.mark.parametrize(
    "stated",
    [
        {"input_domain": DOMAIN, "input_metric": METRIC},
        {"input_domain": SPACE},
        {"input_metric": METRIC},
        {"input_domain": 5},
    ],
)
def test_an_input_is_stated_once(stated):
    with pytest.raises(dp.ArgumentError, match="either `input`, or `input_domain` and `input_met"):
        dp.t.make_count(input=SPACE, **stated)
    assert dp.t.make_count(input=SPACE).map(1) == 1
    assert dp.t.make_count(input=None, **{"input_domain": DOMAIN, "input_metric": METRIC})


@pytest.mark.parametrize("unused", [{"bounds": (0.0, 9.0)}, {"T": float}])
def test_an_argument_of_a_search_is_refused_where_nothing_is_searched(unused):
    [name] = unused
    ours = context(split_evenly_over=2)
    query = ours.query().count().laplace(2.0)
    inner = ours.query().compositor(split_evenly_over=2)
    for ask in (query.release, query.resolve, inner.release, lambda **x: query.accuracy(0.05, **x)):
        with pytest.raises(dp.ArgumentError, match=f"`{name}`: no parameter of this query is open"):
            ask(**unused)
    assert ours.current_privacy_loss() == []


def test_none_is_no_value_of_a_required_argument():
    for wrong in (
        lambda: dp.m.then_laplace(scale=None),
        lambda: dp.m.then_laplace(None),
        lambda: dp.t.then_clamp(bounds=None),
    ):
        with pytest.raises(dp.ArgumentError, match="`(scale|bounds)`: missing"):
            wrong()
    # None leaves the scale of a query open.
    assert context(split_evenly_over=1).query().count().laplace(scale=None).param() == 1.0


@pytest.mark.parametrize("tenth", [Fraction(1, 10), Decimal("0.1")])
@pytest.mark.parametrize("splits", [{}, {"split_evenly_over": 3}])
def test_ten_contexts_of_a_stated_tenth_cost_at_most_one(tmp_path, tenth, splits):
    ledger = dp.Ledger(tmp_path / "ledger")
    ledger.create("survey", epsilon=1, unit=1, metric="symmetric_distance")
    for id in range(10):
        dp.Context.compositor(
            [1, 2],
            dp.unit_of(contributions=1),
            dp.loss_of(epsilon=tenth),
            domain=DOMAIN,
            ledger=ledger,
            budget="survey",
            id=str(id),
            **splits,
        )
    spent = Fraction(ledger.show("survey")["spent"]["epsilon"])
    assert Fraction(999, 1000) < spent <= 1


def test_a_stated_fraction_is_rounded_down():
    for stated in (Fraction(1, 10), Fraction(3, 10), Fraction(1, 3), Decimal("0.7"), Decimal("1e-9")):
        _, loss = dp.loss_of(epsilon=stated)
        assert max(Fraction(loss), Fraction(repr(loss))) <= Fraction(stated)
        assert loss == pytest.approx(float(stated), rel=1e-15)
    # The float 0.3 stands for three tenths, and is below it.
    assert dp.loss_of(rho=Decimal("0.3"), delta=Fraction(1, 4))[1] == (0.3, 0.25)
    for wrong in (Decimal("NaN"), Decimal("Infinity"), Fraction(-1, 2), Fraction(10**400)):
        with pytest.raises(dp.ArgumentError, match="`epsilon`: expected a finite number"):
            dp.loss_of(epsilon=wrong)


def test_curves_are_copied_and_say_why_they_are_not_pickled():
    renyi = dp.m.make_user_measurement(
        *SPACE, dp.renyi_divergence(), len, lambda d_in: lambda order: 0.5 * order * d_in
    )
    noisy = COUNT >> dp.m.then_gaussian(1.0)
    profile = dp.c.make_zCDP_to_approxDP(noisy).map(1)
    for curve, advice in ((renyi.map(1), "dict"), (profile, "profile.delta")):
        assert copy.copy(curve) is curve and copy.deepcopy([curve])[0] is curve
        with pytest.raises(TypeError, match=f"cannot be pickled; .*{advice}"):
            pickle.dumps(curve)


def test_a_description_is_the_callers_own():
    described = dp.describe("make_count")
    described["parameters"].clear()
    described["generics"][0]["types"].append("str")
    assert dp.describe("make_count")["parameters"] and dp.t.make_count(*SPACE).map(1) == 1
    assert "str" not in dp.describe("make_count")["generics"][0]["types"]


def test_a_chain_that_does_not_fit_names_its_parts_as_calls():
    floats = dp.t.make_is_null(dp.space_of(list[float]))
    with pytest.raises(dp.DomainMismatchError) as caught:
        COUNT >> floats
    assert "atom_domain(T=" in caught.value.message and "{" not in caught.value.message


def test_the_steps_of_a_query_are_listed():
    names = dir(context(split_evenly_over=1).query())
    assert {"clamp", "count", "laplace", "release", "compositor"} <= set(names)
    assert not any(name.startswith(("then_", "make_")) for name in names)


WRONG = {
    "dp.domain_of('Vec<')": "cannot read type `Vec<`",
    "dp.domain_of('Vec<' * 2000 + 'i32' + '>' * 2000)": "cannot read type",
    "dp.domain_of(NESTED, infer=True)": "lists inside of lists",
    "dp.describe(None)": "`name`: expected a name",
    "dp.deserialize(5)": "`dp_json`: expected the text of a document, found a value of type int",
    "dp.deserialize(b'\\xff')": "`dp_json`: the bytes are not UTF-8",
    "dp.new_privacy_profile(5)": "`curve`: expected a function, found a value of type int",
    "dp.binary_search(lambda x: x > 5, (0, 10**30))": "`bounds`: expected whole numbers",
    "dp.binary_search(lambda x: x > 5, (0.5, 9.5), T=int)": "`bounds`: expected whole numbers",
    "dp.binary_search(lambda x: x > 5, (float('nan'), 1.0))": "`bounds`: expected a pair of two num",
    "dp.binary_search(lambda x: x > 5, 'ab')": "`bounds`: expected a pair of two numbers",
    "dp.binary_search(lambda x: x > 5, (1, 2, 3))": "`bounds`: expected a pair of two numbers",
    "dp.binary_search_param(lambda scale: 5, 1, 1.0)": "`make_chain`: .* found a value of type int",
    "dp.binary_search_param(dp.m.then_laplace, 1, 1.0)": "begin the chain with its space",
    "context(split_evenly_over=10**9)": "`split_evenly_over`: .* at most 1000000",
    "context(domain='int')": "`domain`: expected a domain, .* found a value of type str",
    "context()(context().query(epsilon=0.5).count().laplace())": "write `query.release",
    "dp.t.make_clamp(*SPACE, bounds=(float('nan'), 1))": "`bounds`: .* found NaN$",
    "dp.t.make_clamp(*SPACE, bounds=(0, float('inf')))": "`bounds`: .* found an infinite number$",
    "dp.c.make_zCDP_to_approxDP(TEXTS)": "whose loss is in one of .*`, found one in `MaxDiv",
    "dp.c.make_pureDP_to_zCDP(5)": "`measurement`: expected a measurement .* found a value of type int",
    "dp.c.make_pureDP_to_zCDP(COUNT)": "`measurement`: .* found a transformation; append noise",
    "COUNT.map(Fraction(1, 3))": "d_in: .* a number that is equal to a float, .* type Fraction;",
    "dp.new_queryable(lambda state, question: 5)(1)(2)": "expected a pair$",
    "dp.c.make_fully_adaptive_composition(*SPACE, dp.max_divergence())([1])(TEXTS)": "atom_domain(T",
}
NESTED = []
NESTED.append(NESTED)
TEXTS = dp.space_of(list[str]) >> dp.t.then_count() >> dp.m.then_laplace(1.0)


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_argument_is_named(call):
    with pytest.raises(dp.OpenDPError) as caught:
        eval(call, globals())
    found = caught.value.message
    wanted = WRONG[call].replace("(T", r"\(T")
    assert re.search(wanted, found) and "{" not in found and len(found) < 500, found


def test_an_infinite_bound_of_a_search_is_no_result():
    bounds = float("-inf"), float("inf")
    assert dp.binary_search(lambda x: x >= 5.0, bounds) == 5.0
    assert dp.binary_search(lambda x: x <= -5.0, bounds) == -5.0


def test_measurements_can_be_given_by_an_iterator():
    noisy = COUNT >> dp.m.then_laplace(1.0)
    assert dp.c.make_composition(noisy for _ in range(3)).map(1) == 3.0


def test_a_step_keeps_the_arguments_that_it_got():
    counts = dp.t.then_count_by_categories(iter([1, 2]))
    for _ in range(2):
        assert (SPACE >> counts)([1, 2, 2, 5]) == [1, 2, 1]
    numpy = pytest.importorskip("numpy")
    for listed in ([1, 2], numpy.array([1, 2])):
        counts = dp.t.then_count_by_categories(listed)
        listed[0] = 7
        assert (SPACE >> counts)([1, 2, 2, 5]) == [1, 2, 1]
    with pytest.raises(dp.ArgumentError, match="nested more than 64 levels deep"):
        SPACE >> dp.t.then_count_by_categories(NESTED)
    quantile = {"candidates": iter([1, 2, 3]), "alpha": 0.5}
    query = context(split_evenly_over=1).query().private_quantile(**quantile)
    assert query.param() > 0 and query.release() in (1, 2, 3)


def test_a_class_is_a_function():
    own = dp.m.make_user_measurement(*SPACE, dp.max_divergence(), tuple, lambda d_in: 9.0 * d_in)
    assert own([1, 2]) == (1, 2)


def test_equal_spaces_have_equal_hashes():
    assert len({dp.space_of(list[int]), dp.space_of(list[int]), dp.space_of(float)}) == 2


def test_a_release_without_noise_warns():
    """A scale of 0 can be a slip, such as an integer division: the release is the exact answer."""
    for noise in (dp.m.then_laplace(scale=1 // 2), dp.m.then_gaussian(scale=0.0)):
        exact = COUNT >> noise
        for release in (exact, exact.invoke):
            with pytest.warns(UserWarning, match="the loss is infinite.*may be the exact answer"):
                assert release([1, 2, 3]) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (COUNT >> dp.m.then_laplace(scale=0.5))([1, 2, 3])
        # A question about replaced records has no neighbours at the distance 1.
        fixed = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=3), METRIC
        (fixed >> dp.t.then_clamp((0.0, 1.0)) >> dp.t.then_mean() >> dp.m.then_laplace(1.0))([1.0] * 3)


def test_no_entry_of_a_dictionary_is_lost():
    """As a key, infinity is the text "Infinity", so one of these two entries was lost."""
    texts = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="u32"))
    assert texts.member({"Infinity": 1})
    for key, text in ((math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN")):
        assert not texts.member({key: 1, text: 2})


def test_a_study_is_shown_and_not_copied():
    context = {"unit": {"person": 1}, "budget": {"epsilon": 1}, "columns": {"x": {"T": "bool"}}}
    context["columns"]["x"]["missing"] = False
    study = dp.Study({"context": context, "questions": [{"count": {}}]})
    assert repr(study) == "Study(columns 'x'; budget 1 in max_divergence())"
    tight = {**context, "budget": {"epsilon": 1, "delta": 1e-6}}
    shown = repr(dp.Study({"context": tight, "questions": [{"count": {}}]}))
    assert "budget (1, 1e-06) in" in shown
    assert copy.copy(study) is study
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a copy could spend the same budget again"):
            copied(study)
    outcome = study.ask({"x": [True] * 9})
    outcome.to_dict()["answers"].clear()
    assert len(outcome.rows()) == 1


def test_many_equal_parts_meet_the_budget():
    ours = context(split_evenly_over=700)
    shares = ours.remaining_privacy_loss()
    assert sum(map(Fraction, shares)) <= 1 and shares[0] == pytest.approx(1 / 700, rel=1e-14)
