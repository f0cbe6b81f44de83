"""Measurements: one function for each registered constructor.

``make_*`` takes the domain and the metric of the input first; ``then_*`` takes them from what is to
its left: ``space >> then_*()``.
"""

from ._registry import in_measurements, module

__getattr__, __dir__ = module(in_measurements, "`dp.m`")
__all__ = __dir__()
