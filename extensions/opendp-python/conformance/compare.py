"""Compare this library with OpenDP 0.16, which must also be installed.

    pip install opendp==0.16.0 ./extensions/opendp-python
    python extensions/opendp-python/conformance/compare.py

Both libraries run the same source text. Maps are compared on a grid of distances, and outputs of
deterministic steps are compared on data. If a result of this library differs, `reasons.py` must
contain the reason.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections import Counter
from typing import Any

from measurements import measurements
from reasons import reason
from transformations import transformations


def attempt(run: Any) -> Any:
    """Return the result, or the exception."""
    try:
        return run()
    except Exception as error:  # The other library has many classes of errors.
        return error


def parts(value: Any) -> list[float] | None:
    """Return a distance as a list of numbers."""
    if isinstance(value, (tuple, list)):
        inner = [parts(item) for item in value]
        return None if None in inner else [x for item in inner if item for x in item]
    if isinstance(value, (int, float)):
        return [float(value)]
    return None


def relation(ours: Any, theirs: Any) -> str:
    """Return the relation of our distance to theirs."""
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        if isinstance(ours, Exception) and isinstance(theirs, Exception):
            return "both refuse"
        return "only we refuse" if isinstance(ours, Exception) else "only they refuse"
    left, right = parts(ours), parts(theirs)
    if left is None or right is None or len(left) != len(right):
        return "of another kind"
    if left == right:
        return "equal"
    if all(a <= b for a, b in zip(left, right)):
        return "tighter"
    return "looser" if all(a >= b for a, b in zip(left, right)) else "mixed"


def same(ours: Any, theirs: Any) -> bool:
    """Return whether two outputs are the same, up to the rounding of floats."""
    if hasattr(theirs, "tolist"):
        theirs = theirs.tolist()
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, float) and isinstance(theirs, float):
        close = math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-9)
        return close or (math.isnan(ours) and math.isnan(theirs))
    return bool(ours == theirs)


def main() -> int:
    """Compare all pipelines, and print how often each relation occurs.

    Return 1 if a difference has no reason, and 0 otherwise.
    """
    ours_dp: Any = importlib.import_module("opendp_rs.prelude")
    theirs_dp: Any = importlib.import_module("opendp.prelude")
    theirs_dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    counts: Counter[str] = Counter()
    unexplained, reasons, total = [], Counter(), 0

    def record(name: str, source: str, found: str, at: Any, ours: Any, theirs: Any) -> None:
        counts[found] += 1
        if found in ("equal", "both refuse", "same value"):
            return
        why = reason(name, found, at, ours, theirs)
        if why is None:
            unexplained.append(
                f"{name}: {found} at {at}: ours {ours!r:.200}, theirs {theirs!r:.200}\n    {source}"
            )
        else:
            reasons[(name, found, why)] += 1

    for name, source, distances, data in [*transformations(), *measurements()]:
        total += 1
        ours = attempt(lambda: eval(source, {"dp": ours_dp}))
        theirs = attempt(lambda: eval(source, {"dp": theirs_dp}))
        if isinstance(ours, Exception) or isinstance(theirs, Exception):
            record(name, source, relation(ours, theirs), "construction", ours, theirs)
            continue
        for d_in in distances:
            a, b = attempt(lambda: ours.map(d_in)), attempt(lambda: theirs.map(d_in))
            record(name, source, relation(a, b), d_in, a, b)
        if data is not None:
            a, b = attempt(lambda: ours(data)), attempt(lambda: theirs(data))
            if isinstance(a, Exception) and isinstance(b, Exception):
                record(name, source, "both refuse", "data", a, b)
            else:
                failed = isinstance(a, Exception) or isinstance(b, Exception)
                found = "same value" if not failed and same(a, b) else "another value"
                record(name, source, found, "data", a, b)

    print(f"{total} pipelines")
    for found, count in counts.most_common():
        print(f"{count:6} {found}")
    print("\nreasons:")
    for (name, found, why), count in sorted(reasons.items()):
        print(f"{count:6} {name}: {found}: {why}")
    if unexplained:
        print(f"\n{len(unexplained)} differences without a reason:")
        print("\n".join(unexplained))
    return 1 if unexplained or total < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
