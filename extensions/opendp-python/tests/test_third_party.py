"""Constructors of a crate that is not part of this package."""

import os

import pytest

import opendp_rs.prelude as dp

LINKED = "acme::make_edge_count" in dp.names()
if not LINKED and os.environ.get("OPENDP_RS_EXAMPLE"):
    raise RuntimeError("build with `--features example`")
pytestmark = pytest.mark.skipif(not LINKED, reason="built without `--features example`")


def graphs():
    return dp.acme.graph_domain(nodes=60), dp.acme.edge_distance()


def test_its_chain_counts_edges_with_noise_of_the_house():
    count = dp.acme.make_edge_count(*graphs())
    ring = [[i, i + 1] for i in range(59)]
    assert count(ring) == 59
    noisy = graphs() >> dp.acme.then_edge_count() >> dp.m.then_laplace(scale=4.0)
    assert noisy.map(1) == 0.25
    assert isinstance(noisy(ring), int)


def test_its_combinator_and_its_measure():
    noisy = graphs() >> dp.acme.then_edge_count() >> dp.m.then_laplace(scale=20.0)
    accounted = dp.acme.make_gaussian_accounting(noisy)
    assert accounted.output_measure == dp.acme.gaussian_tradeoff()
    hundred = dp.acme.make_repeat(accounted, times=100)
    assert hundred.map(1) > accounted.map(1) > 0
    assert len(hundred([[0, 1]])) == 100


def test_a_study_asks_its_mechanism():
    chain = [{"acme::randomized_presence": {"flip": {"param": "flip"}}}]
    study = dp.Study(
        {
            "context": {
                "unit": {"person": 1},
                "budget": {"epsilon": 1.0},
                "columns": {"city": "String"},
            },
            "questions": [{"mechanism": {"column": "city", "chain": chain}}],
        }
    )
    plan = study.rehearse().to_dict()
    # The probability is 1 / (1 + e).
    assert abs(plan["answers"][0]["parameter"]["value"] - 0.268941421369995) < 1e-9
    assert plan["spent"]["epsilon"] <= 1.0 and plan["answers"][0]["accuracy"] is None
    assert study.ask({"city": ["Lyon"] * 9}).rows()[0]["value"] in (True, False)


def test_it_is_listed_with_its_origin():
    family = dp.describe("acme::make_edge_count")
    assert family["package"] == "custom-mechanism"
    assert "make_edge_count" in dir(dp.acme)
    assert dp.acme.make_edge_count.__doc__


def test_a_condition_on_all_rows_is_checked_on_all_rows():
    """Each chunk of 768 rows of the second column is in order, and the whole column is not."""
    numpy = pytest.importorskip("numpy")
    from opendp_rs import _native

    rows = numpy.arange(2000.0)
    assert _native.copy_ascending(rows) == rows.tolist()
    with pytest.raises(dp.ArgumentError):
        _native.copy_ascending(numpy.concatenate([rows[:768], rows[:768]]))


def test_a_graph_beyond_the_domain_is_refused():
    with pytest.raises(dp.ArgumentError):
        dp.acme.make_edge_count(*graphs())([[0, 1000]])
