"""Queries spend the budget of a context."""

import _thread
import functools
import signal

import pytest

import opendp_rs.prelude as dp


def context(loss, **options):
    return dp.Context.compositor(
        data=[1, 2, 3, 4],
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=loss,
        **options,
    )


def test_a_scale_is_found_for_each_part_of_the_budget():
    ours = context(dp.loss_of(epsilon=1.0), split_evenly_over=4)
    query = ours.query().clamp((0, 10)).sum().laplace()
    assert query.param() == pytest.approx(40.0)
    assert isinstance(query.release(), int)
    assert len(ours.remaining_privacy_loss()) == 3


def test_weights_divide_the_budget():
    ours = context(dp.loss_of(epsilon=3.0), split_by_weights=[1.0, 2.0])
    assert ours.query().count().laplace().param() == pytest.approx(1.0)
    ours.query().count().laplace().release()
    assert ours.query().count().laplace().param() == pytest.approx(0.5)


def test_no_query_follows_the_last():
    ours = context(dp.loss_of(epsilon=1.0), split_evenly_over=1)
    ours.query().count().laplace().release()
    with pytest.raises(dp.BudgetExceededError):
        ours.query().count().laplace().release()


def test_a_query_that_is_refused_keeps_its_share():
    ours = context(dp.loss_of(epsilon=1.0), split_evenly_over=2)
    with pytest.raises(dp.BudgetExceededError):
        ours.query().count().laplace(0.1).release()
    assert ours.query().count().laplace().param() == pytest.approx(2.0)
    ours.query().count().laplace().release()
    ours.query().count().laplace().release()


ROWS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()


def fail(_):
    raise ValueError("fail")


def query(function, privacy_map=lambda d_in: 0.25 * d_in):
    return dp.m.make_user_measurement(*ROWS, dp.max_divergence(), function, privacy_map)


def test_only_a_query_that_was_charged_takes_a_share():
    ours = context(dp.loss_of(epsilon=1.0), split_evenly_over=4)
    for refused in (query(len, fail), query(len, lambda d_in: -1.0), query(len, lambda _: 0.3), 5):
        with pytest.raises(dp.OpenDPError):
            ours(refused)
        assert ours.current_privacy_loss() == [] and len(ours.remaining_privacy_loss()) == 4
    # The session charges this query before its answer fails, so its share is spent.
    with pytest.raises(dp.FailedFunctionError):
        ours(query(fail))
    assert len(ours.remaining_privacy_loss()) == 3
    for left in (2, 1, 0):
        ours.query().count().laplace().release()
        assert len(ours.remaining_privacy_loss()) == left
    with pytest.raises(dp.BudgetExceededError):
        ours(query(len))
    assert ours.current_privacy_loss() == [0.25] * 4


def test_an_interrupted_query_takes_its_share():
    ours = context(dp.loss_of(epsilon=1.0), split_by_weights=[1.0, 3.0])
    # Python handles an interrupt only while it runs Python code. This function has no Python code.
    # So the interrupt is handled only after the release.
    interrupt = functools.partial(next, iter(_thread.interrupt_main, "never"))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            ours(query(interrupt))
    finally:
        signal.signal(signal.SIGINT, before)
    assert ours.current_privacy_loss() == [0.25]
    assert ours.query().count().laplace().param() == pytest.approx(4 / 3)
    ours.query().count().laplace().release()
    assert ours.remaining_privacy_loss() == []


def test_a_part_with_delta_is_met_by_both_kinds_of_noise():
    ours = context(dp.loss_of(epsilon=1.0, delta=1e-6), split_evenly_over=2)
    laplace = ours.query().count().laplace()
    assert laplace.param() == pytest.approx(2.0)
    gaussian = ours.query().count().gaussian()
    measurement = gaussian.resolve()
    assert measurement.output_measure == dp.approximate(dp.max_divergence())
    assert measurement.check(1, (0.5, 5e-7))
    laplace.release()
    ours.query().count().gaussian().release()


def test_a_filter_takes_shares_as_they_come():
    ours = context(dp.loss_of(epsilon=1.0))
    ours.query(epsilon=0.75).count().laplace().release()
    assert ours.remaining_privacy_loss() == pytest.approx(0.25)
    with pytest.raises(dp.BudgetExceededError):
        ours.query(epsilon=0.5).count().laplace().release()
    with pytest.raises(dp.ArgumentError, match="state its share"):
        ours.query().count().laplace().release()
    with pytest.raises(dp.MeasureMismatchError):
        ours.query(rho=0.1)


def test_a_query_without_noise_is_not_released():
    ours = context(dp.loss_of(epsilon=1.0), split_evenly_over=1)
    with pytest.raises(dp.ArgumentError, match="expected a measurement"):
        ours.query().count().release()
    with pytest.raises(AttributeError, match="no `laplac`; did you mean `laplace`"):
        ours.query().count().laplac()


def test_the_loss_so_far_is_known():
    fixed = context(dp.loss_of(epsilon=1.0), split_evenly_over=4)
    assert fixed.current_privacy_loss() == []
    fixed.query().count().laplace().release()
    assert fixed.current_privacy_loss() == [0.25]
    assert len(fixed.remaining_privacy_loss()) == 3
    free = context(dp.loss_of(epsilon=1.0))
    assert free.current_privacy_loss() == 0.0
    free.query(epsilon=0.25).count().laplace().release()
    assert free.current_privacy_loss() == pytest.approx(0.25)


def test_a_measurement_is_asked_without_a_query():
    ours = context(dp.loss_of(epsilon=1.0), split_evenly_over=2)
    rows = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    count = rows >> dp.t.then_count() >> dp.m.then_laplace(2.0)
    assert isinstance(ours(count), int)
    with pytest.raises(dp.BudgetExceededError):
        ours(rows >> dp.t.then_count() >> dp.m.then_laplace(1.0))
    assert len(ours.remaining_privacy_loss()) == 1


@pytest.mark.parametrize("split", [{"split_evenly_over": 2}, {}])
def test_a_context_inside_a_context_spends_one_share(split):
    outer = context(dp.loss_of(epsilon=1.0), split_evenly_over=2)
    inner = outer.query().clamp((0, 5)).compositor(split_evenly_over=5).release()
    assert inner.query().sum().laplace().param() == pytest.approx(50.0)
    for _ in range(5):
        inner.query().count().laplace().release()
    with pytest.raises(dp.BudgetExceededError):
        inner.query().count().laplace().release()
    assert len(outer.remaining_privacy_loss()) == 1
    free = context(dp.loss_of(epsilon=1.0))
    if split:
        inner = free.query(epsilon=0.5).compositor(**split).release()
    else:
        inner = free.query(epsilon=0.5).compositor().release()
        inner.query(epsilon=0.5).count().laplace().release()
        assert inner.current_privacy_loss() == pytest.approx(0.5)
    assert free.remaining_privacy_loss() == pytest.approx(0.5)
    with pytest.raises(dp.OpenDPError):
        context(dp.loss_of(epsilon=1.0)).query().compositor(split_evenly_over=2)


def test_the_range_of_an_open_parameter_is_stated():
    ours = context(dp.loss_of(epsilon=1.0), split_evenly_over=4)
    query = ours.query().clamp((0, 10)).sum().laplace()
    assert query.param(bounds=(0.0, 100.0)) == pytest.approx(40.0)
    with pytest.raises(dp.OpenDPError):
        query.param(bounds=(0.0, 1.0))
    query.release(bounds=(0.0, 100.0), T=float)


BUDGETS = {
    "epsilon is 1000, which is above 10": dp.loss_of(epsilon=1000.0),
    "epsilon is 11, which is above 10": dp.loss_of(epsilon=11.0, delta=1e-9),
    "rho is 100, which is above 10": dp.loss_of(rho=100.0),
    "delta is 0.5, which is large": dp.loss_of(epsilon=1.0, delta=0.5),
}


@pytest.mark.parametrize("text", BUDGETS)
@pytest.mark.parametrize("options", [{}, {"split_evenly_over": 2}])
def test_a_large_budget_gives_one_warning_at_the_line_that_opens_it(text, options):
    with pytest.warns(UserWarning, match=text) as warned:
        context(BUDGETS[text], **options)
    assert len(warned) == 1 and warned[0].filename == __file__


def test_a_usual_budget_gives_no_warning(recwarn):
    for loss in ({"epsilon": 10.0}, {"rho": 1.0}, {"epsilon": 1.0, "delta": 9e-4}):
        context(dp.loss_of(**loss))
    assert not recwarn.list


def test_delta_is_compared_with_a_known_number_of_people():
    sized = dp.vector_domain(dp.atom_domain(T=int), size=4)
    options = {"privacy_unit": dp.unit_of(changes=1), "domain": sized, "data": [1, 2, 3, 4]}
    with pytest.warns(UserWarning, match="delta is 0.3, which is not below 1 in 4"):
        dp.Context.compositor(**options, privacy_loss=dp.loss_of(epsilon=1.0, delta=0.3))
    with pytest.warns(UserWarning, match="delta is 0.1, which is large"):
        dp.Context.compositor(**options, privacy_loss=dp.loss_of(epsilon=1.0, delta=0.1))


def test_columns_of_floats_are_summed_as_the_readme_says():
    ours = dp.Context.compositor(
        data=[1.0, 2.5, 7.0],
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=2,
    )
    query = ours.query().impute_constant(0.0).clamp((0.0, 10.0)).sum().laplace()
    assert query.param() == pytest.approx(20.0)
    [error] = query.accuracy(alpha=0.05)
    assert error == pytest.approx(20.0 * 2.9957, rel=1e-3)
    assert ours.current_privacy_loss() == []
    assert isinstance(query.release(), float)


def test_contexts_and_queries_show_their_state():
    ours = context(dp.loss_of(epsilon=1.0), split_evenly_over=2)
    ours.query().count().laplace().release()
    shown = repr(ours)
    assert "symmetric_distance() of 1; 1 queries asked" in shown
    assert "remaining budget: [0.5] in max_divergence()" in shown
    assert "1, 2, 3, 4" not in shown
    query = ours.query().count()
    assert "symmetric_distance() -> atom_domain(" in repr(query)
    assert repr(query.laplace()).endswith(">> then_laplace(scale=?); not released)")
    ours = context(dp.loss_of(epsilon=1.0))
    assert "share 0.5" in repr(ours.query(epsilon=0.5)) and "budget: 1.0 in" in repr(ours)


ZCDP = dp.zero_concentrated_divergence()


@pytest.mark.parametrize("splits", [{"split_evenly_over": 2}, {}])
def test_a_context_inside_a_context_counts_in_another_measure(splits):
    outer = context(dp.loss_of(epsilon=3.0, delta=1e-6), split_evenly_over=3)
    query = outer.query().compositor(output_measure=ZCDP, **splits)
    assert query.resolve().check(1, (1.0, 1e-6 / 3))
    inner = query.release()
    if splits:
        # The value of OpenDP 0.16.
        assert inner.query().count().gaussian().param() == pytest.approx(6.714738742264488)
        inner.query().count().gaussian().release()
        assert len(inner.remaining_privacy_loss()) == 1
    else:
        inner.query(rho=0.01).count().gaussian().release()
        assert inner.remaining_privacy_loss() == pytest.approx(2 * 0.0110894948819 - 0.01)
        with pytest.raises(dp.BudgetExceededError):
            inner.query(rho=0.02).count().gaussian().release()
    assert len(outer.remaining_privacy_loss()) == 2


def test_a_part_of_delta_is_kept_when_the_measure_changes():
    outer = context(dp.loss_of(epsilon=1.0, delta=1e-6), split_evenly_over=1)
    approximate = dp.approximate(ZCDP)
    for alpha in (None, 1.0, "0.5", float("nan")):
        with pytest.raises(dp.ArgumentError, match="`alpha`: expected a number from 0 to below 1"):
            outer.query().compositor(output_measure=approximate, alpha=alpha)
    with pytest.raises(dp.ArgumentError, match="leave `alpha` out"):
        outer.query().compositor(output_measure=ZCDP, alpha=0.5)
    for wrong in (dp.renyi_divergence(), dp.smoothed_max_divergence()):
        with pytest.raises(dp.MeasureMismatchError, match="`output_measure`: .* convert to approx"):
            outer.query().compositor(output_measure=wrong)
    with pytest.raises(dp.ArgumentError, match="`output_measure`: expected a measure"):
        outer.query().compositor(output_measure="ZeroConcentratedDivergence")
    d_mids = {"split_evenly_over": 2}
    query = outer.query().compositor(output_measure=approximate, alpha=0.5, **d_mids)
    assert query.resolve().check(1, (1.0, 1e-6))
    [(rho, delta), _] = query.release().remaining_privacy_loss()
    assert delta == pytest.approx(2.5e-7, rel=1e-12) and 0.0 < rho < 0.02
    no_delta = context(dp.loss_of(epsilon=1.0, delta=0.0), split_evenly_over=1)
    with pytest.raises(dp.ArgumentError, match="the share .* is too small"):
        no_delta.query().compositor(output_measure=ZCDP)


@pytest.mark.parametrize("loss", [{"epsilon": 1.0}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}])
def test_a_step_that_needs_a_measure_gets_the_measure_of_the_context(loss):
    ours = context(dp.loss_of(**loss), split_evenly_over=2)
    bare = ZCDP if "rho" in loss else dp.max_divergence()
    quantile = {"candidates": [1, 2, 3], "alpha": 0.5}
    for name in ("output_measure", None):
        given = {name: bare} if name else {}
        median = ours.query().private_quantile(**quantile, **given)
        assert median.param() == ours.query().private_quantile(bare, **quantile).param()
    assert median.release() in (0, 1, 2, 3)
    best = ours.query().quantile_score_candidates([1, 2, 3], 0.5).noisy_max(negate=True)
    assert best.resolve().output_measure == dp.loss_of(**loss)[0]
    # A map of one's own is in a measure that only the user knows.
    own = ours.query().user_measurement(function=len, privacy_map=lambda d_in: 0.1 * d_in)
    with pytest.raises(dp.OpenDPError):
        own.release()


def test_a_step_on_narrow_numbers_is_told_that_a_query_reads_wide_ones():
    ours = context(dp.loss_of(epsilon=1.0), split_evenly_over=1)
    clamped = ours.query().clamp((0, 3))
    with pytest.raises(dp.DomainMismatchError) as caught:
        clamped >> dp.t.make_count(*ROWS)
    message = str(caught.value)
    assert 'expected vector_domain(atom_domain(T="i32")), found vector_domain(atom_dom' in message
    assert 'reads whole numbers as `i64`: make the step with `T="i64"`' in message
    clamped >> dp.t.make_count(dp.vector_domain(dp.atom_domain((0, 3), T="i64")), ROWS[1])
    with pytest.raises(dp.DomainMismatchError) as caught:
        clamped >> dp.t.make_count(dp.vector_domain(dp.atom_domain(T=str)), ROWS[1])
    assert "i64`" not in str(caught.value)
    with pytest.raises(dp.DomainMismatchError, match=r'atom_domain\(T="f64", nan=False\)'):
        floats = dp.vector_domain(dp.atom_domain(T=float, nan=False)), ROWS[1]
        counts = [space >> dp.t.then_count() >> dp.m.then_laplace(1.0) for space in (ROWS, floats)]
        dp.c.make_composition(counts)
