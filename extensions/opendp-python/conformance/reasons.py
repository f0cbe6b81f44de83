"""The reasons why maps and values differ from the maps and values of OpenDP 0.16.

A row has the pipeline, the relation of our value to theirs, and the reason. If no row explains a
difference, the comparison fails.
"""

from __future__ import annotations

from typing import Any

EXACT_SUM = (
    "floats are summed exactly, in integers on a lattice: our map has no term for rounding, and "
    "their map has a term for every record"
)
EXACT_MOMENT = (
    "the statistic is computed exactly and rounded once: our map has no term for each record"
)
LATTICE = (
    "a number is rounded to the lattice together with its noise, so the rounding is "
    "post-processing; their map charges the rounding as sensitivity"
)
REPLACED = "if the size is known, each replaced record changes a count by at most one"
NOT_COMPILED = "their library is not compiled for this metric or this type, and ours is"

REASONS: list[tuple[str, str, str]] = [
    ("float sum", "tighter", EXACT_SUM),
    ("mean", "tighter", EXACT_MOMENT),
    ("variance", "tighter", EXACT_MOMENT),
    ("sum_of_squared_deviations", "tighter", EXACT_MOMENT),
    ("population_amplification", "tighter", f"the mean inside: {EXACT_MOMENT}"),
    (
        "lipschitz_float_mul",
        "tighter",
        "our map has no term for rounding if products are exact, and else a smaller term; two "
        "clamped numbers differ by at most the width of the bounds",
    ),
    ("laplace on a lattice", "tighter", LATTICE),
    ("gaussian on a lattice", "tighter", LATTICE),
    (
        "b_ary_tree l2",
        "looser",
        "unsound in their map: the L2 norm of a tree can grow by sqrt((b^layers - 1) / (b - 1)), "
        "which exceeds their constant when many leaves of one subtree move together",
    ),
    (
        "b_ary_tree l2",
        "tighter",
        "our map uses that counts are integers; their constant, the number of layers, is larger at "
        "small distances, and in trees with many branches",
    ),
    (
        "laplace_threshold int",
        "looser",
        "unsound in their map: noise equal to the threshold releases a key, and the tail in "
        "their bound begins one number later",
    ),
    (
        "minimum, maximum",
        "tighter",
        "at alpha 0 and 1 all scores move in one direction, so half of the loss suffices",
    ),
    (
        "pureDP_to_zCDP",
        "tighter",
        "rho = epsilon tanh(epsilon / 2), the least bound for every mechanism, not epsilon^2 / 2",
    ),
    ("randomized_response", "tighter", "our logarithm is rounded up once, by less than theirs"),
    (
        "randomized_response_bool",
        "tighter",
        "our logarithm is rounded up once, by less than theirs",
    ),
    ("sized count_distinct", "tighter", REPLACED),
    ("sized count_by", "tighter", REPLACED),
    ("sized count_by_categories L2", "tighter", REPLACED),
    ("adaptive_composition", "tighter", "losses are added exactly and rounded up once"),
    ("fix_delta", "only they refuse", "their exponential overflows at large rho; ours does not"),
    ("clamp", "only they refuse", NOT_COMPILED),
    ("is_equal", "only they refuse", NOT_COMPILED),
    ("count_by", "only they refuse", NOT_COMPILED),
    ("laplace_threshold float", "only they refuse", NOT_COMPILED),
    ("gaussian_threshold float", "only they refuse", NOT_COMPILED),
    (
        "count_by_categories",
        "only we refuse",
        "a norm and counts of different number types are not compiled; state one type for both",
    ),
    (
        "randomized_response_bitvec",
        "only we refuse",
        "a release shows the length of its input, so the domain must state this length; their "
        "domain need not state it",
    ),
]


def reason(name: str, found: str, at: Any, ours: Any, theirs: Any) -> str | None:
    """Return the reason for a difference, or None if there is no reason."""
    if name == "quantile scores" and found == "looser" and at != "construction":
        if ours == 2 * theirs:
            # The pipelines "quantile" show that the whole chain has the same loss in both
            # libraries.
            return (
                "the metric is the range distance: the largest difference between the changes of "
                "two scores; the mechanism that follows does not double this distance"
            )
        return None
    if name == "fix_delta" and found in ("looser", "tighter") and at != "construction":
        if abs(ours[0] - theirs[0]) <= 1e-12 * theirs[0] and ours[1] == theirs[1]:
            return "a difference in the last digits: ours is a certified bound, rounded up"
        return None
    for pipeline, relation, why in REASONS:
        if (pipeline, relation) == (name, found):
            return why
    return None
