"""Objects are written as documents, and documents are read as objects."""

import copy
import json
import pickle
import sys
from pathlib import Path

import pytest

import opendp_rs.prelude as dp

FLOATS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
WHOLE = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
NUMBER = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def noisy_sum():
    return FLOATS >> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() >> dp.m.then_laplace(20.0)


def laplace(scale=1.0):
    return dp.m.make_laplace(*NUMBER, scale)


OBJECTS = [
    noisy_sum,
    lambda: FLOATS >> dp.t.then_clamp((0.0, 10.0)),
    lambda: dp.t.make_count(*WHOLE, TO=float) >> dp.m.then_gaussian(3.0),
    lambda: WHOLE >> dp.t.then_count_by_categories([1, 2], MO=dp.L2Distance[float]),
    lambda: dp.c.make_composition([laplace(1.0), laplace(1e-3)]),
    lambda: dp.c.make_composition([noisy_sum(), noisy_sum()]),
    lambda: (
        FLOATS
        >> dp.t.then_clamp((0.0, 1.0))
        >> dp.t.then_sum()
        >> dp.c.make_composition([laplace(1.0), laplace(2.0)])
    ),
    lambda: dp.c.make_chain_mt(laplace(), FLOATS >> dp.t.then_clamp((0.0, 2.0)) >> dp.t.then_sum()),
    lambda: dp.c.make_fix_delta(
        dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*NUMBER, 4.0)), 1e-6
    ),
    lambda: dp.m.make_randomized_response(["a", "b"], 0.75),
    lambda: WHOLE >> dp.t.then_quantile_score_candidates([1, 5, 9], 0.5),
    lambda: WHOLE >> dp.m.then_private_quantile(dp.max_divergence(), [0, 25, 50], 0.5, 1.0),
    lambda: dp.c.make_adaptive_composition(*NUMBER, dp.max_divergence(), 9.0, [1.0, 2.0]),
]


def losses(made):
    distances = [0.0, 1.0, 2.5] if "Absolute" in made.input_metric.type else [0, 1, 3]
    return [made.map(d_in) for d_in in distances]


@pytest.mark.parametrize("place", range(len(OBJECTS)))
def test_an_object_and_its_document_have_the_same_map(place):
    made = OBJECTS[place]()
    text = dp.serialize(made)
    again = dp.deserialize(text)
    assert type(again) is type(made)
    assert again.input_space == made.input_space
    assert losses(again) == losses(made)
    if isinstance(made, dp.Transformation):
        assert again.output_space == made.output_space
    else:
        assert again.output_measure == made.output_measure
    # The object that was built from the document has the same document.
    assert json.loads(dp.serialize(again)) == json.loads(text)


def test_a_deterministic_object_gives_the_same_values():
    made = FLOATS >> dp.t.then_clamp((0.1, 0.3)) >> dp.t.then_sum()
    data = [0.05, 0.2, 7.0]
    assert dp.deserialize(dp.serialize(made))(data) == made(data)
    cdf = dp.t.make_cdf(TA=float)
    assert dp.deserialize(dp.serialize(cdf))([1.0, 1.0, 2.0]) == [0.25, 0.5, 1.0]


@pytest.mark.filterwarnings("ignore:d_in")
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_an_object_with_a_document_is_copied(copied):
    for make in OBJECTS:
        made = make()
        again = copied(made)
        assert type(again) is type(made) and losses(again) == losses(made)
        assert dp.serialize(again) == dp.serialize(made)
    for made in (*FLOATS, dp.max_divergence(), noisy_sum().input_space):
        assert copied(made) == made
    assert copied(dp.t.make_cdf(TA=float))([1.0, 1.0, 2.0]) == [0.25, 0.5, 1.0]
    partial = dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum()
    assert losses(FLOATS >> copied(partial)) == losses(FLOATS >> partial)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_an_object_without_a_document_or_with_a_spent_budget_is_not_copied(copied):
    user = dp.m.make_user_measurement(
        *WHOLE, dp.max_divergence(), lambda rows: 0, lambda d_in: 0.0
    )
    for made in (user, noisy_sum().function, dp.t.then_count() >> user):
        with pytest.raises(dp.NotImplementedError, match="document"):
            copied(made)
    composition = dp.c.make_adaptive_composition(*NUMBER, dp.max_divergence(), 1.0, [1.0])
    odometer = dp.c.make_fully_adaptive_composition(*NUMBER, dp.max_divergence())
    for opened in (composition(1.0), odometer(1.0)):
        with pytest.raises(TypeError, match="spent"):
            copied(opened)


@pytest.mark.parametrize("copied", [copy.deepcopy, pickle.dumps])
def test_a_context_is_not_copied(copied):
    rows = dp.vector_domain(dp.atom_domain(T=int))
    for splits in ({}, {"split_evenly_over": 2}):
        unit, loss = dp.unit_of(contributions=1), dp.loss_of(epsilon=1.0)
        context = dp.Context.compositor([1, 2], unit, loss, domain=rows, **splits)
        share = {} if splits else {"epsilon": 0.5}
        for value in (context, context.query(**share)):
            with pytest.raises(TypeError, match="spent"):
                copied(value)


def test_a_chain_is_one_document_of_the_command():
    document = json.loads(dp.serialize(noisy_sum()))
    assert document["version"] == 1
    assert set(document) == {"version", "space", "chain"}
    assert [list(link) for link in document["chain"]] == [
        ["make_clamp"],
        ["make_sum"],
        ["make_laplace"],
    ]


def test_every_number_keeps_its_value():
    for scale in (0.1, 1e-300, 1.7976931348623157e308, 2.0**53 + 2):
        again = dp.deserialize(dp.serialize(laplace(scale)))
        assert again.map(1.0) == laplace(scale).map(1.0)
    wide = dp.atom_domain(bounds=(-(2**63), 2**63 - 1), T="i64")
    assert dp.deserialize(dp.serialize(wide)) == wide


def test_descriptions_and_spaces_are_written():
    for description in (
        *FLOATS,
        dp.max_divergence(),
        dp.approximate(dp.zero_concentrated_divergence()),
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64")),
        dp.linf_distance(T=int, monotonic=True),
    ):
        assert dp.deserialize(dp.serialize(description)) == description
    space = dp.deserialize(dp.serialize(FLOATS))
    assert tuple(space) == FLOATS and dp.deserialize(dp.serialize(space)) == space


def test_a_chain_without_a_space_is_written():
    clamped = dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() >> dp.m.then_laplace(20.0)
    again = dp.deserialize(dp.serialize(clamped))
    assert (FLOATS >> again).map(1) == 0.5 and again(*FLOATS).map(1) == 0.5
    assert dp.serialize(again) == dp.serialize(clamped)
    longer = dp.t.then_clamp((0.0, 10.0)) >> dp.deserialize(dp.serialize(dp.t.then_sum()))
    assert (FLOATS >> longer).map(2) == 20.0
    assert dp.deserialize(dp.serialize(FLOATS >> longer)).map(2) == 20.0


def test_a_document_that_was_read_is_a_part_of_others():
    count = dp.deserialize(dp.serialize(dp.t.make_count(*WHOLE)))
    noisy = count >> dp.m.then_laplace(2.0)
    assert dp.deserialize(dp.serialize(noisy)).map(1) == 0.5
    both = dp.c.make_composition([noisy, noisy])
    assert dp.deserialize(dp.serialize(both)).map(1) == 1.0


FOREIGN = """{"__function__": "make_laplace", "__module__": "measurements", "__kwargs__": {
    "input_domain": {"__function__": "atom_domain", "__module__": "domains",
        "__kwargs__": {"T": "i32"}, "__version__": "0.16.0"},
    "input_metric": {"__function__": "absolute_distance", "__module__": "metrics",
        "__kwargs__": {"T": "i32"}, "__version__": "0.16.0"},
    "scale": 4.0}, "__version__": "0.16.0"}"""


def test_a_document_of_opendp_is_kept():
    made = dp.deserialize(FOREIGN)
    assert json.loads(dp.serialize(made)) == json.loads(FOREIGN)
    noisy = dp.t.make_count(*WHOLE) >> made
    assert dp.deserialize(dp.serialize(noisy)).map(2) == 0.5


def test_a_python_function_has_no_document():
    user = dp.m.make_user_measurement(
        *WHOLE, dp.max_divergence(), lambda rows: 0, lambda d_in: 0.0
    )
    halved = WHOLE >> dp.t.then_count() >> dp.m.then_laplace(1.0) >> (lambda count: count / 2)
    evens = dp.user_domain("even", lambda x: x % 2 == 0)
    for made in (user, halved, dp.c.make_composition([user, user]), evens, noisy_sum().function):
        with pytest.raises(dp.NotImplementedError, match="document"):
            dp.serialize(made)
    for value in (5, "text", [1], None, object()):
        with pytest.raises(dp.ArgumentError, match="dp_obj"):
            dp.serialize(value)


def test_an_object_of_a_third_party_is_written():
    if "acme::make_edge_count" not in dp.names():
        pytest.skip("built without `--features example`")
    graphs = dp.acme.graph_domain(nodes=60), dp.acme.edge_distance()
    noisy = graphs >> dp.acme.then_edge_count() >> dp.m.then_laplace(scale=4.0)
    assert dp.deserialize(dp.serialize(noisy)).map(1) == 0.25


def evaluated(run):
    """Return a result as text, or the kind of the error."""
    try:
        found = run()
    except dp.OpenDPError as error:
        return error.kind
    return repr(found.delta(0.5) if isinstance(found, dp.PrivacyProfile) else found)


@pytest.mark.filterwarnings("ignore:d_in")
def test_every_pipeline_of_the_comparison_is_written():
    """The pipelines of `conformance/compare.py` and their documents have the same maps and values."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))
    from measurements import measurements
    from transformations import transformations

    written = 0
    for _, source, distances, data in [*transformations(), *measurements()]:
        try:
            made = eval(source, {"dp": dp})
        except dp.OpenDPError:
            continue
        again = dp.deserialize(dp.serialize(made))
        for d_in in distances:
            assert evaluated(lambda: again.map(d_in)) == evaluated(lambda: made.map(d_in)), source
        if data is not None and isinstance(made, dp.Transformation):
            assert evaluated(lambda: again(data)) == evaluated(lambda: made(data)), source
        written += 1
    assert written > 500
