"""Events by correlation id and time, and counts by type, of a server that is killed, and whose views are damaged."""

import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.api.cli.command import done
from tests.support.server import Served

pytestmark = pytest.mark.slow

MODULE = "tests.projections.small_snapshots"
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BATCHES, SIZE = 12, 250


def batch(number: int) -> list[dict[str, Any]]:
    """Decisions, a third of them with the correlation id of their batch, whose times descend from batch to batch."""
    return [
        {
            "type": "decision.recorded.v1",
            "time": (NOON - timedelta(days=number, seconds=place)).isoformat(),
            "data": {"decision_id": f"d{number}-{place}", "decision": "ship it", "confidence": 0.7},
            **({} if place % 3 else {"correlationid": f"batch {number}"}),
        }
        for place in range(SIZE)
    ]


def everything(url: str) -> list[dict[str, Any]]:
    lines = httpx.get(f"{url}/events", headers={"accept": "application/x-ndjson"}, timeout=60).read().splitlines()
    return [msgspec.json.decode(line) for line in lines]


def get(url: str, path: str, **query: object) -> Any:  # noqa: ANN401 - JSON
    response = httpx.get(f"{url}{path}", params={name: str(value) for name, value in query.items()}, timeout=60)
    assert response.status_code == 200, response.text
    return response.json()


def check(url: str, batches: int) -> None:
    """Compare filtered answers with all events."""
    events = everything(url)
    assert len(events) == batches * SIZE
    assert get(url, "/status")["types"] == Counter(event["type"] for event in events)
    for number in (0, batches // 2, batches - 1):
        name = f"batch {number}"
        about = [event for event in events if event.get("correlationid") == name]
        assert len(about) == 84
        related = get(url, "/related", correlationid=name, limit=1000)
        assert [event["position"] for event in related["events"]] == [event["position"] for event in about]
        assert related["next"] is None
        newest = get(url, "/events", correlationid=name, order="desc", limit=5)
        assert newest["events"] == about[::-1][:5]
        day = (NOON - timedelta(days=number)).date().isoformat()
        page = get(url, "/events", since=day, until=day, limit=1000)
        assert page["events"] == [event for event in events if event["time"].startswith(day)]
        shown = httpx.get(f"{url}/ui/log", params={"since": day, "until": day}, timeout=60).text
        assert f"decision/d{number}-{SIZE - 1}<" in shown
        assert f"decision/d{number}-{SIZE - 51}<" not in shown, "a page has 50"
    assert get(url, "/related", correlationid="batch 999")["events"] == []


def cut(views: Path) -> None:
    views.write_bytes(views.read_bytes()[:9_000])


@pytest.mark.parametrize("damage", [cut, Path.unlink, None])
def test_a_killed_server_answers_as_before(tmp_path: Path, damage: Callable[[Path], None] | None) -> None:
    ledger = tmp_path / "t.db"
    server = Served(ledger, module=MODULE)
    asked: list[int] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            found = get(server.url, "/related", correlationid="batch 0", limit=1000)
            status = get(server.url, "/status")
            assert sum(status["types"].values()) == status["head"]["position"]
            assert len(found["events"]) in (0, 84)
            asked.append(status["head"]["position"])

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for number in range(BATCHES):
            assert httpx.post(f"{server.url}/events", json=batch(number), timeout=60).status_code == 201
    finally:
        ended.set()
        asking.join()
    try:
        assert asked
        assert asked == sorted(asked)
        check(server.url, BATCHES)
    finally:
        server.process.kill()
        server.process.wait()
    views = ledger.with_name("t.db.views.db")
    if damage is not None:
        views.with_name("t.db.views.db-wal").unlink(missing_ok=True)
        damage(views)
    related = msgspec.json.decode(done(ledger, "related", "batch 3", "--json").out)
    assert len(related["events"]) == 84
    types = msgspec.json.decode(done(ledger, "status", "--json").out)["types"]
    assert types == {"decision.recorded.v1": BATCHES * SIZE}
    again = Served(ledger, module=MODULE)
    try:
        assert httpx.post(f"{again.url}/events", json=batch(BATCHES), timeout=60).status_code == 201
        check(again.url, BATCHES + 1)
    finally:
        assert again.stop() == 0
