"""Differential privacy: every registered constructor of OpenDP-rs in Python.

Begin with ``import opendp_rs.prelude as dp``.
"""

__version__ = "0.1.0"
