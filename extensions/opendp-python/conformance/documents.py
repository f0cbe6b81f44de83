"""Write documents in the format of OpenDP 0.16, and compare the maps. OpenDP must be installed.

    pip install opendp==0.16.0
    cargo build -p opendp-cli
    python extensions/opendp-python/conformance/documents.py target/debug/opendp

`opendp convert` writes each document, `deserialize` of OpenDP reads the result, and both maps are
evaluated. Up to rounding, our values must not exceed the values of OpenDP. `REASONS` lists the
exceptions. The first documents are the examples of the registry. The other documents combine
data, statistics and mechanisms.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import opendp.prelude as dp

ROOT = Path(__file__).resolve().parents[3]
# The largest relative difference of values that count as equal. OpenDP and this library bound the
# errors of float sums in different ways, so their values can differ a little.
ROUNDING = 1e-9


def rows(atom: dict[str, Any], size: int | None = None) -> dict[str, Any]:
    return {"vector_domain": {"atom_domain": atom, **({"size": size} if size else {})}}


def grid() -> list[dict[str, Any]]:
    """Return documents that combine data, statistics and mechanisms."""
    floats, ints = {"T": "f64", "nan": False}, {"T": "i32"}
    clamp = {"clamp": {"bounds": [0, 10]}}
    made = []
    for scale in (0.5, 2, 7):
        for noise in ("laplace", "gaussian"):
            end = {noise: {"scale": scale}}
            for metric in ("symmetric_distance", "insert_delete_distance"):
                space = {"domain": rows(ints), "metric": metric}
                made += [
                    {"space": space, "chain": ["count", end]},
                    {"space": space, "chain": ["count_distinct", end]},
                    {"space": space, "chain": [clamp, "sum", end]},
                ]
            histogram = {"count_by_categories": {"categories": [1, 2, 3]}}
            space = {"domain": rows(ints), "metric": "symmetric_distance"}
            made.append({"space": space, "chain": [histogram, {"laplace": {"scale": scale}}]})
            for metric in ("symmetric_distance", "change_one_distance"):
                space = {"domain": rows(floats, 100), "metric": metric}
                made += [
                    {"space": space, "chain": [clamp, statistic, end]}
                    for statistic in ("mean", "sum", "variance")
                ]
    return made


def convert(command: str, document: dict[str, Any]) -> tuple[str | None, str]:
    arguments = [command, "convert", "--to", "opendp", "-p", "-"]
    done = subprocess.run(arguments, input=json.dumps(document), capture_output=True, text=True)
    return (done.stdout if done.returncode == 0 else None), done.stderr.strip()


def ours(command: str, document: dict[str, Any], d_in: Any) -> Any:
    arguments = [command, "map", "-p", "-", "--d-in", json.dumps(d_in)]
    done = subprocess.run(arguments, input=json.dumps(document), capture_output=True, text=True)
    if done.returncode:
        return None
    return json.loads(done.stdout)


def numbers(value: Any) -> list[float] | None:
    if isinstance(value, (list, tuple)):
        parts = [numbers(part) for part in value]
        return None if None in parts else [x for part in parts for x in part or []]
    if value == "Infinity":
        return [math.inf]
    return [float(value)] if isinstance(value, (int, float)) else None


def relation(mine: Any, theirs: Any) -> str:
    if isinstance(mine, dict) and hasattr(theirs, "delta"):
        points = mine["profile"]
        mine = [delta for _, delta in points]
        theirs = [theirs.delta(float(epsilon)) for epsilon, _ in points]
    left, right = numbers(mine), numbers(theirs)
    if left is None or right is None or len(left) != len(right):
        return "of another kind"
    if left == right:
        return "equal"
    close = [math.isclose(a, b, rel_tol=ROUNDING) for a, b in zip(left, right)]
    if all(close):
        return "equal up to rounding"
    return "tighter" if all(a <= b or c for a, b, c in zip(left, right, close)) else "LOOSER"


def distances(theirs: Any) -> list[Any]:
    """Return distances that fit the input metric."""
    metric = str(theirs.input_metric)
    if "L0" in metric:
        return [(1, 1, 1)]
    whole = [1, 2, 6]
    return [float(d) for d in whole] if "<f" in metric else whole


# Constructors whose map returns a larger loss than the map of OpenDP in a document with `i32`, and
# the reasons.
REASONS = {
    ("laplace_threshold", "noise_threshold"): "their map is unsound for integers: noise equal to "
    "the threshold releases a key, and the tail in their bound begins one number later",
}


def reason(document: dict[str, Any]) -> str | None:
    text = json.dumps(document)
    whole = '"i32"' in text
    found = (why for names, why in REASONS.items() if whole and any(n in text for n in names))
    return next(found, None)


def compare(command: str, document: dict[str, Any], seen: Counter[str]) -> None:
    text, message = convert(command, document)
    if text is None:
        assert "OpenDP 0.16 has no" in message, f"{message}\n{json.dumps(document)}"
        seen["refused: " + message.split("has no ")[-1].split(",")[0]] += 1
        return
    try:
        theirs = dp.deserialize(text)
    except Exception as error:  # The other library has many classes of errors.
        seen["not read: " + str(error).strip().splitlines()[0][:90]] += 1
        print(f"not read: {json.dumps(document)}\n  {str(error).strip()[:300]}")
        return
    if not hasattr(theirs, "map"):
        seen["read, without a map"] += 1
        return
    seen["read"] += 1
    for d_in in distances(theirs):
        try:
            found = theirs.map(d_in)
        except Exception as error:
            seen["only OpenDP refuses the distance"] += 1
            continue
        mine = ours(command, document, d_in)
        how = "only ours refuses the distance" if mine is None else relation(mine, found)
        if how == "LOOSER" and (why := reason(document)):
            seen["maps looser: " + why] += 1
            continue
        seen["maps " + how] += 1
        if how in ("LOOSER", "of another kind"):
            print(f"{how}: {mine} and {found} at {d_in}: {json.dumps(document)}")


def main() -> int:
    command = sys.argv[1] if len(sys.argv) > 1 else "opendp"
    if shutil.which(command) is None:
        sys.exit(f"there is no command `{command}`: build it, and give its path as the argument")
    dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
    examples = json.loads((ROOT / "opendp-registry" / "examples.json").read_text())
    seen: Counter[str] = Counter()
    for document in examples + grid():
        compare(command, document, seen)
    for what, count in sorted(seen.items()):
        print(f"{count:5} {what}")
    bad = [what for what in seen if "LOOSER" in what or "kind" in what or what.startswith("not read")]
    return int(bool(bad) or seen["read"] < 30)


if __name__ == "__main__":
    sys.exit(main())
