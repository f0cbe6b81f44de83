"""Measure the same query in OpenDP for Python on Polars and in `opendp-sql`, in turns.

    pip install "opendp[polars]==0.16.0"
    python bench.py rows-10000000.parquet ../../target/release/opendp-sql

The file comes from `cargo run --release --example bench -- --generate`, and the program from `cargo
build --release`. This script prints the medians of five runs for two variants. The first variant
protects rows. The second variant protects ids, and keeps at most four rows of each id. The time of
`opendp-sql` is the time of a whole process. Without the second argument, only Python is measured.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

import opendp.prelude as dp
import polars as pl

warnings.filterwarnings("ignore")
dp.enable_features("contrib")

QUERY = "SELECT key, COUNT(*), SUM(x), AVG(y) FROM t GROUP BY key"


def in_python(path, rows, limit):
    """Answer the question in OpenDP for Python, and return the number of groups."""
    identifier = {} if limit is None else {"identifier": pl.col("id")}
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, **identifier),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[
            dp.polars.Margin(by=["key"], max_groups=100, max_length=rows),
            dp.polars.Margin(max_length=rows, max_groups=1),
        ],
    )
    query = context.query()
    if limit is not None:
        query = query.truncate_per_group(limit)
    number = lambda name: pl.col(name).fill_nan(0.0).fill_null(0.0)
    query = query.group_by("key").agg(
        dp.len(),
        number("x").dp.sum((0.0, 100.0)),
        number("y").dp.mean((0.0, 80000.0)),
    )
    # The keys are public in both variants.
    query = query.with_keys(pl.LazyFrame({"key": pl.Series(range(100), dtype=pl.Int64)}))
    return len(query.release().collect())


def configured(folder, path, limit):
    """Write the metadata of a variant, and return the path of the file."""
    unit = "{ rows = 1 }" if limit is None else f"{{ id = 'id', max_rows = {limit} }}"
    config = pathlib.Path(folder, f"{limit}.toml")
    config.write_text(
        f"""[budget]
epsilon = 1e6
[tables.t]
path = '{pathlib.Path(path).absolute()}'
unit = {unit}
[tables.t.columns]
id = {{ type = 'integer' }}
key = {{ type = 'integer', keys = {list(range(100))} }}
x = {{ type = 'float', bounds = [0, 100] }}
y = {{ type = 'float', bounds = [0, 80000] }}
"""
    )
    return str(config)


def in_sql(program, config):
    """Answer the question in a process of `opendp-sql`, and return the number of groups."""
    command = [program, "--config", config, "--epsilon", "1", "--json", QUERY]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return len(json.loads(done.stdout)["noisy"]["groups"])


def timed(answer):
    start = time.perf_counter()
    groups = answer()
    seconds = time.perf_counter() - start
    assert groups == 100, groups
    return seconds


def main(path, program=None, runs=5):
    rows = pl.scan_parquet(path).select(pl.len()).collect().item()
    with tempfile.TemporaryDirectory() as folder:
        print("| variant | OpenDP for Python, s | `opendp-sql`, s | ratio |\n|---|---|---|---|")
        for name, limit in [("rows are protected", None), ("ids are protected, rows limited", 4)]:
            config = configured(folder, path, limit)
            theirs, ours = [], []
            for _ in range(int(runs)):
                theirs.append(timed(lambda: in_python(path, rows, limit)))
                if program:
                    ours.append(timed(lambda: in_sql(program, config)))
            theirs = statistics.median(theirs)
            ours = statistics.median(ours) if ours else float("nan")
            print(f"| {name} | {theirs:.3f} | {ours:.3f} | {theirs / ours:.0f} |", flush=True)


main(*sys.argv[1:])
