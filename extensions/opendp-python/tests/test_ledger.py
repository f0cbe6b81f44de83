"""Budgets in a file, and studies that are charged to them."""

import base64
import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
import warnings
import zlib
from decimal import Decimal
from fractions import Fraction

import pytest
from charged import AGES, UNREAD, ask, document, refused

import opendp_rs.prelude as dp


def test_an_id_is_charged_once_and_has_the_same_answers(ledger):
    first = ask(ledger)
    assert len(first.notes) == 1 and "nearest bound" in first.notes[0]
    assert "no ledger" not in str(first)
    assert "budget survey as `first`: epsilon 1 charged, epsilon 2 left" in str(first)
    assert first.to_dict()["charge"]["remaining"] == {"epsilon": "2"}
    again = ask(ledger, data=UNREAD)
    assert again.rows() == first.rows() and any("repeated" in note for note in again.notes)
    assert ledger.show("survey")["remaining"] == {"epsilon": "2"}
    (entry,) = ledger.history("survey")
    assert (entry["id"], entry["by"], entry["source"]) == ("first", "Ada", {"data": None})
    assert json.dumps(ledger.history("survey")) and ledger.budgets() == [ledger.show("survey")]
    assert "study.ledger" in repr(ledger)


def test_a_later_process_continues(ledger):
    program = f"""
import opendp_rs.prelude as dp
ledger = dp.Ledger({ledger.path!r})
outcome = dp.Study({document()!r}).ask({AGES!r}, ledger=ledger, budget="survey", id="first")
print(outcome.rows())
"""
    command = [sys.executable, "-c", program]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout == f"{ask(ledger, data=UNREAD).rows()}\n"
    assert len(ledger.history("survey")) == 1


def test_a_spent_budget_reads_nothing(ledger):
    asked = dp.Study(document())
    for id in ("1", "2", "3"):
        ask(ledger, id, asked=asked)
    refused("BudgetExceeded", "0 is left", ask, ledger, "4", UNREAD, asked)
    assert ask(ledger, "2", UNREAD, asked).rows()
    # A study that has answered must not answer again without a ledger by mistake.
    refused("BudgetExceeded", "is spent", asked.ask, AGES)


def test_the_path_of_a_ledger_is_fixed_when_the_ledger_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = dp.Ledger("study.ledger")
    ledger.create("survey", epsilon=3, unit=1, metric="symmetric_distance")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    ask(ledger)
    with pytest.raises(AttributeError):
        ledger.path = "study.ledger"
    assert ledger.path == str(tmp_path / "study.ledger") and not os.listdir()
    # The command and the library must find the same file.
    (tmp_path / "a" / "b").mkdir(parents=True)
    os.symlink(tmp_path / "a" / "b", tmp_path / "link")
    monkeypatch.chdir(tmp_path)
    dp.Ledger(os.path.join("link", "..", "study.ledger")).create(
        "far", epsilon=1, unit=1, metric="symmetric_distance"
    )
    assert (tmp_path / "a" / "study.ledger").exists()
    for path in ("", b"study.ledger"):
        refused("Argument", "argument `path`: expected the path", dp.Ledger, path)


def test_a_copy_of_a_ledger_is_the_same_ledger(ledger):
    ask(ledger)
    for other in (pickle.loads(pickle.dumps(ledger)), copy.deepcopy(ledger)):
        assert other.path == ledger.path and ask(other, data=UNREAD).rows()
    assert len(ledger.history("survey")) == 1


# A ledger with the budget `survey`, which was created in the year 2255.
AHEAD = (
    "eNrtVLtuwzAM3P0VhuYUkChRj/xMQFFUYDR2AtsJGgT99yr10r1A0SE3HXjEcbgDzxeZyuXtJOUocw/dSPN7jwY6"
    "yNYX5uzES2SqmpyFIGwJsrGFsoVaBcWHWpNhl1IUiDZhyDFYTF3/wv/HlrfpDbjYs06m5a01VJcEEDyUYAsa7RAs"
    "ICHGVEOJlrw3OYkEwQAJLDk2bHvkjNAKIL61pHiyNRphp3PrgwZG9skXRGJTdKhELnrkVH111XkG8+rMn+f/68wf"
    "Kl/b71jV/qEmGkXt1XKdb3JXOzUKNf4cjfRxKMNN5qNMLE1azyudmmAb51lolaL2Sf9A25F5XJ6+12n49h9lnQd+"
    "XriPG2+my0qb5bZldqochqmRz4buC5fK5oc="
)


def test_a_budget_whose_clock_was_settled_continues(tmp_path):
    path = tmp_path / "study.ledger"
    path.write_bytes(zlib.decompress(base64.b64decode(AHEAD)))
    ledger = dp.Ledger(path)
    refused("FailedFunction", "call `settle_clock`", ask, ledger)
    entry = ledger.settle_clock("survey", by="Ada")
    assert entry["by"] == "Ada" and ledger.history("survey") == [entry]
    assert ask(ledger).rows() and ledger.show("survey")["remaining"] == {"epsilon": "2"}
    refused("Argument", "nothing to settle", ledger.settle_clock, "survey")
    refused("NotFound", "typo", ledger.settle_clock, "typo")


def test_mistakes_that_do_not_depend_on_cells_are_free(ledger):
    for kind, text, options in [
        ("Argument", "no column 'age'", {"data": {"sex": [1]}}),
        ("Argument", "column 'age'.*sets to lists", {"data": {"age": {1}}}),
        ("Argument", "alpha", {"alpha": 2.0}),
        ("NotFound", "no budget `typo`; its budgets are `survey`", {"budget": "typo"}),
        ("Argument", "argument `id`", {"id": None}),
        ("Argument", "argument `budget`", {"budget": None}),
        ("Argument", "state the unit", {"asked": dp.Study(document(unit={"person": 2}))}),
        ("Argument", "number of rows", {"asked": dp.Study(document(unit={"answers_of_person": 1}))}),
        ("BudgetExceeded", "costs", {"asked": dp.Study(document(4.0))}),
        ("Argument", "bounds", {"asked": dp.Study(document(mean={"column": "age", "bounds": [3, 1]}))}),
    ]:
        refused(kind, text, ask, ledger, **{"data": UNREAD, **options})
    refused("Argument", "argument `ledger`", ask, ledger.path)
    refused("Argument", "argument `ledger`", dp.Study(document()).ask, AGES, id="first")
    missing = dp.Ledger(ledger.path + ".typo")
    refused("NotFound", "cannot be read|no ledger|no file|not exist", ask, missing)
    assert not os.path.exists(missing.path)
    assert ledger.history("survey") == []


def test_an_id_belongs_to_its_question(ledger):
    ask(ledger)
    other = dp.Study(document(mean={"column": "age"}))
    refused("Argument", "another study: use another id", ask, ledger, data=UNREAD, asked=other)
    refused("Argument", "0.05: state this probability", ask, ledger, data=UNREAD, alpha=0.1)


def test_a_budget_for_a_file_refuses_a_table_in_memory(ledger):
    digest = hashlib.sha256(b"age\n31\n").hexdigest()
    ledger.create("file", epsilon=1, unit=1, metric="symmetric_distance", digest=digest)
    text = "instead of a table in memory.*without a SHA-256"
    refused("Argument", text, ask, ledger, data=UNREAD, budget="file")


def test_amounts_are_the_decimal_numbers_that_are_written(ledger):
    numpy = pytest.importorskip("numpy")
    metric = dp.change_one_distance()
    for place, (amount, exact) in enumerate(
        [
            (0.1, "0.1"),
            (numpy.float64(0.1), "0.1"),
            (numpy.float32(0.5), "0.5"),
            (numpy.int64(2), "2"),
            ("1/4", "0.25"),
            (Fraction(1, 8), "0.125"),
            (Decimal("0.3"), "0.3"),
            (2, "2"),
        ]
    ):
        ledger.create(str(place), epsilon=amount, unit=1, metric=metric)
        assert ledger.show(str(place))["total"] == {"epsilon": exact}
    ledger.create("tight", epsilon=1.0, delta=1e-6, tight=True, unit=1, metric=metric, contributions=2)
    shown = ledger.show("tight")
    assert shown["composition"] == "tight" and shown["unit"]["d_in"] == 2
    assert shown["total"] == {"epsilon": "1", "delta": "0.000001"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ledger.create("rho", rho=0.5, unit=1, metric=metric, size=300)


def test_wrong_budgets_are_refused_and_make_no_file(tmp_path):
    ledger = dp.Ledger(str(tmp_path / "new.ledger"))
    unit = {"unit": 1, "metric": "symmetric_distance"}
    for text, options in [
        ("state one budget", unit),
        ("state one budget", {"epsilon": 1, "rho": 1, **unit}),
        ("expected a number", {"epsilon": True, **unit}),
        ("expected a number", {"epsilon": [1], **unit}),
        (None, {"epsilon": -1, **unit}),
        (None, {"epsilon": float("nan"), **unit}),
        ("above 0", {"epsilon": 0, **unit}),
        ("delta", {"epsilon": 1, "tight": True, **unit}),
        ("`metric`: also state", {"epsilon": 1, "unit": 1}),
        ("`unit`: also state", {"epsilon": 1, "metric": "symmetric_distance"}),
        ("expected a metric", {"epsilon": 1, "unit": 1, "metric": "max_divergence"}),
        ("also state", {"epsilon": 1, "contributions": 2}),
        ("whole number", {"epsilon": 1, **unit, "unit": 1.5}),
        ("at least 1", {"epsilon": 1, **unit, "unit": 0}),
        ("64 hexadecimal", {"epsilon": 1, **unit, "digest": "abc"}),
        ("`size`: expected a whole number from 1", {"epsilon": 1, **unit, "size": 0}),
    ]:
        with pytest.raises(dp.OpenDPError, match=text):
            ledger.create("survey", **options)
    assert not os.path.exists(ledger.path)
    refused("NotFound", None, ledger.budgets)
    with pytest.warns(UserWarning, match="states no unit|above 10") as found:
        ledger.create("survey", epsilon=11)
    assert len(found) == 2
    assert {warning.filename for warning in found} == {__file__}
    assert any("above 10" in str(warning.message) for warning in found)
    refused("Argument", "states no unit", ask, ledger, data=UNREAD)
    refused("Argument", "exists already", ledger.create, "survey", epsilon=1, **unit)
    with pytest.warns(UserWarning, match="number of rows is public"):
        ledger.create("sized", epsilon=1, unit=2, metric="symmetric_distance", size=300)


def test_a_tight_budget_charges_each_release(ledger):
    ledger.create("tight", epsilon=1, delta=1e-5, tight=True, unit=1, metric="symmetric_distance")
    asked = document(0.1)
    asked["context"]["budget"] = {"epsilon": 0.1, "delta": 1e-7}
    ask(ledger, asked=dp.Study(asked), budget="tight")
    assert len(ledger.history("tight")[0]["loss"]["members"]) == 2
