"""Compare the root mean square errors of three methods at equal privacy.

The methods are the `Context` of this project, the `Context` of OpenDP, and calibrated noise.

All methods answer the same questions about one table under (1, 1e-6), where one person is one row:

    python -m venv /tmp/compare
    /tmp/compare/bin/pip install opendp==0.16.0 polars==1.36.1 pyarrow dp_accounting numpy
    cargo run -p opendp-examples --example compare -- people.csv 100 > ours.json
    /tmp/compare/bin/python examples/compare/compare.py people.csv ours.json

The table is CSV with the columns age, educ (1 to 16) and income. The `Context` of OpenDP gets the
better of two budgets: an epsilon of 1, or the largest rho that OpenDP converts to at most (1,
1e-6). The `Context` of this project takes this rho for quantiles. `dp_accounting` finds the scale
of the calibrated noise. This noise is Gaussian noise by privacy loss distributions, or Laplace
noise if Laplace noise has the smaller error.
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
from dp_accounting import pld

warnings.filterwarnings("ignore")
dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
EPSILON, DELTA, MOST = 1.0, 1e-6, 100_000.0

with open(sys.argv[1]) as file:
    people = list(csv.DictReader(file))
age = np.array([int(float(row["age"])) for row in people])
educ = np.array([int(float(row["educ"])) for row in people])
income = np.array([float(row["income"]) for row in people])
clamped = income.clip(0, MOST)


def rms(errors):
    return float(np.sqrt(np.mean(np.square(np.array(errors, dtype=float)))))


def bisect(fits, low, high):
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def epsilon_of(rho):
    """Return the epsilon at delta that OpenDP computes for a rho."""
    scale = math.sqrt(1 / (2 * rho))
    domain, metric = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    release = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(domain, metric, scale))
    return release.map(1).epsilon(DELTA)


RHO = bisect(lambda rho: epsilon_of(rho) <= EPSILON, 1e-4, 0.2)
PURE = (dp.loss_of(epsilon=EPSILON), dp.max_divergence())
ROOT = (dp.loss_of(rho=RHO), dp.zero_concentrated_divergence())


def context(data, loss, questions, **more):
    unit = dp.unit_of(contributions=1)
    return dp.Context.compositor(
        data=data, privacy_unit=unit, privacy_loss=loss, split_evenly_over=questions, **more
    )


def rows(data, kind):
    atoms = dp.atom_domain(T=kind, nan=False) if kind is float else dp.atom_domain(T=kind)
    return {"data": data.tolist(), "domain": dp.vector_domain(atoms)}


def theirs_counts(loss, noise):
    one = context(loss=loss, questions=100, **rows(age, int))
    return [getattr(one.query().count(), noise)().release() - len(age) for _ in range(100)]


def theirs_sums(loss, noise):
    one = context(loss=loss, questions=10, **rows(income, float))
    query = lambda: one.query().clamp((0.0, MOST)).sum()
    return [getattr(query(), noise)().release() - clamped.sum() for _ in range(10)]


def theirs_quantiles(loss, measure):
    one, errors = context(loss=loss, questions=9, **rows(age, int)), []
    for place in range(1, 10):
        alpha = place / 10
        chosen = one.query().private_quantile(measure, list(range(101)), alpha).release()
        below, above = np.mean(age < chosen), np.mean(chosen < age)
        errors.append(max(below - alpha, alpha - (1 - above), 0))
    return errors


frame = pl.LazyFrame({"educ": educ, "income": income})


def theirs_keys():
    margins = [dp.polars.Margin(max_length=len(age))]
    one = context(frame, dp.loss_of(epsilon=EPSILON, delta=DELTA), 1, margins=margins)
    found = one.query().group_by("educ").agg(dp.len()).release().collect()
    found = dict(zip(found["educ"], found["len"]))
    return [found.get(key, 0) - int(np.sum(educ == key)) for key in range(1, 17)]


def theirs_means(loss):
    margin = dp.polars.Margin(by=["educ"], max_length=len(age), max_groups=16, invariant="keys")
    one = context(frame, loss, 1, margins=[margin])
    total = pl.col("income").fill_nan(0.0).fill_null(0.0).dp.sum((0.0, MOST))
    found = one.query().group_by("educ").agg(dp.len(), total).release().collect()
    errors = []
    for key, count, total in found.select("educ", "len", "income").iter_rows():
        group = clamped[educ == key]
        if 30 <= len(group):
            mean = min(max(total / max(count, 1), 0.0), MOST)
            errors.append(mean - group.mean())
    return errors


def several(errors, *arguments, times):
    return rms([error for _ in range(times) for error in errors(*arguments)])


def gaussian(questions):
    """Return the least scale of Gaussian noise for questions that one person changes by 1."""
    def fits(inverse):
        accountant = pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
        accountant.compose(dp_accounting.GaussianDpEvent(1 / inverse), questions)
        return accountant.get_epsilon(DELTA) <= EPSILON
    low, high = 1e-3, 10.0
    for _ in range(14):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return 1 / low


def calibrated(questions):
    laplace = math.sqrt(2) * questions / EPSILON
    return min(laplace, gaussian(questions))


def calibrated_keys():
    """Return the error of Laplace noise with a threshold.

    A key of one person reaches the threshold with probability delta.
    """
    threshold, random = 1 + math.log(1 / (2 * DELTA)) / EPSILON, np.random.default_rng()
    errors = []
    for _ in range(300):
        truth = np.array([np.sum(educ == key) for key in range(1, 17)])
        noisy = truth + random.laplace(0, 1 / EPSILON, 16)
        errors.extend(np.where((threshold <= noisy) & (0 < truth), noisy, 0) - truth)
    return rms(errors)


def calibrated_means():
    scale, random, errors = calibrated(2) / math.sqrt(2), np.random.default_rng(), []
    for key in range(1, 17):
        group = clamped[educ == key]
        if len(group) < 30:
            continue
        total = group.sum() + random.laplace(0, scale * MOST, 300)
        count = len(group) + random.laplace(0, scale, 300)
        errors.extend(np.clip(total / np.maximum(count, 1), 0, MOST) - group.mean())
    return rms(errors)


def main():
    with open(sys.argv[2]) as file:
        ours = json.load(file)
    loss = lambda way: way[0]
    theirs = {
        "100 counts": [several(theirs_counts, loss(PURE), "laplace", times=3),
                       several(theirs_counts, loss(ROOT), "gaussian", times=3)],
        "10 sums": [several(theirs_sums, loss(PURE), "laplace", times=20),
                    several(theirs_sums, loss(ROOT), "gaussian", times=20)],
        "9 quantiles, in parts of the rows": [several(theirs_quantiles, *PURE, times=20),
                                              several(theirs_quantiles, *ROOT, times=20)],
        "counts by keys that are found": [several(theirs_keys, times=10)],
        "mean by group": [several(theirs_means, loss(PURE), times=10),
                          several(theirs_means, loss(ROOT), times=10)],
    }
    noise = {
        "100 counts": calibrated(100),
        "10 sums": calibrated(10) * MOST,
        "counts by keys that are found": calibrated_keys(),
        "mean by group": calibrated_means(),
    }
    print(f"{'':36}{'ours':>12}{'OpenDP':>12}{'calibrated':>12}")
    for question, found in ours.items():
        other = noise.get(question)
        other = "none" if other is None else f"{other:.4g}"
        print(f"{question:36}{found:12.4g}{min(theirs[question]):12.4g}{other:>12}")


main()
