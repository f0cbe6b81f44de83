"""Spaces that several tests use."""

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
