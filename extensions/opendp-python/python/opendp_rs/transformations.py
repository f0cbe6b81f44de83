"""Transformations, and functions of their outputs: one function for each registered constructor.

The first arguments of ``make_*`` are the domain and the metric of the input. ``then_*`` takes the
domain and the metric from its left operand: ``space >> then_*()``.
"""

from ._native import choose_branching_factor
from ._registry import in_transformations, module

__getattr__, _names = module(in_transformations, "`dp.t`")


def __dir__() -> list[str]:
    return sorted([*_names(), choose_branching_factor.__name__])


__all__ = __dir__()
