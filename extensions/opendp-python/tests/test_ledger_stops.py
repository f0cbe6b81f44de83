"""Programs that fail or stop while a charged study reads its data."""

import _thread
import functools
import operator
import signal

import pytest
from charged import AGES, UNREAD, ask, document, refused

import opendp_rs.prelude as dp


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
