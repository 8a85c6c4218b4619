"""Names and ids that nothing in the ledger has are named, and ids may be given by their beginning."""

from typing import Any

import pytest

from tests.api.cstp.client import Caller
from tests.api.cstp.thoughts import stream

pytestmark = pytest.mark.trial("N9")

SCOUT: dict[str, object] = {"agentId": "scout", "decision": "Use a queue", "category": "tooling", "project": "pool"}
UNKNOWN = [{"parameter": "agent", "value": "scuot", "nearest": "scout"}]


@pytest.mark.parametrize(
    ("method", "asked"),
    [
        ("getCalibration", {"filters": {"agent": "scuot"}}),
        ("listDecisions", {"agent": "scuot"}),
        ("queryDecisions", {"filters": {"agent": "scuot"}}),
        ("queryDecisions", {"query": "queue", "filters": {"agent": "scuot"}}),
        ("getReasonStats", {"filters": {"agent": "scuot"}}),
        ("checkDrift", {"agent": "scuot"}),
    ],
)
def test_an_empty_answer_names_what_nothing_has(empty_cstp: Caller, method: str, asked: dict[str, object]) -> None:
    empty_cstp.record(SCOUT)
    assert empty_cstp.result(method, asked)["unknownNames"] == UNKNOWN
    assert "unknownNames" not in empty_cstp.result(method)


@pytest.mark.parametrize(
    ("method", "asked", "found"),
    [
        ("getStats", {"project": "poll"}, {"parameter": "project", "value": "poll", "nearest": "pool"}),
        ("ready", {"category": "zoology"}, {"parameter": "category", "value": "zoology"}),
    ],
)
def test_so_does_one_with_another_filter(
    empty_cstp: Caller, method: str, asked: dict[str, object], found: dict[str, str]
) -> None:
    empty_cstp.record(SCOUT)
    assert empty_cstp.result(method, asked)["unknownNames"] == [found]


def test_a_search_for_an_unknown_agent_does_not_blame_the_words(empty_cstp: Caller) -> None:
    empty_cstp.record(SCOUT)
    answer = empty_cstp.result("queryDecisions", {"query": "queue", "filters": {"agent": "scuot"}})
    assert "No decision has a name of the filter: see unknownNames." in answer["note"]
    assert "words" not in answer["note"].partition("see unknownNames.")[2]


def test_related_decisions_that_are_not_in_the_ledger_are_named(cstp: Caller) -> None:
    known = cstp.record()
    params = {"decision": "Use a queue", "relatedTo": [{"id": known}, {"id": "nope"}]}
    answer = cstp.result("recordDecision", params)
    assert (answer["related_count"], answer["unknown"]) == (2, ["nope"])
    assert "unknown" not in cstp.result("recordDecision", {**params, "relatedTo": [{"id": known}]})


def test_a_decision_id_that_selects_no_thought_is_not_taken_for_its_id(cstp: Caller) -> None:
    answer = cstp.result("recordDecision", {"decision": "Use a queue", "decision_id": "abc"})
    assert (
        answer["note"]
        == "No pending thought has this decision_id. It selects thoughts; the id of the decision is in `id`."
    )
    note = cstp.result("recordThought", {"text": "hmm", "decision_id": "abc"})["note"]
    assert note == "No decision has this id. Only a decision recorded with the same decision_id adopts the thought."
    adopting = cstp.result("recordDecision", {"decision": "Use a queue", "decision_id": "abc"})
    assert adopting["deliberation_inputs_count"] == 1
    assert "note" not in adopting


LONG: tuple[dict[str, Any], ...] = tuple(
    {"type": "decision.recorded.v1", "data": {"decision_id": name, "decision": "Use a queue"}}
    for name in ("beefcafe0123456789ab", "beefcaff0123456789ab")
)


@pytest.mark.trial("N11")
def test_ids_may_be_given_by_the_eight_characters_that_clients_show(empty_cstp: Caller) -> None:
    empty_cstp.events(LONG)
    whole, short = "beefcafe0123456789ab", "beefcafe"
    assert empty_cstp.result("reviewDecision", {"id": short, "outcome": "success"})["id"] == whole
    assert empty_cstp.result("updateDecision", {"id": short, "updates": {"tags": ["a"]}})["id"] == whole
    assert empty_cstp.result("recordThought", {"id": short, "text": "hmm"})["decision_id"] == whole
    assert len(stream(empty_cstp, f"decision/{whole}")) == 4
    for method, params in (
        ("reviewDecision", {"outcome": "success"}),
        ("updateDecision", {"updates": {"tags": ["a"]}}),
        ("recordThought", {"text": "hmm"}),
    ):
        code, message = empty_cstp.error(method, {"id": "beefca", **params})
        assert message.startswith("Decision not found: beefca"), (code, message)
