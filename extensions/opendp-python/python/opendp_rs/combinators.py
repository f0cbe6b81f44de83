"""Combinators: measurements of measurements, conversions, conversations: one function for each registered constructor.

``make_*`` takes the domain and the metric of the input first; ``then_*`` takes them from what is to
its left: ``space >> then_*()``.
"""

from ._registry import in_combinators, module

__getattr__, __dir__ = module(in_combinators, "`dp.c`")
__all__ = __dir__()
