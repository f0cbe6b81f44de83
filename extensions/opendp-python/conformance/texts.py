"""Measure how long counts of texts take, for each kind of column.

    pip install numpy pandas polars pyarrow ./extensions/opendp-python
    python extensions/opendp-python/conformance/texts.py

A tuple of texts is converted text by text, so each kind of column is compared with a tuple of its
cells. This comparison includes the time to make the tuple. Categories are read by their codes, so
they are also compared with the same categories after they are expanded to texts. All runs take turns in one process. The
numbers are the medians of the processor time of all threads and of the elapsed time.
"""

from __future__ import annotations

import statistics
import time
from typing import Any, Callable

import numpy
import opendp_rs.prelude as dp
import pandas
import polars
import pyarrow

ROWS, TURNS = 1_000_000, 11
CATEGORIES = [f"category {i}" for i in range(20)]


def cells_of(column: Any) -> tuple[Any, ...]:
    """Return the cells of a column as Python objects."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return tuple(getattr(column, method)())
    return tuple(column)


def main() -> None:
    """Print a line for each kind of column."""
    codes = numpy.random.default_rng(0).integers(0, len(CATEGORIES) + 2, ROWS)
    cells = [[*CATEGORIES, "other", "one more"][code] for code in codes]
    columns = {
        "list": cells,
        "numpy, texts": numpy.array(cells),
        "numpy, objects": numpy.array(cells, dtype=object),
        "pandas, str": pandas.Series(cells),
        "pandas, string[pyarrow]": pandas.Series(cells, dtype="string[pyarrow]"),
        "pandas, categories": pandas.Series(cells, dtype="category"),
        "Polars": polars.Series(cells),
        "Polars, categories": polars.Series(cells, dtype=polars.Categorical),
        "pyarrow": pyarrow.array(cells),
        "pyarrow, categories": pyarrow.array(cells).dictionary_encode(),
    }
    rows = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    noisy = dp.t.make_count_by_categories(*rows, CATEGORIES) >> dp.m.then_laplace(scale=1.0)
    runs: dict[tuple[str, str], Callable[[], Any]] = {}
    for name, column in columns.items():
        runs[name, "now"] = lambda column=column: noisy(column)
        runs[name, "text by text"] = lambda column=column: noisy(cells_of(column))
    encoded = columns["pandas, categories"]
    runs["pandas, categories", "expanded"] = lambda: noisy(
        pyarrow.array(encoded.array).dictionary_decode()
    )
    runs["pyarrow, categories", "expanded"] = lambda: noisy(
        columns["pyarrow, categories"].dictionary_decode()
    )
    runs["Polars, categories", "expanded"] = lambda: noisy(
        columns["Polars, categories"].cast(polars.String)
    )
    runs["Polars, categories", "value_counts"] = columns["Polars, categories"].value_counts
    runs["pyarrow, categories", "value_counts"] = columns["pyarrow, categories"].value_counts
    runs["pandas, str", "value_counts"] = columns["pandas, str"].value_counts
    runs["pandas, categories", "value_counts"] = columns["pandas, categories"].value_counts
    runs["Polars", "value_counts"] = columns["Polars"].value_counts
    runs["pyarrow", "value_counts"] = columns["pyarrow"].value_counts
    times: dict[tuple[str, str], list[tuple[float, float]]] = {run: [] for run in runs}
    for _ in range(TURNS):
        for run, call in runs.items():
            begun = time.process_time(), time.perf_counter()
            call()
            ended = time.process_time(), time.perf_counter()
            times[run].append((ended[0] - begun[0], ended[1] - begun[1]))
    for (name, how), found in times.items():
        cpu, elapsed = (1e3 * statistics.median(part) for part in zip(*found))
        print(f"{name:26}{how:14}{cpu:8.1f} ms of processor time {elapsed:8.1f} ms elapsed")


if __name__ == "__main__":
    main()
