"""The total loss of releases that other programs make: ``Accountant().compose(event, count)``."""

from __future__ import annotations

import math

from . import _html, _native
from ._errors import of
from ._losses import number

TYPE_CHECKING = False
if TYPE_CHECKING:  # Importing `typing` takes longer than importing the library.
    from typing import Any, Iterable


class Event:
    """A release, described only by its noise. An :class:`Accountant` adds up the losses of events.

    A sensitivity is the largest difference of the exact answers for two neighbouring data sets.
    Noise has the stated distribution. Noise that was computed with floating-point numbers can have
    another distribution, and a larger loss.

    >>> import opendp_rs.prelude as dp
    >>> dp.Event.laplace(scale=10.0)
    Event(Laplace noise, scale 10, sensitivity 1)
    """

    def __init__(self, name: str, profile: Any, *, samples: bool = True) -> None:
        self._name, self._profile, self._samples = name, profile, samples

    @staticmethod
    def gaussian(scale: float, sensitivity: float = 1.0) -> Event:
        """Gaussian noise on real numbers. The sensitivity is an L2 distance.

        With the default sensitivity, ``scale`` is also called the noise multiplier.
        """
        return _noise("gaussian", "Gaussian noise", scale, sensitivity)

    @staticmethod
    def laplace(scale: float, sensitivity: float = 1.0) -> Event:
        """Laplace noise on a real number."""
        return _noise("laplace", "Laplace noise", scale, sensitivity)

    @staticmethod
    def discrete_gaussian(scale: float, sensitivity: int = 1) -> Event:
        """Discrete Gaussian noise on one integer."""
        whole = _whole("sensitivity", sensitivity)
        return _noise("discrete_gaussian", "discrete Gaussian noise", scale, whole)

    @staticmethod
    def discrete_gaussian_vector(scale: float, sensitivity: float = 1.0) -> Event:
        """Discrete Gaussian noise on a vector of integers. The sensitivity is an L2 distance."""
        name = "discrete Gaussian noise on a vector"
        return _noise("discrete_gaussian_vector", name, scale, sensitivity)

    @staticmethod
    def discrete_laplace(scale: float, sensitivity: int = 1) -> Event:
        """Discrete Laplace noise on one integer. This noise is also called geometric noise."""
        whole = _whole("sensitivity", sensitivity)
        return _noise("discrete_laplace", "discrete Laplace noise", scale, whole)

    @staticmethod
    def private(epsilon: float, delta: float = 0.0) -> Event:
        """Any release that is known to be (epsilon, delta)-differentially private."""
        epsilon, delta = number("epsilon", epsilon), number("delta", delta)
        if delta >= 1:
            raise of("Argument", "argument `delta`: expected a number from 0 to below 1")
        name = f"epsilon {_html.shown(float(epsilon))}, delta {_html.shown(float(delta))}"
        return Event(name, _native.event_profile("private", (epsilon, delta)))

    @staticmethod
    def concentrated(rho: float) -> Event:
        """Any release that is known to be rho-zero-concentrated differentially private."""
        rho = number("rho", rho)
        profile = _native.event_profile("concentrated", (rho, 0.0))
        return Event(f"rho {_html.shown(float(rho))}", profile)

    @staticmethod
    def of(measurement: Any, d_in: Any) -> Event:
        """A release of a measurement of this library, between data sets at the distance ``d_in``."""
        if not isinstance(measurement, _native.Measurement):
            found = f"found a value of type {type(measurement).__name__}"
            raise of("Argument", f"argument `measurement`: expected a measurement, {found}")
        return Event(f"measurement at {d_in}", _profile_of(measurement, d_in), samples=False)

    def on_sample(self, rate: float) -> Event:
        """The same release on a Poisson sample, which contains each record with the rate.

        Each release draws a new sample, and nobody learns which records are in it. Two data sets
        are neighbours if one of them has one more record. The sensitivity must also be for this
        relation, and not for a record that is replaced.
        """
        if not self._samples:
            reason = "a measurement states its own distance; use `dp.m.make_poisson_subsampling`"
            raise of("Argument", f"argument `self`: {reason}")
        rate = number("rate", rate)
        profile = _native.sampled_profile(self._profile, rate)
        return Event(f"{self._name}, on a sample of rate {_html.shown(float(rate))}", profile)

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon, given delta, for one release."""
        return float(self._profile.epsilon(number("delta", delta)))

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta, given epsilon, for one release."""
        return float(self._profile.delta(number("epsilon", epsilon)))

    def __repr__(self) -> str:
        return f"Event({self._name})"


class Accountant:
    """The total loss of releases on the same data.

    The losses are composed as distributions, so the total is usually far below the sum of the
    losses. All results are upper bounds, also with rounding. The noise of each release must be
    chosen without looking at earlier answers.

    An accountant reads no data and spends no budget: it only computes. It replaces the accountants
    of ``dp_accounting``. :class:`Context`, :class:`Study` and :class:`Ledger` enforce a budget.

    >>> import opendp_rs.prelude as dp
    >>> step = dp.Event.gaussian(scale=1.0).on_sample(0.01)
    >>> accountant = dp.Accountant().compose(step, 10_000)
    >>> round(accountant.epsilon(delta=1e-5), 3)
    6.188
    """

    def __init__(self) -> None:
        self._events: list[tuple[Event, int]] = []
        self._total: Any = None

    def compose(self, event: Event, count: int = 1) -> Accountant:
        """Add ``count`` releases, and return the accountant itself."""
        if not isinstance(event, Event):
            found = f"found a value of type {type(event).__name__}"
            reason = "expected an event, such as `dp.Event.gaussian(scale=1.0)`"
            raise of("Argument", f"argument `event`: {reason}, {found}")
        pair = event, _whole("count", count)
        # If the profiles cannot be composed, the accountant keeps its earlier events.
        parts = [(event._profile, count) for event, count in (*self._events, pair)]
        self._total = _native.composed_profile(parts)
        self._events.append(pair)
        return self

    @property
    def events(self) -> list[tuple[Event, int]]:
        """The events, each with the number of its releases."""
        return list(self._events)

    @property
    def profile(self) -> Any:
        """The privacy profile of all releases together."""
        if self._total is None:
            self._total = _native.composed_profile([])
        return self._total

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon, given delta, for all releases together."""
        return float(self.profile.epsilon(number("delta", delta)))

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on delta, given epsilon, for all releases together."""
        return float(self.profile.delta(number("epsilon", epsilon)))

    def curve(self, deltas: Iterable[float] = (1e-3, 1e-5, 1e-6, 1e-9)) -> list[dict[str, float]]:
        """Return epsilon at several deltas, as a list for ``pandas.DataFrame(...)``."""
        return [{"delta": float(delta), "epsilon": self.epsilon(delta)} for delta in deltas]

    def __repr__(self) -> str:
        releases = sum(count for _, count in self._events)
        return f"Accountant({releases} releases of {len(self._events)} events)"

    def _repr_html_(self) -> str:
        """Return a table of the events, and a note with epsilon at three deltas, for notebooks."""
        rows = [[event._name, count] for event, count in self._events]
        deltas = (1e-5, 1e-6, 1e-9)
        known = [f"{_html.shown(self.epsilon(delta))} at delta {delta:g}" for delta in deltas]
        return _html.table(repr(self), ["event", "releases"], rows, [f"epsilon: {', '.join(known)}"])


def _noise(kind: str, name: str, scale: Any, sensitivity: Any) -> Event:
    scale = _positive("scale", scale, 0.0)
    sensitivity = _positive("sensitivity", sensitivity, math.inf)
    shown = f"{name}, scale {scale:g}, sensitivity {sensitivity:g}"
    return Event(shown, _native.event_profile(kind, (sensitivity, scale)))


def _profile_of(measurement: Any, d_in: Any) -> Any:
    """Return the privacy profile of a measurement at a distance."""
    measure, loss = measurement.output_measure.type, measurement.map(d_in)
    if measure == "MaxDivergence":
        return _native.event_profile("private", (loss, 0.0))
    if measure == "Approximate<MaxDivergence>":
        return _native.event_profile("private", loss)
    if measure == "ZeroConcentratedDivergence":
        return _native.event_profile("concentrated", (loss, 0.0))
    if measure == "RenyiDivergence":
        return _native.renyi_profile(loss)
    if measure == "SmoothedMaxDivergence":
        return loss
    reason = "expected a loss in epsilon, in epsilon and delta, in rho, in a profile or in a curve"
    raise of("MeasureMismatch", f"argument `measurement`: {reason}, found {measure}")


def _positive(name: str, value: Any, toward: float) -> float:
    """Return a number above 0 as a float. If it lies between two floats, round it ``toward``."""
    value = number(name, value)
    if value == 0:
        raise of("Argument", f"argument `{name}`: expected a number above 0")
    near = float(value)
    wrong = near > value if toward == 0 else near < value
    return math.nextafter(near, toward) if wrong else near


def _whole(name: str, value: Any) -> int:
    """Return a whole number of at least 1."""
    import operator

    try:
        whole = operator.index(value)
    except TypeError:
        whole = 0
    if isinstance(value, bool) or not 1 <= whole <= 1 << 31:
        raise of("Argument", f"argument `{name}`: expected a whole number from 1 to 2^31")
    return whole
