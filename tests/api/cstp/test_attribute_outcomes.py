"""attributeOutcomes: nobody's outcome is invented."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from tests.api.cstp.client import Caller, recorded, reviewed
from tests.api.http.posts import head


def ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


@pytest.fixture
def aged(cstp: Caller, project: str) -> str:
    """A project with decisions of pull requests 1 (twice) and 2, a young one, one without, one reviewed."""
    cstp.events(
        [
            recorded(f"{project}-a", ago(20.1), project=project, pr=1),
            recorded(f"{project}-b", ago(15.1), project=project, pr=2),
            recorded(f"{project}-c", ago(14.1), project=project, pr=1),
            recorded(f"{project}-young", ago(3), project=project, pr=3),
            recorded(f"{project}-none", ago(50), project=project),
            recorded(f"{project}-done", ago(50), project=project, pr=1),
            reviewed(f"{project}-done", "failure"),
            recorded(f"{project}-other", ago(50), project=f"{project}-other", pr=1),
        ]
    )
    return project


def updated(answer: dict[str, object]) -> dict[str, object]:
    rows = answer["decisions"]
    assert isinstance(rows, list)
    return {row["id"].rpartition("-")[2]: row["updated"] for row in rows}


def test_row_14_age_alone_makes_no_outcome(cstp: Caller, aged: str) -> None:
    before = head(cstp.http)
    answer = cstp.result("attributeOutcomes", {"project": aged})
    assert head(cstp.http) == before, "nothing was written"
    assert list(answer) == ["processed", "attributed", "decisions", "queryTime", "note"]
    assert (answer["processed"], answer["attributed"]) == (5, {"stable": 0, "skipped": 5})
    assert updated(answer) == {"a": False, "b": False, "c": False}
    first = answer["decisions"][0]
    assert list(first) == ["id", "outcome", "reason", "path", "updated", "note"]
    assert (first["outcome"], first["path"]) == ("pending", f"decision/{aged}-a")
    assert first["reason"] == "PR #1 stable for 14 days"
    assert "evidence" in answer["note"]
    assert cstp.result("listDecisions", {"project": aged, "status": "reviewed"})["total"] == 1


def test_row_14_what_somebody_vouches_for_is_reviewed_and_counted_once_it_is_written(cstp: Caller, aged: str) -> None:
    evidence = {"1": "No incident in 20 days of traffic", "2": {"outcome": "failure", "text": "Rolled back"}, "9": "?"}
    asked = {"project": aged, "stability_days": 14, "evidence": evidence}
    answer = cstp.result("attributeOutcomes", asked)
    assert answer["attributed"] == {"stable": 3, "skipped": 2}
    assert updated(answer) == {"a": True, "b": True, "c": True}
    assert [row["outcome"] for row in answer["decisions"]] == ["success", "failure", "success"]
    assert answer["unusedEvidence"] == ["9"]
    assert "note" not in answer
    found = cstp.decision(f"{aged}-b")
    assert (found["outcome"], found["review_notes"], found["reviewed_by"]) == ("failure", "Rolled back", "anonymous")
    assert cstp.decision(f"{aged}-young")["outcome"] is None
    assert cstp.decision(f"{aged}-other")["outcome"] is None
    again = cstp.result("attributeOutcomes", asked)
    assert (again["processed"], again["attributed"], again["decisions"]) == (2, {"stable": 0, "skipped": 2}, [])


@pytest.mark.parametrize("name", ["dryRun", "dry_run"])
def test_a_dry_run_writes_nothing_and_counts_nothing(cstp: Caller, aged: str, name: str) -> None:
    before = head(cstp.http)
    answer = cstp.result("attributeOutcomes", {"project": aged, name: True, "evidence": {"1": "It holds"}})
    assert head(cstp.http) == before
    assert answer["attributed"] == {"stable": 0, "skipped": 5}
    assert [(row["outcome"], row["updated"]) for row in answer["decisions"]] == [
        ("success", False), ("pending", False), ("success", False),
    ]  # fmt: skip


def test_the_age_that_counts_is_the_callers(cstp: Caller, aged: str) -> None:
    for days, found in ((0, {"a", "b", "c", "young"}), (15, {"a", "b"}), (20, {"a"}), (21, set())):
        answer = cstp.result("attributeOutcomes", {"project": aged, "stabilityDays": days})
        assert set(updated(answer)) == found
    assert cstp.result("attributeOutcomes", {"project": aged, "stabilityDays": 20})["decisions"][0]["reason"] == (
        "PR #1 stable for 20 days"
    )
    answer = cstp.result("attributeOutcomes", {"project": aged, "since": ago(16)})
    assert (answer["processed"], set(updated(answer))) == (3, {"b", "c"})
    assert cstp.result("attributeOutcomes", {"project": aged, "since": ago(1)})["processed"] == 0


def test_many_are_reviewed_in_batches(cstp: Caller, project: str) -> None:
    times = itertools.repeat(ago(30))
    cstp.events(recorded(f"{project}-{n}", time, project=project, pr=7) for n, time in zip(range(2_500), times))  # noqa: B905
    answer = cstp.result("attributeOutcomes", {"project": project, "evidence": {"7": "Read the dashboards"}})
    assert answer["attributed"] == {"stable": 2_500, "skipped": 0}
    assert cstp.result("getStats", {"project": project})["byStatus"] == {"reviewed": 2_500}


@pytest.mark.parametrize("project", [{}, {"project": None}, {"project": ""}])
def test_a_project_is_required(cstp: Caller, project: dict[str, object]) -> None:
    assert cstp.error("attributeOutcomes", project) == (-32602, "project is required")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"stabilityDays": -1}, "stabilityDays: must be a whole number from 0 to 36500"),
        ({"stability_days": "soon"}, "stability_days: must be a whole number from 0 to 36500, got string"),
        ({"dryRun": 1}, "dryRun: must be true or false, got number"),
        ({"since": "then"}, "since: 'then' is neither"),
        ({"evidence": "it holds"}, "evidence: must be an object"),
        ({"evidence": {"#1": "it holds"}}, "evidence.#1: must be named by the number of a pull request"),
        ({"evidence": {"1": {}}}, "evidence.1.text: required"),
        ({"evidence": {"1": ""}}, "evidence.1.text: required"),
        ({"evidence": {"1": {"text": "t", "outcome": "fine"}}}, "evidence.1.outcome: must be one of {abandoned,"),
        ({"evidence": {"1": 5}}, "evidence.1: must be an object, got number"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    cstp: Caller, aged: str, params: dict[str, object], message: str
) -> None:
    before = head(cstp.http)
    code, reported = cstp.error("attributeOutcomes", {"project": aged, "evidence": {"1": "It holds"}, **params})
    assert code == -32602
    assert reported.startswith(f"Validation failed: {message}")
    assert head(cstp.http) == before
