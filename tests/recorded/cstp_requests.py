"""The scene `cstp`: every method of CSTP, with good and bad parameters, over the same half-year of decisions."""

from tests.recorded.history import decisions
from tests.recorded.request import LINES, Json, Request, call, get, ndjson, post

FULL: Json = {
    "decision": "Move the queue to one file beside the process and sync each commit before it is answered",
    "confidence": 0.85, "category": "architecture", "stakes": "high", "context": "The queue loses work in a crash",
    "reasons": [{"type": "analysis", "text": "one writer", "strength": 0.9}, {"text": "measured twice"}],
    "tags": ["queue", "storage"], "pattern": "Prefer the embedded engine", "mentalState": "deliberate",
    "reviewIn": "2w", "kpiIndicators": ["loss"], "preDecision": {"queryRun": True, "similarFound": 2},
    "trace": [{"step": 1, "thought": "Compare", "output": "one file", "confidence": 0.6}],
    "deliberation": {"inputs": [{"id": "i1", "text": "load"}], "steps": [{"step": 1, "thought": "It fits"}]},
    "bridge": {"structure": "one file", "purpose": "durable memory", "tolerance": ["size"]},
    "projectContext": {"project": "atlas", "feature": "search", "pr": 501, "file": "queue.py", "line": 4},
    "question": "which-queue", "idempotencyKey": "key-1",
}  # fmt: skip

REVIEW: Json = {
    "id": "{{full}}", "outcome": "success", "actualResult": "no loss", "lessons": "Sync", "notes": "seen",
    "affectedKpis": {"loss": -1.5}, "idempotencyKey": "review-1",
}  # fmt: skip


def kept(request: Request, **paths: str) -> Request:
    """Name ids in the answer of a request, each by the path to it."""
    return request._replace(keeps=tuple(paths.items()))


def _frames() -> list[Request]:
    """Send malformed frames, and calls of unknown methods."""
    bodies: list[object] = [
        b"", b"{", b"[]", b"17", b"\xff", [{"jsonrpc": "2.0", "id": 1, "method": "cstp.getStats"}],
        {"jsonrpc": "1.0", "id": 1, "method": "cstp.getStats"}, {"jsonrpc": "2.0", "id": 2},
        {"jsonrpc": "2.0", "id": 3, "method": 5}, {"jsonrpc": "2.0", "id": 4, "method": "cstp.getStats", "params": [1]},
        {"jsonrpc": "2.0", "id": True, "method": "cstp.getStats"}, {"jsonrpc": "2.0", "id": [1], "method": "x"},
        {"jsonrpc": "2.0", "method": "cstp.listBreakers"}, {"jsonrpc": "2.0", "id": 1.5, "method": "cstp.listBreakers"},
        {"jsonrpc": "2.0", "id": "text", "method": "cstp.listBreakers", "params": {}},
        {"jsonrpc": "2.0", "id": 6, "method": "getStats"}, {"jsonrpc": "2.0", "id": 7, "method": "cstp.none"},
        b'{"jsonrpc":"2.0","id":8,"method":"cstp.recordDecision","params":{"decision":"a","confidence":1e999}}',
        b'{"jsonrpc":"2.0","id":9,"method":"cstp.recordDecision","params":{"decision":"\\ud800","tags":[NaN]}}',
    ]  # fmt: skip
    return [*(post("/cstp", body) for body in bodies), get("/cstp"), post("/cstp", {}, "text/plain")]


def _records() -> list[Request]:
    """Record thoughts and decisions, review and update them."""
    scope = {"agentId": "planner", "decisionId": "storage"}
    record, think = "recordDecision", "recordThought"
    return [
        kept(call(think, {"text": "One file could be enough", **scope}), thought1="result.thought_id"),
        kept(call(think, {"text": "A crash loses nothing", **scope, "idempotencyKey": "think-1"}),
             thought2="result.thought_id"),
        call(think, {"text": "A crash loses nothing", **scope, "idempotencyKey": "think-1"}),
        kept(call(think, {"text": "For nobody in particular"}), thought3="result.thought_id"),
        call("debugTracker"), call("debugTracker", {"key": "agent:planner:decision:storage"}),
        call("debugTracker", {"key": "none", "includeConsumed": True}), call("debugTracker", {"key": 5}),
        kept(call(record, {**FULL, **scope}), full="result.id"), call(record, {**FULL, **scope}),
        call(record, {**FULL, **scope, "confidence": 0.2}), call("debugTracker", {"includeConsumed": True}),
        kept(call(record, {"decision": "Ship it"}), small="result.id"),
        kept(call(record, {"decision": "Batch it", "confidence": 0.7, "category": "process"}, later_s=400),
             later="result.id"),
        kept(call(record, {"decision": "Snake case", "project_context": {"project": "borealis"}, "review_in": "7d",
                           "mental_state": "habitual", "unknown": 1, "tags": None, "context": ""}), snake="result.id"),
        call(think, {"text": "It holds", "id": "{{full}}"}), call(think, {"text": "It still holds", "id": "{{full}}"}),
        call("getDecision", {"id": "{{full}}"}), call("getDecision", {"decisionId": "{{small}}"}),
        call("reviewDecision", REVIEW), call("reviewDecision", REVIEW),
        call("reviewDecision", {"decision_id": "{{full}}", "outcome": "partial"}),
        call("reviewDecision", {"id": "{{small}}", "outcome": "abandoned"}),
        call("updateDecision", {"id": "{{snake}}", "updates": {"confidence": 0.4, "tags": ["new"], "context": "more"}}),
        call("updateDecision", {"id": "{{snake}}", "idempotencyKey": "update-1",
                                "updates": {"reasons": [{"text": "why"}], "bridge": {"purpose": "p"}}}),
        call("getDecision", {"id": "{{snake}}"}), call("getDecision", {"id": "{{full}}"}),
        get("/decisions/{{full}}"), get("/streams/decision/{{full}}"), get("/streams/thought/{{thought1}}"),
        call("getDecision", {"id": "d000"}), call("getDecision", {"id": "d0006"}),
    ]  # fmt: skip


def _refusals() -> list[Request]:
    """Send writing calls with wrong parameters."""
    bad: dict[str, list[object]] = {
        "recordDecision": [
            {}, {"decision": ""}, {"decision": 5}, {"decision": "x", "confidence": 2},
            {"decision": "x", "stakes": "huge"},
            {"decision": "x", "category": "colour"}, {"decision": "x", "reasons": [{"type": "guess", "text": "y"}]},
            {"decision": "x", "reasons": "because"}, {"decision": "x", "reasons": [{}]},
            {"decision": "x", "reviewIn": "soon"},
            {"decision": "x", "idempotencyKey": "a\nb"}, {"decision": "x" * 70_000},
            {"decision": "x", "tags": ["t"] * 257},
            {"confidence": "high", "stakes": 5, "bridge": 1, "projectContext": []},
        ],
        "reviewDecision": [
            {}, {"id": "d0000"}, {"id": "d0000", "outcome": "great"}, {"id": "none", "outcome": "success"},
            {"id": "../x", "outcome": "success"}, {"id": 5, "outcome": "success"},
            {"id": "d0000", "outcome": "success", "affectedKpis": {"a": "b"}},
        ],
        "updateDecision": [
            {}, {"id": "d0000"}, {"id": "d0000", "updates": {}}, {"id": "d0000", "updates": {"confidence": 3}},
            {"id": "d0000", "updates": []}, {"id": "none", "updates": {"context": "x"}},
            {"id": "../x", "updates": {"context": "x"}}, {"id": "d0000", "updates": {"unknown": 1}},
        ],
        "recordThought": [{}, {"text": ""}, {"text": 5}, {"text": "t", "id": "none"}, {"text": "t", "agentId": 5}],
        "getDecision": [{}, {"id": "none"}, {"id": "../x"}, {"id": 5}, {"id": "d00"}],
    }  # fmt: skip
    return [call(method, params) for method, given in bad.items() for params in given]


def _questions() -> list[Request]:
    """Query, list and count decisions; attribute outcomes."""
    asked: dict[str, list[object]] = {
        "queryDecisions": [
            {}, {"query": "cache slow", "limit": 3}, {"query": "cafe", "topK": 2, "includeReasons": True},
            {"query": "one index", "bridgeSide": "structure", "limit": 2}, {"query": "zebra"},
            {"query": "cache zebra", "limit": 1},
            {"query": "queue", "limit": 2, "filters": {"category": "tooling", "stakes": ["high", "low"],
            "tags": "batch"}},
            {"limit": 2, "filters": {"agent": "ada", "hasOutcome": True}}, {"limit": 2, "status": "pending"},
            {"limit": 2, "filters": {"minConfidence": 0.8, "maxConfidence": 0.9}, "project": "atlas"},
            {"limit": 2, "dateAfter": "2026-08-01", "dateBefore": "2026-09-01", "includeDetail": True},
            {"limit": 2, "filters": {"pr": 107}}, {"limit": 2, "compacted": True, "retrievalMode": "keyword"},
            {"query": "queue", "limit": 1, "retrievalMode": "hybrid", "hybridWeight": 0.5},
            {"limit": "many"}, {"retrievalMode": "magic"}, {"filters": []}, {"filters": {"stakes": "huge"}},
            {"filters": {"minConfidence": 0.9, "maxConfidence": 0.1}}, {"dateAfter": "then"},
        ],
        "listDecisions": [
            {"limit": 2}, {"limit": 2, "offset": 5, "sort": "confidence", "order": "asc"},
            {"limit": 1, "status": "reviewed"},
            {"limit": 1, "search": "index slow"}, {"limit": 1, "agent": "bob", "category": "process"},
            {"limit": 0, "offset": -3},
            {"limit": 1, "stakes": "huge", "sort": "colour", "order": "up", "status": "lost"},
            {"limit": 1, "tags": ["batch"]},
            {"limit": 1, "dateFrom": "2026-08-01", "date_to": "2026-08-31"}, {"dateFrom": "then"}, {"limit": "x"},
            {"tags": 5},
        ],
        "getStats": [{}, {"project": "atlas"}, {"dateFrom": "2026-10-01", "dateTo": "2026-10-31"}, {"dateFrom": 5}],
        "getReasonStats": [
            {}, {"filters": {"agent": "ada"}, "minReviewed": 1}, {"category": "security", "since": "2026-08-01"},
            {"stakes": "huge"}, {"minReviewed": 0},
        ],
        "ready": [
            {}, {"limit": 3, "minPriority": "medium"}, {"actionTypes": ["review_outcome"]}, {"category": "security"},
            {"actionTypes": ["calibration_drift"]}, {"minPriority": "urgent"}, {"actionTypes": ["x"]}, {"limit": 999},
        ],
        "attributeOutcomes": [
            {"project": "atlas", "dryRun": True, "evidence": {"107": "it merged", "999": "nothing"}},
            {"project": "atlas", "since": "2026-06-01", "stabilityDays": 30,
            "evidence": {"142": {"outcome": "failure", "text": "reverted"}}},
            {"project": "atlas"}, {}, {"project": "none"}, {"project": "atlas", "evidence": {"x": "y"}},
            {"project": "atlas", "evidence": []}, {"project": "atlas", "stabilityDays": -1},
        ],
    }  # fmt: skip
    return [call(method, params) for method, given in asked.items() for params in given]


def _figures() -> list[Request]:
    """Ask for calibration, drift and context, and announce actions."""
    asked: dict[str, list[object]] = {
        "getCalibration": [
            {}, {"filters": {"agent": "ada"}}, {"agent": "bob", "groupBy": "category", "minDecisions": 2},
            {"window": "90d", "groupBy": "stakes"}, {"since": "2026-08-01", "until": "2026-10-01"},
            {"filters": {"category": "security"}, "detail": "curves"}, {"include": ["trend", "drift", "comparison"]},
            {"include": ["trend"], "trendDays": 30, "project": "atlas"}, {"agent": "nobody"}, {"minDecisions": 0},
            {"window": "7d"}, {"groupBy": "colour"}, {"include": ["x"]}, {"filters": 5}, {"since": "then"},
        ],
        "checkDrift": [
            {}, {"agent": "ada"}, {"category": "security", "minDecisions": 1},
            {"thresholdBrier": 0, "accuracyThreshold": 0},
            {"project": "none"}, {"thresholdBrier": -1}, {"minDecisions": "x"},
        ],
        "getSessionContext": [
            {}, {"taskDescription": "make the cache faster", "decisionsLimit": 2, "readyLimit": 2, "agent": "ada"},
            {"format": "markdown", "agentId": "bob"}, {"include": ["calibration", "patterns"]}, {"include": []},
            {"include": ["x"]}, {"format": "html"}, {"task_description": " ".join(map(str, range(1_001)))},
        ],
    }  # fmt: skip
    action = {"description": "Change the cache again", "category": "process", "stakes": "low", "confidence": 0.7}
    return [
        *(call(method, params) for method, given in asked.items() for params in given),
        call("preAction", {"action": action, "options": {"autoRecord": False, "queryLimit": 2}}),
        kept(call("preAction", {"action": action, "reasons": [{"text": "slow"}], "idempotencyKey": "pre-1"}),
             acted="result.decisionId"),
        call("preAction", {"action": action, "reasons": [{"text": "slow"}], "idempotencyKey": "pre-1"}),
        call("preAction", {"action": {"description": "x", "category": "colour"}}), call("preAction"),
        call("preAction", {"action": {}}), call("preAction", {"action": {"description": "y"}, "options": 5}),
        call("preAction", {"action": {"description": "!!"}, "autoRecord": False, "includePatterns": False}),
        call("preAction", {"action": {"description": "z", "confidence": 7}, "options": {"queryLimit": 0}}),
    ]  # fmt: skip


def _absent() -> list[Request]:
    """Call the methods that the ledger supports in form only."""
    asked: dict[str, list[object]] = {
        "checkGuardrails": [{}, {"action": {"description": "x", "stakes": "high"}}, {"action": {"stakes": "huge"}}],
        "listGuardrails": [{}, {"scope": 5}], "listBreakers": [{}], "getCircuitState": [{"scope": "all"}, {}],
        "resetCircuit": [{"scope": "all", "probeFirst": True}, {"scope": ""}],
        "getNeighbors": [{"nodeId": "d0000"}, {}, {"edgeType": "x"}],
        "getGraph": [{"nodeId": "d0000", "depth": 9}, {"depth": "x"}],
        "linkDecisions": [
            {"sourceId": "d0000", "targetId": "d0001", "edgeType": "relates_to"}, {},
            {"sourceId": "d0000", "targetId": "d0000", "edgeType": "relates_to"},
            {"sourceId": "d0000", "targetId": "d0001", "edgeType": "supersedes", "weight": 0},
        ],
        "reindex": [{}], "compact": [{"dryRun": True}, {"category": "security"}, {"level": "x"}],
        "getCompacted": [{"limit": 1}, {"level": "digest"}, {"category": "tooling", "limit": 1}],
        "setPreserve": [{"decisionId": "d0000"}, {"id": "d0000", "preserve": False}, {}, {"decisionId": "../x"}],
        "getWisdom": [{}, {"minDecisions": 0}],
    }  # fmt: skip
    return [call(method, params) for method, given in asked.items() for params in given]


CSTP = [
    call("getStats"), call("ready"), call("getSessionContext"), call("checkDrift"),
    post("/events", ndjson(decisions()), LINES),
    *_frames(), *_records(), *_refusals(), *_questions(), *_figures(), *_absent(), get("/readyz"),
]  # fmt: skip
