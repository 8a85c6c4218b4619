"""Clauses of the contract that no other test covers: edges of the arithmetic, rare parameters, and no nulls."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from api.cstp.method_table import METHODS
from tests.api.cstp.client import (
    OUTCOMES,
    Caller,
    recorded,
    reviewed,
)

Cases = Sequence[tuple[float, str]]

NEVER_NULL = {
    "id",
    "reasons",
    "related",
    "quality",
    "steps",
    "confidence",
    "tags",
    "decisions",
    "inputs",
    "suggestions",
}
"""What clients of the protocol cannot read as null."""


def post(cstp: Caller, project: str, cases: Cases, **data: object) -> None:
    """Post decisions with their outcomes, as events. A letter without an outcome leaves its decision pending."""
    events = []
    reported = [(confidence, letter) for confidence, letters in cases for letter in letters]
    for number, (confidence, letter) in enumerate(reported):
        name = f"{project}-{number}"
        events += [recorded(name, None, None, project=project, confidence=confidence, **data)]
        events += [reviewed(name, OUTCOMES[letter])] if letter in OUTCOMES else []
    cstp.events(events)


def advised(cstp: Caller, project: str, kind: str) -> list[str]:
    """The severities of the recommendations of a kind."""
    found = cstp.calibration(project)["recommendations"]
    return [one["severity"] for one in found if one["type"] == kind]


@pytest.mark.parametrize(
    ("successes", "reviews", "reading", "advice"),
    [
        (0, 5, "excellent", ["info"]),
        (1, 11, "excellent", ["info"]),
        (1, 10, "good", []),
        (1, 6, "good", []),
        (1, 5, "fair", []),
        (2, 8, "fair", []),
        (2, 7, "fair", ["warning"]),
        (3, 10, "poor", ["warning"]),
        (5, 5, "poor", ["warning"]),
    ],
)
def test_the_cut_offs_of_the_brier_score(
    cstp: Caller, project: str, successes: int, reviews: int, reading: str, advice: list[str]
) -> None:
    post(cstp, project, [(0.0, "S" * successes + "F" * (reviews - successes))])
    overall = cstp.calibration(project)["overall"]
    assert (overall["brierScore"], overall["brierReading"]) == (round(successes / reviews, 3), reading)
    assert advised(cstp, project, "brier_score") == advice


def test_the_edges_of_the_buckets_and_what_each_expects(cstp: Caller, project: str) -> None:
    for number, confidence in enumerate((0.0, 0.4999, 0.5, 0.6999, 0.7, 0.8999, 0.9, 1.0)):
        cstp.judge(project, [(confidence, "SSS"[: 2 + number % 2])])
    found = cstp.calibration(project)["byConfidenceBucket"]
    assert [(one["bucket"], one["decisions"], one["expectedRate"]) for one in found] == [
        ("0.9-1.0", 5, 0.95), ("0.7-0.9", 5, 0.8), ("0.5-0.7", 5, 0.6), ("0.0-0.5", 5, 0.25),
    ]  # fmt: skip
    assert [one["meanConfidence"] for one in found] == [0.96, 0.82, 0.62, 0.3]


@pytest.mark.parametrize(("letters", "shown"), [("SS", False), ("SS---", False), ("SSS", True), ("SPA", True)])
def test_a_bucket_with_fewer_than_three_reviews_is_left_out(
    cstp: Caller, project: str, letters: str, shown: bool
) -> None:
    post(cstp, project, [(0.8, letters), (0.3, "SFFFF")])
    names = [one["bucket"] for one in cstp.calibration(project)["byConfidenceBucket"]]
    assert names == [*(["0.7-0.9"] if shown else []), "0.0-0.5"]


@pytest.mark.parametrize(
    ("successes", "verdict", "warned"),
    [
        (36, "underconfident", False),
        (34, "well_calibrated", False),
        (16, "well_calibrated", False),
        (14, "overconfident", False),
        (10, "overconfident", False),
        (9, "overconfident", True),
    ],
)
def test_the_cut_offs_of_a_bucket(cstp: Caller, project: str, successes: int, verdict: str, warned: bool) -> None:
    post(cstp, project, [(0.25, "S" * successes + "F" * (100 - successes))])
    (bucket,) = cstp.calibration(project)["byConfidenceBucket"]
    assert (bucket["gap"], bucket["interpretation"]) == (round(successes / 100 - 0.25, 2), verdict)
    assert advised(cstp, project, "bucket_warning") == (["warning"] if warned else [])


@pytest.mark.parametrize(
    ("successes", "advice"), [(35, ["warning"]), (44, ["info"]), (50, []), (56, ["info"]), (65, ["info"])]
)
def test_a_gap_is_advised_on_also_where_it_is_slight(
    cstp: Caller, project: str, successes: int, advice: list[str]
) -> None:
    post(cstp, project, [(0.5, "S" * successes + "F" * (100 - successes))])
    assert advised(cstp, project, "confidence_adjustment") == advice


@pytest.mark.parametrize(
    ("cases", "found"),
    [
        ([(0.5, "SFSFSFSFS")], set()),
        ([(0.5, "SFSFSFSFSF")], {"low_variance", "underconfident_habit"}),
        ([(0.7, "SSSSSFF"), (0.69, "FSS")], set()),
        ([(0.7, "SSSSSFFS"), (0.69, "FS")], {"low_variance"}),
        ([(0.9, "SSSSSSSSSS"), (0.76, "S")], {"low_variance", "overconfident_habit"}),
        ([(0.9, "SSSSSSSSSS"), (0.75, "S")], {"low_variance"}),
        ([(0.2, "FFFFF"), (0.74, "SSSSF")], {"underconfident_habit"}),
        ([(0.2, "FFFFF"), (0.75, "SSSSF")], set()),
        ([(0.5, "-" * 5 + "SFSFS")], {"low_variance", "underconfident_habit"}),
    ],
)
def test_the_edges_of_what_is_said_of_the_spread(cstp: Caller, project: str, cases: Cases, found: set[str]) -> None:
    post(cstp, project, cases)
    kinds = {one["type"] for one in cstp.calibration(project)["recommendations"]}
    assert kinds & {"low_variance", "overconfident_habit", "underconfident_habit"} == found


def test_a_strength_names_the_calibrated_buckets(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.8, "SSSSF")])
    assert advised(cstp, project, "strength") == ["info"]
    cstp.judge(project, [(0.95, "FFFFF")])
    (strength,) = [one for one in cstp.calibration(project)["recommendations"] if one["type"] == "strength"]
    assert "0.7-0.9" in strength["message"]


def test_abandoned_counts_nothing_and_is_reported_apart(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.5, "SSPFFAAA--")])
    overall = cstp.calibration(project)["overall"]
    counted = [overall[name] for name in ("success", "partial", "failure", "abandoned", "unreviewed")]
    assert counted == [2, 1, 2, 3, 2]
    assert (overall["accuracy"], overall["totalDecisions"], overall["reviewedDecisions"]) == (0.312, 10, 8)


def test_an_agent_is_a_filter_wherever_it_stands(cstp: Caller, project: str) -> None:
    for agent, outcome in (("ada", "success"), ("bo", "failure")):
        for number in range(5):
            name, source = f"{project}-{agent}-{number}", f"/agents/{agent}"
            cstp.events([recorded(name, None, source, project=project, confidence=0.5), reviewed(name, outcome)])
    for agent, accuracy in (("ada", 1), ("bo", 0)):
        for params in ({"filters": {"agent": agent, "project": project}}, {"agent": agent, "project": project}):
            overall = cstp.result("getCalibration", params)["overall"]
            assert (overall["accuracy"], overall["totalDecisions"]) == (accuracy, 5)
    groups = cstp.result("getCalibration", {"project": project, "groupBy": "agent"})["groups"]
    assert {(group["group"], group["accuracy"]) for group in groups} == {("ada", 1), ("bo", 0)}


def test_a_confidence_stated_only_after_the_outcome_counts_nowhere(cstp: Caller, project: str) -> None:
    late, early = cstp.record(project=project), cstp.record(project=project)
    cstp.result("updateDecision", {"id": early, "updates": {"confidence": 0.5}})
    for decision_id in (late, early):
        cstp.result("reviewDecision", {"id": decision_id, "outcome": "success"})
    cstp.result("updateDecision", {"id": late, "updates": {"confidence": 1.0}})
    overall = cstp.calibration(project, minDecisions=1)["overall"]
    assert (overall["reviewedDecisions"], overall["brierScore"], overall["withoutConfidence"]) == (1, 0.25, 1)


def test_has_outcome_beside_the_filters_is_taken(cstp: Caller, project: str) -> None:
    post(cstp, project, [(0.5, "SSSSS-")])
    for name in ("hasOutcome", "has_outcome"):
        asked = {"project": project, "category": None, name: True}
        assert cstp.result("getCalibration", asked)["overall"]["reviewedDecisions"] == 5
        assert cstp.result("queryDecisions", asked)["total"] == 5


@pytest.mark.parametrize("name", ["project_context", "projectContext"])
def test_every_field_of_a_project_context(cstp: Caller, name: str) -> None:
    given = {"project": "p", "feature": "f", "pr": 3, "file": "a.py", "line": 7, "commit": "abc"}
    found = cstp.decision(cstp.record({name: given}))
    assert {field: found[field] for field in given} == given
    code, message = cstp.error("recordDecision", {"decision": "x", name: {"line": "seven"}})
    assert (code, message.partition(": must be ")[0]) == (-32602, f"Validation failed: {name}.line")


def test_when_a_client_thought_is_kept_as_it_wrote_it(cstp: Caller) -> None:
    given = {
        "inputs": [{"id": "a", "text": "log", "timestamp": "2026-02-05 12:00"}],
        "steps": [{"thought": "t", "timestamp": "noon"}],
    }
    assert cstp.decision(cstp.record(deliberation=given))["deliberation"] == given


def nulls(value: object, path: str = "") -> Iterator[str]:
    """Yield the path of every null in an answer."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from [f"{path}.{name}"] if inner is None else nulls(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from [f"{path}[{index}]"] if inner is None else nulls(inner, f"{path}[]")


ACTION = {"action": {"description": "x"}}
ASKED: dict[str, dict[str, Any]] = {
    "attributeOutcomes": {"project": "p"},
    "checkGuardrails": ACTION,
    "getDecision": {"id": "{id}"},
    "getGraph": {"nodeId": "{id}"},
    "getNeighbors": {"nodeId": "{id}"},
    "ingestEvidence": {"events": [{"event_type": "pr_merged"}]},
    "linkDecisions": {"sourceId": "{id}", "targetId": "b", "edgeType": "relates_to"},
    "preAction": ACTION,
    "queryDecisions": {"includeReasons": True},
    "recordDecision": {"decision": "x"},
    "recordThought": {"text": "t"},
    "reviewDecision": {"id": "{id}", "outcome": "success"},
    "setPreserve": {"id": "{id}"},
    "updateDecision": {"id": "{id}", "updates": {"pattern": "p"}},
}
"""The parameters of each method. A method that is not listed needs none."""
REFUSED = ("getCircuitState", "resetCircuit", "linkEvidence", "mapControls", "exportEvidenceBundle")
"""Methods that answer these parameters with an error."""


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("method", [name.removeprefix("cstp.") for name in METHODS])
def test_no_answer_holds_a_null_that_clients_cannot_read(cstp: Caller, project: str, method: str, sparse: bool) -> None:
    cstp.events([recorded(project, None, None, project="p", **({} if sparse else {"confidence": 0.5, "pr": 1}))])
    params = {name: project if value == "{id}" else value for name, value in ASKED.get(method, {}).items()}
    reply = cstp.ask(method, params)
    if "error" in reply:
        assert method in REFUSED, reply
        return
    names = {path.rpartition(".")[2] for path in nulls(reply["result"])}
    assert names & NEVER_NULL == set()
    assert not any(name.endswith("]") for name in names)
