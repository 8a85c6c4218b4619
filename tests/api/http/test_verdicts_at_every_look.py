"""/calibration over HTTP, asked after every review: verdicts that hold at every look, and the warning of dependence."""

from typing import Any

import numpy as np
import pytest

from tests.api.cstp.client import Caller, recorded, reviewed

NEW = {"supported_at", "e_value", "gap_sequence", "dependence"}


def asked(cstp: Caller, project: str, **more: Any) -> Any:  # noqa: ANN401 - JSON
    response = cstp.http.get("/calibration", params={"project": project, "min_decisions": 1, **more})
    assert response.status_code == 200, response.text
    return response.json()


def post(cstp: Caller, project: str, outcomes: "list[bool]", first: int = 0) -> None:
    events = []
    for number, good in enumerate(outcomes, first):
        name = f"{project[:40]}-{number}"
        events += [recorded(name, None, None, project=project, confidence=0.9, category="c")]
        events += [reviewed(name, "success" if good else "failure")]
    cstp.events(events)


@pytest.mark.defect(1)
def test_a_verdict_says_at_which_review_it_became_supported_and_stays(cstp: Caller, project: str) -> None:
    looks = []
    for number in range(24):
        post(cstp, project, [number % 2 == 0], number)
        looks.append(asked(cstp, project, group_by="category"))
    supported = [look["overall"]["supported"] for look in looks]
    at = looks[-1]["overall"]["supported_at"]
    assert supported == [number + 1 >= at for number in range(24)]
    assert [look["overall"]["supported_at"] for look in looks] == [at if one else None for one in supported]
    for look in looks:
        overall, (group,) = look["overall"], look["groups"]
        assert set(overall) >= NEW
        assert {name: group[name] for name in NEW} == {name: overall[name] for name in NEW}
        assert overall["gap_sequence"][0] < overall["gap"] < overall["gap_sequence"][1]
        assert (overall["reviews_needed"] == 0) == overall["supported"]
    assert looks[at - 1]["overall"]["e_value"] >= 20
    post(cstp, project, [True] * 66, 24)
    later = asked(cstp, project)["overall"]
    assert later["interpretation"] == "well_calibrated"
    assert later["supported_at"] is None, "the other verdict needs its own evidence"


def test_a_later_review_changes_the_figures_and_not_the_evidence(cstp: Caller, project: str) -> None:
    post(cstp, project, [True, False] * 10)
    before = asked(cstp, project)["overall"]
    cstp.events([reviewed(f"{project[:40]}-1", "success")])
    after = asked(cstp, project)["overall"]
    assert after["accuracy"] > before["accuracy"]
    assert {name: after[name] for name in NEW} == {name: before[name] for name in NEW}


def test_alike_neighbours_raise_a_warning(cstp: Caller, project: str) -> None:
    rng = np.random.default_rng(7)
    alike = np.repeat(rng.random(40) < 0.9, 10)
    post(cstp, project, alike.tolist())
    found = asked(cstp, project)["overall"]["dependence"]
    assert (found["reviewed"], found["material"]) == (400, True)
    assert 20 <= found["effective_reviews"] <= 120
    within = asked(cstp, project, since="2020-01-01")["overall"]
    assert within["dependence"] == found
    assert within["supported_at"] is None


def test_a_retraction_takes_its_evidence_along(cstp: Caller, project: str) -> None:
    post(cstp, project, [True] * 12 + [False] * 8)
    before = asked(cstp, project)["overall"]
    assert before["supported"] is True
    names = [f"{project[:40]}-{number}" for number in range(12, 20)]
    cstp.events([{"type": "decision.retracted.v1", "data": {"decision_id": name, "reason": "test"}} for name in names])
    after = asked(cstp, project)["overall"]
    assert (after["reviewed"], after["supported_at"]) == (12, None)
    assert after["e_value"] < 2
