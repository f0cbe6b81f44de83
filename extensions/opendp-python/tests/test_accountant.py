"""An accountant composes the losses of events, and gives upper bounds."""

import math
import re

import pytest

import opendp_rs.prelude as dp
from opendp_rs import _accountant

Accountant, Event = dp.Accountant, dp.Event
ROWS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
COUNT = dp.t.make_count(*ROWS)


def normal(x):
    """The distribution function of the normal distribution."""
    return math.erfc(-x / math.sqrt(2)) / 2


def delta_of_gaussian(mu, epsilon):
    """The delta of Gaussian noise. `mu` is the sensitivity divided by the scale."""
    return normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("scale", [0.7, 3.0, 40.0])
@pytest.mark.parametrize("count", [1, 2, 700, 100_000])
def test_gaussian_releases_have_their_known_loss(scale, count):
    mu = math.sqrt(count) / scale
    accountant = Accountant().compose(Event.gaussian(scale), count)
    for epsilon in (0.1 * mu, mu, min(3 * mu, 500.0)):
        expected = delta_of_gaussian(mu, epsilon)
        if 1e-12 < expected:
            assert expected * (1 - 1e-9) <= accountant.delta(epsilon) <= expected * 1.001
    # The control: the sensitivity counts as the scale does.
    twice = Accountant().compose(Event.gaussian(2 * scale, sensitivity=2.0), count)
    assert twice.epsilon(1e-6) == pytest.approx(accountant.epsilon(1e-6), rel=1e-6)
    more = Accountant().compose(Event.gaussian(scale), count).compose(Event.gaussian(scale))
    assert accountant.epsilon(1e-6) < more.epsilon(1e-6)


def test_the_loss_on_samples_is_the_known_one():
    """The number is stated on the page of the repository, and an accountant of others confirms it."""
    step = Event.gaussian(1.0).on_sample(0.01)
    assert 6.187 < Accountant().compose(step, 10_000).epsilon(1e-5) < 6.188
    assert Accountant().compose(Event.gaussian(1.0), 10_000).epsilon(1e-5) > 1000
    whole = Event.laplace(2.0).on_sample(1.0)
    assert whole.epsilon(0.0) == Event.laplace(2.0).epsilon(0.0) == 0.5


def test_one_release_has_the_loss_of_its_noise():
    for event in (Event.laplace(4.0, 2.0), Event.discrete_laplace(4.0, 2), Event.private(0.5)):
        assert event.epsilon(0.0) == 0.5
        assert event.delta(0.5) == 0.0 < event.delta(0.49)
    assert Event.private(0.5, 1e-6).delta(0.5) == 1e-6
    assert Event.private(0.5, 1e-6).epsilon(0.0) == math.inf
    # The bounds of a concentrated loss are above those of Gaussian noise of the same rho.
    rho = 1 / (2 * 3.0**2)
    exact = Event.gaussian(3.0).epsilon(1e-6)
    assert exact < Event.concentrated(rho).epsilon(1e-6) < 1.3 * exact
    for event in (Event.discrete_gaussian(3.0), Event.discrete_gaussian_vector(3.0)):
        assert event.epsilon(1e-6) == pytest.approx(exact, rel=0.05)


MEASUREMENTS = [
    COUNT >> dp.m.then_laplace(scale=10.0),
    COUNT >> dp.m.then_gaussian(scale=10.0),
    COUNT >> dp.m.then_laplace(scale=10.0, MO="SmoothedMaxDivergence"),
    COUNT >> dp.m.then_gaussian(scale=10.0, MO="SmoothedMaxDivergence"),
    dp.c.make_approximate(COUNT >> dp.m.then_laplace(scale=10.0)),
]


@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda m: m.output_measure.type)
def test_a_measurement_is_composed_as_the_library_composes_it(measurement):
    found = Accountant().compose(Event.of(measurement, 1), 20).epsilon(1e-6)
    composed = dp.c.make_composition([measurement] * 20).map(1)
    kind = measurement.output_measure.type
    if kind == "SmoothedMaxDivergence":
        assert found == pytest.approx(composed.epsilon(1e-6), rel=1e-6)
    elif kind == "ZeroConcentratedDivergence":
        assert found == pytest.approx(Event.concentrated(composed).epsilon(1e-6), rel=1e-6)
    else:
        # A sum of losses is larger than their tight composition.
        total = composed[0] if isinstance(composed, tuple) else composed
        assert found < total == pytest.approx(2.0)
    twice = Accountant().compose(Event.of(measurement, 2), 20).epsilon(1e-6)
    assert 1.5 * found < twice


def test_losses_in_other_measures_are_converted_or_refused():
    renyi = dp.m.make_user_measurement(
        *ROWS, dp.renyi_divergence(), len, lambda d_in: lambda order: order * d_in / 200, TO=int
    )
    event = Event.of(renyi, 1)
    assert Accountant().compose(event, 10).epsilon(1e-6) == pytest.approx(
        Accountant().compose(Event.concentrated(1 / 200), 10).epsilon(1e-6), rel=0.2
    )
    fixed = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(MEASUREMENTS[1]), 1e-7)
    both = dp.c.make_approximate(MEASUREMENTS[1])
    assert Event.of(fixed, 1).delta(fixed.map(1)[0]) == 1e-7
    with pytest.raises(dp.MeasureMismatchError, match="`measurement`: expected a loss in"):
        Event.of(both, 1)


MIXED = [
    [(Event.gaussian(30.0), 100), (Event.laplace(20.0), 50)],
    [(Event.gaussian(30.0), 100), (Event.concentrated(0.001), 20)],
    [(Event.laplace(20.0), 50), (Event.discrete_laplace(20.0), 2000), (Event.gaussian(9.0), 1)],
]


@pytest.mark.parametrize("events", MIXED)
def test_different_events_are_composed_in_any_order(events):
    first, second = Accountant(), Accountant()
    for event, count in events:
        first.compose(event, count)
    for event, count in reversed(events):
        second.compose(event, count - 1 or 1)
        if 1 < count:
            second.compose(event)
    total = first.epsilon(1e-5)
    assert total == pytest.approx(second.epsilon(1e-5), rel=1e-3)
    parts = [Accountant().compose(event, count).epsilon(1e-5) for event, count in events]
    assert max(parts) < total
    assert first.events == events


def test_a_curve_and_its_inverse_agree():
    accountant = Accountant().compose(Event.laplace(5.0), 30)
    curve = accountant.curve([1e-3, 1e-6])
    assert [row["delta"] for row in curve] == [1e-3, 1e-6]
    for row in curve:
        assert accountant.delta(row["epsilon"]) <= row["delta"] * 1.0001
        assert accountant.delta(0.99 * row["epsilon"]) > row["delta"]


def test_nothing_is_lost_without_a_release():
    empty = Accountant()
    assert empty.epsilon(1e-6) == empty.delta(0.0) == 0.0
    assert repr(empty) == "Accountant(0 releases of 0 events)"


def test_a_search_finds_the_noise_for_a_budget():
    def fits(scale):
        step = Event.gaussian(scale).on_sample(0.01)
        return Accountant().compose(step, 1000).epsilon(1e-5) <= 1.0

    scale = dp.binary_search(fits, bounds=(0.5, 50.0))
    assert fits(scale) and not fits(0.99 * scale)


WRONG = {
    "`scale`: expected a number above 0": lambda: Event.gaussian(0.0),
    "`scale`: expected a finite number": lambda: Event.laplace(math.nan),
    "`sensitivity`: expected a number above 0": lambda: Event.gaussian(1.0, 0.0),
    "`sensitivity`: expected a whole number": lambda: Event.discrete_laplace(1.0, 1.5),
    "`delta`: expected a number from 0 to below 1": lambda: Event.private(1.0, 1.0),
    "`rho`: expected a finite number": lambda: Event.concentrated(math.inf),
    "`rate`: expected a number above 0": lambda: Event.gaussian(1.0).on_sample(0.0),
    "`rate`: .* at most 1": lambda: Event.gaussian(1.0).on_sample(1.01),
    "use `dp.m.make_poisson_subsampling`": lambda: Event.of(MEASUREMENTS[0], 1).on_sample(0.5),
    "`measurement`: expected a measurement, found .* int": lambda: Event.of(1, 1),
    "`event`: expected an event, .* found .* float": lambda: Accountant().compose(1.0),
    "`count`: expected a whole number from 1": lambda: Accountant().compose(Event.laplace(1.0), 0),
    "expected a number from 0 to 1, found 2": lambda: Accountant().epsilon(2.0),
    "at most 2\\^31": lambda: Accountant()
    .compose(Event.laplace(1.0), 1 << 31)
    .compose(Event.laplace(1.0), 1 << 31)
    .epsilon(0.5),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_number_is_refused_by_the_name_of_its_argument(message):
    with pytest.raises(dp.OpenDPError, match=message):
        WRONG[message]()


def test_an_event_that_cannot_be_composed_is_not_kept():
    profile = dp.new_privacy_profile(lambda epsilon: 0.0 if epsilon >= 1 else 0.5)
    event = _accountant.Event("a curve", profile)
    accountant = Accountant().compose(event, 3)
    with pytest.raises(dp.ArgumentError, match="`count`: too many releases"):
        accountant.compose(event, 5000)
    assert accountant.events == [(event, 3)]
    assert accountant.epsilon(0.0) == 3.0


def test_a_number_between_two_floats_is_rounded_toward_more_loss():
    """All whole numbers up to 2^53 are floats, and the next one is not."""
    least = 2**53 + 1
    assert _accountant._positive("scale", least, 0.0) == 2.0**53
    assert _accountant._positive("sensitivity", least, math.inf) == 2.0**53 + 2
    assert float(least + 2) == 2.0**53 + 4
    assert _accountant._positive("scale", least + 2, 0.0) == 2.0**53 + 2


def test_a_notebook_shows_the_events_and_the_loss():
    accountant = Accountant().compose(Event.gaussian(1.1).on_sample(0.01), 500)
    page = accountant._repr_html_()
    assert "<td>Gaussian noise, scale 1.1, sensitivity 1, on a sample of rate 0.01</td>" in page
    assert "<td>500</td>" in page and "at delta 1e-06" in page
    assert repr(accountant) == "Accountant(500 releases of 1 events)"
    assert re.fullmatch(r"Event\(Laplace noise, scale 2, sensitivity 1\)", repr(Event.laplace(2)))
