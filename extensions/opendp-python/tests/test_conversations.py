"""Interactive measurements: sessions, filters, odometers, sparse vector."""

import pytest

import opendp_rs.prelude as dp

SPACE = dp.atom_domain(T=int), dp.absolute_distance(T=int)
ROWS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()


def laplace(scale):
    return dp.m.make_laplace(*SPACE, scale)


def test_an_adaptive_composition_answers_within_its_parts():
    composed = dp.c.make_adaptive_composition(
        *SPACE, dp.max_divergence(), d_in=1, d_mids=[1.0, 2.0]
    )
    assert composed.map(1) == 3.0
    session = composed(100)
    with pytest.raises(dp.BudgetExceededError):
        session(laplace(0.9))
    assert isinstance(session(laplace(1.0)), int)
    assert isinstance(session(laplace(0.5)), int)
    with pytest.raises(dp.BudgetExceededError):
        session(laplace(100.0))
    # Each release of the same measurement opens a new interactive mechanism.
    assert isinstance(composed(100)(laplace(1.0)), int)


def test_a_session_counts_the_questions_that_it_charged():
    filtered = dp.c.make_privacy_filter(
        dp.c.make_fully_adaptive_composition(*ROWS, dp.max_divergence()), d_in=1, d_out=2.0
    )
    session = filtered([1, 2, 3])
    assert session.charged == 0
    count = ROWS >> dp.t.then_count() >> dp.m.then_laplace(1.0)
    with pytest.raises(dp.DomainMismatchError):
        session(laplace(1.0))
    session.within(dp.space_of(list[int]))(count)
    assert session.charged == 1
    session(count)
    with pytest.raises(dp.BudgetExceededError):
        session(count)
    assert session.charged == 2 and filtered([1, 2, 3]).charged == 0


def test_an_odometer_reports_the_loss():
    odometer = dp.c.make_fully_adaptive_composition(*SPACE, dp.max_divergence())
    session = odometer(100)
    for _ in range(10):
        session.invoke(laplace(10.0))
    assert session.privacy_loss(1) == 1.0 and session.privacy_loss(2) == 2.0
    with pytest.raises(dp.MeasureMismatchError):
        session(dp.m.make_gaussian(*SPACE, 1.0))
    assert session.privacy_loss(1) == 1.0


def test_a_session_states_its_loss_only_in_its_own_space():
    composed = dp.c.make_adaptive_composition(*ROWS, dp.max_divergence(), d_in=1, d_mids=[1.0])
    odometer = dp.c.make_fully_adaptive_composition(*ROWS, dp.max_divergence())
    filtered = dp.c.make_privacy_filter(odometer, d_in=1, d_out=2.0)
    own, sized = dp.space_of(list[int]), dp.vector_domain(dp.atom_domain(T=int), size=3)
    count = ROWS >> dp.t.then_count() >> dp.m.then_laplace(1.0)
    for start in (composed, odometer, filtered):
        session = start([1, 2, 3])
        with pytest.raises(dp.MetricMismatchError, match="input space of the session"):
            session.within(dp.space_of(list[int], dp.insert_delete_distance()))
        with pytest.raises(dp.DomainMismatchError):
            session.within(dp.space_of(sized, dp.symmetric_distance()))
        # The comparison of the spaces charges nothing.
        assert isinstance(session.within(own)(count), int)
    session = odometer([1, 2, 3]).within(own)
    session(count)
    assert session.privacy_loss(1) == 1.0


def test_a_session_states_its_loss_in_the_metric_of_its_measurement():
    copy = lambda made: dp.deserialize(dp.serialize(made))  # noqa: E731
    odometer = dp.c.make_fully_adaptive_composition(*SPACE, dp.max_divergence())
    filtered = dp.c.make_privacy_filter(odometer, d_in=1, d_out=2.0)
    parts = dp.c.make_adaptive_composition(*SPACE, dp.max_divergence(), d_in=1, d_mids=[2.0, 1.0])
    for start, spent in ((filtered, 1.0), (copy(filtered), 1.0), (parts, 2.0), (copy(parts), 2.0)):
        session = start(7)
        assert session.privacy_loss(1) == 0.0
        session(laplace(1.0))
        assert session.privacy_loss(1) == spent
        with pytest.raises(dp.FailedMapError, match="largest distance that the mechanism covers"):
            session.privacy_loss(2)
    outer = parts(7)
    inner = outer(filtered)
    inner(laplace(1.0))
    assert (inner.privacy_loss(1), outer.privacy_loss(1)) == (1.0, 2.0)


def test_a_session_of_a_chain_does_not_read_distances_of_the_chain():
    rows = dp.vector_domain(dp.atom_domain(bounds=(0, 10))), dp.symmetric_distance()
    odometer = dp.c.make_fully_adaptive_composition(*SPACE, dp.max_divergence())
    filtered = dp.c.make_privacy_filter(odometer, d_in=10, d_out=2.0)
    chain = rows >> dp.t.then_sum() >> filtered
    for start in (chain, dp.deserialize(dp.serialize(chain))):
        session = start([1, 2])
        session(laplace(10.0))
        # Three rows change the sum by up to 30, and the filter covers a distance of 10.
        with pytest.raises(dp.NotImplementedError, match=r"`within\(\(domain, metric\)\)`"):
            session.privacy_loss(3)
        assert session.remaining_budget() == 1.0
        with pytest.raises(dp.DomainMismatchError):
            session.within(rows)
        for wrong in (5, SPACE[0], SPACE[::-1], None):
            with pytest.raises(dp.FailedCastError, match="`space`.* a pair of a domain and a metric"):
                session.within(wrong)
        assert session.within(SPACE).privacy_loss(10) == 1.0


def test_a_filter_refuses_what_exceeds_its_budget():
    odometer = dp.c.make_fully_adaptive_composition(*SPACE, dp.zero_concentrated_divergence())
    filtered = dp.c.make_privacy_filter(odometer, d_in=1, d_out=1.0)
    assert filtered.map(1) == 1.0
    session = filtered(7)
    session(dp.m.make_gaussian(*SPACE, 1.0))
    assert session.remaining_budget() == 0.5
    with pytest.raises(dp.BudgetExceededError):
        session(dp.m.make_gaussian(*SPACE, 0.9))
    session(dp.m.make_gaussian(*SPACE, 1.0))
    assert session.remaining_budget() == 0.0


def test_conversations_nest():
    composed = dp.c.make_adaptive_composition(*SPACE, dp.max_divergence(), d_in=1, d_mids=[2.0])
    outer = dp.c.make_adaptive_composition(*SPACE, dp.max_divergence(), d_in=1, d_mids=[2.0, 1.0])
    session = outer(100)
    inner = session(composed)
    assert isinstance(inner(laplace(0.5)), int)
    assert isinstance(session(laplace(1.0)), int)


def test_the_sparse_vector_technique_stops_after_its_limit():
    sparse = dp.m.make_sparse_vector(
        *ROWS, d_in=1, sensitivity=1, threshold=500, limit=1, scales=(4.0, 8.0), T=int, Q=int
    )
    assert sparse.map(1) == 0.5
    # The noise exceeds 499 with a probability below 1e-26.
    ask = sparse(list(range(1000)))

    def small():
        return (
            dp.t.make_is_equal(*ROWS, 5)
            >> dp.t.then_cast_default(TOA=int)
            >> dp.t.then_clamp((0, 1))
            >> dp.t.then_sum()
        )

    assert ask(small()) is False
    assert ask(dp.t.make_count(*ROWS)) is True
    with pytest.raises(dp.BudgetExceededError):
        ask(small())
    with pytest.raises(dp.ArgumentError):
        ask(5)


def test_a_noisy_map_answers_for_any_key():
    counts = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    space = (counts >> dp.t.then_count_by()).output_space
    assert space.domain.carrier_type == "HashMap<String, i32>"
    noisy = (
        counts
        >> dp.t.then_count_by()
        >> dp.m.then_alp_queryable(scale=4.0, total_limit=1000, value_limit=500)
    )
    ask = noisy(["a"] * 300)
    # For an error of 200, 100 of 200 bits must be flipped. The probability of this is below 1e-25.
    assert abs(ask("a") - 300) < 200 and ask("a") == ask("a")
    with pytest.raises(dp.ArgumentError):
        ask(7)


def test_a_user_writes_a_conversation():
    start = dp.new_queryable(lambda state, query: (state + query, state * query))
    noisy = laplace(1.0) >> start
    ask = noisy(10)
    first = ask(0)
    assert first == 0
    state = ask(1)
    assert ask(1) == state + 1


def test_parallel_and_repeated_measurements_compose():
    both = dp.c.make_composition([laplace(1.0), laplace(2.0)])
    assert both.map(1) == 1.5
    assert len(both(5)) == 2
