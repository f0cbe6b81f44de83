"""Spaces and a ledger that several tests use."""

import pytest

import opendp_rs.prelude as dp


@pytest.fixture
def floats():
    """Return the space of data sets of floats without NaN."""
    return dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()


@pytest.fixture
def ints():
    """Return the space of data sets of whole numbers."""
    return dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()


@pytest.fixture
def ledger(tmp_path):
    """Return a ledger with the budget `survey`."""
    made = dp.Ledger(tmp_path / "study.ledger")
    made.create("survey", epsilon=3, unit=1, metric="symmetric_distance")
    return made
