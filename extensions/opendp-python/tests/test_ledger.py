"""Budgets in a file, and studies that are charged to them."""

import _thread
import base64
import copy
import functools
import hashlib
import json
import multiprocessing
import operator
import os
import pickle
import signal
import subprocess
import sys
import warnings
import zlib
from decimal import Decimal
from fractions import Fraction

import pytest

import opendp_rs.prelude as dp

AGES = {"age": [31, 58, None] * 100}


def document(budget=1.0, unit=None, **question):
    return {
        "context": {
            "unit": unit or {"person": 1},
            "budget": {"epsilon": budget},
            "columns": {"age": {"T": "i64", "bounds": [0, 100], "missing": "drop"}},
        },
        "questions": [question or {"count": {}}, {"sum": {"column": "age"}}],
    }


@pytest.fixture
def ledger(tmp_path):
    made = dp.Ledger(tmp_path / "study.ledger")
    made.create("survey", epsilon=3, unit=1, metric="symmetric_distance")
    return made


def ask(ledger, id="first", data=AGES, asked=None, alpha=0.05, budget="survey"):
    asked = asked or dp.Study(document())
    return asked.ask(data, alpha, ledger=ledger, budget=budget, id=id, by="Ada")


class Unread(list):
    """A column that must not be read."""

    def __iter__(self):
        raise AssertionError("the data are read")

    def __len__(self):
        raise AssertionError("the data are read")


UNREAD = {"age": Unread()}


def refused(kind, text, work, *args, **options):
    with pytest.raises(dp.OpenDPError, match=text) as error:
        work(*args, **options)
    assert error.value.kind == kind, error.value
    return error.value.message


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


class Raises(list):
    def __init__(self, error):
        super().__init__([1])
        self.error = error

    def __iter__(self):
        raise self.error


@pytest.mark.parametrize(
    "cells",
    [["47"], [1.5], [2**63], Raises(ValueError("47")), Raises(dp.OpenDPError("47")), 47],
)
def test_an_error_that_may_depend_on_cells_is_charged_and_kept(ledger, cells):
    message = refused("Argument", "no release is possible", ask, ledger, data={"age": cells})
    assert "47" not in message
    assert refused("Argument", "no release", ask, ledger) == message
    assert ledger.show("survey")["remaining"] == {"epsilon": "2"}
    assert ask(ledger, "second").rows()


@pytest.mark.parametrize("error", [KeyboardInterrupt("47"), SystemExit(47)])
def test_a_program_that_is_stopped_while_it_reads_is_charged(ledger, monkeypatch, error):
    import opendp_rs._study as module

    def stops(_):
        raise error

    monkeypatch.setattr(module, "cells_or_none", stops)
    with pytest.raises(type(error)) as stopped:
        ask(ledger)
    assert "47" not in str(stopped.value)
    monkeypatch.undo()
    refused("Argument", "no release is possible", ask, ledger)
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


class Stops:
    def __init__(self, error, method):
        self.error, self.method = error, method
        self.__class__ = type("Stops", (Stops,), {method: Stops.stop})

    def stop(self):
        raise self.error

    def __iter__(self):
        return self

    def __len__(self):
        return 1


@pytest.mark.parametrize("error", [KeyboardInterrupt("47"), SystemExit(47)])
@pytest.mark.parametrize("method", ["__iter__", "__next__", "__len__", "__index__", "ndim"])
def test_a_program_that_is_stopped_while_it_converts_is_charged(ledger, error, method):
    in_cell = method in ("__index__", "ndim")
    stops = Stops(error, method)
    if method == "ndim":
        stops = type("Stops", (), {"ndim": property(Stops.stop), "error": error})()
    column = [stops] if in_cell else stops
    for T in ("i64", "f64"):
        asked = document()
        asked["context"]["columns"]["age"]["T"] = T
        asked = dp.Study(asked)
        with pytest.raises(type(error)) as stopped:
            ask(ledger, T, {"age": column}, asked)
        assert "47" not in str(stopped.value)
        refused("Argument", "no release is possible", ask, ledger, T, asked=asked)
    assert len(ledger.history("survey")) == 2
    with pytest.raises(type(error)):
        dp.Study(document()).ask({"age": column})


def test_a_program_that_is_stopped_before_it_reads_is_not_charged(ledger):
    place = (ledger._ledger, ("survey", "first", "Ada"))
    asked = dp.Study(document())
    native = functools.partial(asked._study.ask_charged, lambda _: pytest.fail("read"), 0.05, *place)
    # Between these two calls, Python does not look for signals. A process in the background can
    # ignore Ctrl-C, so set the handler of Python.
    call = operator.methodcaller("__call__")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(map(call, [_thread.interrupt_main, native]))
    finally:
        signal.signal(signal.SIGINT, before)
    assert ledger.history("survey") == []
    # The control: nothing is spent.
    assert ask(ledger, asked=dp.Study(document())).rows() and asked.ask(AGES).rows()


def test_after_a_charged_refusal_a_study_does_not_answer_without_a_ledger(ledger):
    first, second = dp.Study(document()), dp.Study(document())
    refused("Argument", "no release is possible", ask, ledger, data={"age": ["x"]}, asked=first)
    refused("BudgetExceeded", "is spent", first.ask, AGES)
    # The refusal of an earlier call with the same id counts, too.
    refused("Argument", "no release is possible", ask, ledger, data=UNREAD, asked=second)
    refused("BudgetExceeded", "is spent", second.ask, AGES)
    # The control: a refusal that is not charged spends nothing.
    third = dp.Study(document())
    refused("NotFound", "typo", ask, ledger, data=UNREAD, asked=third, budget="typo")
    assert third.ask(AGES).rows()


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_is_charged_to_the_same_budget(ledger):
    asked = dp.Study(document())
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=lambda: theirs.send(ask(ledger, "child", asked=asked).rows()))
    child.start()
    rows = ours.recv()
    child.join()
    assert ask(ledger, "child", UNREAD, asked).rows() == rows
    assert len(ledger.history("survey")) == 1


class Forks(list):
    """A column that forks the process when it is read."""

    def __iter__(self):
        self.child = os.fork()
        return super().__iter__()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_the_reader_gets_no_answer(ledger):
    column = Forks([1, 2, 3])
    parent = os.getpid()
    try:
        rows = ask(ledger, data={"age": column}).rows()
    except dp.OpenDPError as error:
        if os.getpid() != parent:
            os._exit(7 if "before a fork" in error.message else 8)
        raise
    if os.getpid() != parent:
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(column.child, 0)[1]) == 7
    assert len(ledger.history("survey")) == 1 and ask(ledger, data=UNREAD).rows() == rows


def opened(ledger, id="first", epsilon=1.0, data=None, contributions=1, **options):
    given = {"domain": dp.vector_domain(dp.atom_domain(T=int)), **options}
    return dp.Context.compositor(
        data=[1, 2, 3] if data is None else data,
        privacy_unit=dp.unit_of(contributions=contributions),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        ledger=ledger,
        id=id,
        by="Ada",
        **{"budget": "survey", **given},
    )


@pytest.mark.parametrize("shares", [{}, {"split_evenly_over": 2}])
def test_a_context_is_charged_when_it_is_opened(ledger, shares):
    context = opened(ledger, **shares)
    assert ledger.show("survey")["remaining"] == {"epsilon": "2"}
    query = context.query() if shares else context.query(epsilon=0.5)
    assert isinstance(query.count().laplace().release(), int)
    # No answer is kept, so the id is used up, even for another context.
    refused("Argument", "use another id", opened, ledger, **shares)
    refused("Argument", "use another id", opened, ledger, epsilon=0.5, **shares)
    opened(ledger, "second", 2.0, **shares)
    refused("BudgetExceeded", "0 is left", opened, ledger, "third", data=Unread(), **shares)
    assert [entry["by"] for entry in ledger.history("survey")] == ["Ada", "Ada"]


def test_a_context_costs_the_exact_value_of_its_floats(ledger):
    for id in range(4):
        opened(ledger, str(id), 0.25)
    assert ledger.show("survey")["remaining"] == {"epsilon": "2"}
    # The float 0.1 is above a tenth, and a context can spend all of it.
    opened(ledger, "tenth", 0.1)
    assert Fraction(ledger.show("survey")["spent"]["epsilon"]) == 1 + Fraction(0.1)


def test_a_context_of_wrong_data_is_charged_and_other_mistakes_are_free(ledger):
    free = {
        "state `domain`|the domain of the data": {"domain": None},
        "state the distance 1": {"contributions": 2},
        "costs": {"epsilon": 4.0},
        "budget `typo`": {"budget": "typo"},
    }
    for text, options in free.items():
        with pytest.raises(dp.OpenDPError, match=text):
            opened(ledger, data=Unread(), **options)
    with pytest.warns(UserWarning):
        ledger.create("bare", epsilon=3)
    refused("Argument", "no context can be charged", opened, ledger, budget="bare", data=Unread())
    assert ledger.history("survey") == []
    with pytest.raises(dp.OpenDPError) as error:
        opened(ledger, data=["47"])
    assert "47" not in str(error.value) and len(ledger.history("survey")) == 1
