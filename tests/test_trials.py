"""Every row of the trials of importing, standards, security and CSTP has a test that has the marker `trial`."""

import re

from tests.support.paths import ROOT

ROWS = {"A": 15, "B": 5, "C": 19, "D": 11}
"""The sections of the trials, and the number of rows of each."""

WITHOUT_TEST: set[str] = set()
"""Rows whose tests are still to come. Take a row out when its tests are merged."""

_marker = re.compile(r'mark\.trial\("([A-Z][0-9]+)"\)')


def test_every_row_of_the_trials_has_a_test() -> None:
    marked = {row for path in (ROOT / "tests").rglob("test_*.py") for row in _marker.findall(path.read_text("utf-8"))}
    rows = {f"{section}{number}" for section, last in ROWS.items() for number in range(1, last + 1)}
    assert (marked - rows, rows - marked - WITHOUT_TEST) == (set(), set())
