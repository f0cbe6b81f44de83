"""Measure times of releases and constructions in Python, Rust and OpenDP 0.16, in one process.

    pip install opendp==0.16.0 numpy
    maturin build --release --features example    # adds the release in Rust; then install the wheel
    python extensions/opendp-python/conformance/speed.py

The releases take turns. The program prints median times, and the least time in parentheses. With
`--json`, the program prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any, Callable

import numpy
import opendp.prelude as theirs
import opendp_rs.prelude as ours
from opendp_rs import _native

CHAIN = (
    "(dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()) "
    ">> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() >> dp.m.then_laplace(1.0)"
)
SCALAR = (
    "(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)) >> dp.m.then_laplace(1.0)"
)
IMPORT = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"
ROWS = 10_000_000


def timed(run: Callable[[], Any], inner: int = 1) -> Callable[[], float]:
    """Return a function that runs `run` `inner` times, and returns the mean seconds of a run."""

    def seconds() -> float:
        start = time.perf_counter()
        for _ in range(inner):
            run()
        return (time.perf_counter() - start) / inner

    return seconds


def contest(
    turns: int, contestants: dict[str, Callable[[], float]], warm: bool = False
) -> dict[str, list[float]]:
    """Run the functions `contestants` in turns, and return their times. Leave out the first turn.

    With `warm`, each function runs twice in its turn, and only the time of the second run is kept.
    So the state of the caches and of the threads does not depend on the previous function.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(turns + 1):
        for name, seconds in contestants.items():
            if warm:
                seconds()
            spent = seconds()
            if turn:
                times[name].append(spent)
    return times


def sums(data: Any) -> dict[str, list[float]]:
    """Time a noisy sum of clamped rows."""
    chain, their_chain = eval(CHAIN, {"dp": ours}), eval(CHAIN, {"dp": theirs})
    contestants = {"Python": timed(lambda: chain(data))}
    if hasattr(_native, "RustRelease"):
        release = _native.RustRelease(data)
        contestants["Rust"] = lambda: release.seconds(False)
        contestants["Rust, rows checked"] = lambda: release.seconds(True)
    contestants["numpy's clip and sum"] = timed(lambda: data.clip(0, 10).sum())
    contestants["a copy of the rows"] = timed(data.copy)
    times = contest(101, contestants, warm=True)
    return times | contest(3, {"OpenDP 0.16": timed(lambda: their_chain(data))})


def scalars() -> dict[str, list[float]]:
    """Time noise on one number."""
    scalar, their_scalar = eval(SCALAR, {"dp": ours}), eval(SCALAR, {"dp": theirs})
    contestants = {
        "Python": timed(lambda: scalar(5.0), 10_000),
        "OpenDP 0.16": timed(lambda: their_scalar(5.0), 1_000),
    }
    return contest(11, contestants)


def constructions() -> dict[str, list[float]]:
    """Time the construction of one step, and of a chain of three steps."""
    code = compile(CHAIN, "chain", "eval")
    contestants: dict[str, Callable[[], float]] = {}
    for name, dp in {"Python": ours, "OpenDP 0.16": theirs}.items():
        space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
        step = lambda dp=dp, space=space: dp.m.make_laplace(*space, 1.0)  # noqa: E731
        chain = lambda dp=dp: eval(code, {"dp": dp})  # noqa: E731
        contestants[f"{name}, one step"] = timed(step, 1_000)
        contestants[f"{name}, chain"] = timed(chain, 100)
    return contest(11, contestants)


def imports() -> dict[str, list[float]]:
    """Time imports in new processes, and the runs of these processes from start to end."""

    def inside(module: str) -> Callable[[], float]:
        command = [sys.executable, "-c", IMPORT.format(module)]
        run = lambda: subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: E731
        return lambda: float(run().stdout)

    def whole(code: str) -> Callable[[], float]:
        return timed(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    return contest(
        20,
        {
            "import opendp_rs.prelude": inside("opendp_rs.prelude"),
            "import opendp.prelude": inside("opendp.prelude"),
            "process with opendp_rs": whole("import opendp_rs.prelude"),
            "process without": whole("pass"),
        },
    )


def main() -> None:
    """Print the times."""
    theirs.enable_features("contrib", "idealized-numerics")
    data = numpy.random.default_rng(1).normal(5.0, 4.0, ROWS)
    load = os.getloadavg()[0]
    works = {
        f"sum of {ROWS} floats": sums(data),
        "one number": scalars(),
        "construction": constructions(),
        "imports": imports(),
    }
    if "--json" in sys.argv:
        medians = {w: {n: statistics.median(t) for n, t in ts.items()} for w, ts in works.items()}
        print(json.dumps({"load": load, "seconds": medians}))
        return
    print(f"load {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end, {os.cpu_count()} cores")
    for work, times in works.items():
        print(work)
        first = statistics.median(next(iter(times.values())))
        for name, spent in times.items():
            median, least = statistics.median(spent), min(spent)
            print(f"  {name:26} {1e6 * median:12.2f} us ({1e6 * least:.2f}), {median / first:8.2f} times")


if __name__ == "__main__":
    main()
