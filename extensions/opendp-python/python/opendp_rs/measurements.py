"""Measurements: one function for each registered constructor.

The first arguments of ``make_*`` are the domain and the metric of the input. ``then_*`` takes the
domain and the metric from its left operand: ``space >> then_*()``.
"""

from ._registry import in_measurements, module

__getattr__, __dir__ = module(in_measurements, "`dp.m`")
__all__ = __dir__()
