"""Transformations, and functions of their outputs: one function for each registered constructor.

The first arguments of ``make_*`` are the domain and the metric of the input. ``then_*`` takes the
domain and the metric from its left operand: ``space >> then_*()``.
"""

from ._registry import in_transformations, module

__getattr__, __dir__ = module(in_transformations, "`dp.t`")
__all__ = __dir__()
