"""Transformations: the functions ``make_*`` and ``then_*`` of each registered transformation.

The module also contains functions of released numbers, such as ``make_consistent_b_ary_tree``, and
``choose_branching_factor``.

The first arguments of ``make_*`` are the domain and the metric of the input. ``then_*`` takes the
domain and the metric from its left operand: ``space >> then_*()``.
"""

from ._native import choose_branching_factor
from ._names import in_transformations
from ._registry import module

__getattr__, _listed = module(in_transformations, "`dp.t`")


def __dir__() -> list[str]:
    return sorted([*_listed(), choose_branching_factor.__name__])


__all__ = __dir__()
