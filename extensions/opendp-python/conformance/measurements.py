"""Measurements as Python source, which this library and OpenDP 0.16 both run."""

from __future__ import annotations

from itertools import product
from typing import Iterator

from transformations import REAL, ROWS, WHOLE, Pipeline, atom, floats, rows


def noise() -> Iterator[Pipeline]:
    for T, scale in product(("int", "'i64'", "float", "'f32'"), (0.0, 0.1, 0.5, 1.0, 3.0, 1e6)):
        distances = REAL if floats(T) else WHOLE
        space = f"({atom(T)}, dp.absolute_distance(T={T}))"
        for name in ("laplace", "gaussian"):
            yield name, f"{space} >> dp.m.then_{name}({scale})", distances, None
        if not floats(T):
            yield "geometric", f"{space} >> dp.m.then_geometric({scale})", distances, None
            yield (
                "geometric",
                f"{space} >> dp.m.then_geometric({scale}, bounds=(0, 100))",
                distances,
                None,
            )
    for k, name in product((-1074, -20, -10, 0, 3), ("laplace", "gaussian")):
        space = f"({atom('float')}, dp.absolute_distance(T=float))"
        yield f"{name} on a lattice", f"{space} >> dp.m.then_{name}(1.0, k={k})", REAL, None
        norm = "l1" if name == "laplace" else "l2"
        space = f"(dp.vector_domain({atom('float')}, size=3), dp.{norm}_distance(T=float))"
        yield f"{name} on a lattice", f"{space} >> dp.m.then_{name}(1.0, k={k})", REAL, None
    for T, name in product(("int", "float"), ("laplace", "gaussian")):
        norm = "l1" if name == "laplace" else "l2"
        space = f"(dp.vector_domain({atom(T)}), dp.{norm}_distance(T={T}))"
        yield name, f"{space} >> dp.m.then_{name}(2.0)", REAL if floats(T) else WHOLE, None
    for measure, scale in product(("max_divergence", "zero_concentrated_divergence"), (0.5, 2.0)):
        space = f"({atom('int')}, dp.absolute_distance(T=int))"
        yield "noise", f"{space} >> dp.m.then_noise(dp.{measure}(), {scale})", WHOLE, None


def thresholds_and_selections() -> Iterator[Pipeline]:
    for T, name, threshold in product(("int", "float"), ("laplace", "gaussian"), (5, 20)):
        limit = float(threshold) if floats(T) else threshold
        yield (
            f"{name}_threshold {'float' if floats(T) else 'int'}",
            (
                f"{rows('str')} >> dp.t.then_count_by(TV={T}) "
                f">> dp.m.then_{name}_threshold(1.0, threshold={limit})"
            ),
            ROWS,
            None,
        )
    for measure, scale, T in product(
        ("max_divergence", "zero_concentrated_divergence"), (0.0, 1.0, 3.0), ("int", "float")
    ):
        for monotonic in ("True", "False"):
            space = f"(dp.vector_domain({atom(T)}), dp.linf_distance(T={T}, monotonic={monotonic}))"
            distances = REAL if floats(T) else WHOLE
            yield (
                "noisy_max",
                f"{space} >> dp.m.then_noisy_max(dp.{measure}(), {scale})",
                distances,
                None,
            )
            yield (
                "noisy_top_k",
                (f"{space} >> dp.m.then_noisy_top_k(dp.{measure}(), 3, {scale})"),
                distances,
                None,
            )
    for alpha, measure in product(
        (0.25, 0.5, 0.9), ("max_divergence", "zero_concentrated_divergence")
    ):
        for size in ("", "100"):
            yield (
                "private_quantile",
                (
                    f"{rows('int', size=size)} >> dp.m.then_private_quantile(dp.{measure}(), "
                    f"[0, 5, 50], {alpha}, 1.0)"
                ),
                ROWS,
                None,
            )


def responses() -> Iterator[Pipeline]:
    for prob in (0.5, 0.51, 0.75, 0.9, 1.0):
        yield (
            "randomized_response_bool",
            f"dp.m.make_randomized_response_bool({prob})",
            [0, 1],
            None,
        )
        yield (
            "randomized_response",
            (f"dp.m.make_randomized_response(['a', 'b', 'c'], {prob})"),
            [0, 1],
            None,
        )
    for f in (0.5, 0.95):
        yield (
            "randomized_response_bitvec",
            (
                f"(dp.bitvector_domain(max_weight=4), dp.discrete_distance()) "
                f">> dp.m.then_randomized_response_bitvec(f={f})"
            ),
            [0, 1],
            None,
        )
    for scale in (1.0, 2.0):
        yield (
            "alp_queryable",
            (
                f"{rows('str')} >> dp.t.then_count_by() >> dp.m.then_alp_queryable({scale}, 100, value_limit=50)"
            ),
            ROWS,
            None,
        )
    for d_out in ("(0.1, 1e-7)", "(1.0, 1e-6)"):
        yield (
            "canonical_noise",
            (
                "(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)) "
                f">> dp.m.then_canonical_noise(1.0, {d_out})"
            ),
            [0.5, 1.0, 1.5],
            None,
        )


NUMBER = "(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float))"


def combinators() -> Iterator[Pipeline]:
    laplace = f"({NUMBER} >> dp.m.then_laplace({{}}))"
    gaussian = f"({NUMBER} >> dp.m.then_gaussian({{}}))"
    for left, right in product((0.1, 0.3, 1.0, 3.0), repeat=2):
        for noise_ in (laplace, gaussian):
            both = f"[{noise_.format(left)}, {noise_.format(right)}]"
            yield "composition", f"dp.c.make_composition({both})", REAL, None
    for scale in (0.3, 1.0, 4.0):
        yield "pureDP_to_zCDP", f"dp.c.make_pureDP_to_zCDP{laplace.format(scale)}", REAL, None
        yield "approximate", f"dp.c.make_approximate{laplace.format(scale)}", REAL, None
        yield "approximate", f"dp.c.make_approximate{gaussian.format(scale)}", REAL, None
        for delta in (1e-3, 1e-6, 1e-9):
            yield (
                "fix_delta",
                (
                    f"dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP{gaussian.format(scale)}, {delta})"
                ),
                REAL,
                None,
            )


def conversations_and_chains() -> Iterator[Pipeline]:
    for parts in ("[1.0, 2.0]", "[0.1] * 10", "[0.5, 0.25, 0.125]"):
        for measure in ("max_divergence", "zero_concentrated_divergence"):
            yield (
                "adaptive_composition",
                (
                    f"{NUMBER} >> dp.c.then_adaptive_composition(dp.{measure}(), d_in=1.0, d_mids={parts})"
                ),
                [0.5, 1.0, 2.0],
                None,
            )
    for measure, d_out in product(("max_divergence", "zero_concentrated_divergence"), (0.5, 1.0)):
        yield (
            "privacy_filter",
            (
                f"dp.c.make_privacy_filter({NUMBER} >> dp.c.then_fully_adaptive_composition(dp.{measure}()), "
                f"d_in=1.0, d_out={d_out})"
            ),
            [0.5, 1.0, 2.0],
            None,
        )
    for population in (100, 1000):
        yield (
            "population_amplification",
            (
                f"dp.c.make_population_amplification({rows('float', size='10', bounds='(0.0, 10.0)')} "
                f">> dp.t.then_mean() >> dp.m.then_laplace(0.5), {population})"
            ),
            [0, 2, 4],
            None,
        )
    for scale in (1.0, 5.0, 50.0):
        chain = f"{rows('int')} >> dp.t.then_clamp((0, 10)) >> dp.t.then_sum()"
        yield "chain", f"{chain} >> dp.m.then_laplace({scale})", ROWS, None
        yield "chain", f"{chain} >> dp.m.then_gaussian({scale})", ROWS, None
        yield (
            "chain",
            f"{rows('str')} >> dp.t.then_count() >> dp.m.then_laplace({scale})",
            ROWS,
            None,
        )


def measurements() -> list[Pipeline]:
    """Return all pipelines of measurements."""
    return [
        *noise(),
        *thresholds_and_selections(),
        *responses(),
        *combinators(),
        *conversations_and_chains(),
    ]
