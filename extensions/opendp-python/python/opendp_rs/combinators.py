"""Combinators: the functions ``make_*`` and ``then_*`` of each registered combinator.

A combinator takes transformations, measurements or an odometer, and makes another such object from
them.

The first arguments of ``make_*`` are the domain and the metric of the input. ``then_*`` takes the
domain and the metric from its left operand: ``space >> then_*()``.
"""

from ._names import in_combinators
from ._registry import module

__getattr__, __dir__ = module(in_combinators, "`dp.c`")
__all__ = __dir__()
