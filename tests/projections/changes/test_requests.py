"""The outcomes of pull requests: those of a public data set, and of a few by hand."""

from collections.abc import Mapping

import numpy as np
import pytest

from api.importers.adopt.git_changes import GitOptions
from api.importers.adopt.pull_requests import preview_requests
from api.progress import no_progress
from instruments.git.pull_requests import read_pull_requests
from projections.changes.outcomes import DAY_S
from projections.changes.requests import RequestFacts, request_outcomes
from projections.stats.late_outcomes import incidence
from tallystick.shapes.changes import EndedByDay, RequestOutcomes
from tests.support.paths import SHARED

PULLS = SHARED / "git" / "pulls.csv"

needs_data = pytest.mark.skipif(not PULLS.exists(), reason="needs the shared data")


def request(created: int, *, merged: int | None = None, closed: int | None = None) -> RequestFacts:
    """A request that was opened on a day, and how it ended on which."""
    return RequestFacts(
        agents=("claude",), marks=("author",), created_s=created * DAY_S, review=None, checks=None,
        merged_s=None if merged is None else merged * DAY_S, closed_s=None if closed is None else closed * DAY_S,
    )  # fmt: skip


def estimates(found: list[EndedByDay]) -> list[float]:
    return [one.estimated.rate for one in found if one.estimated is not None]


@pytest.fixture(scope="module")
def figures() -> Mapping[str, RequestOutcomes]:
    preview = preview_requests([PULLS], GitOptions(), no_progress).preview
    assert preview.seen_through.isoformat() == "2025-06-25T20:40:45+00:00"
    return {agent.agent: agent for agent in preview.agents}


@needs_data
@pytest.mark.parametrize(
    ("agent", "counts", "merged", "closed"),
    [
        ("OpenAI_Codex", (2_686, 1_754, 571, 361), (0.548, 0.648), (0.181, 0.211)),
        ("Devin", (2_729, 1_335, 1_322, 72), (0.371, 0.479), (0.276, 0.471)),
        ("Copilot", (1_462, 559, 469, 434), (0.223, 0.374), (0.285, 0.314)),
        ("Cursor", (144, 74, 31, 39), (0.396, 0.529), (0.199, 0.208)),
        ("Claude_Code", (101, 53, 33, 15), (0.366, 0.516), (0.259, 0.305)),
    ],
)
def test_public_requests_give_their_table(
    figures: Mapping[str, RequestOutcomes],
    agent: str,
    counts: tuple[int, ...],
    merged: tuple[float, float],
    closed: tuple[float, float],
) -> None:
    found = figures[agent]
    assert (found.requests, found.merged, found.closed, found.pending) == counts
    assert estimates(found.merged_by) == pytest.approx(merged, abs=6e-4)
    assert estimates(found.closed_by) == pytest.approx(closed, abs=6e-4)


@needs_data
def test_the_matured_requests_of_copilot(figures: Mapping[str, RequestOutcomes]) -> None:
    matured = figures["Copilot"].merged_by[1].matured
    assert matured is not None
    assert (matured.count, matured.n) == (349, 999)


@needs_data
def test_requests_of_codex_that_were_merged_within_an_hour() -> None:
    requests = [one for one in read_pull_requests(PULLS, {}) if one.marks[0].agent == "OpenAI_Codex"]
    end_s = max(one.seen_s for one in read_pull_requests(PULLS, {}))
    time_s = np.array([int((one.merged_s or one.closed_s or end_s) - one.created_s) for one in requests])
    cause = np.array([1 if one.merged_s else 2 if one.closed_s else 0 for one in requests])
    assert incidence(time_s, cause, 1, 3_600).rate == pytest.approx(0.3958, abs=5e-5)


def test_an_open_request_is_neither_merged_nor_refused() -> None:
    (found,) = request_outcomes([request(0, merged=2), request(0, closed=3), request(0), request(19)], 20 * DAY_S)
    assert (found.requests, found.merged, found.closed, found.pending) == (4, 1, 1, 2)
    day_1, day_14 = found.merged_by
    assert day_1.matured is not None
    assert (day_1.matured.count, day_1.matured.n) == (0, 4)
    assert day_14.matured is not None
    assert (day_14.matured.count, day_14.matured.n) == (1, 3)
    assert day_14.estimated is not None
    assert day_14.estimated.rate == pytest.approx(1 / 3)
    assert (found.reviews, found.checks) == (None, None)


def test_young_requests_have_no_figure_by_an_age_that_none_has() -> None:
    (found,) = request_outcomes([request(0, merged=1), request(1)], 2 * DAY_S)
    assert found.merged_by[0].matured is not None
    assert (found.merged_by[1].matured, found.merged_by[1].estimated) == (None, None)
