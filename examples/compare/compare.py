"""Compare the root mean square errors of three methods at equal privacy.

The methods are the `Context` of this project, the `Context` of OpenDP, and calibrated noise.

All methods answer questions of the same kinds about one table. All answers to one question together
are (1, 1e-6)-DP. Neighbouring tables differ by one row, which is added or removed. The following
commands run the comparison:

    python -m venv /tmp/compare
    /tmp/compare/bin/pip install opendp==0.16.0 polars==1.36.1 pyarrow dp_accounting numpy
    cargo run --release -p opendp-examples --example compare -- people.csv 200 > ours.json
    /tmp/compare/bin/python examples/compare/compare.py people.csv ours.json 60

The table is CSV with the columns age, educ (1 to 16) and income. The number 200 is the number of
repetitions for this project, and 60 is the number of repetitions for OpenDP. If the expected error
of OpenDP is known, the number 60 is divided by ten.

* The `Context` of this project has the budget (1, 1e-6).
* The `Context` of OpenDP is run with two budgets: an epsilon of 1, and the largest rho that OpenDP
  converts to at most (1, 1e-6). The smaller error is reported. Counts by keys that are found have
  only the budget (1, 1e-6).
* `dp_accounting` finds the scale of the calibrated noise. Counts and sums have Gaussian
  noise or Laplace noise, whichever has the smaller error. The losses of Gaussian noise are composed
  by privacy loss distributions. Each quantile is chosen by the exponential mechanism. The rho of
  this mechanism is an eighth of the square of the range of its loss. Counts by keys have Laplace
  noise with a threshold.

A row of the output has the measured error with its standard error. It also has the expected error,
if this error can be computed without a release.
"""

import csv
import json
import math
import sys
import warnings

import dp_accounting
import numpy as np
import opendp.prelude as dp
import polars as pl
from dp_accounting import pld, rdp

warnings.filterwarnings("ignore")
dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
EPSILON, DELTA, MOST = 1.0, 1e-6, 100_000.0
TIMES = int(sys.argv[3]) if 3 < len(sys.argv) else 60

with open(sys.argv[1]) as file:
    people = list(csv.DictReader(file))
age = np.array([int(float(row["age"])) for row in people])
educ = np.array([int(float(row["educ"])) for row in people])
income = np.array([float(row["income"]) for row in people])
clamped = income.clip(0, MOST)
truth = np.array([np.sum(educ == key) for key in range(1, 17)])


class Measured:
    """A root mean square error, its standard error, and the expected error if it is known."""

    def __init__(self, squares, numbers, expected=None):
        squares = np.array(squares, dtype=float)
        self.error = math.sqrt(np.mean(squares)) if len(squares) else expected
        spread = np.std(squares, ddof=1) / math.sqrt(len(squares)) if 1 < len(squares) else 0.0
        self.spread = spread / 2 / self.error
        self.times, self.numbers, self.expected = len(squares), numbers, expected

    def value(self):
        return self.error if self.expected is None else self.expected

    def show(self):
        measured = f"{self.error:.4g} +- {self.spread:.2g}" if self.times else "-"
        expected = "-" if self.expected is None else f"{self.expected:.4g}"
        return f"{measured:>23}{expected:>11}"


def several(errors, expected=None):
    """Repeat a release, and collect the errors. If `expected` is known, make fewer repetitions."""
    times = TIMES if expected is None else max(2, TIMES // 10)
    found = [np.array(errors(), dtype=float) for _ in range(times)]
    return Measured([np.mean(one**2) for one in found], len(found[0]), expected)


def bisect(fits, low, high):
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def epsilon_of(rho):
    """Return the epsilon that OpenDP computes for a rho and for `DELTA`."""
    scale = math.sqrt(1 / (2 * rho))
    domain, metric = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    release = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(domain, metric, scale))
    return release.map(1).epsilon(DELTA)


RHO = bisect(lambda rho: epsilon_of(rho) <= EPSILON, 1e-4, 0.2)
PURE = (dp.loss_of(epsilon=EPSILON), dp.max_divergence())
ROOT = (dp.loss_of(rho=RHO), dp.zero_concentrated_divergence())


# Expected errors.


def expected_noise(mechanism, scale, integers):
    """Return the standard deviation of noise. Continuous Gaussian noise on integers is rounded."""
    if mechanism == "discrete Gaussian":
        values = np.arange(-math.ceil(12 * scale), math.ceil(12 * scale) + 1)
        masses = np.exp(-((values / scale) ** 2) / 2)
        return math.sqrt(np.sum(masses * values**2) / masses.sum())
    if mechanism == "Gaussian":
        return math.sqrt(scale**2 + (1 / 12 if integers else 0))
    if not integers:
        return math.sqrt(2) * scale
    q = math.exp(-1 / scale)
    return math.sqrt(2 * q) / (1 - q)


def expected_keys(law):
    """Return the error of counts by keys.

    Each entry of `law` has four parts: the probability of this entry, the values of the noise, the
    probabilities of these values, and the threshold.
    """
    squares = np.zeros(16)
    for weight, noise, masses, threshold in law:
        for key, count in enumerate(truth):
            kept = threshold <= count + noise
            error = np.where(kept & (0 < count), noise, -count)
            squares[key] += weight * np.sum(masses * error**2)
    return math.sqrt(np.mean(squares))


def truncated(scale, threshold):
    """Return the error of counts by keys with truncated noise and a random threshold.

    The threshold T is `threshold`, rounded at random to an integer. The noise is discrete Laplace
    noise from 1 - T to T - 1.
    """
    whole, law = math.floor(threshold), []
    for weight, least in [(whole + 1 - threshold, whole), (threshold - whole, whole + 1)]:
        noise = np.arange(1 - least, least)
        masses = np.exp(-np.abs(noise) / scale)
        law.append((weight, noise, masses / masses.sum(), least))
    return expected_keys(law)


def discrete(scale, threshold):
    """Return the error for discrete Laplace noise and a threshold."""
    noise = np.arange(-2000, 2001)
    masses = np.exp(-np.abs(noise) / scale)
    return expected_keys([(1.0, noise, masses / masses.sum(), threshold)])


def continuous(scale, threshold):
    """Return the error for Laplace noise and a threshold, on a fine grid."""
    noise = (np.arange(-400_000, 400_000) + 0.5) / 1e4
    masses = np.exp(-np.abs(noise) / scale) / (2e4 * scale)
    return expected_keys([(1.0, noise, masses, threshold)])


below = np.array([np.sum(age < year) for year in range(101)]) / len(age)
above = np.array([np.sum(year < age) for year in range(101)]) / len(age)


def rank_errors(alpha):
    """Return the error in rank of each candidate, as a fraction of the rows."""
    return np.maximum(np.maximum(below - alpha, alpha - (1 - above)), 0)


def expected_choices(span):
    """Return the error of choices by the exponential mechanism.

    All privacy losses of one choice are in an interval of length `span`.
    """
    squares = []
    for alpha in (place / 10 for place in range(1, 10)):
        scores = len(age) * np.abs((1 - alpha) * below - alpha * above)
        scale = 2 * max(alpha, 1 - alpha) / span
        masses = np.exp(-(scores - scores.min()) / scale)
        squares.append(np.sum(masses * rank_errors(alpha) ** 2) / masses.sum())
    return math.sqrt(np.mean(squares))


def expected_ours(question, noise):
    scale, mechanism = noise["scale"][0], noise["mechanism"]
    if question == "100 counts":
        return expected_noise(mechanism, scale, True)
    if question == "10 sums":
        return expected_noise(mechanism, scale, False)
    if question == "counts by keys that are found":
        return truncated(scale, noise["threshold"])
    return None


# The Context of OpenDP.


def context(data, loss, questions, **more):
    unit = dp.unit_of(contributions=1)
    return dp.Context.compositor(
        data=data, privacy_unit=unit, privacy_loss=loss, split_evenly_over=questions, **more
    )


def rows(data, kind):
    atoms = dp.atom_domain(T=kind, nan=False) if kind is float else dp.atom_domain(T=kind)
    return {"data": data.tolist(), "domain": dp.vector_domain(atoms)}


def theirs_number(column, kind, query, value, questions, loss, noise):
    """Release a count or a sum several times. The scale of the noise gives the expected error."""
    of = lambda one: getattr(query(one.query()), noise)()
    scale = of(context(loss=loss, questions=questions, **rows(column, kind))).param()
    expected = expected_noise(noise.capitalize(), scale, kind is int and noise == "laplace")

    def errors():
        one = context(loss=loss, questions=questions, **rows(column, kind))
        return [of(one).release() - value for _ in range(questions)]

    return several(errors, expected)


def theirs_counts(loss, noise):
    return theirs_number(age, int, lambda rows: rows.count(), len(age), 100, loss, noise)


def theirs_sums(loss, noise):
    query = lambda rows: rows.clamp((0.0, MOST)).sum()
    return theirs_number(income, float, query, clamped.sum(), 10, loss, noise)


def theirs_quantiles(loss, measure):
    def errors():
        one, found = context(loss=loss, questions=9, **rows(age, int)), []
        for place in range(1, 10):
            years = list(range(101))
            chosen = one.query().private_quantile(measure, years, place / 10).release()
            found.append(rank_errors(place / 10)[chosen])
        return found

    return several(errors)


frame = pl.LazyFrame({"educ": educ, "income": income})


def theirs_keys():
    def query():
        margins = [dp.polars.Margin(max_length=len(age))]
        loss = dp.loss_of(epsilon=EPSILON, delta=DELTA)
        one = context(frame, loss, 1, margins=margins)
        return one.query().group_by("educ").agg(dp.len())

    def errors():
        found = query().release().collect()
        found = dict(zip(found["educ"], found["len"]))
        return [found.get(key, 0) - truth[key - 1] for key in range(1, 17)]

    known = query().summarize()
    # OpenDP keeps a key if its noisy count is above the threshold. So the least noisy count that is
    # kept is the threshold plus 1.
    return several(errors, discrete(known["scale"][0], known["threshold"][0] + 1))


def theirs_means(loss):
    margin = dp.polars.Margin(by=["educ"], max_length=len(age), max_groups=16, invariant="keys")
    total = pl.col("income").fill_nan(0.0).fill_null(0.0).dp.sum((0.0, MOST))

    def errors():
        one = context(frame, loss, 1, margins=[margin])
        found = one.query().group_by("educ").agg(dp.len(), total).release().collect()
        errors = []
        for key, count, total_of in found.select("educ", "len", "income").iter_rows():
            group = clamped[educ == key]
            if 30 <= len(group):
                mean = min(max(total_of / max(count, 1), 0.0), MOST)
                errors.append(mean - group.mean())
        return errors

    return several(errors)


# Noise that is calibrated with dp_accounting.


def gaussian(questions):
    """Return the least scale of Gaussian noise for `questions` answers.

    One person changes each answer by at most 1.
    """
    def fits(inverse):
        accountant = pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
        accountant.compose(dp_accounting.GaussianDpEvent(1 / inverse), questions)
        return accountant.get_epsilon(DELTA) <= EPSILON
    low, high = 1e-3, 10.0
    for _ in range(20):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return 1 / low


def calibrated(questions):
    return min(math.sqrt(2) * questions / EPSILON, gaussian(questions))


def calibrated_quantiles():
    """Return the error of nine choices.

    Each choice has a ninth of epsilon, or a ninth of rho. Return the smaller of the two errors.
    """
    def fits(rho):
        accountant = rdp.RdpAccountant()
        accountant.compose(dp_accounting.ZCDpEvent(rho))
        return accountant.get_epsilon(DELTA) <= EPSILON
    rho = bisect(fits, 1e-4, 0.2)
    return min(expected_choices(EPSILON / 9), expected_choices(math.sqrt(8 * rho / 9)))


def calibrated_keys():
    """Return the error of counts by keys.

    If only one person has a key, its noisy count reaches the threshold with probability delta.
    """
    return continuous(1 / EPSILON, 1 + math.log(1 / (2 * DELTA)) / EPSILON)


def calibrated_means():
    scale, random = calibrated(2) / math.sqrt(2), np.random.default_rng()
    groups = [group for key in range(1, 17) if 30 <= len(group := clamped[educ == key])]
    squares = []
    for _ in range(4000):
        errors = []
        for group in groups:
            total = group.sum() + random.laplace(0, scale * MOST)
            count = len(group) + random.laplace(0, scale)
            errors.append(np.clip(total / max(count, 1), 0, MOST) - group.mean())
        squares.append(np.mean(np.square(errors)))
    return Measured(squares, len(groups))


def main():
    theirs = {
        "100 counts": [theirs_counts(PURE[0], "laplace"), theirs_counts(ROOT[0], "gaussian")],
        "10 sums": [theirs_sums(PURE[0], "laplace"), theirs_sums(ROOT[0], "gaussian")],
        "9 quantiles, in parts of the rows": [theirs_quantiles(*PURE), theirs_quantiles(*ROOT)],
        "counts by keys that are found": [theirs_keys()],
        "mean by group": [theirs_means(PURE[0]), theirs_means(ROOT[0])],
    }
    exactly = lambda expected: Measured([], 0, expected)
    noise = {
        "100 counts": exactly(calibrated(100)),
        "10 sums": exactly(calibrated(10) * MOST),
        "9 quantiles, in parts of the rows": exactly(calibrated_quantiles()),
        "counts by keys that are found": exactly(calibrated_keys()),
        "mean by group": calibrated_means(),
    }
    with open(sys.argv[2]) as file:
        ours = json.load(file)
    head = f"{'method':>12}{'times':>7}{'numbers':>9}{'measured':>23}{'expected':>11}"
    print(f"{'question':34}{head}")
    for question, found in ours.items():
        expected = expected_ours(question, found["noise"])
        methods = {
            "ours": Measured(found["squares"], found["numbers"], expected),
            "OpenDP": min(theirs[question], key=Measured.value),
            "calibrated": noise[question],
        }
        for place, (method, one) in enumerate(methods.items()):
            title = question if place == 0 else ""
            print(f"{title:34}{method:>12}{one.times:>7}{one.numbers:>9}{one.show()}")


main()
