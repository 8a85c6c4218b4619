"""Every row of the list of statistical defects has a test that names it with the marker `defect`."""

import re

from tests.support.paths import ROOT

ROWS = range(1, 15)
"""The numbers of the rows."""

_marker = re.compile(r"mark\.defect\(([0-9]+)\)")


def test_every_row_of_the_statistical_defects_has_a_test() -> None:
    marked = {
        int(row) for path in (ROOT / "tests").rglob("test_*.py") for row in _marker.findall(path.read_text("utf-8"))
    }
    assert marked == set(ROWS)
