"""Transformations that this library and OpenDP 0.16 both run.

Each transformation has a name, Python source, distances and data.
"""

from __future__ import annotations

from itertools import product
from typing import Any, Iterator

ROWS = [0, 1, 2, 3, 4, 7]
WHOLE = [0, 1, 2, 3, 10]
REAL = [0.0, 0.1, 1.0, 2.5, 1000.0]


INTS = [0, -5, 3, 3, 7, 100, -1000, 8]
FLOATS = [0.0, -5.5, 3.25, 3.25, 7.0, 100.0, -1e6, 8.125]
WORDS = ["a", "b", "", "a", "7", "x y", "1.5", "true"]
BOOLS = [True, False, True, True]
NUMBERS = {"'i8'": INTS, "int": INTS, "'i64'": INTS, "float": FLOATS, "'f32'": FLOATS}

Pipeline = tuple[str, str, list[Any], Any]


def floats(T: str) -> bool:
    return T in ("float", "'f32'")


def fit(T: str, values: list[Any]) -> list[Any]:
    """Keep the values that fit a type."""
    return [value for value in values if T != "'i8'" or -128 <= value <= 127]


def atom(T: str, bounds: str = "") -> str:
    nan = ", nan=False" if floats(T) else ""
    return f"dp.atom_domain({f'bounds={bounds}, ' if bounds else ''}T={T}{nan})"


def rows(T: str, metric: str = "symmetric_distance", size: str = "", bounds: str = "") -> str:
    size = f", size={size}" if size else ""
    return f"(dp.vector_domain({atom(T, bounds)}{size}), dp.{metric}())"


METRICS = [
    "symmetric_distance",
    "insert_delete_distance",
    "change_one_distance",
    "hamming_distance",
]


def row_by_row() -> Iterator[Pipeline]:
    for T, metric in product(NUMBERS, METRICS):
        data = fit(T, NUMBERS[T])
        size = str(len(data)) if metric in METRICS[2:] else ""
        space = rows(T, metric, size)
        bounds = "(0.0, 8.0)" if floats(T) else "(0, 8)"
        value = "3.25" if floats(T) else "3"
        yield "clamp", f"{space} >> dp.t.then_clamp({bounds})", ROWS, data
        yield "is_equal", f"{space} >> dp.t.then_is_equal({value})", ROWS, data


def casts_and_nulls() -> Iterator[Pipeline]:
    for T, TOA in product(["int", "float", "str", "bool"], repeat=2):
        data = {"int": INTS, "float": FLOATS, "str": WORDS, "bool": BOOLS}[T]
        yield "cast_default", f"{rows(T)} >> dp.t.then_cast_default(TOA={TOA})", ROWS, data
    for T, TOA in product(["str", "int", "float"], ["int", "float"]):
        data = {"int": INTS, "float": FLOATS, "str": WORDS}[T]
        yield "cast", f"{rows(T)} >> dp.t.then_cast(TOA={TOA}) >> dp.t.then_is_null()", ROWS, data
    yield (
        "cast_inherent",
        f"{rows('str')} >> dp.t.then_cast_inherent(TOA=float)",
        ROWS,
        ["1", "2.5"],
    )
    nullable = "(dp.vector_domain(dp.atom_domain(T=float)), dp.symmetric_distance())"
    holes = [1.0, float("nan"), 2.0]
    yield "impute_constant", f"{nullable} >> dp.t.then_impute_constant(0.0)", ROWS, holes
    yield "is_null", f"{nullable} >> dp.t.then_is_null()", ROWS, holes
    yield "drop_null", f"{nullable} >> dp.t.then_drop_null()", ROWS, holes
    yield (
        "find",
        (f"{rows('str')} >> dp.t.then_find(['a', 'b']) >> dp.t.then_impute_constant(9)"),
        ROWS,
        WORDS,
    )
    for edges in ("[2, 3, 5]", "[0, 100]"):
        yield "find_bin", f"{rows('int')} >> dp.t.then_find_bin({edges})", ROWS, INTS
    yield (
        "index",
        (
            "(dp.vector_domain(dp.atom_domain(T='usize')), dp.symmetric_distance()) "
            ">> dp.t.then_index(['A', 'B'], 'N')"
        ),
        ROWS,
        [0, 1, 7],
    )


def data_sets() -> Iterator[Pipeline]:
    for size, metric in product((3, 8, 12), METRICS[:2]):
        mo = "SymmetricDistance" if metric == METRICS[0] else "InsertDeleteDistance"
        yield (
            "resize",
            (f"{rows('int', metric)} >> dp.t.then_resize({size}, 0, MO='{mo}')"),
            ROWS,
            None,
        )
    for metric in METRICS[2:]:
        yield (
            "metric_unbounded",
            f"{rows('int', metric, '8')} >> dp.t.then_metric_unbounded()",
            ROWS,
            INTS,
        )
    yield (
        "metric_bounded",
        f"{rows('int', METRICS[0], '8')} >> dp.t.then_metric_bounded()",
        ROWS,
        INTS,
    )
    for metric in (METRICS[1], METRICS[3]):
        size = "8" if metric == METRICS[3] else ""
        yield "unordered", f"{rows('int', metric, size)} >> dp.t.then_unordered()", ROWS, INTS
    for metric in (METRICS[0], METRICS[2]):
        size = "8" if metric == METRICS[2] else ""
        yield (
            "ordered_random",
            f"{rows('int', metric, size)} >> dp.t.then_ordered_random()",
            ROWS,
            None,
        )


def statistics() -> Iterator[Pipeline]:
    for T, data in {"int": INTS, "float": FLOATS, "str": WORDS, "bool": BOOLS}.items():
        for TO in ("int", "'i64'", "float"):
            yield "count", f"{rows(T)} >> dp.t.then_count(TO={TO})", ROWS, data
            if T != "float":
                yield (
                    "count_distinct",
                    f"{rows(T)} >> dp.t.then_count_distinct(TO={TO})",
                    ROWS,
                    data,
                )
    for MO, TOA in product(
        ("L1Distance<int>", "L1Distance<float>", "L2Distance<float>"), ("int", "float")
    ):
        for null in (True, False):
            yield (
                "count_by_categories",
                (
                    f"{rows('str')} >> dp.t.then_count_by_categories(['a', 'b'], "
                    f"null_category={null}, MO='{MO}', TOA={TOA})"
                ),
                ROWS,
                WORDS,
            )
    for TV in ("int", "float"):
        yield "count_by", f"{rows('str')} >> dp.t.then_count_by(TV={TV})", ROWS, WORDS
        yield "count_by", f"{rows('int')} >> dp.t.then_count_by(TV={TV})", ROWS, INTS
    yield from sized_counts()


def sized_counts() -> Iterator[Pipeline]:
    """Yield counts for data of a public size. One replaced record gives the distance 2."""
    records, changes = rows("str", size="8"), [0, 2, 4, 6]
    yield "sized count_distinct", f"{records} >> dp.t.then_count_distinct()", changes, WORDS
    yield "sized count_by", f"{records} >> dp.t.then_count_by()", changes, WORDS
    for MO in ("L1Distance<float>", "L2Distance<float>"):
        yield (
            f"sized count_by_categories {MO[:2]}",
            (
                f"{records} >> dp.t.then_count_by_categories(['a', 'b'], "
                f"MO='{MO}', TOA=float)"
            ),
            changes,
            WORDS,
        )


def sums_and_moments() -> Iterator[Pipeline]:
    for T, size, metric in product(NUMBERS, ("", "8"), METRICS[:2]):
        if T == "'i8'":
            continue
        for low, high in ((0, 10), (-3, 10), (-20, 10), (1, 10), (-10, -1)):
            bounds = f"({float(low)}, {float(high)})" if floats(T) else f"({low}, {high})"
            source = f"{rows(T, metric, size)} >> dp.t.then_clamp({bounds}) >> dp.t.then_sum()"
            yield "sum" if not floats(T) else "float sum", source, ROWS, NUMBERS[T]
    for size, step in product((2, 10, 1000), ("mean", "variance", "sum_of_squared_deviations")):
        source = f"{rows('float', size=str(size), bounds='(0.0, 10.0)')} >> dp.t.then_{step}()"
        yield step, source, ROWS, [float(i % 10) for i in range(size)]
    yield (
        "variance",
        (f"{rows('float', size='10', bounds='(0.0, 10.0)')} >> dp.t.then_variance(ddof=0)"),
        ROWS,
        [float(i) for i in range(10)],
    )


def quantiles_and_trees() -> Iterator[Pipeline]:
    for alpha, size in product((0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0), ("", "8", "100")):
        data = INTS if size != "100" else INTS * 12 + INTS[:4]
        yield (
            "quantile scores",
            (
                f"{rows('int', size=size)} >> dp.t.then_quantile_score_candidates([0, 5, 50], {alpha})"
            ),
            ROWS,
            data,
        )
        for measure in ("max_divergence", "zero_concentrated_divergence"):
            yield (
                "quantile" if 0 < alpha < 1 else "minimum, maximum",
                (
                    f"{rows('int', size=size)} >> dp.t.then_quantile_score_candidates([0, 5, 50], {alpha}) "
                    f">> dp.m.then_noisy_max(dp.{measure}(), 2.0, negate=True)"
                ),
                ROWS,
                None,
            )
    for constant in ("2.0", "-0.5", "0.1"):
        yield (
            "lipschitz_float_mul",
            (
                "dp.t.make_lipschitz_float_mul(dp.atom_domain(T=float, nan=False), "
                f"dp.absolute_distance(T=float), {constant}, (0.0, 10.0))"
            ),
            REAL,
            1.3,
        )
    for branching, leaves, norm in product((2, 3, 4), (4, 10), ("l1", "l2")):
        yield (
            f"b_ary_tree {norm}",
            (
                f"(dp.vector_domain(dp.atom_domain(T=int)), dp.{norm}_distance(T=int)) "
                f">> dp.t.then_b_ary_tree(leaf_count={leaves}, branching_factor={branching})"
            ),
            WHOLE,
            list(range(leaves)),
        )
    for name, bounds in product(
        ("int_monotonic", "int_split", "int_ordered"), ("(0, 10)", "(1, 10)")
    ):
        yield name, f"dp.t.make_bounded_{name}_sum({bounds})", ROWS, [1, 2, 3]
        yield name, f"dp.t.make_sized_bounded_{name}_sum(3, {bounds})", ROWS, [1, 2, 3]
    yield "int_checked", "dp.t.make_sized_bounded_int_checked_sum(3, (0, 10))", ROWS, [1, 2, 3]


def functions() -> Iterator[Pipeline]:
    yield "cdf", "dp.t.make_cdf(TA=float)", [], [1.0, 1.0, 2.0]
    for interpolation in ("linear", "nearest"):
        yield (
            "quantiles_from_counts",
            (
                "dp.t.make_quantiles_from_counts([0.0, 10.0, 20.0, 30.0], [0.1, 0.5, 0.9], "
                f"interpolation='{interpolation}', TA=float)"
            ),
            [],
            [3.0, 4.0, 5.0],
        )
    for branching in (2, 3):
        yield (
            "consistent_b_ary_tree",
            (f"dp.t.make_consistent_b_ary_tree({branching}, TIA=int, TOA=float)"),
            [],
            [10, 4, 6] if branching == 2 else [10, 4, 3, 3],
        )


def transformations() -> list[Pipeline]:
    """Return all pipelines of transformations and functions."""
    return [
        *row_by_row(),
        *casts_and_nulls(),
        *data_sets(),
        *statistics(),
        *sums_and_moments(),
        *quantiles_and_trees(),
        *functions(),
    ]
