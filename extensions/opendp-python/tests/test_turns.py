"""Under some measures, each question closes the conversations that earlier answers opened.

This also holds for conversations that a Python function got, returned or kept.
"""

import pytest

import opendp_rs.prelude as dp

SPACE = dp.atom_domain(T=int), dp.absolute_distance(T=int)
SEQUENTIAL = dp.approximate(dp.zero_concentrated_divergence())
ROWS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
KEPT = []


def composed(d_mids, space=SPACE):
    return dp.c.make_adaptive_composition(*space, SEQUENTIAL, d_in=1, d_mids=d_mids)


INNER = composed([(0.2, 1e-7)] * 4)
OUTER = composed([(1.0, 1e-6)] * 4)
QUESTION = dp.c.make_approximate(dp.m.make_gaussian(*SPACE, 10.0))


def user(function, **types):
    """Make a measurement from a function of Python, with the loss of `INNER`."""
    loss = INNER.map(1)
    return dp.m.make_user_measurement(*SPACE, SEQUENTIAL, function, lambda _: loss, **types)


def kept(session):
    KEPT.append(session)
    return 1


class Holder:
    """An object whose attribute is a conversation."""

    def __init__(self, session):
        self.session = session


TALK = dp.new_queryable(lambda state, query: (state, state))
# Each way has a question that opens a conversation, and a function that finds the conversation in
# the answer to this question.
WAYS = {
    "directly": (INNER, lambda a: a),
    "through a function": (INNER >> (lambda s: s), lambda a: a),
    "through two functions": (INNER >> (lambda s: s) >> (lambda s: s), lambda a: a),
    "through new_function": (INNER >> dp.new_function(lambda s: s), lambda a: a),
    "in a list": (INNER >> (lambda s: [s]), lambda a: a[0]),
    "in a tuple": (INNER >> (lambda s: (1, (s,))), lambda a: a[1][0]),
    "in a dictionary": (INNER >> (lambda s: {"a": s}), lambda a: a["a"]),
    "in an object": (INNER >> Holder, lambda a: a.session),
    "in a closure": (INNER >> (lambda s: lambda: s), lambda a: a()),
    "opened by a function": (user(lambda x: INNER(x)), lambda a: a),
    "opened by a function, in a list": (user(lambda x: [INNER(x)]), lambda a: a[0]),
    "kept elsewhere": (INNER >> kept, lambda a: KEPT[-1]),
    "kept by a typed function": (INNER >> dp.new_function(kept, TO="i32"), lambda a: KEPT[-1]),
    "opened and kept": (user(lambda x: kept(INNER(x))), lambda a: KEPT[-1]),
    "the answer of a queryable": (INNER >> TALK, lambda a: a(1)),
    "in a composition": (dp.c.make_composition([INNER >> (lambda s: s)]), lambda a: a[0]),
    "of an odometer": (
        user(dp.c.make_fully_adaptive_composition(*SPACE, SEQUENTIAL)),
        lambda a: a,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_question_closes_the_conversations_of_earlier_answers(way):
    opens, find = WAYS[way]
    session = OUTER(100)
    first = find(session(opens))
    # The control: the last conversation answers.
    assert isinstance(first(QUESTION), int)
    second = find(session(opens))
    assert second is not first
    with pytest.raises(dp.FailedFunctionError, match="a later query has begun"):
        first(QUESTION)
    assert isinstance(second(QUESTION), int)
    # A question whose answer is not a conversation also closes the earlier conversations.
    assert isinstance(session(QUESTION), int)
    with pytest.raises(dp.FailedFunctionError, match="a later query has begun"):
        second(QUESTION)


def test_other_measures_keep_conversations_open():
    free = dp.zero_concentrated_divergence()
    inner = dp.c.make_adaptive_composition(*SPACE, free, d_in=1, d_mids=[0.2] * 4)
    session = dp.c.make_adaptive_composition(*SPACE, free, d_in=1, d_mids=[1.0, 1.0])(100)
    question = dp.m.make_gaussian(*SPACE, 10.0)
    first = session(inner >> (lambda s: s))
    session(inner >> (lambda s: [s]))
    assert isinstance(first(question), int)


def test_descendants_of_a_closed_conversation_are_closed():
    middle = composed([(0.9, 1e-6)])
    session = OUTER(100)
    inner = session(middle >> (lambda s: [s]))[0]
    innermost = inner(INNER >> (lambda s: [s]))[0]
    assert isinstance(innermost(QUESTION), int)
    session(QUESTION)
    for closed in (inner, innermost):
        with pytest.raises(dp.FailedFunctionError, match="a later query has begun"):
            closed(QUESTION)


def test_the_answers_of_a_queryable_are_closed_with_the_queryable():
    session = OUTER(100)
    talk = session(INNER >> TALK)
    found = talk(1)
    assert isinstance(found(QUESTION), int)
    session(QUESTION)
    for closed in (talk, found):
        with pytest.raises(dp.FailedFunctionError, match="a later query has begun"):
            closed(QUESTION)


def test_a_composition_closes_the_conversations_of_its_earlier_members():
    KEPT.clear()
    for step in (lambda s: s, kept):
        both = dp.c.make_composition([INNER >> step, INNER >> step])(100)
        first, second = both if step is not kept else KEPT
        assert isinstance(second(QUESTION), int)
        with pytest.raises(dp.FailedFunctionError, match="a later query has begun"):
            first(QUESTION)


def test_a_function_uses_its_conversation():
    from threading import Thread

    answers = []

    def ask(session):
        thread = Thread(target=lambda: answers.append(session(QUESTION)))
        thread.start()
        thread.join()
        return [session(QUESTION), session]

    answer, inner = OUTER(100)(INNER >> ask)
    assert isinstance(answer, int) and isinstance(answers[0], int)
    assert isinstance(inner(QUESTION), int)


def test_a_question_that_fails_closes_the_conversations_that_it_opened():
    def fails(session):
        kept(session)
        raise ValueError

    session = OUTER(100)
    with pytest.raises(dp.FailedFunctionError, match="ValueError"):
        session(INNER >> fails)
    found = KEPT[-1]
    assert isinstance(found(QUESTION), int)
    session(QUESTION)
    with pytest.raises(dp.FailedFunctionError, match="a later query has begun"):
        found(QUESTION)


def test_conversations_of_other_questions_stay_open():
    other = OUTER(100)
    session = OUTER(100)
    inner, found = session(INNER >> (lambda s: [s, other]))
    session(QUESTION)
    assert found is other and isinstance(other(QUESTION), int)
    with pytest.raises(dp.FailedFunctionError, match="a later query has begun"):
        inner(QUESTION)


def test_a_context_inside_a_function_is_closed():
    loss = SEQUENTIAL, (1.0, 1e-6)
    context = dp.Context.compositor(
        [1, 2, 3], dp.unit_of(contributions=1), loss, split_evenly_over=2, domain=ROWS[0]
    )
    count = dp.c.make_approximate(ROWS >> dp.t.then_count() >> dp.m.then_gaussian(10.0))
    inner = context(composed([(0.2, 1e-7)] * 2, ROWS) >> (lambda s: [s]))[0]
    assert isinstance(inner(count), int)
    context(count)
    with pytest.raises(dp.FailedFunctionError, match="a later query has begun"):
        inner(count)
