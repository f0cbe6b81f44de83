"""Measure a study about one column of a Parquet file with twenty columns.

    pip install numpy polars pyarrow ./extensions/opendp-python
    python extensions/opendp-python/conformance/sources.py

The study reads the file as a lazy frame and as a data set of pyarrow, which read one column, and as
a table, for which all columns are read first. All runs take turns in one process. The numbers are
medians of the elapsed time.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

import numpy
import opendp_rs.prelude as dp
import polars
import pyarrow.dataset  # type: ignore[import-untyped, unused-ignore]

ROWS, COLUMNS, TURNS = 1_000_000, 20, 7
DOCUMENT = {
    "context": {
        "unit": {"person": 1},
        "budget": {"epsilon": 1.0},
        "columns": {"c0": {"T": float, "bounds": [0, 1], "missing": 0}},
    },
    "questions": [{"sum": {"column": "c0"}}],
}


def main() -> None:
    """Print a line for each way to read the file."""
    random = numpy.random.default_rng(0)
    frame = polars.DataFrame({f"c{i}": random.random(ROWS) for i in range(COLUMNS)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        frame.write_parquet(path)
        runs: dict[str, Callable[[], Any]] = {
            "scan_parquet": lambda: polars.scan_parquet(path),
            "scan_parquet, all collected": lambda: polars.scan_parquet(path).collect(),
            "pyarrow.dataset": lambda: pyarrow.dataset.dataset(path),
            "pyarrow.dataset, to_table": lambda: pyarrow.dataset.dataset(path).to_table(),
            "column in memory": lambda: frame,
        }
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(TURNS):
            for name, table in runs.items():
                begun = time.perf_counter()
                dp.Study(DOCUMENT).ask(table())
                times[name].append(time.perf_counter() - begun)
    for name, found in times.items():
        print(f"{name:30}{1e3 * statistics.median(found):8.1f} ms")


if __name__ == "__main__":
    main()
