"""Queries about data that this ledger does not keep: empty answers of the right shape, never false success."""

import pytest

from tests.api.cstp.client import Caller
from tests.api.http.posts import head

NOTHING = [
    ("listBreakers", {}, {"breakers": []}),
    ("getWisdom", {"minDecisions": 3}, {"wisdom": [], "totalDecisions": 0, "categoriesAnalyzed": 0}),
]


@pytest.mark.parametrize(("method", "params", "expected"), NOTHING)
def test_there_is_nothing(cstp: Caller, method: str, params: dict[str, object], expected: object) -> None:
    answer = cstp.result(method, params)
    assert expected is None or answer == expected
    assert None not in answer.values()


@pytest.mark.parametrize(
    ("method", "params", "reported"),
    [
        ("setPreserve", {"decisionId": "a"}, "error"),
        ("setPreserve", {"id": "a", "preserve": False}, "error"),
    ],
)
def test_what_cannot_be_written_is_not_said_to_be(
    cstp: Caller, method: str, params: dict[str, object], reported: str
) -> None:
    before = head(cstp.http)
    answer = cstp.result(method, params)
    assert answer["success"] is False
    assert "nothing was written" in answer[reported]
    assert head(cstp.http) == before


@pytest.mark.parametrize("method", ["getCircuitState", "resetCircuit"])
def test_a_circuit_breaker_that_is_not_there_is_an_error(cstp: Caller, method: str) -> None:
    noun = {"getCircuitState": "circuit breaker", "resetCircuit": "breaker"}[method]
    assert cstp.error(method, {"scope": "stakes:high"}) == (-32602, f"No {noun} found for scope: stakes:high")


def test_reindex_says_what_the_views_hold(cstp: Caller) -> None:
    cstp.record()
    answer = cstp.result("reindex")
    assert list(answer) == ["success", "decisionsIndexed", "errors", "durationMs", "message"]
    assert answer["decisionsIndexed"] == cstp.result("getStats")["total"]
    assert answer["errors"] == 0


def test_nothing_is_compacted_and_everything_is_there_in_full(cstp: Caller) -> None:
    first = cstp.record(category="security", confidence=0.4, reasons=[{"text": "r"}], tags=["t"])
    total = cstp.result("getStats")["byCategory"]["security"]
    levels = {"full": total, "summary": 0, "digest": 0, "wisdom": 0}
    answer = cstp.result("compact", {"category": "security", "dry_run": True})
    assert answer == {"compacted": 0, "preserved": 0, "levels": levels, "dryRun": True}
    answer = cstp.result("getCompacted", {"category": "security", "limit": 1})
    (row,) = answer["decisions"]
    assert (answer["total"], answer["levels"]) == (1, levels)
    assert (row["id"], row["level"], row["confidence"], row["tags"]) == (first, "full", 0.4, ["t"])
    assert cstp.result("getCompacted", {"level": "digest"})["decisions"] == []


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("getCircuitState", {}, "Validation failed: scope: required field"),
        ("resetCircuit", {"scope": 5}, "Validation failed: scope: must be a text, got number"),
        ("getCompacted", {"level": "none"}, "Validation failed: level: must be one of {digest, full, summary, wisdom}"),
        ("compact", {"dryRun": "yes"}, "Validation failed: dryRun: must be true or false, got string"),
        ("setPreserve", {}, "Validation failed: decisionId: required field"),
    ],
)
def test_what_is_wrong_is_named(cstp: Caller, method: str, params: dict[str, object], message: str) -> None:
    code, reported = cstp.error(method, params)
    assert code == -32602
    assert reported.startswith(message)
