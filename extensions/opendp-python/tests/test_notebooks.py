"""What notebooks show of contexts and of answers. All texts are escaped."""

import re

import pytest

import opendp_rs.prelude as dp
from opendp_rs import _html

INTS = dp.vector_domain(dp.atom_domain(T=int))


def opened(**split):
    return dp.Context.compositor(
        data=[1, 2, 3],
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        domain=INTS,
        **split,
    )


def rows_of(page):
    rows = re.findall("<tr>(.*?)</tr>", page)
    return [re.findall("<t[dh]>(.*?)</t[dh]>", row) for row in rows]


@pytest.mark.parametrize("split", [{"split_evenly_over": 2}, {}])
def test_a_context_shows_its_releases_and_their_charges(split):
    context = opened(**split)
    query = (lambda: context.query()) if split else (lambda: context.query(epsilon=0.5))
    assert len(rows_of(context._repr_html_())) == 1
    total = query().clamp((0, 10)).sum().laplace()
    answer = total.release()
    (count,) = query().count().laplace().accuracy(0.05)
    page = context._repr_html_()
    (bound,) = [20.0 * 3.0]
    head, row = rows_of(page)
    assert head[0] == "query" and head[-1] == "charge (epsilon)"
    assert row[0] == "clamp.sum.laplace" and row[1] == str(answer) and row[3] == "0.5"
    assert float(row[2]) == pytest.approx(bound, abs=1)
    assert "1 queries asked; spent 0.5; left 0.5 (epsilon)" in page
    # Another page shows the same, and nothing is spent.
    assert context._repr_html_() == page and count > 0


def test_every_text_of_a_release_is_escaped():
    context = opened(split_evenly_over=2)
    hostile = "<script>alert('x')</script>&"
    query = context.query().count().laplace() >> dp.new_function(lambda _: hostile, TO=str)
    assert query.release() == hostile
    direct = dp.m.make_user_measurement(
        *context.input_space, dp.max_divergence(), lambda _: {hostile: [hostile]}, lambda _: 0.5
    )
    context(direct)
    page = context._repr_html_()
    assert "<script" not in page and page.count("&lt;script&gt;") == 3


def test_a_value_of_another_package_is_shown_as_its_type():
    class Secret:
        def __repr__(self):
            raise AssertionError("the value must not be asked")

    context = opened(split_evenly_over=1)
    made = dp.m.make_user_measurement(
        *context.input_space, dp.max_divergence(), lambda _: Secret(), lambda _: 0.5
    )
    context(made)
    assert rows_of(context._repr_html_())[1][:3] == ["measurement", "Secret", ""]


def test_a_long_table_and_a_long_list_are_cut():
    context = opened(split_evenly_over=150)
    for _ in range(150):
        context.query().count().laplace().release()
    page = context._repr_html_()
    assert len(rows_of(page)) == 1 + _html.MOST_ROWS
    assert "50 queries failed, or are too long ago to be shown" in page
    assert _html.shown(list(range(100))).endswith("19, ...")


def test_the_answers_of_a_study_are_a_table():
    study = dp.Study({
        "context": {
            "unit": {"person": 1},
            "budget": {"epsilon": 1.0},
            "columns": {"city": {"T": "String", "missing": "none"}},
        },
        "questions": [
            {"count": {}},
            {"name": "<i>", "histogram": {"column": "city", "categories": ["<b>Lyon</b>"]}},
        ],
    })
    rehearsed = rows_of(study.rehearse()._repr_html_())
    assert [row[0] for row in rehearsed[1:]] == ["count", "&lt;i&gt;"]
    outcome = study.ask({"city": ["<b>Lyon</b>"] * 100})
    page = outcome._repr_html_()
    assert "spent: epsilon 1 of epsilon 1; protected: one person" in page
    assert "<b>" not in page and "<i>" not in page
    for row, answer in zip(rows_of(page)[1:], outcome.rows()):
        assert row[2] == str(answer["value"])
        assert row[3] == f"{answer['lower']:g}, {answer['upper']:g}"
    assert "interval (95 %)" in page and "Laplace, scale 2</td>" in page
    # An interval never holds with certainty.
    assert "interval (more than 99.999999 %)" in study.rehearse(1e-12)._repr_html_()


def test_an_answer_without_a_scale_states_none():
    rows = {"unit": {"answers_of_person": 1}, "rows": 100, "budget": {"epsilon": 1.0}}
    columns = {"columns": {"city": "String"}}
    chain = ["count_distinct", {"laplace": {"scale": {"param": "scale"}}}]
    questions = [{"count": {}}, {"mechanism": {"column": "city", "chain": chain}}]
    study = dp.Study({"context": {**rows, **columns}, "questions": questions})
    noises = [row[-1] for row in rows_of(study.rehearse()._repr_html_())[1:]]
    assert noises == ["no noise", "count_distinct, laplace, scale 1"]


def test_a_ledger_shows_its_budgets(tmp_path):
    ledger = dp.Ledger(tmp_path / "study.ledger")
    assert ledger._repr_html_() is None  # There is no file yet.
    ledger.create("a <b>", epsilon="1/3", delta=1e-6, unit=1, metric="symmetric_distance")
    row = ["a &lt;b&gt;", "epsilon 1/3, delta 0.000001", "epsilon 0, delta 0"]
    shown = rows_of(ledger._repr_html_())
    assert shown[0] == ["budget", "total", "spent", "remaining", "releases"]
    assert shown[1] == [*row, row[1], "0"]
