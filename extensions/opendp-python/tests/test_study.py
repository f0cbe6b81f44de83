"""Studies: a budget and questions about a table, in one document."""

import array
import copy
import json
import multiprocessing
import os
import pickle
import warnings

import pytest

import opendp_rs.prelude as dp

COLUMNS = {"pay": [10.0, None, 30.0] * 100, "educ": [1, 2, None] * 100, "city": ["Ada", "", " Bo "] * 100}


def study(budget=10.0, questions=None, columns=None, **context):
    """Return a document. If epsilon is 1e6, the noise of a count is far below 1."""
    return {
        "context": {
            "unit": {"person": 1},
            "budget": {"epsilon": budget},
            "columns": columns
            or {
                "pay": {"T": "f64", "bounds": [0, 100], "missing": "drop"},
                "educ": {"T": "i64", "missing": "drop"},
                "city": {"T": "String", "missing": "none"},
            },
            **context,
        },
        "questions": questions
        or [
            {"count": {}},
            {"sum": {"column": "pay"}},
            {"histogram": {"column": "city", "categories": ["Ada", "Bo", "none"]}},
            {"group_by": ["educ"], "keys": {"educ": [1, 2]}, "count": {}},
        ],
    }


def quiet(document):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dp.Study(document)


def values(outcome):
    return [round(row["value"]) for row in outcome.rows()]


def lists():
    return COLUMNS


def more_columns():
    return {"unused": [object()], **COLUMNS}


def arrays():
    numpy = pytest.importorskip("numpy")
    pay = numpy.array([10.0, numpy.nan, 30.0] * 100, dtype="float32")
    return {**COLUMNS, "pay": pay, "educ": numpy.array([1, 2, None] * 100, dtype=object)}


def pandas():
    # pandas stores a column of integers with missing cells as floats.
    table = pytest.importorskip("pandas").DataFrame(COLUMNS)
    assert str(table["educ"].dtype) == "float64"
    return table


def nullable():
    return pandas().convert_dtypes()


def categories():
    return pandas().astype({"city": "category"})


def polars():
    return pytest.importorskip("polars").DataFrame(COLUMNS)


def pyarrow():
    return pytest.importorskip("pyarrow").table(COLUMNS)


@pytest.mark.parametrize(
    "make", [lists, more_columns, arrays, pandas, nullable, categories, polars, pyarrow]
)
def test_every_kind_of_table_has_the_same_answers(make):
    outcome = quiet(study(1e6)).ask(make())
    # Spaces around a text are ignored, and an empty text is missing.
    assert values(outcome) == [300, 4000, 100, 100, 100, 100, 100]
    labels = [row["label"] for row in outcome.rows()]
    assert labels == [None, None, "Ada", "Bo", "none", "1", "2"]
    first = outcome.rows()[0]
    assert first["lower"] <= first["value"] <= first["upper"]
    document = outcome.to_dict()
    assert document["budget"] == {"epsilon": 1e6} and json.dumps(document)
    assert "histogram of city" in str(outcome) and "spent: epsilon" in str(outcome)
    page = outcome.to_html()
    assert page.startswith("<!DOCTYPE html>") and "histogram of city" in page and "<svg" in page


def test_a_rehearsal_spends_nothing_and_has_no_values():
    asked = dp.Study(json.dumps(study()))
    for _ in range(2):
        plan = asked.rehearse()
        assert plan.rows() == [] and len(plan.notes) == 1 and "nearest bound" in plan.notes[0]
        assert plan.to_dict()["dry_run"] and "nothing is spent" in str(plan)
        assert plan.to_dict()["answers"][0]["accuracy"] == 1.0
        assert "Nothing was released or spent" in plan.to_html()
    assert "no ledger" in asked.ask(COLUMNS).notes[-1]


def test_a_question_names_registered_constructors():
    noise = {"laplace": {"scale": {"param": "scale"}}}
    mechanism = {"column": "city", "chain": ["count_distinct", noise]}
    asked = dp.Study(study(0.5, [{"mechanism": mechanism}]))
    answer = asked.rehearse().to_dict()["answers"][0]
    assert answer["parameter"] == {"name": "scale", "value": 2.0}
    assert answer["constructors"] == ["count_distinct", "laplace"]
    outcome = quiet(study(1e6, [{"mechanism": mechanism}])).ask(COLUMNS)
    assert values(outcome) == [3]
    for chain, text in ((["nothing"], "nothing"), (["count_distinct"], "found a transformation")):
        wrong = dp.Study(study(1.0, [{"mechanism": {"column": "city", "chain": chain}}]))
        refused(wrong, COLUMNS, None, text)
        # Nothing was spent, so the error is the same again.
        refused(wrong, COLUMNS, None, text)


def refused(asked, data, kind, text, **options):
    with pytest.raises(dp.OpenDPError, match=text) as error:
        asked.ask(data, **options)
    assert kind in (None, error.value.kind), error.value


def test_a_budget_is_spent_once():
    asked = dp.Study(study())
    wrong = {key: COLUMNS[key] for key in ("pay", "city")}
    # These errors do not depend on cells, so they spend nothing.
    refused(asked, wrong, "Argument", "no column 'educ'")
    refused(asked, [1, 2], "Argument", "not a table")
    refused(asked, {**COLUMNS, "pay": {1.0, 2.0}}, "Argument", "column 'pay'.*list")
    refused(asked, COLUMNS, "Argument", "alpha", alpha=2.0)
    copied = copy.copy(asked)
    assert len(asked.ask(COLUMNS).rows()) == 7
    for spent in (asked, copied):
        refused(spent, COLUMNS, "BudgetExceeded", "is spent")
    for share in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            share(asked)


@pytest.mark.parametrize(
    "column,cells",
    [
        ("pay", ["10"] * 300),
        ("pay", [True] * 300),
        ("educ", [1.5] * 300),
        ("educ", [2**63] * 300),
        ("educ", [1e300] * 300),
        ("educ", array.array("d", [0.5] * 300)),
        ("city", [1] * 300),
        ("city", [b"Ada"] * 300),
        ("city", [["Ada"]] * 300),
        ("city", ["Ada"] * 299),
    ],
)
def test_a_cell_of_another_type_is_an_error_that_spends_the_budget(column, cells):
    asked = dp.Study(study())
    expected = "same number of cells" if len(cells) == 299 else f"`{column}`: expected"
    refused(asked, {**COLUMNS, column: cells}, "Argument", expected)
    refused(asked, COLUMNS, "BudgetExceeded", "is spent")


def test_a_cell_that_another_library_cannot_read_is_not_shown_and_spends_the_budget():
    pd = pytest.importorskip("pandas")
    cells = pd.Series(["Ada", "\ud800"] * 150, dtype=pd.StringDtype("python"))
    asked = dp.Study(study())
    refused(asked, {**COLUMNS, "city": cells}, "Argument", "`city`: expected texts")
    refused(asked, COLUMNS, "BudgetExceeded", "is spent")


def test_missing_cells_are_none_nan_and_nulls():
    pd = pytest.importorskip("pandas")
    nulls = [None, float("nan"), pd.NA, pd.NaT]
    cells = nulls * 75
    table = {"pay": cells, "educ": cells, "city": cells}
    assert values(quiet(study(1e6)).ask(table)) == [300, 0, 0, 0, 300, 0, 0]


def test_a_public_number_of_rows():
    document = study(1e6, questions=[{"mean": {"column": "pay"}}])
    document["context"]["columns"] = {"pay": {"T": "f64", "bounds": [0, 100], "missing": 0}}
    document["context"]["unit"] = {"answers_of_person": 1}
    assert values(quiet(document).ask(COLUMNS)) == [13]
    with pytest.raises(dp.OpenDPError, match="rows"):
        quiet(document).rehearse()
    stated = {**document, "context": {**document["context"], "rows": 300}}
    assert values(quiet(stated).ask(COLUMNS)) == [13]
    wrong = quiet({**document, "context": {**document["context"], "rows": 299}})
    refused(wrong, COLUMNS, "Argument", "stated number of rows")


def test_documents_that_are_wrong():
    for wrong, text in [
        ({"context": {}}, "missing field"),
        ("study.json", "pathlib.Path"),
        ("{", "ends too early"),
        (3, "study"),
        (study(-1.0), "epsilon"),
        (study(questions=[{"sum": {"column": "age"}}]), "age"),
    ]:
        with pytest.raises(dp.OpenDPError, match=text):
            dp.Study(wrong).rehearse()


def test_a_path_is_read(tmp_path):
    path = tmp_path / "study.json"
    path.write_text(json.dumps(study()), encoding="utf-8")
    assert "count by educ" in str(dp.Study(path).rehearse())


def test_warnings_name_weak_budgets_and_columns_of_bool():
    columns = {"ok": "bool"}
    with pytest.warns(UserWarning) as found:
        dp.Study(study(20.0, [{"count": {}}], columns))
    texts = [str(warning.message) for warning in found]
    assert any("epsilon is 20" in text for text in texts)
    assert any("'ok'" in text and "counts as false" in text for text in texts)
    assert {warning.filename for warning in found} == {__file__}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_does_not_answer():
    asked = dp.Study(study())
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def work():
        try:
            theirs.send(asked.ask(COLUMNS).rows())
        except dp.OpenDPError as error:
            theirs.send(error.message)

    child = context.Process(target=work)
    child.start()
    assert "before a fork" in ours.recv()
    child.join()
    assert len(asked.ask(COLUMNS).rows()) == 7
