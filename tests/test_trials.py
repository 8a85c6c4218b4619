"""Every row of the trials has a test that has the marker `trial`.

A to D: importing, standards, security and CSTP; N: the second wave; P: complaints of people who use other software.
"""

import re

from tests.support.paths import ROOT

ROWS = {"A": 15, "B": 5, "C": 19, "D": 11, "N": 18}
"""The sections of the trials, and the number of rows of each."""

COMPLAINTS = {f"P{number}" for number in (1, 3, 4, 5, 6, 7, 9, 11, 13, 14, 15, 17, 18, 19, 20)}

WITHOUT_TEST = {"P18"}
"""Rows whose tests are still to come. Take a row out when its tests are merged."""

_marker = re.compile(r'mark\.trial\("([A-Z][0-9]+)"\)')


def test_every_row_of_the_trials_has_a_test() -> None:
    marked = {row for path in (ROOT / "tests").rglob("test_*.py") for row in _marker.findall(path.read_text("utf-8"))}
    rows = {f"{section}{number}" for section, last in ROWS.items() for number in range(1, last + 1)}
    rows |= COMPLAINTS
    assert (marked - rows, rows - marked - WITHOUT_TEST) == (set(), set())
