"""The scenes `access` (tokens and scopes), `limits` (rate limit, forked log), `kept` and `damaged` (the old ledger)."""

import shutil
from hashlib import sha256
from pathlib import Path

import msgspec

from tests.recorded.append_requests import decision, review
from tests.recorded.history import decisions, digest_of
from tests.recorded.old_ledger import beside, unpack
from tests.recorded.request import FEED, LINES, Request, bearer, call, get, ndjson, post
from tests.recorded.run_requests import NOTES, delete, put

SECRETS = {
    "full": ("ada", ("append", "read")), "reader": ("bob", ("read",)), "writer": ("planner/one", ("append",)),
    "importer": ("mover", ("append", "import")), "owner": ("root", ("admin",)), "old": ("ada", ("append", "read")),
}  # fmt: skip
"""Each token in clear, with its agent and its scopes. `old` has expired."""

READS = (
    "/events", "/events/1", "/events/1/receipt", "/streams/decision/mine", "/checkpoint", "/checkpoint/witnessed",
    "/calibration", "/calibration/advice", "/decisions", "/decisions/mine", "/runs", "/runs/r1", "/evidence",
    f"/evidence/{digest_of(NOTES)}", "/export", "/discovery/r1/prompt", "/discovery/r1/signals", "/inventory",
    "/probes", "/scoreboard", "/evaluations", "/evaluations/e1", "/evaluations/compare?baseline=a&candidate=b",
    "/tile/entries/000.p/1", "/tile/0/000.p/1", "/proofs/inclusion?position=1", "/proofs/consistency?from=1",
    "/projections", "/projections/calibration",
)  # fmt: skip
"""Every route that only reads and needs a token."""

OPEN = ("/healthz", "/readyz", "/metrics", "/health", "/.well-known/agent.json")
"""Routes that need no token."""

READ_METHODS = (
    "debugTracker", "getDecision", "listDecisions", "queryDecisions", "getStats", "getCalibration", "checkDrift",
    "getReasonStats", "ready", "preAction", "getSessionContext", "checkGuardrails", "listGuardrails", "listBreakers",
    "getCircuitState", "getNeighbors", "getGraph", "reindex", "getCompacted", "getWisdom",
)  # fmt: skip
WRITE_METHODS = (
    "recordDecision", "reviewDecision", "updateDecision", "recordThought", "attributeOutcomes", "resetCircuit",
    "linkDecisions", "compact", "setPreserve",
)  # fmt: skip


def write_tokens(ledger: Path) -> None:
    """Write the file of the tokens, as `tallystick token add` does."""
    tokens = [
        {
            "id": f"{place:08x}", "agent": agent, "scopes": scopes, "created": "2026-11-01T00:00:00Z",
            "sha256": sha256(secret.encode()).hexdigest(),
            "expires": "2026-11-22T12:00:00Z" if secret == "old" else None,
        }
        for place, (secret, (agent, scopes)) in enumerate(SECRETS.items())
    ]  # fmt: skip
    beside(ledger, "tokens").write_bytes(msgspec.json.encode(tokens))


def fork(ledger: Path) -> None:
    """Write the tokens, and a checkpoint of another log with the same key, which the empty ledger contradicts."""
    write_tokens(ledger)
    (other := ledger.parent / "other").mkdir()
    beside(ledger, "checkpoint").write_bytes(beside(unpack(other), "checkpoint").read_bytes())


def _with(request: Request, token: str) -> Request:
    return request._replace(headers=(*request.headers, *bearer(token)))


def _writes(number: int) -> list[Request]:
    """Send one request to each route that writes."""
    return [
        post("/events", decision(f"try-{number}")), put(f"try {number}"), delete(f"/evidence/{digest_of(NOTES)}"),
        post("/discovery", {"run_id": f"run-{number}", "probe_id": "debugging"}),
        post("/discovery/r1/responses", {"response": "x"}), post("/discovery/r1/signals", {"event": "BLUE"}),
        post("/discovery/r1/finish", {}),
    ]  # fmt: skip


ACCESS = [
    post("/events", [decision("mine"), review("mine", "id-mine-review")], token="full"),
    _with(put(NOTES), "full"), post("/discovery", {"run_id": "r1", "probe_id": "debugging"}, token="full"),
    get("/calibration", token="reader"), *(get(path) for path in OPEN),
    *(get(path) for path in READS), *_writes(0), get("/nothing"), get("/cstp"),
    *(call(method) for method in (*READ_METHODS, *WRITE_METHODS)),
    *(get("/events", limit=1, token=token) for token in ("none", "old", "bob:reader", "reader:bob", "owner")),
    get("/events", limit=1)._replace(headers=(("authorization", "Basic cmVhZGVy"),)),
    get("/events", limit=1)._replace(headers=(("authorization", "Bearer"),)),
    *(get(path, token="writer") for path in READS),
    *(get(path, token="reader") for path in ("/events", "/calibration/advice", "/decisions", "/runs/r1", "/readyz")),
    *(_with(one, "reader") for one in _writes(1)),
    *(call(method, token=token) for token in ("reader", "writer") for method in (*READ_METHODS, *WRITE_METHODS)),
    call("preAction", {"action": {"description": "x"}}, token="reader"),
    call("preAction", {"action": {"description": "x"}, "options": {"autoRecord": False}}, token="reader"),
    call("getSessionContext", token="none"),
    post("/events", decision("as-ada") | {"source": "/agents/ada"}, token="full"),
    post("/events", decision("as-bob") | {"source": "/agents/bob"}, token="full"),
    post("/events", [decision("by-ada"), decision("by-bob") | {"source": "/agents/bob"}], token="full"),
    post("/events", decision("moved") | {"source": "/agents/bob"}, token="importer"),
    post("/events", decision("bad-name") | {"source": "/agents/"}, token="importer"),
    post("/events", decision("mine"), token="full"), post("/events", decision("mine"), token="owner"),
    post("/events", decision("of-page"), token="full", origin="https://elsewhere.example"),
    get("/events", token="full", type="decision.recorded.v1"), get("/decisions", token="owner", agent="bob"),
    get("/events", token="reader", accept=FEED)._replace(feed_events=2), get("/events", accept=FEED),
    _with(delete(f"/evidence/{digest_of(NOTES)}"), "owner"), _with(get("/evidence"), "owner"),
    get("/calibration")._replace(headers=(*bearer("reader"), ("host", "ledger.example"))),
    call("recordDecision", {"decision": "Ship it", "confidence": 0.7}, token="full")._replace(
        keeps=(("shipped", "result.id"),)
    ),
    call("recordThought", {"text": "It holds", "id": "{{shipped}}"}, token="planner/one:writer"),
    call("reviewDecision", {"id": "{{shipped}}", "outcome": "success"}, token="importer"),
    call("updateDecision", {"id": "{{shipped}}", "updates": {"tags": ["x"]}}, token="owner"),
    call("preAction", {"action": {"description": "Ship it again"}}, token="full")._replace(
        keeps=(("again", "result.decisionId"),)
    ),
    call("getSessionContext", {"taskDescription": "ship"}, token="full"), call("getCalibration", token="full"),
    call("debugTracker", token="owner"), get("/decisions", token="reader"),
]  # fmt: skip

LIMITS = [
    get("/checkpoint", token="reader"), get("/readyz"), get("/events", token="reader"), get("/export", token="reader"),
    get("/healthz"), post("/events", decision("a"), token="full"), get("/events/1/receipt", token="reader"),
    get("/events", token="reader"), get("/events", token="reader"), call("getStats", token="reader"),
    post("/events", ndjson(decisions()[:60]), LINES, token="importer"), get("/events", token="importer"),
    post("/events", decision("b"), token="importer"), get("/events", token="old"), get("/healthz"),
]  # fmt: skip
"""Each token may send 5 requests at once, then one every 1,000 s. The server cannot sign a checkpoint."""

KEPT = [
    get("/calibration/advice"), get("/readyz"), get("/checkpoint/witnessed"),
    get("/checkpoint")._replace(signed=True), get("/projections"),
    *(get(f"/projections/{name}") for name in ("decisions", "calibration", "runs", "evaluations", "evidence")),
    get("/events/1/receipt"), get("/events/700/receipt"), get("/tile/0/000"), get("/tile/1/000.p/2"),
    get("/tile/entries/002.p/3"), get("/proofs/inclusion", position=300), get("/proofs/consistency", from_=256),
    get("/export", evidence="true"), get("/export", format="csv", type="eval.finished.v1"),
    get("/export", since="2026-11-22"), get("/calibration"), get("/decisions", limit=1, search="cache"),
    get("/evidence"), get(f"/evidence/{digest_of(NOTES)}"), get("/runs/secret", include="attempts"),
    get("/events", after=676, limit=50), get("/discovery/idle/prompt"), call("getStats"),
    post("/events", decision("appended")), get("/readyz"),
]  # fmt: skip
"""Requests to a server over a copy of the ledger in `ledger.tar.xz`."""

DAMAGED = [
    get(f"/evidence/{digest_of(NOTES)}"), get(f"/evidence/{digest_of('{}')}"), get("/checkpoint/witnessed"),
    get("/events/1/receipt"), get("/checkpoint"), get("/export", evidence="true"),
    get("/evidence", limit=1), get("/runs/secret"), get("/readyz"),
    post("/events", decision("lost"))._replace(disk_fails=True), post("/events", decision("lost")),
    call("recordDecision", {"decision": "lost"}), _with(put("lost"), ""), get("/readyz"), get("/health"),
    get("/healthz"), get("/events", limit=1), get("/decisions", limit=1),
]  # fmt: skip
"""Requests to a server whose evidence and witnessed checkpoint are damaged, and whose disk then fails."""


def put_old_ledger(ledger: Path) -> None:
    """Put the old ledger in place of an empty one."""
    (old := ledger.parent / "old").mkdir()
    for path in sorted(unpack(old).parent.iterdir()):
        shutil.move(path, ledger.parent / path.name)


def damage(ledger: Path) -> None:
    """Put the old ledger in place, with damage to a piece of evidence and to the witnessed checkpoint."""
    put_old_ledger(ledger)
    (evidence,) = beside(ledger, "evidence").rglob(digest_of(NOTES))
    evidence.write_bytes(evidence.read_bytes()[:-3])
    beside(ledger, "witnessed").write_bytes(b"not a note")
