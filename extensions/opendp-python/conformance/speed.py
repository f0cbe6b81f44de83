"""Measure releases of this library and of OpenDP 0.16 in one process. Use a release build.

python extensions/opendp-python/conformance/speed.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any, Callable

import numpy
import opendp.prelude as theirs
import opendp_rs.prelude as ours

CHAIN = (
    "(dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()) "
    ">> dp.t.then_clamp((0.0, 10.0)) >> dp.t.then_sum() >> dp.m.then_laplace(1.0)"
)
SCALAR = (
    "(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)) >> dp.m.then_laplace(1.0)"
)
IMPORT = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"


def best(run: Callable[[], Any], repeat: int, inner: int = 1) -> float:
    """Return the least time of several runs, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(inner):
            run()
        times.append((time.perf_counter() - start) / inner)
    return min(times)


def main() -> None:
    """Print the times."""
    theirs.enable_features("contrib", "idealized-numerics")
    data = numpy.random.default_rng(1).normal(5.0, 4.0, 10_000_000)
    our_chain, their_chain = eval(CHAIN, {"dp": ours}), eval(CHAIN, {"dp": theirs})
    mine, other = best(lambda: our_chain(data), 7), best(lambda: their_chain(data), 2)
    print(
        f"sum of {len(data)} floats: ours {1e3 * mine:.1f} ms, theirs {1e3 * other:.1f} ms, {other / mine:.0f} times"
    )
    print(f"numpy's own clip and sum: {1e3 * best(lambda: data.clip(0, 10).sum(), 5):.1f} ms")
    our_scalar, their_scalar = eval(SCALAR, {"dp": ours}), eval(SCALAR, {"dp": theirs})
    mine = best(lambda: our_scalar(5.0), 7, 10_000)
    other = best(lambda: their_scalar(5.0), 5, 1_000)
    print(
        f"scalar: ours {1e6 * mine:.2f} us, theirs {1e6 * other:.2f} us, {other / mine:.0f} times"
    )
    for module in ("opendp_rs.prelude", "opendp.prelude"):
        command = [sys.executable, "-c", IMPORT.format(module)]
        times = [
            float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(7)
        ]
        print(f"import {module}: {1e3 * min(times):.1f} ms")


if __name__ == "__main__":
    main()
