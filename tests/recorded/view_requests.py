"""The scene `views`: half a year of decisions, runs and evaluations, read through every view."""

from tests.recorded.history import decisions, evaluations, runs
from tests.recorded.request import LINES, Request, get, ndjson, post
from tests.recorded.run_requests import discovery, evidence

FILTERS = (
    "", "?agent=ada", "?agent=nobody", "?category=security", "?stakes=high", "?project=atlas", "?feature=search",
    "?agent=bob&category=process&stakes=low", "?window=30d", "?window=60d", "?window=90d", "?window=all",
    "?since=2026-09-01", "?until=2026-09-01", "?since=2026-08-01T00:00:00%2B02:00&until=2026-10-01", "?as_of=100",
    "?as_of=2026-11-22T12:00:14Z", "?as_of=0",
)  # fmt: skip

WRONG = (
    "?group_by=colour", "?min_decisions=0", "?min_decisions=few", "?detail=all", "?include=x", "?include=trend,x",
    "?trend_days=0", "?trend_days=99999", "?window=7d", "?since=then", "?since=2026-10-01&until=2026-09-01",
    "?stakes=huge", "?as_of=99999", "?as_of=2031-01-01", "?as_of=then", "?colour=red", "?agent=ada&agent=bob",
)  # fmt: skip


def _calibration() -> list[Request]:
    groups = ("confidence_bucket", "confidenceBucket", "category", "stakes", "agent", "project", "feature")
    return [
        *(Request("GET", f"/calibration{one}") for one in FILTERS),
        *(get("/calibration", group_by=group) for group in groups),
        *(get("/calibration", group_by="category", min_decisions=count) for count in (1, 20, 500)),
        get("/calibration", detail="curves"), get("/calibration", detail="curves", agent="ada", group_by="stakes"),
        *(get("/calibration", include=one) for one in ("trend", "drift", "comparison", "trend,drift,comparison")),
        get("/calibration", include="trend", trend_days=30), get("/calibration", include="trend", trend_days=90),
        get("/calibration", include="comparison", category="security", window="90d"),
        get("/calibration", include="drift", agent="bob", as_of=200),
        *(Request("GET", f"/calibration{one}") for one in WRONG),
        get("/calibration/advice"), get("/calibration/advice", agent="ada"),
        get("/calibration/advice", agent="ada", category="security", confidence=0.9),
        get("/calibration/advice", agent="bob", stakes="high", confidence="0.55"),
        get("/calibration/advice", agent="ada", as_of=60), get("/calibration/advice", confidence=2),
        get("/calibration/advice", stakes="huge"), get("/calibration/advice", window="30d"),
        get("/calibration/advice", agent="nobody", confidence="1e-3"),
    ]  # fmt: skip


def _decisions() -> list[Request]:
    return [
        get("/decisions", limit=4), get("/decisions", limit=2, offset=3), get("/decisions", limit=1, offset=9_999),
        get("/decisions", limit=2, order="asc"),
        *(get("/decisions", limit=2, sort=sort) for sort in ("confidence", "category", "stakes", "status")),
        get("/decisions", limit=2, sort="confidence", order="asc", status="reviewed"),
        get("/decisions", limit=2, status="pending"), get("/decisions", limit=2, status="reviewed", outcome="failure"),
        get("/decisions", limit=2, outcome="abandoned"), get("/decisions", limit=2, agent="planner/one"),
        get("/decisions", limit=2, category="tooling", stakes="low"), get("/decisions", limit=2, project="atlas"),
        get("/decisions", limit=2, feature="billing", tag="batch"), get("/decisions", limit=2, tag="batch,cache"),
        get("/decisions", limit=2, window="30d"), get("/decisions", limit=2, since="2026-07-01", until="2026-07-31"),
        get("/decisions", limit=3, search="cache slow"), get("/decisions", limit=3, search="café"),
        get("/decisions", limit=3, search="cafe batch"), get("/decisions", limit=3, search="nowhere"),
        get("/decisions", limit=3, search="!!"), get("/decisions", limit=2, as_of=50),
        get("/decisions", limit=2, as_of="2026-11-22T12:00:14.5Z"), get("/decisions", limit=0),
        get("/decisions", sort="colour"), get("/decisions", status="lost"), get("/decisions", outcome="great"),
        get("/decisions", order="up"), get("/decisions", offset=-1), get("/decisions", stakes="huge"),
        get("/decisions", search="x", colour="red"), get("/decisions", search=" ".join(map(str, range(1_001)))),
        get("/decisions/d0000"), get("/decisions/d0003"), get("/decisions/d000a"), get("/decisions/d0063", as_of=300),
        get("/decisions/d0000", as_of=1), get("/decisions/d00"), get("/decisions/none"), get("/decisions/a/b"),
        get("/decisions/d0000", colour="red"),
    ]  # fmt: skip


def _runs() -> list[Request]:
    return [
        get("/runs"), get("/runs", limit=1), get("/runs", limit=1, offset=1), get("/runs", probe="refactor-go"),
        get("/runs", router="command:ask"), get("/runs", agent="nobody"), get("/runs", since="2026-11-21"),
        get("/runs", until="2026-11-21", window="all"), get("/runs", as_of=590), get("/runs", limit="x"),
        get("/runs/run-a"), get("/runs/run-a", include="attempts"), get("/runs/live", include="attempts"),
        get("/runs/secret", include="attempts"), get("/runs/wrapped"), get("/runs/idle"),
        get("/runs/run-b", as_of=595), get("/runs/none"), get("/runs/run-a", include="x"),
        get("/inventory"), get("/inventory", model="example-large"), get("/inventory", model="Example/XL:latest"),
        get("/inventory", model="nobody"), get("/inventory", as_of=590), get("/inventory", colour="red"),
        get("/probes"), get("/probes", probe="refactor-go"), get("/probes", scorer="refactor-go@2"),
        get("/probes", model="Example/XL:latest"), get("/probes", probe="none"), get("/probes", as_of=590),
        get("/probes", colour="red"),
    ]  # fmt: skip


def _evaluations() -> list[Request]:
    return [
        get("/scoreboard"), get("/scoreboard", suite="incidents", versions=1), get("/scoreboard", agent="triage"),
        get("/scoreboard", suite="none"), get("/scoreboard", as_of=650), get("/scoreboard", versions=0),
        get("/evaluations"), get("/evaluations", limit=2), get("/evaluations", limit=2, offset=4),
        get("/evaluations", suite="incidents", agent="scout"), get("/evaluations", since="2026-11-21"),
        get("/evaluations", window="30d"), get("/evaluations", as_of=650), get("/evaluations", colour="red"),
        get("/evaluations/eval-0"), get("/evaluations/eval-0", include="analyses"), get("/evaluations/eval-2"),
        get("/evaluations/eval-3", as_of=660), get("/evaluations/none"), get("/evaluations/eval-0", include="x"),
        get("/evaluations/compare", baseline="eval-0", candidate="eval-1"),
        get("/evaluations/compare", baseline="eval-1", candidate="eval-0"),
        get("/evaluations/compare", baseline="latest", candidate="eval-1"),
        get("/evaluations/compare", baseline="eval-0", candidate="eval-2"),
        get("/evaluations/compare", baseline="eval-3", candidate="eval-1"),
        get("/evaluations/compare", baseline="latest", candidate="eval-0"),
        get("/evaluations/compare", baseline="eval-0"), get("/evaluations/compare", candidate="eval-0"),
        get("/evaluations/compare", baseline="eval-0", candidate="none"),
    ]  # fmt: skip


def _projections() -> list[Request]:
    names = (
        "decisions", "calibration", "reasons", "thoughts", "runs", "inventory", "probes", "evaluations", "evidence"
    )  # fmt: skip
    return [
        get("/projections"), *(get(f"/projections/{name}") for name in names),
        get("/projections/calibration", as_of=100), get("/projections/decisions", as_of="2026-11-22T12:00:14Z"),
        get("/projections/none"), get("/projections/calibration", as_of=9_999_999), get("/projections", as_of=1),
        get("/readyz"), get("/metrics"), get("/health"), get("/.well-known/agent.json"),
    ]  # fmt: skip


APPENDS = [
    post("/events", ndjson(decisions()[:200]), LINES), post("/events", ndjson(decisions()[200:]), LINES),
    post("/events", ndjson(runs()), LINES), post("/events", ndjson(evaluations()), LINES),
]  # fmt: skip
"""Append the history, in four batches."""

EMPTY = [
    *(get(path) for path in ("/calibration", "/calibration/advice", "/decisions", "/decisions/none", "/runs")),
    *(get(path) for path in ("/inventory", "/probes", "/scoreboard", "/evaluations", "/evidence", "/projections")),
    get("/calibration", detail="curves", include="trend,drift,comparison"), get("/projections/calibration"),
]  # fmt: skip
"""Read the views of an empty ledger."""

VIEWS = [
    *EMPTY, *APPENDS, *evidence(), *discovery(),
    *_calibration(), *_decisions(), *_runs(), *_evaluations(), *_projections(),
]  # fmt: skip
