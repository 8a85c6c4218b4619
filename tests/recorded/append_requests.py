"""The scene `events`: append in every content mode, refusals, reads and proofs.

Each event has an id and a time from here, so that every recording has the same stored bytes and hashes.
"""

import json
from pathlib import Path

from tests.recorded.request import BATCH, FEED, JSON, LINES, STRUCTURED, Json, Request, event, get, ndjson, post

GOLDEN = Path(__file__).parents[1] / "golden"
"""The folder with a stored line of each type, every field filled."""

ORDER = (
    "decision.recorded.v1", "decision.amended.v1", "decision.thought.v1", "decision.asked.v1", "decision.reviewed.v1",
    "thought.recorded.v1", "thought.adopted.v1", "discovery.started.v1", "discovery.attempted.v1",
    "discovery.signalled.v1", "discovery.finished.v1", "model.registered.v1", "model.aliased.v1", "probe.scored.v1",
    "eval.scenario_captured.v1", "eval.scenario_revised.v1", "eval.started.v1", "eval.scored.v1", "eval.finished.v1",
)  # fmt: skip
"""Every type that a client may post, in an order that the streams allow."""


def golden(type_: str) -> Json:
    """Return the payload of a type with every field filled."""
    data: Json = json.loads((GOLDEN / f"{type_}.json").read_bytes())["data"]
    return data


def decision(decision_id: str, **data: object) -> Json:
    """Return the event of a small decision."""
    given = {"decision_id": decision_id, "decision": "ship it", "confidence": 0.7, **data}
    return event("decision.recorded.v1", f"id-{decision_id}", given)


def review(decision_id: str, event_id: str, outcome: str = "success", **attributes: object) -> Json:
    """Return the event of a review."""
    return event("decision.reviewed.v1", event_id, {"decision_id": decision_id, "outcome": outcome}, **attributes)


def _appends() -> list[Request]:
    """Append every type, and use every content mode."""
    traced = decision("traced") | {
        "specversion": "1.0", "datacontenttype": "application/json", "subject": "decision/traced",
        "source": "/agents/ada", "time": "2026-11-20T10:30:00.123456+01:00",
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "correlationid": "order-66",
        "causationid": "id-plain",
    }  # fmt: skip
    binary = {
        "ce_type": "decision.recorded.v1", "ce_id": "id-binary", "ce_specversion": "1.0",
        "ce_time": "2026-11-20T09:31:00Z", "ce_source": "/agents/b%C3%B6b".replace("%C3%B6", "o"),
        "ce_correlationid": "caf%C3%A9", "ce_expectedversion": "0",
    }  # fmt: skip
    return [
        *(post("/events", event(type_, f"all-{place}", golden(type_))) for place, type_ in enumerate(ORDER)),
        post("/events", decision("plain")),
        post("/events", decision("structured"), STRUCTURED),
        post("/events", decision("charset"), f"{STRUCTURED}; charset=utf-8"),
        post("/events", decision("no-type"), ""),
        post("/events", traced),
        post("/events", {"decision_id": "binary", "decision": "binary mode"}, **binary),
        post("/events", [decision("batch-1"), decision("batch-2", confidence=None)], BATCH),
        post("/events", [decision("list-1"), review("list-1", "id-list-review")]),
        post("/events", ndjson([decision("lines-1"), decision("lines-2"), review("plain", "id-lines")]), LINES),
        post("/events", b"\n" + ndjson([decision("lines-3")]).replace(b"\n", b"\r\n\n"), LINES),
        post("/events", decision("unicode", decision="één \u2028 \U0001f680 \\ \" \t", tags=["ß", "日本"])),
        post("/events", decision("numbers", confidence=1e-7, pr=2**53 - 1)),
        post("/events", b'{"type":"decision.recorded.v1","id":"spaced","time":"2026-11-20T09:30:00Z",\n "data": '
             b'{"decision":"\\u00e9\\/","decision_id":"spaced","confidence":0.10,"context":null}}'),
        post("/events", review("batch-1", "id-e1", expectedversion=1)),
    ]  # fmt: skip


def _retries() -> list[Request]:
    """Retry appends, and append where the stream does not allow it."""
    return [
        post("/events", decision("plain")),
        post("/events", [decision("batch-1"), decision("batch-2", confidence=None)], BATCH),
        post("/events", [decision("batch-1"), decision("batch-3")], BATCH),
        post("/events", decision("plain", confidence=0.71)),
        post("/events", {**decision("another"), "id": "id-plain"}),
        post("/events", {**decision("plain"), "source": "/agents/ada"}),
        post("/events", {**decision("plain"), "id": "other-id"}),
        post("/events", review("batch-1", "id-e2", expectedversion=1)),
        post("/events", review("batch-1", "id-e2", expectedversion=2)),
        post("/events", review("nothing-here", "id-e3")),
        post("/events", review("plain", "id-e4", expectedversion=99)),
        post("/events", decision("expected-none") | {"expectedversion": 3}),
        post("/events", [decision("atomic-1"), review("nothing-here", "id-e5")]),
        post("/events", [decision("atomic-1"), decision("atomic-1") | {"id": "twice"}]),
        post("/events", event("thought.adopted.v1", "again", golden("thought.adopted.v1"))),
        post("/events", event("discovery.signalled.v1", "late", golden("discovery.signalled.v1"))),
        post("/events", event("probe.scored.v1", "score-again", golden("probe.scored.v1"))),
    ]


def _refusals() -> list[Request]:
    """Send requests that the server refuses."""
    recorded = decision("bad")
    data = {"decision_id": "bad", "decision": "no"}
    bodies: list[object] = [
        b"", b"{", b"nope", b"17", b"null", b'"text"', b"{}", b"[]", b"[17]", b'{"type":"decision.recorded.v1"}',
        b'{"type":"decision.recorded.v1","data":{"decision":"a","confidence":NaN}}',
        b'{"type":"decision.recorded.v1","data":{"decision":"a"}} trailing',
        b'{"type":"decision.recorded.v1","data":{"decision":"\xff"}}', b'{"type":' * 3_000,
        {"type": "decision.recoded.v1", "data": data}, {"type": "decision.recorded.v9", "data": data}, {"data": data},
        event("decision.recorded.v1", "b1", {**data, "confidence": 1.5}),
        event("decision.recorded.v1", "b2", {**data, "confidence": "high"}),
        event("decision.recorded.v1", "b3", {**data, "stakes": "huge"}),
        event("decision.recorded.v1", "b4", {**data, "unknown_field": 1}),
        event("decision.recorded.v1", "b5", {"decision_id": "bad"}),
        event("decision.recorded.v1", "b6", {**data, "decision_id": "not an id"}),
        event("decision.recorded.v1", "b7", {**data, "reasons": [{"type": "guess", "text": "x"}]}),
        event("decision.recorded.v1", "b8", {**data, "context": "x" * 70_000}),
        event("decision.reviewed.v1", "b9", {"decision_id": "plain", "outcome": "great"}),
        event("eval.scored.v1", "b10", {"run_id": "night-7", "scenario_id": "a", "attempt": 1, "state": "scored"}),
        event("evidence.stored.v1", "b11", golden("evidence.stored.v1")),
        event("evidence.erased.v1", "b12", golden("evidence.erased.v1")),
        {**recorded, "id": ""}, {**recorded, "id": "x" * 129}, {**recorded, "id": "line\nfeed"},
        {**recorded, "time": "yesterday"}, {**recorded, "time": "2026-11-20T09:30:00"}, {**recorded, "source": "ada"},
        {**recorded, "source": "/agents/no good"}, {**recorded, "subject": "decision/other"},
        {**recorded, "specversion": "0.3"}, {**recorded, "position": 7}, {**recorded, "recordedtime": "now"},
        {**recorded, "expectedversion": -1}, {**recorded, "Extension": "x"},
        {**recorded, "datacontenttype": "text/xml"},
        {**recorded, "traceparent": "x" * 300},
        [decision("fine"), {**recorded, "time": "never"}], [decision("fine") for _ in range(2_001)],
    ]  # fmt: skip
    lines = ndjson([decision("fine")]) + b"{nope\n" + ndjson([recorded])
    return [
        *(post("/events", body) for body in bodies),
        post("/events", lines, LINES),
        post("/events", b"\n\n", LINES),
        post("/events", b"[]", BATCH),
        post("/events", data, "text/plain"),
        post("/events", data, "application/xml; charset=utf-8"),
        post("/events", recorded, JSON, content_encoding="gzip"),
        post("/events", data, "text/plain", ce_type="decision.recorded.v1"),
        post("/events", data, ce_specversion="1.0"),
        post("/events", b"{", ce_type="decision.recorded.v1"),
        post("/events", data, ce_type="decision.recorded.v1", ce_expectedversion="soon"),
        post("/events", data, ce_type="decision.recorded.v1", ce_data="x"),
        post("/events", decision("fine"), origin="https://elsewhere.example"),
        post("/events", decision("fine"), sec_fetch_site="cross-site"),
        post("/events", decision("fine"), host="ledger.example"),
        get("/events", limit=1)._replace(headers=(("host", "ledger.example"),)),
        get("/events", limit=1)._replace(headers=tuple((f"x-{number}", "1") for number in range(101))),
        get("/events", type="x" * 33_000),
        post("/events", b" " * (16 * 2**20 + 1)),
    ]


def _reads() -> list[Request]:
    """Read pages, lines, feeds and streams."""
    return [
        get("/events"), get("/events", limit=3), get("/events", after=3, limit=2), get("/events", before=5, after=2),
        get("/events", order="desc", limit=2), get("/events", order="desc", before=4, limit=2),
        get("/events", type="model.registered.v1,model.aliased.v1"), get("/events", type="decision.reviewed.v1"),
        get("/events", subject="decision/plain,decision/traced"), get("/events", source="ada"),
        get("/events", source="/agents/anonymous", limit=1), get("/events", source="nobody"),
        get("/events", since="2026-11-20", limit=1), get("/events", until="2026-11-20T09:29:59Z"),
        get("/events", since="2026-11-20T09:30:30Z", until="2026-11-20T09:31:00Z"),
        get("/events", accept=LINES, limit=3), get("/events", accept=LINES, type="decision.asked.v1"),
        get("/events", accept=LINES, order="desc", limit=2), get("/events", accept=LINES, subject="decision/none"),
        get("/events", after=9_999), get("/events", after="x"), get("/events", after=-1), get("/events", limit=0),
        get("/events", limit=1_001), get("/events", order="up"), get("/events", type="decision.recorded"),
        get("/events", since="then"), get("/events", colour="red"), Request("GET", "/events?limit=1&limit=2"),
        get("/events/1"), get("/events/20"), get("/events/0"), get("/events/x"), get("/events/9999"),
        get("/events/1", as_of=1),
        get("/streams/decision/plain"), get("/streams/decision/3f2a9c1e"), get("/streams/decision/3f2a9c1e", limit=2),
        get("/streams/decision/3f2a9c1e", after=3, limit=1), get("/streams/discovery/night-7"),
        get("/streams/decision/none"), get("/streams/nonsense"), get("/streams/decision/plain", after=99_999),
        get("/streams/decision/plain", order="desc"),
        get("/events", accept=FEED)._replace(feed_events=3),
        get("/events", accept=FEED, after=4, type="decision.recorded.v1")._replace(feed_events=2),
        get("/events", accept=FEED, subject="decision/3f2a9c1e")._replace(feed_events=5),
        get("/events", accept=FEED)._replace(feed_events=2, headers=(("accept", FEED), ("last-event-id", "5"))),
        get("/events", accept=FEED)._replace(headers=(("accept", FEED), ("last-event-id", "soon"))),
        get("/events", accept=FEED)._replace(headers=(("accept", FEED), ("last-event-id", "9999"))),
        get("/events", accept=FEED, order="desc"), get("/events", accept=FEED, before=4),
        Request("HEAD", "/events/1"), Request("PUT", "/events"), Request("DELETE", "/events/1"),
        Request("POST", "/calibration"), Request("OPTIONS", "/events"), get("/nothing/here"), get("/events/"),
        get("/Events"), get("/healthz"), get("/nothing/here")._replace(named=False),
    ]  # fmt: skip


def _proofs() -> list[Request]:
    """Read checkpoints, receipts, tiles, proofs and exports."""
    return [
        get("/checkpoint")._replace(signed=True), get("/checkpoint", size=1), get("/checkpoint/witnessed"),
        get("/events/1/receipt"), get("/events/7/receipt"), get("/events/0/receipt"), get("/events/999/receipt"),
        get("/events/x/receipt"), get("/events/1/receipt", size=3),
        get("/tile/0/000.p/5"), get("/tile/0/000.p/1"), get("/tile/0/000"), get("/tile/1/000.p/1"),
        get("/tile/0/001.p/1"), get("/tile/0/x001/000.p/1"), get("/tile/0/1"), get("/tile/64/000"), get("/tile/00/000"),
        get("/tile/0/000.p/0"), get("/tile/0/000.p/5", size=1),
        get("/tile/entries/000.p/2"), get("/tile/entries/000.p/255"), get("/tile/entries/nope"),
        get("/tile/entries/000.p/2")._replace(headers=(("accept-encoding", "gzip"),)),
        get("/proofs/inclusion", position=1), get("/proofs/inclusion", position=5, size=9),
        get("/proofs/inclusion", position=1, size=1), get("/proofs/inclusion", position=9, size=5),
        get("/proofs/inclusion", position=1, size=9_999), get("/proofs/inclusion"), get("/proofs/inclusion", size=3),
        get("/proofs/inclusion", position=0), get("/proofs/inclusion", position="x"),
        get("/proofs/consistency", from_=1), get("/proofs/consistency", from_=7, to=19),
        get("/proofs/consistency", from_=0, to=3), get("/proofs/consistency", from_=5, to=5),
        get("/proofs/consistency", from_=9, to=3), get("/proofs/consistency"), get("/proofs/consistency", from_=9_999),
        get("/export"), get("/export", format="csv"), get("/export", type="decision.reviewed.v1"),
        get("/export", agent="ada"), get("/export", since="2026-11-20", until="2026-11-21"),
        get("/export", subject="decision/plain", evidence="true"), get("/export", format="xlsx"),
        get("/export", gzip="maybe"), get("/export", since="2026-11-21", until="2026-11-20"),
        get("/export", agent="nobody"), get("/export", subject="decision/none"), get("/export", colour="red"),
        get("/readyz"),
    ]  # fmt: skip


EVENTS = [
    get("/healthz"), get("/readyz"), get("/events"), get("/checkpoint"), get("/tile/0/000.p/1"),
    get("/proofs/consistency", from_=0), get("/export"), get("/projections"),
    *_appends(), *_retries(), *_refusals(), *_reads(), *_proofs(),
]  # fmt: skip
