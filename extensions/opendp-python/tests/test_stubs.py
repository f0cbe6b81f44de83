"""The type stubs agree with the registry."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import opendp_rs

HERE = Path(__file__).resolve().parents[1]
PACKAGE = Path(opendp_rs.__file__).parent


def test_the_stubs_are_current():
    sys.path.insert(0, str(HERE))
    import stubs

    for name, text in stubs.stubs().items():
        assert (stubs.FOLDER / name).read_text() == text, "run `python stubs.py`"
        assert (PACKAGE / name).read_text() == text, "install the package again"


def test_no_summary_is_cut_off():
    for path in PACKAGE.glob("*.pyi"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                summary = ast.get_docstring(node) or "."
                assert summary.endswith("."), f"{path.name}: {node.name}: {summary}"


def mypy(folder, *arguments):
    """Run mypy. If the package is not installed, mypy needs ``MYPYPATH`` to find it."""
    environment = dict(os.environ)
    if "site-packages" not in str(PACKAGE):
        environment["MYPYPATH"] = str(PACKAGE.parent)
    command = [sys.executable, "-m", "mypy", "--strict", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


CHECKED = """
import opendp_rs.prelude as dp

space = dp.space_of(list[int])
total = space >> dp.t.then_clamp((0, 10)) >> dp.t.then_sum() >> dp.m.then_laplace(scale=10.0)
count: dp.Transformation = dp.t.make_count(
    dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
)
{line}
"""


@pytest.mark.parametrize(
    "line,error",
    [
        ("print(count.map(1))", ""),
        ("dp.t.make_clamp(1)", "Missing positional arguments"),
        ("dp.m.then_laplace(scal=1.0)", "Unexpected keyword argument"),
        ("dp.t.make_nothing()", "no attribute"),
        ("import numpy\nprint(dp.t.then_count_by_categories(numpy.arange(3)))", ""),
        ("dp.t.then_count_by_categories(3)", "incompatible type"),
        (
            "other: dp.Measurement = dp.t.make_count(count.input_domain, count.input_metric)",
            "Incompatible types",
        ),
    ],
)
def test_a_type_checker_finds_mistakes(tmp_path, line, error):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(CHECKED.format(line=line))
    found = mypy(tmp_path, "program.py")
    if error:
        assert error in found.stdout, found.stdout
    else:
        assert found.returncode == 0, found.stdout


def test_the_package_passes_a_type_checker():
    pytest.importorskip("mypy")
    found = mypy(HERE / "tests", "-p", "opendp_rs")
    assert found.returncode == 0, found.stdout
