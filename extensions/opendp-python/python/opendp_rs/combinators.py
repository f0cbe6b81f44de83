"""Combinators: one function for each registered constructor.

A combinator makes a measurement from measurements, a conversion or an interactive mechanism.

The first arguments of ``make_*`` are the domain and the metric of the input. ``then_*`` takes the
domain and the metric from its left operand: ``space >> then_*()``.
"""

from ._registry import in_combinators, module

__getattr__, __dir__ = module(in_combinators, "`dp.c`")
__all__ = __dir__()
