"""The programs of the pages, as they stand there."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "README.md"
ROOT = Path(__file__).parents[3] / "README.md"


def programs(page):
    """Return the Python programs of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("page", "count"), [(ROOT, 1), (PACKAGE, 9)])
def test_the_programs_of_a_page_run_in_order(page, count, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = programs(page)
    assert len(found) == count
    names = {}
    for program in found:
        exec(compile(program, page.name, "exec"), names)
    printed = capsys.readouterr().out
    assert printed.startswith("1.0")  # the loss that the first program prints
    if page == PACKAGE:
        assert "\n20.0\n" in printed  # the scale that the comment of the program states
