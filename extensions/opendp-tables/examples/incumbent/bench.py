"""The same group-by in OpenDP for Python, on Polars.

    pip install "opendp[polars]==0.16.0"
    python bench.py rows-10000000.parquet

The file comes from `cargo run --release --example bench -- --generate`. Prints medians of five
runs: with rows protected, and with at most four rows of each id.
"""

import statistics
import sys
import time
import warnings

import opendp.prelude as dp
import polars as pl

warnings.filterwarnings("ignore")
dp.enable_features("contrib")


def ask(path, rows, unit, limit):
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=unit,
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[
            dp.polars.Margin(by=["key"], max_groups=100, max_length=rows),
            dp.polars.Margin(max_length=rows, max_groups=1),
        ],
    )
    query = limit(context.query())
    number = lambda name: pl.col(name).fill_nan(0.0).fill_null(0.0)
    query = query.group_by("key").agg(
        dp.len(),
        number("x").dp.sum((0.0, 100.0)),
        number("y").dp.mean((0.0, 80000.0)),
    )
    # The keys are public in both variants.
    query = query.with_keys(pl.LazyFrame({"key": pl.Series(range(100), dtype=pl.Int64)}))
    return query.release().collect()


def measure(name, path, rows, unit, limit, runs=5):
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        answer = ask(path, rows, unit, limit)
        seconds.append(time.perf_counter() - start)
        assert len(answer) == 100, len(answer)
    print(f"| {name} | {statistics.median(seconds):.4f} |", flush=True)


def main():
    path = sys.argv[1]
    rows = pl.scan_parquet(path).select(pl.len()).collect().item()
    print("| variant | median, s |\n|---|---|")
    measure("rows are protected", path, rows, dp.unit_of(contributions=1), lambda query: query)
    ids = dp.unit_of(contributions=1, identifier=pl.col("id"))
    keep = lambda query: query.truncate_per_group(4)
    measure("ids are protected, rows limited", path, rows, ids, keep)


main()
