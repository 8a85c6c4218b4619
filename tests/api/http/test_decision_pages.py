"""Pages of decisions from a real server with small groups of rows: whole lists, whatever happens between two pages."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.http.posts import LINES, Json, ndjson, reviewed
from tests.projections import small_snapshots
from tests.support.server import served

pytestmark = pytest.mark.slow

DECISIONS = 1_600
LIMIT = 190
START = datetime(2026, 1, 1, tzinfo=UTC)
STAKES = ("low", "medium", "high", "critical")
CATEGORIES = ("process", "tooling", "architecture")


def events() -> Iterator[Json]:
    """Decisions whose times are disordered by up to two hours, reviews of most, and retractions of some."""
    for number in range(DECISIONS):
        data: Json = {"decision": "ship it", "category": CATEGORIES[number % 3], "stakes": STAKES[number // 2 % 4]}
        data |= {"decision_id": f"d{number:04}"}
        if number % 5:
            data["confidence"] = number * 7 % 101 / 100
        if number % 4 == 0:
            data["tags"] = ["urgent", f"t{number % 3}"]
        if number < 100:
            data["cluster"] = "first"
        made = START + timedelta(minutes=number, seconds=number * 7919 % 7200)
        source = f"/agents/a{number % 7}"
        yield {"type": "decision.recorded.v2", "time": made.isoformat(), "source": source, "data": data}
        if number % 3:
            outcome = ("success", "failure", "partial")[number % 11 % 3]
            yield reviewed(f"d{number:04}", outcome) | {"source": source}
        if number % 50 == 7:
            retraction = {"decision_id": f"d{number:04}", "reason": "twice"}
            yield {"type": "decision.retracted.v1", "data": retraction, "source": source}


FILTERS: dict[str, Callable[[Json], bool]] = {
    "": lambda _: True,
    "agent=a3": lambda one: one["agent"] == "a3",
    "category=tooling": lambda one: one["decision"]["category"] == "tooling",
    "stakes=high": lambda one: one["decision"]["stakes"] == "high",
    "cluster=first": lambda one: one["decision"].get("cluster") == "first",
    "tag=urgent": lambda one: "urgent" in one["decision"].get("tags", ()),
    "tag=t1&agent=a2": lambda one: "t1" in one["decision"].get("tags", ()) and one["agent"] == "a2",
    "status=pending": lambda one: one.get("review") is None,
    "status=reviewed": lambda one: one.get("review") is not None,
    "outcome=failure": lambda one: (one.get("review") or {}).get("outcome") == "failure",
    "since=2026-01-02T00:00:00Z": lambda one: one["recorded_at"] >= "2026-01-02",
    "since=2026-01-02T00:00:00Z&agent=a1": lambda one: one["recorded_at"] >= "2026-01-02" and one["agent"] == "a1",
    "agent=nobody": lambda _: False,
}
ORDERS: dict[str, Callable[[Json], Any]] = {
    "created_at": lambda one: one["recorded_at"],
    "confidence": lambda one: one["decision"].get("confidence"),
    "category": lambda one: one["decision"]["category"],
    "stakes": lambda one: STAKES.index(one["decision"]["stakes"]),
    "status": lambda one: one.get("review") is not None,
}


def whole(client: httpx.Client, query: str, limit: int = LIMIT) -> list[Json]:
    """A whole list, page by page; each page has the same total, and all together have as many."""
    found: list[Json] = []
    offset: int | None = 0
    totals = set()
    while offset is not None:
        page = client.get(f"/decisions?limit={limit}&offset={offset}&{query}").raise_for_status().json()
        found += page["decisions"]
        totals.add(page["total"])
        offset = page["next"]
    assert totals == {len(found)}
    return found


def ids(decisions: list[Json]) -> list[str]:
    return [one["decision_id"] for one in decisions]


def expected(every: list[Json], wanted: str, sort: str, *, descending: bool) -> list[str]:
    """What a plain sort of a plain list gives; ties by the position at which a decision was recorded."""
    kept = sorted(filter(FILTERS[wanted], every), key=lambda one: one["position"], reverse=descending)
    having = [one for one in kept if ORDERS[sort](one) is not None]
    having.sort(key=ORDERS[sort], reverse=descending)
    return ids(having + [one for one in kept if ORDERS[sort](one) is None])


def lists_are_right(client: httpx.Client) -> None:
    every = whole(client, "", 1_000)
    unretracted = DECISIONS - len(range(7, DECISIONS, 50))
    assert len(every) == unretracted
    for wanted in FILTERS:
        assert ids(whole(client, f"{wanted}&order=asc")) == expected(every, wanted, "created_at", descending=False)
    for sort in ORDERS:
        for wanted, order in (("", "asc"), ("", "desc"), ("tag=urgent", "desc"), ("status=reviewed", "asc")):
            found = ids(whole(client, f"{wanted}&sort={sort}&order={order}"))
            assert found == expected(every, wanted, sort, descending=order == "desc"), (wanted, sort, order)


def test_pages_make_up_whole_lists_before_and_after_a_restart(tmp_path: Path) -> None:
    ledger = tmp_path / "tallystick.db"
    posted = list(events())
    for first, end in ((0, len(posted) // 2), (len(posted) // 2, len(posted))):
        with served(ledger, module=small_snapshots.__name__) as server, httpx.Client(base_url=server.url) as client:
            for start in range(first, end, 500):
                body = ndjson(posted[start : min(end, start + 500)])
                answer = client.post("/events", content=body, headers=LINES)
                assert answer.status_code == 201, answer.text
                whole(client, "status=pending")
            if end == len(posted):
                lists_are_right(client)
    with served(ledger, module=small_snapshots.__name__) as server, httpx.Client(base_url=server.url) as client:
        lists_are_right(client)
