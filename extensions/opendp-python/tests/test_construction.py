"""Arguments of constructors: how fast they are read, and which are refused at once."""

import sys

import opendp_rs.prelude as dp

NUMBER = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def test_a_construction_makes_few_calls():
    """Count calls, because a time depends on what else runs on the machine."""
    dp.m.make_laplace(*NUMBER, 1.0)
    calls = []
    sys.setprofile(lambda frame, event, arg: calls.append(event))
    try:
        dp.m.make_laplace(*NUMBER, 1.0)
    finally:
        sys.setprofile(None)
    assert sum(event in ("call", "c_call") for event in calls) < 150
