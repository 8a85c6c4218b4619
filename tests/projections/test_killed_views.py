"""A server that is killed while it folds and saves views restarts with views that a replay gives."""

import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.projections import small_snapshots
from tests.support.paths import ROOT
from tests.support.server import Served

ROUNDS = 8
BATCH = 200
LATER: list[tuple[str, dict[str, object]]] = [
    ("decision.reviewed.v1", {"outcome": "success"}),
    ("decision.reviewed.v1", {"outcome": "failure"}),
    ("decision.amended.v1", {"confidence": 0.5}),
    ("decision.asked.v1", {"question": "why"}),
    ("decision.retracted.v1", {"reason": "twice"}),
]


def batches(first: int, count: int) -> Iterator[bytes]:
    """Decisions, each reviewed after some dozen others, and some of them amended or retracted, as NDJSON."""
    rng = random.Random(first)
    for number in range(first, first + count):
        lines: list[object] = []
        for place in range(number * BATCH, (number + 1) * BATCH):
            recorded = {"decision_id": f"d{place}", "decision": "ship", "confidence": rng.randrange(1, 20) / 20}
            lines.append({"type": "decision.recorded.v2", "data": {**recorded, "category": rng.choice("abc")}})
            if place % BATCH >= 50:
                kind, data = rng.choice(LATER)
                lines.append({"type": kind, "data": {"decision_id": f"d{place - 50}", **data}})
        yield b"\n".join(msgspec.json.encode(line) for line in lines)


def post_until_killed(server: Served, first: int, posted: list[int]) -> None:
    with suppress(httpx.HTTPError), httpx.Client(timeout=60) as client:
        for number, body in enumerate(batches(first, 10_000), first):
            answer = client.post(f"{server.url}/events", content=body, headers={"content-type": "application/x-ndjson"})
            assert answer.status_code == 201, answer.text
            posted.append(number)


@pytest.mark.slow
def test_views_are_those_of_a_replay_after_kills_while_they_are_folded_and_saved(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    rng, next_batch, positions = random.Random(18), 0, set()
    for _ in range(ROUNDS):
        server = Served(ledger, module=small_snapshots.__name__)
        posted: list[int] = []
        posting = threading.Thread(target=post_until_killed, args=(server, next_batch, posted))
        posting.start()
        try:
            while len(posted) < rng.randrange(5, 15):
                assert posting.is_alive()
                time.sleep(rng.random() / 50)
            httpx.get(f"{server.url}/calibration", timeout=60).raise_for_status()
        finally:
            server.process.kill()
            posting.join()
            server.stop()
        next_batch += len(posted) + 1
        with closing(sqlite3.connect(f"{ledger}.views.db")) as views:
            positions |= {position for (position,) in views.execute("SELECT DISTINCT position FROM snapshots")}
        command = [
            sys.executable,
            "-m",
            small_snapshots.__name__,
            "--ledger",
            str(ledger),
            "replay",
            "--check",
            "--json",
        ]
        compared = subprocess.run(command, capture_output=True, cwd=ROOT, check=True)
        assert msgspec.json.decode(compared.stdout)["same"] is True
    assert len(positions) > ROUNDS, "snapshots were saved while events came"
