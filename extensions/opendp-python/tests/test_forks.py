"""A forked child process cannot use a budget of its parent."""

import multiprocessing
import os
import sys

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
    assert message.startswith("this queryable" if open_budget is queryable else "this budget")
    # A child process of the child did not open the budget either, so its question is also an error.
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


def ended(process, pipe, ask):
    """Ask a question that forks. Return the outcomes in this process and in its child."""
    try:
        found = "answered", str(ask())
    except dp.OpenDPError as error:
        found = error.kind, error.message
    if os.getpid() != process:
        os.write(pipe[1], found[0].encode() + b" " + found[1].encode())
        os._exit(0)
    os.wait()
    return found, os.read(pipe[0], 1000).decode()


FORKS = dp.m.make_user_measurement(
    *ROWS, dp.max_divergence(), lambda _: os.fork(), lambda d_in: 0.5 * d_in
)


def forks_in_a_composition():
    ours = context()
    return lambda: ours(dp.c.make_composition([COUNT, FORKS, COUNT]))


def forks_and_fails():
    def fail(_):
        os.fork()
        raise ValueError

    failing = dp.m.make_user_measurement(*ROWS, dp.max_divergence(), fail, lambda d_in: 0.5)
    ours = odometer()
    return lambda: ours(failing)


def forks_in_a_queryable():
    ours = dp.new_queryable(lambda state, _: (state, os.fork()))(0)
    return lambda: ours(1)


@pytest.mark.parametrize(
    "open_budget", [forks_in_a_composition, forks_and_fails, forks_in_a_queryable]
)
def test_a_question_that_forks_is_answered_only_in_the_parent(open_budget):
    ours, of_child = ended(os.getpid(), os.pipe(), open_budget())
    assert of_child.startswith("FailedFunction this ") and "before a fork" in of_child
    failed = open_budget is forks_and_fails
    assert ours[0] == ("FailedFunction" if failed else "answered") and "fork" not in ours[1]


def test_a_child_can_exit_in_a_question():
    ours = odometer()
    leave = dp.m.make_user_measurement(
        *ROWS,
        dp.max_divergence(),
        lambda _: os.fork() or sys.exit(),
        lambda d_in: 0.5 * d_in,
    )
    process = os.getpid()
    try:
        child = ours(leave)
    except BaseException as error:
        os._exit(7 if isinstance(error, SystemExit) and os.getpid() != process else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_measurements_of_the_parent_release_in_a_child():
    assert isinstance(in_child(lambda: COUNT([1, 2, 3])), int)
    releases = [in_child(lambda: [COUNT([]) for _ in range(64)]) for _ in range(2)]
    assert releases[0] != releases[1]
