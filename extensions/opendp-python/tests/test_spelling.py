"""Code that was written for OpenDP 0.16 runs after its import is changed."""

import inspect

import pytest

import opendp_rs.prelude as dp

dp.enable_features("contrib", "honest-but-curious", "floating-point")


def test_a_space_and_constructors_make_a_measurement(floats):
    total = (
        floats >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() >> dp.m.then_laplace(scale=10.0)
    )
    assert total.map(1) == 1.0
    assert total.check(1, 1.0) and not total.check(2, 1.0)
    assert isinstance(total([1.0, 2.0, 30.0]), float)


def test_make_takes_a_domain_and_a_metric(ints):
    domain, metric = ints
    count = dp.t.make_count(domain, metric)
    assert count([1, 2, 3]) == 3
    assert count.map(7) == 7
    assert dp.t.make_count(ints).map(7) == 7
    assert dp.t.make_count(dp.space_of(list[int])).map(7) == 7
    noisy = count >> dp.m.then_laplace(2.0)
    assert noisy.map(d_in=3) == 1.5


def test_an_object_follows_a_transformation(ints):
    count = dp.t.make_count(*ints)
    laplace = dp.m.make_laplace(count.output_domain, count.output_metric, scale=1.0)
    assert (count >> laplace).map(1) == 1.0
    assert dp.c.make_chain_mt(laplace, count).map(1) == 1.0


def test_partial_constructors_chain_before_their_space(floats):
    noisy_sum = dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() >> dp.m.then_laplace(20.0)
    assert (floats >> noisy_sum).map(1) == 0.5
    assert noisy_sum(*floats).map(1) == 0.5


def test_types_are_those_of_python():
    assert dp.atom_domain(T=float).carrier_type == "f64"
    assert dp.atom_domain(T=int).carrier_type == "i32"
    assert dp.atom_domain(T=str).carrier_type == "String"
    assert dp.atom_domain(T=bool).carrier_type == "bool"
    assert dp.atom_domain(T="i64").carrier_type == dp.atom_domain(T=dp.i64).carrier_type == "i64"
    assert dp.atom_domain(bounds=(0.0, 10.0), nan=False).carrier_type == "f64"
    assert dp.atom_domain(bounds=(0, 10)).carrier_type == "i32"
    assert dp.option_domain(dp.atom_domain(T=str)).carrier_type == "Option<String>"


def test_a_type_argument_selects_the_output(ints):
    floats = ints >> dp.t.then_cast_default(TOA=float)
    assert floats([1, 2]) == [1.0, 2.0]
    assert (ints >> dp.t.then_count(TO=float))([1, 2]) == 2.0
    categories = ints >> dp.t.then_count_by_categories([1, 2], MO=dp.L2Distance[float])
    assert categories.output_metric == dp.l2_distance(T=float)
    assert categories([1, 1, 2, 5]) == [2, 1, 1]


def test_spaces_units_and_losses():
    assert tuple(dp.space_of(list[int])) == (
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.symmetric_distance(),
    )
    assert tuple(dp.space_of(float)) == (dp.atom_domain(T=float), dp.absolute_distance(T=float))
    space = dp.space_of(list[int])
    domain, metric = space
    assert (space[0], space[1], space[-1], len(space)) == (domain, metric, metric, 2)
    assert dp.space_of(list[float], dp.L1Distance).metric == dp.l1_distance(T=float)
    assert dp.space_of([1, 2, 3], infer=True).domain == dp.vector_domain(dp.atom_domain(T=int))
    assert dp.unit_of(contributions=3) == (dp.symmetric_distance(), 3)
    assert dp.unit_of(contributions=1, ordered=True) == (dp.insert_delete_distance(), 1)
    assert dp.unit_of(changes=2) == (dp.change_one_distance(), 2)
    assert dp.unit_of(absolute=1.5) == (dp.absolute_distance(T=float), 1.5)
    assert dp.unit_of(local=True) == (dp.discrete_distance(), 1)
    assert dp.loss_of(epsilon=1.0) == (dp.max_divergence(), 1.0)
    assert dp.loss_of(rho=0.5) == (dp.zero_concentrated_divergence(), 0.5)
    assert dp.loss_of(epsilon=1.0, delta=1e-6) == (dp.approximate(dp.max_divergence()), (1.0, 1e-6))


def test_a_search_finds_the_scale_that_a_budget_allows(floats):
    def noisy_sum(scale):
        return floats >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() >> dp.m.then_laplace(scale)

    scale = dp.binary_search_param(noisy_sum, d_in=1, d_out=1.0)
    assert 10.0 <= scale < 10.0000001
    chain = dp.binary_search_chain(noisy_sum, 1, 1.0, bounds=(0.0, 100.0))
    assert chain.map(1) <= 1.0
    assert dp.binary_search(lambda x: x >= 5, bounds=(0, 100)) == 5
    assert dp.binary_search(lambda x: x >= 5, T=int, bounds=(None, None)) == 5
    assert dp.exponential_bounds_search(lambda x: x > 7, T=int)[1] >= 8
    with pytest.raises(ZeroDivisionError):
        dp.binary_search(lambda x: 1 / 0, T=float)


def test_a_search_finds_a_whole_number(ints):
    def sized(size):
        domain = dp.vector_domain(dp.atom_domain(bounds=(0.0, 100.0), nan=False), size=size)
        mean = dp.t.make_mean(domain, dp.symmetric_distance())
        return mean >> dp.m.then_laplace(1.0)

    size = dp.binary_search_param(sized, d_in=2, d_out=1.0)
    assert isinstance(size, int) and 100 <= size <= 101


def test_postprocessing_follows_a_measurement(ints):
    noisy = ints >> dp.t.then_count() >> dp.m.then_laplace(1.0)
    assert isinstance((noisy >> (lambda count: {"count": count}))([1, 2])["count"], int)
    cdf = dp.t.make_cdf(TA=float)
    assert cdf([1.0, 1.0, 2.0]) == [0.25, 0.5, 1.0]


def test_functions_of_users_are_called(ints):
    halve = dp.t.make_user_transformation(
        *ints, *ints, lambda rows: [row // 2 for row in rows], lambda d_in: d_in
    )
    assert halve([3, 4]) == [1, 2] and halve.map(3) == 3
    constant = dp.m.make_user_measurement(
        *ints, dp.max_divergence(), lambda rows: "fixed", lambda d_in: 0.0
    )
    assert constant([1]) == "fixed" and constant.map(5) == 0.0
    evens = dp.user_domain("even", lambda x: x % 2 == 0)
    assert evens.member(4) and not evens.member(5) and not evens.member("x")


def test_every_constructor_has_a_signature_and_documentation():
    for module in (dp.t, dp.m, dp.c):
        for name in dir(module):
            function = getattr(module, name)
            assert callable(function) and function.__name__ == name
            parameters = list(inspect.signature(function).parameters)
            assert function.__doc__, name
            if name.startswith("then_"):
                assert "input_domain" not in parameters, name
    assert str(inspect.signature(dp.t.make_resize)).startswith(
        "(input_domain, input_metric, size, constant"
    )
    # The parameters have the order of the constructor, even if a required parameter follows a
    # parameter with a default.
    assert list(inspect.signature(dp.t.then_split_dataframe).parameters)[:2] == [
        "separator",
        "col_names",
    ]
    text = dp.atom_domain(T=str), dp.symmetric_distance()
    with pytest.raises(dp.ArgumentError, match="`col_names`: missing"):
        text >> dp.t.then_split_dataframe(",")


def test_every_registered_name_is_reachable():
    everywhere = {name for module in (dp.t, dp.m, dp.c) for name in dir(module)} | set(dir(dp))
    for name in dp.names():
        prefix, _, last = name.rpartition("::")
        found = everywhere if not prefix else set(dir(getattr(dp, prefix)))
        assert last in found, name


def test_documents_of_both_kinds_are_read():
    native = """{"space": {"domain": {"vector_domain": {"atom_domain": {"T": "i32"}}},
        "metric": "symmetric_distance"}, "chain": ["count", {"laplace": {"scale": 2.0}}]}"""
    assert dp.deserialize(native).map(1) == 0.5
    foreign = """{"__function__": "make_laplace", "__module__": "measurements", "__kwargs__": {
        "input_domain": {"__function__": "atom_domain", "__module__": "domains",
            "__kwargs__": {"T": "i32"}, "__version__": "0.16.0"},
        "input_metric": {"__function__": "absolute_distance", "__module__": "metrics",
            "__kwargs__": {"T": "i32"}, "__version__": "0.16.0"},
        "scale": 4.0}, "__version__": "0.16.0"}"""
    assert dp.deserialize(foreign).map(1) == 0.25


@pytest.mark.filterwarnings("ignore:d_in")
def test_a_document_and_python_make_the_same_object(ints):
    """A document and Python use the same constructors. So the maps and the outputs are equal."""
    text = """{"space": {"domain": {"vector_domain": {"atom_domain": {"T": "i32"}}},
        "metric": "symmetric_distance"}, "chain": [%s]}"""
    for links, chain in [
        ('{"clamp": {"bounds": [0, 9]}}, "sum"', dp.t.then_clamp((0, 9)) >> dp.t.then_sum()),
        ('"count"', dp.t.then_count()),
        (
            '{"count_by_categories": {"categories": [1, 2]}}',
            dp.t.then_count_by_categories([1, 2]),
        ),
    ]:
        ours, document = ints >> chain, dp.deserialize(text % links)
        assert ours.output_space == document.output_space
        assert [ours.map(d) for d in range(5)] == [document.map(d) for d in range(5)]
        assert ours([1, 2, 30, -4]) == document([1, 2, 30, -4])


def test_profiles_and_conversions():
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    curve = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, 4.0))
    profile = curve.map(1.0)
    assert 0 < profile.epsilon(1e-3) <= 0.6880024554878086
    assert 0 < profile.delta(1.0) < 1e-4
    fixed = dp.c.make_fix_delta(curve, 1e-3)
    epsilon, delta = fixed.map(1.0)
    assert epsilon == profile.epsilon(1e-3) and delta == 1e-3
    assert dp.c.make_approximate(dp.m.make_laplace(*space, 1.0)).map(1.0) == (1.0, 0.0)
    assert dp.laplacian_scale_to_accuracy(1.0, 0.05) == pytest.approx(2.995732273553991)


def test_the_repr_is_a_call():
    domain = dp.vector_domain(dp.atom_domain(bounds=(0, 10)), size=7)
    assert repr(domain) == 'vector_domain(atom_domain(T="i32", bounds=(0, 10)), size=7)'
    assert (
        eval(
            repr(domain),
            vars(dp) | {"vector_domain": dp.vector_domain, "atom_domain": dp.atom_domain},
        )
        == domain
    )
