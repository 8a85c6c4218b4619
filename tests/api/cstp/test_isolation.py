"""What one agent may post at the edges of what is accepted leaves every figure of another as it was, byte for byte."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest

from api.principal import Scope
from api.token_store import TokenStore
from tests.api.cli.command import done, refused
from tests.api.cstp.client import Caller, recorded, reviewed
from tests.api.http.posts import fresh
from tests.support.server import serving

NOW = datetime(2026, 11, 21, tzinfo=UTC)
EDGES = ("0", "-0", "-0.0", "0.0", "1", "1.0", "5e-324", "1e-400", "0.9999999999999999", "0.49999999999999994", "1E-5",
         "0." + "3" * 4000, "1" + "0" * 300 + "e-300")  # fmt: skip
"""Confidences as JSON writes them, all of them from 0 to 1."""

BEYOND = ("1.0000000000000002", "-5e-324", "1e999", "NaN", "-Infinity", "1" + "0" * 5000, '"0.5"', "true", "[]")
"""Such as are none."""

_clock = re.compile(rb'"(queryTime|queryTimeMs|periodEnd)":("[^"]*"|\d+)')
_as_of = re.compile(rb'"as_of":\{[^}]*\}')
_fit = re.compile(rb'"(distance|keyword|combined)":[\d.]+')
_minus_zero = re.compile(rb"[\[:,]-0(\.0+)?[,\]}]")

QUESTIONS: tuple[tuple[str, dict[str, object]], ...] = (
    ("getCalibration", {"filters": {"agent": "victim"}}),
    ("getCalibration", {"agent": "victim", "groupBy": "category", "detail": "curves"}),
    ("getCalibration", {"agent": "victim", "groupBy": "agent", "window": "all"}),
    ("getCalibration", {"agent": "victim", "since": "2020-01-01", "until": "2100-01-01"}),
    ("getCalibration", {"project": "victim's", "minDecisions": 1}),
    ("checkDrift", {"agent": "victim"}),
    ("getStats", {"project": "victim's"}),
    ("listDecisions", {"agent": "victim"}),
    ("queryDecisions", {"query": "queue", "filters": {"agent": "victim"}}),
    ("queryDecisions", {"filters": {"project": "victim's"}, "includeReasons": True}),
)  # fmt: skip


class Parties(NamedTuple):
    """A server that requires tokens, an agent whose figures we watch, and another agent that tries to change them."""

    victim: Caller
    other: Caller
    importing: tuple[str, ...]


@pytest.fixture(scope="module")
def parties(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parties]:
    ledger: Path = tmp_path_factory.mktemp("poison") / "ledger.db"
    scopes: tuple[Scope, ...] = ("append", "read", "import")
    victim, other = (TokenStore(ledger).add(agent, scopes, NOW)[1] for agent in ("victim", "other"))
    with (
        serving(ledger) as url,
        Caller(url, f"Bearer {victim}") as first,
        Caller(url, f"Bearer {other}") as second,
    ):
        first.judge("victim's", [(0.95, "SSSSSFFF"), (0.7, "SSPFA"), (0.2, "SFFFF")], reasons=[{"text": "why"}])
        first.record(project="victim's", confidence=0.5)
        yield Parties(first, second, ("--url", url, "--token", other))


def answers(caller: Caller) -> list[bytes]:
    """Return the answers about the victim, without times and text scores. All agents' texts affect text scores."""
    found = []
    for method, params in QUESTIONS:
        frame = {"jsonrpc": "2.0", "id": 1, "method": f"cstp.{method}", "params": params}
        response = caller.http.post("/cstp", json=frame)
        assert response.status_code == 200
        assert "result" in response.json(), response.text
        found.append(_fit.sub(rb'"\1":0', _clock.sub(rb'"\1":0', response.content)))
    paths = ("/calibration?agent=victim&detail=curves", "/decisions?agent=victim")
    return [*found, *(_as_of.sub(b"", caller.http.get(path).content) for path in paths)]


def everybody(caller: Caller) -> None:
    """Check that the server still answers about all agents together, in JSON."""
    for group_by in ("agent", "category", "stakes", "confidenceBucket", "project", "feature"):
        params = {"groupBy": group_by, "detail": "curves" if group_by == "agent" else "figures"}
        frame = {"jsonrpc": "2.0", "id": 1, "method": "cstp.getCalibration", "params": params}
        body = caller.http.post("/cstp", json=frame).content
        overall = msgspec.json.decode(body)["result"]["overall"]
        assert 0 <= overall["brierScore"] <= 1
        assert _minus_zero.search(body) is None
    for method in ("getStats", "listDecisions", "queryDecisions", "checkDrift"):
        caller.result(method, {})


def event(confidence: str, decision_id: str, **data: object) -> bytes:
    """A decision.recorded event whose confidence is written as it is."""
    body = msgspec.json.encode(recorded(decision_id, None, None, confidence="edge", **data))
    return body.replace(b'"edge"', confidence.encode())


def by_events(caller: Caller, confidence: str) -> httpx.Response:
    decision_id = fresh()
    answer = caller.http.post("/events", content=event(confidence, decision_id, project="poison"))
    if answer.status_code == 201:
        caller.events([reviewed(decision_id, "failure")])
    return answer


def by_cstp(caller: Caller, confidence: str) -> dict[str, Any]:
    params = {"decision": "x", "project": "poison", "confidence": "edge"}
    frame = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "cstp.recordDecision", "params": params})
    reply = caller.post(frame.replace(b'"edge"', confidence.encode()))
    if "result" in reply:
        caller.result("reviewDecision", {"id": reply["result"]["id"], "outcome": "partial"})
    return reply


@pytest.mark.slow
@pytest.mark.parametrize("confidence", EDGES, ids=lambda text: text[:12])
def test_a_confidence_at_the_edge_of_what_is_one(parties: Parties, confidence: str) -> None:
    before = answers(parties.victim)
    assert by_events(parties.other, confidence).status_code == 201
    assert "result" in by_cstp(parties.other, confidence)
    assert answers(parties.victim) == before
    everybody(parties.victim)


@pytest.mark.parametrize("confidence", BEYOND, ids=lambda text: text[:12])
def test_a_confidence_beyond_it_is_refused_at_both_interfaces(parties: Parties, confidence: str) -> None:
    before, head = answers(parties.victim), parties.victim.http.get("/readyz").json()["head"]
    assert by_events(parties.other, confidence).status_code in (400, 422)
    if confidence == '"0.5"':
        return  # CSTP reads a number in a text, as its reference server does
    reply = by_cstp(parties.other, confidence)
    assert (reply["error"]["code"], reply["error"]["data"]["fields"]) == (-32602, ["confidence"])
    assert parties.victim.http.get("/readyz").json()["head"] == head
    assert answers(parties.victim) == before


@pytest.mark.slow
def test_an_import_of_such_confidences(parties: Parties, tmp_path: Path) -> None:
    before = answers(parties.victim)
    file = tmp_path / "edges.csv"
    rows = [f"other,edge {number},{text},0" for number, text in enumerate(EDGES) if not text.startswith("-")]
    file.write_text("\n".join(["agent,decision,confidence,outcome", *rows]))
    done(tmp_path / "none.db", "import", "decisions", file, *parties.importing)
    assert answers(parties.victim) == before
    everybody(parties.victim)
    for text in (*BEYOND[:6], "high", "True"):
        head = parties.victim.http.get("/readyz").json()["head"]
        file.write_text(f"agent,decision,confidence,outcome\nother,fine,0.5,1\nvictim,beyond,{text},1\n")
        assert "confidence" in refused(tmp_path / "none.db", "import", "decisions", file, *parties.importing)
        assert parties.victim.http.get("/readyz").json()["head"] == head
    assert answers(parties.victim) == before


@pytest.mark.slow
def test_a_key_that_is_written_twice(parties: Parties) -> None:
    before = answers(parties.victim)
    twice = event('0.1,"confidence":0.9', fresh(), project="poison")
    assert parties.other.http.post("/events", content=twice).status_code == 400
    assert "is twice in one object" in by_cstp(parties.other, '0.1,"confidence":0.9')["error"]["message"]
    assert answers(parties.victim) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x" * 64_900, id="long"),
        pytest.param("é" * 32_400, id="long in bytes"),
        pytest.param("\x00", id="nul"),
        pytest.param("\x00\x01\x1b[31m\x7f", id="controls"),
        pytest.param("\u202e\u2028\ufeff", id="directions"),
        pytest.param("\ud7ff\ue000\U0010ffff", id="last characters"),
        pytest.param('"\\/', id="quotes"),
        pytest.param("'; DROP TABLE events; --", id="statement"),
    ],
)
def test_a_text_of_any_kind(parties: Parties, text: str) -> None:
    before = answers(parties.victim)
    label = text if len(text) <= 256 else "long"
    by_event = fresh()
    about: dict[str, Any] = {"confidence": 0.5, "category": label, "project": label, "feature": label, "tags": [label]}
    parties.other.events([recorded(by_event, None, None, context=text, **about)])
    by_call = {**about, "decision": text, "category": "process"}
    made = parties.other.result("recordDecision", by_call)["id"]
    for decision_id in (by_event, made):
        parties.other.result("reviewDecision", {"id": decision_id, "outcome": "failure", "lessons": text[:9000]})
    assert parties.victim.decision(made)["decision"] == text
    assert parties.victim.decision(by_event)["context"] == text
    assert parties.victim.result("queryDecisions", {"query": text[:9000]})["total"] >= 0
    assert answers(parties.victim) == before
    everybody(parties.victim)


@pytest.mark.slow
def test_very_many_different_confidences_categories_and_projects(parties: Parties) -> None:
    before = answers(parties.victim)
    for start in range(0, 6_000, 1_000):
        events: list[dict[str, object]] = []
        for number in range(start, start + 1_000):
            name, about = f"many-{number}", {"category": f"c{number % 1000}", "project": f"p{number}"}
            events += [recorded(name, None, None, confidence=number / 5_999, **about), reviewed(name, "failure")]
        parties.other.events(events)
    assert answers(parties.victim) == before
    everybody(parties.victim)


@pytest.mark.slow
@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1969-12-31T23:59:59Z"])
def test_a_time_at_the_edge_of_what_is_one(parties: Parties, time: str) -> None:
    before, decision_id = answers(parties.victim), fresh()
    parties.other.events(
        [recorded(decision_id, time, confidence=0.5, project="poison"), reviewed(decision_id, "failure")]
    )
    assert parties.victim.decision(decision_id)["date"] == time[:10]
    assert answers(parties.victim) == before
    everybody(parties.victim)


def test_what_is_said_of_the_victims_own_decisions_by_another_names_that_other(parties: Parties) -> None:
    """An agent that may append may review: what it says is there under its name, and the history keeps the rest."""
    decision_id = parties.victim.record(project="apart", confidence=0.5)
    parties.victim.result("reviewDecision", {"id": decision_id, "outcome": "success"})
    parties.other.result("reviewDecision", {"id": decision_id, "outcome": "failure"})
    found = parties.victim.decision(decision_id)
    assert [(one["outcome"], one["reviewed_by"]) for one in found["reviews"]] == [
        ("success", "victim"), ("failure", "other"),
    ]  # fmt: skip
