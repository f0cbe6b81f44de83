"""Transformations, and functions of their outputs: one function for each registered constructor.

``make_*`` takes the domain and the metric of the input first; ``then_*`` takes them from what is to
its left: ``space >> then_*()``.
"""

from ._registry import in_transformations, module

__getattr__, __dir__ = module(in_transformations, "`dp.t`")
__all__ = __dir__()
