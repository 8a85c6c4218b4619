"""Every row of the trials of importing, standards and security has a test that names it with the marker `trial`."""

import re

from tests.support.paths import ROOT

ROWS = {"A": 15, "B": 5, "C": 19}
"""The sections of the trials, and the number of rows of each."""

_marker = re.compile(r'mark\.trial\("([A-Z][0-9]+)"\)')


def test_every_row_of_the_trials_has_a_test() -> None:
    marked = {row for path in (ROOT / "tests").rglob("test_*.py") for row in _marker.findall(path.read_text("utf-8"))}
    assert marked == {f"{section}{number}" for section, last in ROWS.items() for number in range(1, last + 1)}
