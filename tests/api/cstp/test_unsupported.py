"""What this ledger does not have: empty answers of the right shape or a refusal by name, never false success."""

import pytest

from tests.api.cstp.client import Caller
from tests.api.http.posts import head


def test_there_are_no_circuit_breakers(cstp: Caller) -> None:
    assert cstp.result("listBreakers") == {"breakers": []}


def test_what_is_not_there_is_refused_by_name(cstp: Caller) -> None:
    before = head(cstp.http)
    for method in ("mapControls", "exportEvidenceBundle"):
        code, message = cstp.error(method, {})
        assert (code, message.startswith(f"Not supported: cstp.{method}. ")) == (-32601, True)
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


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("getCircuitState", {}, "Validation failed: scope: required field"),
        ("resetCircuit", {"scope": 5}, "Validation failed: scope: must be a text, got number"),
        ("getCompacted", {"level": 5}, "Validation failed: level: must be one of {digest, full, summary, wisdom}"),
        ("compact", {"dryRun": "yes"}, "Validation failed: dryRun: must be true or false, got string"),
        ("setPreserve", {}, "Validation failed: decisionId: required field"),
    ],
)
def test_what_is_wrong_is_named(cstp: Caller, method: str, params: dict[str, object], message: str) -> None:
    code, reported = cstp.error(method, params)
    assert code == -32602
    assert reported.startswith(message)
