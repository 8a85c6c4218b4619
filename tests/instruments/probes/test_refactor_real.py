"""Real answers to a refactoring probe. The scorer that saw them first gave nearly all of them 1.0."""

import shutil
from typing import Any

import msgspec
import pytest

from instruments.probes import ProbeScore
from instruments.probes.refactor.checked_scorer import REFACTOR_GO_CHECKED
from instruments.probes.refactor.scorer import REFACTOR_GO
from tests.support.paths import SHARED
from tests.support.scored_text import score_text

RUNS = SHARED / "metacal" / "runs"

COUNTED = {
    ("discovery-20260221-113904", 0): (5, 2, 3, 3),
    ("mc-1771684523895", 0): (5, 2, 3, 2),
    ("mc-1771684523895", 1): (6, 2, 2, 3),
    ("mc-1771684955743", 0): (6, 0, 1, 3),
    ("mc-1771684955743", 1): (6, 0, 1, 2),
    ("mc-1771684955743", 2): (5, 0, 0, 3),
    ("mc-1771684955743", 3): (5, 0, 0, 3),
    ("mc-1771684955743", 4): (5, 0, 0, 3),
    ("mc-1771685370232", 0): (6, 1, 2, 4),
    ("mc-1771685370232", 1): (5, 0, 0, 3),
    ("mc-1771712919023386393", 0): (6, 2, 0, 3),
    ("mc-1771712919023386393", 1): (6, 1, 0, 3),
    ("mc-1771712919023386393", 2): (0, 0, 0, 3),
}
"""Renames, splits, comments and structural changes of each output, counted by eye."""

pytestmark = pytest.mark.skipif(not RUNS.is_dir(), reason="the shared data is not here")


def outputs() -> dict[tuple[str, int], dict[str, Any]]:
    """The measured answers, by run and iteration."""
    return {
        (path.stem, result["iteration"]): result["probe"]
        for path in sorted(RUNS.glob("*.json"))
        for result in msgspec.json.decode(path.read_bytes())["results"]
        if result["probe"]["probe_id"] == "refactor-v1"
    }


def test_each_is_counted_as_by_eye() -> None:
    found = {key: score_text(REFACTOR_GO.scorer, probe["raw_output"]) for key, probe in outputs().items()}
    assert {key: tuple((score.counts or {}).values()) for key, score in found.items()} == COUNTED
    assert all(score.apart == {"removed": 0, "unreached": 0, "closures": 0} for score in found.values())


def test_their_scores_report_them_apart() -> None:
    probes = outputs().values()
    assert len({probe["score"]["total_score"] for probe in probes}) == 2
    assert len({score_text(REFACTOR_GO.scorer, probe["raw_output"]).total for probe in probes}) > 5


CHANGED = {("mc-1771684523895", 1), ("mc-1771684955743", 3), ("mc-1771685370232", 1)}
"""Outputs that compute something else: two leave the label out where nothing is described, one adds signed values."""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go here")
def test_three_of_them_compute_something_else() -> None:
    found = {key: REFACTOR_GO_CHECKED.scorer.score(probe["raw_output"]) for key, probe in outputs().items()}
    scores = {key: score for key, score in found.items() if isinstance(score, ProbeScore)}
    if not scores:
        pytest.skip(f"there is no sandbox here: {found}")
    assert {key for key, score in scores.items() if score.total == 0} == CHANGED
    assert len({score.total for score in scores.values()}) > 8
