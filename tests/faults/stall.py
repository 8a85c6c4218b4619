"""A disk that stalls: each sync takes half a second, under more load than that lets through.

First it stalls now and then, under single posts: a small group is written where reads would wait for it while the disk
is quick, and only the first stall may find it there. Then every sync stalls. The queue of the writer fills; who comes
then is refused at once and told when to come again. What is measured is the server as it is: its memory from the
kernel, its queue from `/metrics`, and how long it takes to say that it lives.
"""

import random
import re
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from events.limits import QUEUE_EVENTS_MAX
from tests.faults.posting import Poster, event
from tests.faults.row import Fault, Outcome, Report
from tests.faults.shim import Shim, unfit
from tests.support.server import Served

SOURCE = "/agents/anonymous"
SYNC_MS = 500
SHORT_STALL_MS = 3_000
"""How long a single sync stalls: an answer that waits half of it waited for the disk, not for a busy machine."""

BATCH_EVENTS = 500
CLIENTS = 2 * QUEUE_EVENTS_MAX // BATCH_EVENTS
"""Twice as many clients as fill the queue."""

FILLED_S = 120.0
"""How long a slow machine may take to fill the queue."""

WARM_POSTS = 40
STALLS = 3
SINGLES = 400
"""Single posts before the first stall and after each: so many that the time of the stall is no longer in an average."""

WAITED_MAX = 1
"""Answers of health that may wait for a short stall: nothing tells before that the first one comes."""

MEMORY_MIB_MAX = 300
"""What the server may take more: 64 MiB of pages, and 20,000 events in the queue with their bodies and answers."""

RECOVERY_S_MAX = 15.0
"""A full queue at 2,048 events a sync is written in ten groups; after it there is no wait."""

_QUEUE = re.compile(rb"^tallystick_queue_events ([0-9.e+]+)$", re.MULTILINE)


class Batch(NamedTuple):
    """An acknowledged batch: the ids of its first and last event, its first position, and its size."""

    first: str
    last: str
    place: int
    events: int


class Client(threading.Thread):
    """Posts batch after batch until the test stops it. Waits as the server asks when it refuses a batch."""

    def __init__(self, url: str, name: str, stop: threading.Event) -> None:
        super().__init__()
        self._url, self._name, self._stop_asked = url, name, stop
        self.acknowledged: list[Batch] = []
        self.busy = 0
        self.wrong: list[str] = []

    def run(self) -> None:
        with Poster(self._url) as poster:
            number = 0
            while not self._stop_asked.is_set():
                ids = [f"{self._name}-{number}-{place}" for place in range(BATCH_EVENTS)]
                answer = poster.post(*map(event, ids))
                if answer.status == 201:
                    self.acknowledged.append(Batch(ids[0], ids[-1], answer.json()["first"], len(ids)))
                    number += 1
                elif answer.status == 503 and answer.headers.get("retry-after", "").isdigit():
                    self.busy += 1
                    self._stop_asked.wait(int(answer.headers["retry-after"]))
                else:
                    self.wrong.append(f"a post was answered {answer.status} {answer.headers} {answer.body[:200]!r}")
                    return


class Watch(threading.Thread):
    """Asks how the server is, ten times a second, and looks at its memory."""

    def __init__(self, server: Served, stop: threading.Event) -> None:
        super().__init__()
        self._server, self._stop_asked = server, stop
        self.queue_most = 0
        self.memory_most_mib = 0.0
        self.slowest_ms = 0.0
        self.waited = 0
        self.wrong: list[str] = []

    def run(self) -> None:
        with Poster(self._server.url) as poster:
            while not self._stop_asked.wait(0.1):
                for path in ("/healthz", "/readyz"):
                    began = time.monotonic()
                    answer = poster.ask("GET", path)
                    took_ms = (time.monotonic() - began) * 1_000
                    self.slowest_ms = max(self.slowest_ms, took_ms)
                    self.waited += took_ms > SHORT_STALL_MS / 2
                    if answer.status != 200:
                        self.wrong.append(f"{path} was answered {answer.status} {answer.body[:200]!r}")
                queue = _QUEUE.search(poster.ask("GET", "/metrics").body)
                assert queue is not None
                self.queue_most = max(self.queue_most, int(float(queue[1])))
                self.memory_most_mib = max(self.memory_most_mib, memory_mib(self._server))


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """So many seconds of load over a disk that stalls."""
    shim = Shim(folder / "disk", folder / "beside")
    ledger = folder / "disk" / "ledger.db"
    server = Served(ledger, environment=shim.environment)
    try:
        with Poster(server.url) as poster:
            for number in range(WARM_POSTS):
                assert poster.post(*[event(f"warm-{number}-{place}") for place in range(BATCH_EVENTS)]).status == 201
        short = _stall_now_and_then(server, shim)
        before_mib = memory_mib(server)
        clients, watch = _load(server, shim, dose, report)
        recovered_s, after_ms = _recover(server, shim, clients)
    finally:
        server.stop()
    acknowledged = [batch for client in clients for batch in client.acknowledged]
    lost = missing(ledger, acknowledged)
    grown_mib = watch.memory_most_mib - before_mib
    busy = sum(client.busy for client in clients)
    wrong = short.wrong + watch.wrong + [text for client in clients for text in client.wrong]
    held = (
        not wrong and not lost and busy > 0 and short.waited <= WAITED_MAX and watch.queue_most <= QUEUE_EVENTS_MAX
        and grown_mib <= MEMORY_MIB_MAX and recovered_s <= RECOVERY_S_MAX
    )  # fmt: skip
    return Outcome(
        held,
        {
            "health that waited for a short stall": short.waited,
            "events acknowledged": sum(batch.events for batch in acknowledged), "batches lost": lost,
            "503 with Retry-After": busy, "events in the queue at most": watch.queue_most,
            "memory before, MiB": round(before_mib), "more at most, MiB": round(grown_mib),
            "slowest answer of health, ms": round(watch.slowest_ms), "drained after, s": round(recovered_s, 2),
            "slowest single then, ms": round(after_ms, 1),
        } | ({"the first wrong": wrong[0]} if wrong else {}),
    )  # fmt: skip


def _stall_now_and_then(server: Served, shim: Shim) -> Watch:
    """Single posts over a disk on which one sync stalls now and then, while health is watched."""
    stop = threading.Event()
    watch = Watch(server, stop)
    with Poster(server.url) as poster:
        _post_singles(poster, "quick")
        watch.start()
        for number in range(STALLS):
            shim.slow_syncs(SHORT_STALL_MS)
            assert poster.post(event(f"stalled-{number}")).status == 201
            shim.heal()
            _post_singles(poster, f"between-{number}")
    stop.set()
    watch.join()
    return watch


def _post_singles(poster: Poster, name: str) -> None:
    for number in range(SINGLES):
        assert poster.post(event(f"{name}-{number}")).status == 201


def _load(server: Served, shim: Shim, dose: int, report: Report) -> tuple[list[Client], Watch]:
    """The stall, for as long as the dose, under all the clients."""
    stop = threading.Event()
    clients = [Client(server.url, f"c{number}", stop) for number in range(CLIENTS)]
    watch = Watch(server, stop)
    shim.slow_syncs(SYNC_MS)
    for thread in (*clients, watch):
        thread.start()
    for second in range(dose):
        time.sleep(1)
        report(second + 1, dose)
    given_up_s = time.monotonic() + FILLED_S
    while not any(client.busy for client in clients) and time.monotonic() < given_up_s:
        time.sleep(0.1)
    stop.set()
    watch.join()
    return clients, watch


def _recover(server: Served, shim: Shim, clients: list[Client]) -> tuple[float, float]:
    """How long it takes until every client is answered, in s, and the slowest of a hundred singles after it, in ms."""
    shim.heal()
    began = time.monotonic()
    for client in clients:
        client.join()
    recovered_s = time.monotonic() - began
    slowest_ms = 0.0
    with Poster(server.url) as poster:
        for number in range(100):
            began = time.monotonic()
            assert poster.post(event(f"after-{number}")).status == 201
            slowest_ms = max(slowest_ms, (time.monotonic() - began) * 1_000)
    return recovered_s, slowest_ms


def memory_mib(server: Served) -> float:
    """What the server holds in memory."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1_024


def missing(ledger: Path, acknowledged: list[Batch]) -> int:
    """Count the batches whose first or last event is not at its acknowledged position."""
    asked = "SELECT position FROM events WHERE source = ? AND id = ?"
    with closing(sqlite3.connect(ledger)) as database:
        places = [
            [database.execute(asked, (SOURCE, name)).fetchone() for name in (batch.first, batch.last)]
            for batch in acknowledged
        ]
    wanted = [[(batch.place,), (batch.place + batch.events - 1,)] for batch in acknowledged]
    return sum(found != right for found, right in zip(places, wanted, strict=True))


STALL = Fault(
    name="stall",
    title="a sync that takes 500 ms, now and then, and each with load",
    must_hold="of three short stalls one at most delays reads; bounded queue and memory, 503 with Retry-After, "
    "the server says that it lives; recovery",
    dose=300,
    unit="seconds",
    run=run,
    unfit=unfit,
)
