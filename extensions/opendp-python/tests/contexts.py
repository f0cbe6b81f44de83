"""Contexts with a small table, for several tests."""

import opendp_rs.prelude as dp

ROWS = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
UNIT = dp.unit_of(contributions=1)


def context(data=(1, 2), unit=UNIT, loss=None, **options):
    data = list(data) if isinstance(data, tuple) else data
    loss = loss or dp.loss_of(epsilon=1.0)
    if not {"split_evenly_over", "split_by_weights", "d_mids"} & {*options}:
        options["split_evenly_over"] = 1
    return dp.Context.compositor(data, unit, loss, **options)
