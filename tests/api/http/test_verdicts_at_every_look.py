"""/calibration over HTTP, asked after every review: verdicts that hold at every look, and the warning of dependence."""

from typing import Any

import numpy as np
import pytest

from tests.api.cstp.client import Caller, recorded, reviewed

NEW = {"e_value", "gap_e_values", "gap_sequence", "dependence", "unsure_because"}


def asked(cstp: Caller, project: str, **more: Any) -> Any:  # noqa: ANN401 - JSON
    response = cstp.http.get("/calibration", params={"project": project, "min_decisions": 1, **more})
    assert response.status_code == 200, response.text
    return response.json()


def post(cstp: Caller, project: str, outcomes: "list[bool]", first: int = 0) -> None:
    events = []
    for number, good in enumerate(outcomes, first):
        name, made = f"{project[:40]}-{number}", f"2026-01-{1 + number // 24:02}T{number % 24:02}:00:00Z"
        events += [recorded(name, made, None, project=project, confidence=0.9, category="c")]
        events += [reviewed(name, "success" if good else "failure")]
    cstp.events(events)


@pytest.mark.defect(1)
def test_a_verdict_is_confirmed_by_the_evidence_at_present(cstp: Caller, project: str) -> None:
    looks = []
    for number in range(24):
        post(cstp, project, [number % 2 == 0], number)
        looks.append(asked(cstp, project, group_by="category"))
    for look in looks:
        overall, (group,) = look["overall"], look["groups"]
        assert set(overall) >= NEW
        assert {name: group[name] for name in NEW} == {name: overall[name] for name in NEW}
        assert overall["gap_sequence"][0] < overall["gap"] < overall["gap_sequence"][1]
        assert (overall["reviews_needed"] == 0) == overall["supported"] == (overall["unsure_because"] is None)
        side = "over" if overall["gap"] < -0.05 else "well" if overall["gap"] < 0.05 else "under"
        assert overall["supported"] == (overall["gap_e_values"][side] >= 40)
    assert looks[-1]["overall"]["supported"]
    post(cstp, project, [True] * 66, 24)
    later = asked(cstp, project)["overall"]
    assert (later["interpretation"], later["supported"]) == ("well_calibrated", False)


def test_a_later_review_changes_the_figures_and_the_evidence(cstp: Caller, project: str) -> None:
    """As if the first review had been this one."""
    post(cstp, project, [True, False] * 10)
    cstp.events([reviewed(f"{project[:40]}-1", "success")])
    other = f"other-{project[:30]}"
    post(cstp, other, [True, True, *[True, False] * 9])
    assert asked(cstp, project)["overall"] == asked(cstp, other)["overall"]


def test_alike_neighbours_raise_a_warning(cstp: Caller, project: str) -> None:
    rng = np.random.default_rng(7)
    alike = np.repeat(rng.random(40) < 0.9, 10)
    post(cstp, project, alike.tolist())
    found = asked(cstp, project)["overall"]["dependence"]
    assert (found["reviewed"], found["material"]) == (400, True)
    assert 20 <= found["effective_reviews"] <= 120
    within = asked(cstp, project, since="2020-01-01")["overall"]
    assert within["dependence"] == found


def test_a_retraction_takes_its_evidence_along(cstp: Caller, project: str) -> None:
    post(cstp, project, [True] * 8 + [False] * 12)
    before = asked(cstp, project)["overall"]
    assert before["supported"] is True
    names = [f"{project[:40]}-{number}" for number in range(8, 20)]
    cstp.events([{"type": "decision.retracted.v1", "data": {"decision_id": name, "reason": "test"}} for name in names])
    after = asked(cstp, project)["overall"]
    assert (after["reviewed"], after["supported"]) == (8, False)
    assert after["e_value"] < 2
