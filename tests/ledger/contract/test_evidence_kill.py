"""Evidence against kill -9: what was kept can be read, what was erased is in no file, and nothing is in between."""

import random
import threading
import time
import zlib
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from events.evidence import EvidenceErased, EvidenceStored
from events.registry import VOCABULARY
from tests.support.server import served

pytestmark = pytest.mark.slow

KILLS = 6
CLIENTS = 4
SEED = 20261121


class Client(threading.Thread):
    """Puts a piece, erases every second one, until the server is gone; keeps what was answered."""

    def __init__(self, url: str, seed: int) -> None:
        super().__init__()
        self.url, self.rng = url, random.Random(seed)
        self.put: dict[str, bytes] = {}
        self.kept: set[str] = set()
        self.erased: set[str] = set()

    def run(self) -> None:
        with httpx.Client(base_url=self.url, timeout=60) as http:
            try:
                while True:
                    self._round(http)
            except httpx.TransportError:
                return

    def _round(self, http: httpx.Client) -> None:
        data = self.rng.randbytes(self.rng.choice([100, 5_000, 200_000]))
        digest = sha256(data).hexdigest()
        self.put[digest] = data
        answer = http.put("/evidence", content=data)
        assert answer.status_code == 201, answer.text
        self.kept.add(digest)
        if self.rng.random() < 0.5:
            self.kept.remove(digest)
            assert http.delete(f"/evidence/{digest}").status_code == 200
            self.erased.add(digest)


def test_what_the_log_says_of_evidence_holds_after_kill_9(tmp_path: Path) -> None:
    ledger, rng = tmp_path / "ledger.db", random.Random(SEED)
    clients: list[Client] = []
    for number in range(KILLS):
        with served(ledger) as server:
            round_ = [Client(server.url, SEED + number * CLIENTS + client) for client in range(CLIENTS)]
            for client in round_:
                client.start()
            while not any(client.erased for client in round_):
                assert all(client.is_alive() for client in round_)
                time.sleep(0.001)
            time.sleep(rng.random() * 0.05)
            server.process.kill()
            server.process.wait()
            for client in round_:
                client.join()
        clients += round_

    put: dict[str, bytes] = {}
    for client in clients:
        put |= client.put
    with served(ledger) as server, httpx.Client(base_url=server.url, timeout=60) as http:
        events = VOCABULARY.events(http.get("/events", headers={"accept": "application/x-ndjson"}).content)
        erased = {event.data.digest for event in events if isinstance(event.data, EvidenceErased)}
        kept = {event.data.digest for event in events if isinstance(event.data, EvidenceStored)} - erased
        for client in clients:
            assert client.kept <= kept | erased, "an unacknowledged erasure may have been written"
            assert client.erased <= erased
        assert {digest for digest in kept if http.get(f"/evidence/{digest}").content != put[digest]} == set()
        assert {http.get(f"/evidence/{digest}").status_code for digest in erased} == {410}

        held = {path.name: path for path in (tmp_path / "ledger.db.evidence").rglob("*") if path.is_file()}
        assert held.keys() == kept, "bytes of nothing that the log does not say are kept"
        everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        for digest in put.keys() - kept:
            data = put[digest]
            assert data[:64] not in everything
            assert zlib.compress(data)[8:72] not in everything
