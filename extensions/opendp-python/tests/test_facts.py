"""Facts from the documentation of OpenDP 0.16, as one table: a pipeline, distances and losses.

The loss of a map may be smaller than the loss in the table, and must not be larger. The last column
states where the two losses must be equal.
"""

import math

import pytest

import opendp_rs.prelude as dp

F = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
Z = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
S = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
NUMBER = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
WHOLE = dp.atom_domain(T=int), dp.absolute_distance(T=int)


def sized(size, bounds=(0.0, 10.0)):
    domain = dp.vector_domain(dp.atom_domain(bounds=bounds, nan=False), size=size)
    return domain, dp.symmetric_distance()


def whole(size=None, metric="symmetric_distance", bounds=None):
    domain = dp.vector_domain(dp.atom_domain(T=int, bounds=bounds), size=size)
    return domain, getattr(dp, metric)()


def laplace(scale, space=NUMBER):
    return dp.m.make_laplace(*space, scale)


def gaussian(scale):
    return dp.m.make_gaussian(*NUMBER, scale)


EQUAL, BOUND = True, False
MAPS = [
    (lambda: F >> dp.t.then_clamp((0.0, 1.0)), {1: 1, 3: 3}, EQUAL),
    (lambda: S >> dp.t.then_cast_default(TOA=int), {2: 2}, EQUAL),
    (lambda: Z >> dp.t.then_resize(5, 0), {1: 2, 2: 4}, EQUAL),
    (
        lambda: whole(10, "change_one_distance") >> dp.t.then_metric_unbounded(),
        {1: 2, 3: 6},
        EQUAL,
    ),
    (lambda: whole(10) >> dp.t.then_metric_bounded(), {1: 0, 2: 1, 3: 1, 5: 2}, EQUAL),
    (lambda: Z >> dp.t.then_count(), {1: 1, 7: 7}, EQUAL),
    (lambda: Z >> dp.t.then_count(TO=float), {3: 3.0}, EQUAL),
    (lambda: Z >> dp.t.then_count_distinct(), {2: 2}, EQUAL),
    (lambda: Z >> dp.t.then_count_by_categories([1, 2]), {4: 4}, EQUAL),
    (lambda: Z >> dp.t.then_count_by(), {6: (6, 6, 6)}, EQUAL),
    (lambda: whole(8) >> dp.t.then_count_distinct(), {2: 1, 6: 3}, EQUAL),
    (lambda: whole(8) >> dp.t.then_count_by(), {2: (2, 2, 1), 6: (6, 6, 3)}, EQUAL),
    (
        lambda: whole(8) >> dp.t.then_count_by_categories([1], MO="L2Distance<float>", TOA=float),
        {2: 2**0.5, 4: 8**0.5},
        EQUAL,
    ),
    (lambda: Z >> dp.t.then_clamp((0, 10)) >> dp.t.then_sum(), {1: 10, 2: 20}, EQUAL),
    (lambda: Z >> dp.t.then_clamp((-20, 10)) >> dp.t.then_sum(), {1: 20}, EQUAL),
    (
        lambda: whole(100, bounds=(1, 10)) >> dp.t.then_sum(),
        {1: 0, 2: 9, 3: 9, 4: 18},
        EQUAL,
    ),
    (
        lambda: F >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum(),
        {1: 10.00000009313226, 2: 20.00000009313226},
        BOUND,
    ),
    (
        lambda: sized(10) >> dp.t.then_mean(),
        {2: 1.0000000000000169, 4: 2.000000000000017},
        BOUND,
    ),
    (lambda: sized(1000) >> dp.t.then_mean(), {2: 0.010000000000046035}, BOUND),
    (lambda: sized(10) >> dp.t.then_variance(), {2: 10.000000000000206}, BOUND),
    (lambda: laplace(1.0), {0.0: 0.0, 1.0: 1.0, 2.5: 2.5}, EQUAL),
    (lambda: laplace(3.0), {1.0: 0.33333333333333337}, BOUND),
    (lambda: laplace(0.0), {0.0: 0.0, 1.0: math.inf}, EQUAL),
    (lambda: laplace(2.0, WHOLE), {1: 0.5, 3: 1.5}, EQUAL),
    (lambda: gaussian(2.0), {1.0: 0.125, 3.0: 1.125}, EQUAL),
    (lambda: WHOLE >> dp.m.then_geometric(2.0, bounds=(0, 100)), {1: 0.5}, EQUAL),
    (
        lambda: (
            (dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int))
            >> dp.m.then_noisy_max(dp.max_divergence(), 1.0)
        ),
        {1: 2.0, 2: 4.0},
        EQUAL,
    ),
    (
        lambda: (
            (dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=True))
            >> dp.m.then_noisy_max(dp.max_divergence(), 1.0)
        ),
        {1: 1.0},
        EQUAL,
    ),
    (
        lambda: Z >> dp.m.then_private_quantile(dp.max_divergence(), [0, 25, 50], 0.5, 1.0),
        {1: 1.0},
        EQUAL,
    ),
    (
        lambda: dp.m.make_randomized_response_bool(0.75),
        {0: 0.0, 1: 1.0986122886681098},
        BOUND,
    ),
    (
        lambda: dp.m.make_randomized_response(["a", "b", "c", "d"], 0.75),
        {1: 2.1972245773362196},
        BOUND,
    ),
    (lambda: dp.c.make_composition([laplace(1.0), laplace(2.0)]), {1.0: 1.5}, EQUAL),
    (lambda: dp.c.make_composition([gaussian(1.0), gaussian(2.0)]), {1.0: 0.625}, EQUAL),
    (lambda: dp.c.make_pureDP_to_zCDP(laplace(1.0)), {1.0: 0.5, 2.0: 2.0}, BOUND),
    (lambda: dp.c.make_approximate(laplace(1.0)), {1.0: (1.0, 0.0)}, EQUAL),
    (
        lambda: dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian(1.0)), 1e-6),
        {1.0: (5.22153444453017, 1e-6)},
        BOUND,
    ),
    (
        lambda: (
            NUMBER
            >> dp.c.then_adaptive_composition(dp.max_divergence(), d_in=1.0, d_mids=[1.0, 2.0])
        ),
        {0.5: 3.0, 1.0: 3.0},
        EQUAL,
    ),
    (lambda: Z >> dp.t.then_count() >> dp.m.then_laplace(2.0), {1: 0.5, 3: 1.5}, EQUAL),
    (
        lambda: sized(10) >> dp.t.then_mean() >> dp.m.then_laplace(0.5),
        {2: 2.0000000000000338},
        BOUND,
    ),
]


def numbers(distance):
    return list(distance) if isinstance(distance, tuple) else [distance]


@pytest.mark.filterwarnings("ignore:d_in")
@pytest.mark.parametrize("row", range(len(MAPS)))
def test_a_map_is_at_least_as_tight_as_the_known_one(row):
    make, facts, equal = MAPS[row]
    made = make()
    for d_in, d_out in facts.items():
        ours = made.map(d_in)
        if equal:
            assert ours == d_out
        for mine, theirs in zip(numbers(ours), numbers(d_out), strict=True):
            assert 0 <= mine <= theirs * (1 + 1e-12)
            assert made.check(d_in, ours)
            assert theirs == 0 or theirs == math.inf or mine > 0


VALUES = [
    (lambda: F >> dp.t.then_clamp((0.0, 1.0)), [-1.0, 0.5, 3.0], [0.0, 0.5, 1.0]),
    (lambda: S >> dp.t.then_cast_default(TOA=int), ["1", "x", ""], [1, 0, 0]),
    (
        lambda: S >> dp.t.then_find(["a", "b"]) >> dp.t.then_impute_constant(9),
        ["a", "z", "b"],
        [0, 9, 1],
    ),
    (lambda: Z >> dp.t.then_find_bin([2, 3, 5]), list(range(1, 10)), [0, 1, 2, 2, 3, 3, 3, 3, 3]),
    (
        lambda: (
            (dp.vector_domain(dp.atom_domain(T="usize")), dp.symmetric_distance())
            >> dp.t.then_index(["A", "B"], "N")
        ),
        [0, 1, 7],
        ["A", "B", "N"],
    ),
    (
        lambda: S >> dp.t.then_count_by_categories(["a", "b"]),
        ["a", "c", "a", "b", "d"],
        [2, 1, 2],
    ),
    (lambda: S >> dp.t.then_count_by(), ["a", "b", "a"], {"a": 2, "b": 1}),
    (lambda: Z >> dp.t.then_is_equal(3), [3, 4], [True, False]),
    (lambda: sized(5) >> dp.t.then_mean(), [1.0, 2.0, 3.0, 4.0, 5.0], 3.0),
    (lambda: sized(5) >> dp.t.then_variance(), [1.0, 2.0, 3.0, 4.0, 5.0], 2.5),
    (lambda: sized(5) >> dp.t.then_sum_of_squared_deviations(), [1.0, 2.0, 3.0, 4.0, 5.0], 10.0),
    (lambda: dp.t.make_bounded_int_split_sum((-10, 10)), [-10, -10, -10, 7], -23),
    (lambda: laplace(0.0, WHOLE), 7, 7),
]


@pytest.mark.parametrize("row", range(len(VALUES)))
def test_a_deterministic_step_gives_the_known_value(row):
    make, data, value = VALUES[row]
    assert make()(data) == value


@pytest.mark.parametrize(
    "call,args,value",
    [
        (dp.laplacian_scale_to_accuracy, (1.0, 0.05), 2.995732273553991),
        (dp.accuracy_to_laplacian_scale, (1.0, 0.05), 0.33380820069533407),
        (dp.gaussian_scale_to_accuracy, (1.0, 0.05), 1.9599639845400538),
        (dp.accuracy_to_gaussian_scale, (1.0, 0.05), 0.510213456924654),
        (dp.accuracy_to_discrete_laplacian_scale, (1.0, 0.05), 0.27295842040939744),
        (dp.discrete_gaussian_scale_to_accuracy, (10.0, 0.01), 27.0),
    ],
)
def test_accuracies_are_the_known_ones(call, args, value):
    assert call(*args) == pytest.approx(value, rel=1e-6)
