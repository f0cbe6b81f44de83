"""A forked child process gets no copy of a budget."""

import multiprocessing
import os

import pytest

import opendp_rs.prelude as dp

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")

ROWS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
COUNT = ROWS >> dp.t.then_count() >> dp.m.then_laplace(1.0)


def context(**options):
    return dp.Context.compositor(
        data=[1, 2, 3],
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=4.0),
        domain=ROWS[0],
        **options,
    )


def outer():
    """Open a context inside a context."""
    return context(split_evenly_over=2).query().compositor(split_evenly_over=2).release()


def divided():
    return context(split_evenly_over=3)


def odometer():
    return dp.c.make_fully_adaptive_composition(*ROWS, dp.max_divergence())([1, 2, 3])


def within():
    return odometer().within(dp.space_of(list[int]))


def composed():
    composition = dp.c.make_adaptive_composition(
        *ROWS, dp.max_divergence(), d_in=1, d_mids=[1.0, 1.0]
    )
    return composition([1, 2, 3])


def queryable():
    return dp.new_queryable(lambda state, _: (state, state))(0)


def _run(pipe, work):
    try:
        pipe.send(work())
    except dp.OpenDPError as error:
        pipe.send((error.kind, error.message))
    pipe.close()


def in_child(work):
    """Run a function in a forked child process, and return its result or its error."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    child = fork.Process(target=_run, args=(theirs, work))
    child.start()
    theirs.close()
    assert ours.poll(60), "the child process does not answer"
    answer = ours.recv()
    child.join()
    return answer


def ask(opened):
    return opened(1 if isinstance(opened, dp.Queryable) else COUNT)


@pytest.mark.parametrize(
    "open_budget", [context, divided, outer, odometer, within, composed, queryable]
)
def test_only_the_process_that_opened_a_budget_asks_questions(open_budget):
    opened = open_budget()
    kind, message = in_child(lambda: ask(opened))
    assert kind == "FailedFunction" and "before a fork" in message and "parent" in message
    # A child of the child is not the process that opened the budget, either.
    assert in_child(lambda: in_child(lambda: ask(opened)))[0] == "FailedFunction"
    # The parent keeps the whole budget, and a child can open a budget of its own.
    assert isinstance(ask(opened), int)
    assert isinstance(in_child(lambda: ask(open_budget())), int)


def test_a_query_of_a_context_is_refused_in_a_child_and_keeps_its_share():
    ours = divided()
    query = ours.query().count().laplace()
    assert in_child(query.release)[0] == "FailedFunction"
    assert len(ours.remaining_privacy_loss()) == 3
    assert isinstance(query.release(), int)


def test_measurements_of_the_parent_release_in_a_child():
    assert isinstance(in_child(lambda: COUNT([1, 2, 3])), int)
    releases = [in_child(lambda: [COUNT([]) for _ in range(64)]) for _ in range(2)]
    assert releases[0] != releases[1]
