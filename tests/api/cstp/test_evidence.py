"""CSTP's evidence: observations of other systems, links to decisions, and what verifying the log finds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import TreeEdge
from tests.api.cstp.client import Caller
from tests.api.http.posts import head
from tests.api.verify.sealed_ledger import alter
from tests.support.server import served

MERGED = {"event_type": "pr_merged", "ts": "2026-11-20T09:00:00Z", "payload": {"pr": 17, "approvals": 0}}
OPENED = {"event_type": "pr_opened", "source": "github", "payload": {"pr": 17}}


def ingest(cstp: Caller, *events: Mapping[str, object], **params: object) -> dict[str, Any]:
    return cstp.result("ingestEvidence", {"events": list(events), **params})


def lines(cstp: Caller) -> list[bytes]:
    """Every line of the log."""
    response = cstp.http.get("/events", params={"limit": 1000}, headers={"accept": "application/x-ndjson"})
    return response.content.splitlines()


def root_of_lines(found: list[bytes]) -> str:
    """The root of a log, computed from its lines alone."""
    return TreeEdge().grow(leaf_hashes(found))[0].root().hex()


@pytest.mark.trial("D9")
def test_observations_are_events_and_their_payloads_are_evidence(empty_cstp: Caller) -> None:
    answer = ingest(empty_cstp, OPENED, MERGED, source="ci")
    assert list(answer) == ["ingested", "first_seq", "head_seq", "head_hash"]
    assert (answer["ingested"], answer["head_seq"]) == (2, answer["first_seq"] + 1)
    stored = lines(empty_cstp)
    assert answer["head_hash"] == root_of_lines(stored[: answer["head_seq"]])
    opened, merged = (msgspec.json.decode(line) for line in stored[answer["first_seq"] - 1 : answer["head_seq"]])
    assert opened["type"] == merged["type"] == "observation.recorded.v1"
    assert (opened["data"]["source"], merged["data"]["source"]) == ("github", "ci")
    assert "ts" not in opened["data"]
    assert merged["data"]["ts"] == MERGED["ts"]
    payload = empty_cstp.http.get(f"/evidence/{merged['data']['payload_digest']}")
    assert payload.json() == MERGED["payload"]
    view = empty_cstp.http.get("/projections/observations").json()["view"]
    assert (view["observed"], view["by_type"]) == (2, {"pr_opened": 1, "pr_merged": 1})


@pytest.mark.trial("D9")
def test_a_head_hash_is_proven_by_the_log(cstp: Caller) -> None:
    first = ingest(cstp, MERGED)
    second = ingest(cstp, {**MERGED, "payload": {"pr": 18}})
    cstp.record()
    proof = cstp.http.get("/proofs/consistency", params={"from": first["head_seq"], "to": second["head_seq"]}).json()
    assert (bytes.fromhex(first["head_hash"]), bytes.fromhex(second["head_hash"])) == (
        msgspec.json.decode(msgspec.json.encode(proof["from_root"]), type=bytes),
        msgspec.json.decode(msgspec.json.encode(proof["to_root"]), type=bytes),
    )
    whole = cstp.result("verifyEvidenceChain")
    assert list(whole) == ["intact", "broken_at_seq", "head_hash", "head_seq", "expected_hash", "tail_check"]
    assert (whole["intact"], whole["broken_at_seq"], whole["head_hash"]) == (True, None, second["head_hash"])
    earlier = cstp.result("verifyEvidenceChain", {"expected_head_hash": first["head_hash"]})
    assert (earlier["intact"], earlier["expected_hash"], earlier["tail_check"]) == (True, first["head_hash"], True)
    foreign = cstp.result("verifyEvidenceChain", {"expected_head_hash": "0" * 64})
    assert (foreign["intact"], foreign["broken_at_seq"], foreign["tail_check"]) == (False, 0, True)
    assert "must be" in cstp.error("verifyEvidenceChain", {"expected_head_hash": "abc"})[1]


def test_a_retry_writes_nothing_and_another_batch_with_its_key_is_refused(cstp: Caller, agent: str) -> None:
    first = ingest(cstp, MERGED, OPENED, idempotency_key=agent)
    before = head(cstp.http)
    assert ingest(cstp, MERGED, OPENED, idempotency_key=agent) == first
    assert cstp.error("ingestEvidence", {"events": [OPENED, OPENED], "idempotencyKey": agent})[0] == -32602
    assert head(cstp.http) == before


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({}, "'events' must be a non-empty list"),
        ({"events": []}, "'events' must be a non-empty list"),
        ({"events": "x"}, "'events' must be a non-empty list"),
        ({"events": [MERGED, {"event_type": "x", "payload": [1]}]}, "Event payload must be a dict, got: list"),
        ({"events": [MERGED, {"payload": {}}]}, "events[1].event_type: required"),
        ({"events": [MERGED, {"event_type": "x", "ts": 5}]}, "events[1].ts: must be"),
        ({"events": [MERGED] * 1001}, "must be a list of 1..1000 observations"),
    ],
)
def test_a_wrong_batch_writes_nothing(cstp: Caller, params: dict[str, object], said: str) -> None:
    before = head(cstp.http)
    code, message = cstp.error("ingestEvidence", params)
    assert code == -32602
    assert said in message
    assert head(cstp.http) == before


@pytest.mark.trial("D9")
def test_observations_are_linked_to_a_decision(cstp: Caller) -> None:
    decision = cstp.record()
    seen = ingest(cstp, OPENED, MERGED)
    seqs = [seen["first_seq"], seen["head_seq"]]
    linked = cstp.result("linkEvidence", {
        "decision_id": decision, "event_seqs": seqs, "stakes": "high", "has_outcome": False,
        "idempotency_key": decision,
    })  # fmt: skip
    assert (linked["linked"], linked["decision_id"], linked["attested_seq"]) == (2, decision, head(cstp.http))
    event = msgspec.json.decode(lines(cstp)[linked["attested_seq"] - 1])
    assert event["type"] == "attestation.recorded.v1"
    assert (event["data"]["decision_id"], len(event["data"]["observations"])) == (decision, 2)
    assert linked["head_hash"] == root_of_lines(lines(cstp))
    params = {"decision_id": decision, "event_seqs": seqs, "stakes": "high", "has_outcome": False}
    assert cstp.result("linkEvidence", {**params, "idempotency_key": decision}) == linked
    before = head(cstp.http)
    for wrong, said in (
        ({"event_seqs": [seqs[0], seqs[0]]}, f"{seqs[0]} is repeated"),
        ({"event_seqs": [seqs[0], 999_999]}, "999999 is not in the log"),
        ({"event_seqs": [0]}, "0 is not in the log"),
        ({"event_seqs": [linked["attested_seq"]]}, "not an observation"),
        ({"event_seqs": []}, "1..256 positions"),
        ({"event_seqs": ["1"]}, "event_seqs"),
        ({"decision_id": "ffffffff"}, "ffffffff"),
        ({"stakes": "huge"}, "stakes: must be"),
    ):
        code, message = cstp.error("linkEvidence", {**params, **wrong})
        assert (code, said in message) == (-32602, True), message
    assert head(cstp.http) == before


@pytest.mark.trial("D9")
def test_what_is_not_supported_is_refused_by_its_name(cstp: Caller) -> None:
    listed = cstp.http.get("/.well-known/agent.json").json()["capabilities"]["cstp"]["methods"]
    for method in ("mapControls", "exportEvidenceBundle"):
        assert f"cstp.{method}" in listed
        reply = cstp.ask(method, {"format": "pdf"})
        assert reply["error"]["code"] == -32601
        assert reply["error"]["message"].startswith(f"Not supported: cstp.{method}.")
        assert reply["error"]["data"]["advice"]


@pytest.mark.slow
@pytest.mark.trial("D9")
@pytest.mark.parametrize("position", [5, 260])
def test_an_altered_line_is_found(tmp_path: Path, position: int) -> None:
    ledger = tmp_path / "ledger.db"
    with served(ledger) as first, Caller(first.url) as cstp:
        known = ingest(cstp, *[{**MERGED, "payload": {"pr": number}} for number in range(300)])
        assert cstp.result("verifyEvidenceChain")["intact"]
        httpx.get(f"{first.url}/checkpoint").raise_for_status()
    altered = "CAST(replace(CAST(line AS TEXT), '2026', '2027') AS BLOB)"
    alter(ledger, f"UPDATE events SET line = {altered} WHERE position = {position}")
    with served(ledger) as second, Caller(second.url) as cstp:
        found = cstp.result("verifyEvidenceChain")
        assert (found["intact"], found["tail_check"]) == (False, True)
        assert found["broken_at_seq"] in (position, 0)
        compared = cstp.result("verifyEvidenceChain", {"expected_head_hash": known["head_hash"]})
        assert (compared["intact"], compared["broken_at_seq"]) == (False, found["broken_at_seq"])
