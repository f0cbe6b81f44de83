"""Contexts and forked processes are charged to budgets in a file."""

import multiprocessing
import os
from fractions import Fraction

import pytest
from charged import UNREAD, Unread, ask, document, refused

import opendp_rs.prelude as dp


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
