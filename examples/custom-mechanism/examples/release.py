"""Make a release from Python, with the wheel that `opendp bundle --wheel` builds."""

import pathlib

import opendp_rs.prelude as dp

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "documents"
GRAPH = [[0, 1], [1, 2], [2, 3], [3, 0], [4, 9]]

# Make the measurement by names. The constructors of this crate are in the module `acme`.
graphs = dp.acme.graph_domain(nodes=10), dp.acme.edge_distance()
count = graphs >> dp.acme.then_edge_count() >> dp.m.then_laplace(scale=2.0)
print("release", count(GRAPH), "loss", count.map(1))

# Make the same measurement from the document that the command and the Rust program read.
same = dp.deserialize((FOLDER / "edge_count.json").read_text())
assert same.map(1) == count.map(1) == 0.5
assert dp.describe("acme::make_edge_count")["package"] == "custom-mechanism"
print("release", same(GRAPH), "loss", same.map(1))
