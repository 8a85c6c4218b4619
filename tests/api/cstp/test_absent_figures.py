"""The figures that getCalibration does not have, because the contract lists its fields: the manual names each."""

import re
from typing import Any

from tests.api.cstp.client import Caller
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "calibration-figures.md"
OTHER_NAMES = {
    "total": "totalDecisions", "reviewed": "reviewedDecisions", "gap": "calibrationGap",
}  # fmt: skip
"""Figures that the protocol names otherwise."""


def absent(here: dict[str, Any], there: dict[str, Any]) -> set[str]:
    """Return the fields of an answer of GET /calibration that an answer of getCalibration lacks."""
    return {name for name in there if OTHER_NAMES.get(name, camel(name)) not in here}


def camel(name: str) -> str:
    return re.sub(r"_(.)", lambda match: match[1].upper(), name)


def test_the_manual_names_every_figure_that_get_calibration_lacks(cstp: Caller, project: str) -> None:
    cstp.judge(project, [(0.9, "SSSSSF")], category="tooling")
    here = cstp.result("getCalibration", {"filters": {"project": project}, "groupBy": "category"})
    response = cstp.http.get("/calibration", params={"project": project, "group_by": "category"})
    there = response.json()
    listed = re.search(r"These are in the other two only: (.*?)\.", PAGE.read_text("utf-8"), re.DOTALL)
    assert listed is not None
    named = set(re.findall("`([a-z_]+)`", listed[1]))
    assert absent(here["overall"], there["overall"]) == named
    assert absent(here["groups"][0], there["groups"][0]) == named | {"brier_reading"}
    assert "reviewsNeededGap" in here["byConfidenceBucket"][0]
