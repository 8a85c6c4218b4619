"""I4 and I5 against kill -9: what was acknowledged is there once, what was not can be retried, nothing is torn."""

import random
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import msgspec

from events import VOCABULARY
from tests.serving import served

KILLS = 50
CLIENTS = 8
SEED = 20260221


class Client(threading.Thread):
    """Posts singles and small batches, one after another, until the server is gone; keeps what was acknowledged."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__()
        self.url = url
        self.prefix = name
        self.acknowledged: dict[str, int] = {}
        self.unanswered: list[bytes] = []

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60) as http:
            for number in range(1_000_000):
                size = 1 if number % 3 else 4
                events = [_event(f"{self.prefix}-{number}-{place}") for place in range(size)]
                body = b"\n".join(events)
                try:
                    answer = http.post("/events", content=body, headers={"content-type": "application/x-ndjson"})
                except httpx.TransportError:
                    self.unanswered += events
                    return
                assert answer.status_code == 201, answer.text
                for placed in answer.json()["events"]:
                    self.acknowledged[placed["id"]] = placed["position"]


def _event(event_id: str) -> bytes:
    data = {"decision_id": event_id, "decision": "Keep the queue bounded", "confidence": 0.8}
    return msgspec.json.encode({"type": "decision.recorded.v1", "id": event_id, "data": data})


def _round(ledger: Path, number: int, rng: random.Random) -> tuple[dict[str, int], list[bytes]]:
    """Serve, load, kill; what was acknowledged and what was left without an answer."""
    with served(ledger) as server:
        clients = [Client(server.url, f"{number}.{client}") for client in range(CLIENTS)]
        for client in clients:
            client.start()
        while not any(client.acknowledged for client in clients):
            time.sleep(0.001)
        time.sleep(rng.random() * 0.1)
        server.process.kill()
        server.process.wait()
        for client in clients:
            client.join()
    acknowledged: dict[str, int] = {}
    for client in clients:
        acknowledged |= client.acknowledged
    return acknowledged, [event for client in clients for event in client.unanswered]


def test_i4_every_acknowledged_event_survives_kill_9_and_is_there_once(tmp_path: Path) -> None:
    ledger, rng = tmp_path / "ledger.db", random.Random(SEED)
    acknowledged: dict[str, int] = {}
    unanswered: list[bytes] = []
    for number in range(KILLS):
        kept, lost = _round(ledger, number, rng)
        acknowledged |= kept
        unanswered += lost
    assert len(acknowledged) > KILLS
    assert unanswered, "no kill fell into a request"

    with served(ledger) as server, httpx.Client(base_url=server.url, timeout=60) as http:
        for event in unanswered:
            answer = http.post("/events", content=event, headers={"content-type": "application/json"})
            assert answer.status_code in (200, 201), answer.text
        lines = http.get("/events", headers={"accept": "application/x-ndjson"}).content

    events = VOCABULARY.events(lines)
    assert [event.position for event in events] == list(range(1, len(events) + 1))
    times = [event.recordedtime for event in events]
    assert times == sorted(times)
    where = {event.id: event.position for event in events}
    assert Counter(event.id for event in events).most_common(1)[0][1] == 1
    assert {event_id: where.get(event_id) for event_id in acknowledged} == acknowledged
    assert where.keys() == acknowledged.keys() | {msgspec.json.decode(event)["id"] for event in unanswered}
