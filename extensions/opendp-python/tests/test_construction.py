"""Arguments of constructors: how fast they are read, and which are refused at once."""

import sys

import pytest

import opendp_rs.prelude as dp

NUMBER = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def test_a_construction_makes_few_calls():
    """Count calls, because a time depends on what else runs on the machine."""
    dp.m.make_laplace(*NUMBER, 1.0)
    calls = []
    sys.setprofile(lambda frame, event, arg: calls.append(event))
    try:
        dp.m.make_laplace(*NUMBER, 1.0)
    finally:
        sys.setprofile(None)
    assert sum(event in ("call", "c_call") for event in calls) < 150


def test_a_step_with_wrong_arguments_is_refused_before_it_has_a_space():
    bounds = (0.0, 1.0)
    with pytest.raises(dp.ArgumentError, match="`bonds`: unknown .* did you mean `bounds`"):
        dp.t.then_clamp(bonds=bounds)
    with pytest.raises(dp.ArgumentError, match=r"missing, .* \[lower, upper\]; write `then_clamp\(bounds=...\)`"):
        dp.serialize(dp.t.then_clamp())
    with pytest.raises(dp.ArgumentError, match="`epsilon`: .* `dp.binary_search_param` finds it"):
        dp.m.make_laplace(*NUMBER, epsilon=1.0)
    for name in ("input", "input_domain", "input_metric"):
        with pytest.raises(dp.ArgumentError, match=f"`{name}`: .* the left operand of `>>`"):
            dp.t.then_clamp(bounds, **{name: 1})
    with pytest.raises(dp.ArgumentError, match="`TO`: unknown argument of `make_clamp`"):
        dp.t.make_clamp(dp.vector_domain(NUMBER[0]), dp.symmetric_distance(), bounds, TO=int)
    dp.m.then_user_measurement(dp.max_divergence(), len, float, TO=int)


def test_an_input_space_that_is_missing_is_named_as_python_names_it():
    texts = dp.atom_domain(T=str), dp.symmetric_distance()
    call = r"\(dp.atom_domain\(T=str\), dp.symmetric_distance\(\)\) >> dp.t.then_split_dataframe\("
    given = {"separator": ",", "col_names": ["a"]}
    for make in (
        lambda: dp.t.make_split_dataframe(**given),
        lambda: dp.t.make_split_dataframe(*given.values()),
    ):
        with pytest.raises(dp.ArgumentError, match=f"`input_domain`: .* `input_metric`.*{call}"):
            make()
    assert texts >> dp.t.then_split_dataframe(**given)
    with pytest.raises(dp.ArgumentError, match=r"\(domain, metric\) >> dp.t.then_count\("):
        dp.t.make_count()
    with pytest.raises(dp.ArgumentError, match="`output_domain`: missing, expected a domain"):
        dp.t.make_user_transformation(*texts, function=len, stability_map=len)
    with pytest.raises(dp.ArgumentError) as caught:
        dp.t.make_count(*texts[::-1])
    assert ">>" not in caught.value.message
