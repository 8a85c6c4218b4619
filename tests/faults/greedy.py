"""One token that takes all it can, as fast as it can: feeds, large bodies, long queries.

Meanwhile another token appends single events, and another client requests health. Both are measured before, too. At
the end the server is stopped while the greedy clients go on.
"""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from api.token_store import RECHECK_S, TokenStore
from ledger.clock import system_clock
from tests.faults import greedy_client
from tests.faults.posting import Poster, event
from tests.faults.row import Fault, Figures, Outcome, Report
from tests.faults.stall import memory_mib
from tests.support.paths import ROOT
from tests.support.server import Served

KINDS = ("feeds", "bodies", "queries")
FEATURES = 100_000
PART_FEATURES = 40_000
BATCH_EVENTS = 2_000
WARM_POSTS = 200
BETWEEN_S = 0.001
SINGLE_TIMES_MAX = 4.0
HEALTH_MS_MAX = 100.0
MEMORY_MIB_MAX = 600.0
STOP_S_MAX = 5.0


class Measured(NamedTuple):
    """What others met while a kind of greed went on: times in ms, memory in MiB."""

    singles_ms: list[float]
    health_ms: list[float]
    memory_mib: float
    wrong: list[str]

    def single_p99_ms(self) -> float:
        return quantile(self.singles_ms, 0.99)


class Watch(threading.Thread):
    """Asks for health ten times a second, each time on a new connection, and looks at the server's memory."""

    def __init__(self, server: Served) -> None:
        super().__init__()
        self._server = server
        self.ended = threading.Event()
        self.health_ms: list[float] = []
        self.memory_mib = 0.0
        self.wrong: list[str] = []

    def run(self) -> None:
        while not self.ended.wait(0.1):
            began = time.monotonic()
            try:
                with Poster(self._server.url) as poster:
                    status = poster.ask("GET", "/healthz").status
            except OSError as error:
                self.wrong.append(f"/healthz: {error!r}")
                continue
            self.health_ms.append((time.monotonic() - began) * 1_000)
            if status != 200:
                self.wrong.append(f"/healthz was answered {status}")
            self.memory_mib = max(self.memory_mib, memory_mib(self._server))


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """So many seconds of each kind."""
    return measure(folder, dose, FEATURES, report)


def measure(folder: Path, seconds: int, features: int, report: Report) -> Outcome:
    """Measure others without greed and under each kind, then stop the server under all of them."""
    ledger = folder / "ledger.db"
    tokens = TokenStore(ledger)
    greedy, other = (tokens.add(agent, ("append", "read"), system_clock())[1] for agent in ("greedy", "other"))
    server = Served(ledger)
    try:
        fill(server, tokens, features)
        quiet = observe(server, other, seconds)
        figures: Figures = {"quiet single p99, ms": round(quiet.single_p99_ms(), 1)}
        report(1, len(KINDS) + 2)
        held = not quiet.wrong
        for place, kind in enumerate(KINDS):
            with greed(server, greedy, [kind]):
                found = observe(server, other, seconds)
            times = found.single_p99_ms() / quiet.single_p99_ms()
            figures |= {
                f"{kind}: single p99, ms": round(found.single_p99_ms(), 1),
                f"{kind}: times the quiet one": round(times, 1),
                f"{kind}: slowest health, ms": round(max(found.health_ms)),
                f"{kind}: memory, MiB": round(found.memory_mib),
            }
            held &= times <= SINGLE_TIMES_MAX and max(found.health_ms) <= HEALTH_MS_MAX
            held &= found.memory_mib <= MEMORY_MIB_MAX and not found.wrong
            if found.wrong:
                figures[f"{kind}: the first wrong"] = found.wrong[0]
            report(place + 2, len(KINDS) + 2)
        with greed(server, greedy, KINDS):
            time.sleep(2)
            began = time.monotonic()
            code = server.stop()
            stop_s = time.monotonic() - began
    finally:
        server.stop()
    figures["stopped after, s"] = round(stop_s, 1)
    return Outcome(bool(held and code == 0 and stop_s <= STOP_S_MAX), figures)


def fill(server: Served, tokens: TokenStore, features: int) -> None:
    """Record and review decisions, each of a feature of its own. A token for each part keeps all within the rate."""
    for first in range(0, features, PART_FEATURES):
        secret = tokens.add(f"filler-{first}", ("append", "read"), system_clock())[1]
        time.sleep(2 * RECHECK_S)
        with Poster(server.url, secret) as poster:
            for start in range(first, min(features, first + PART_FEATURES), BATCH_EVENTS // 2):
                lines: list[bytes] = []
                for number in range(start, min(features, start + BATCH_EVENTS // 2)):
                    lines += reviewed_decision(number)
                assert poster.post(*lines).status == 201
            assert poster.ask("GET", "/calibration").status == 200


def reviewed_decision(number: int) -> tuple[bytes, bytes]:
    """A decision of its own feature, and its review."""
    name = f"feature-{number:06}"
    data = {"decision_id": name, "decision": "x", "confidence": 0.5 + number % 50 / 100, "feature": name}
    review = {"decision_id": name, "outcome": "success" if number % 3 else "failure"}
    made = msgspec.json.encode({"type": "decision.recorded.v1", "data": data})
    return made, msgspec.json.encode({"type": "decision.reviewed.v1", "data": review})


def observe(server: Served, token: str, seconds: float) -> Measured:
    """Append single events one after another, slower than the rate of a token, while health is asked for."""
    watch, singles_ms, wrong = Watch(server), list[float](), list[str]()
    watch.start()
    with Poster(server.url, token) as poster:
        for number in range(WARM_POSTS):
            poster.post(event(f"warm-{time.monotonic_ns()}-{number}"))
        end = time.monotonic() + seconds
        while (began := time.monotonic()) < end:
            status = poster.post(event(f"single-{time.monotonic_ns()}")).status
            singles_ms.append((time.monotonic() - began) * 1_000)
            if status != 201:
                wrong.append(f"a single append was answered {status}")
            time.sleep(BETWEEN_S)
    watch.ended.set()
    watch.join()
    return Measured(singles_ms, watch.health_ms, watch.memory_mib, wrong + watch.wrong)


@contextmanager
def greed(server: Served, token: str, kinds: Sequence[str]) -> Iterator[None]:
    """Let a greedy client of each kind go on."""
    command = [sys.executable, "-m", greedy_client.__name__, server.url, token]
    clients = [subprocess.Popen([*command, kind], cwd=ROOT) for kind in kinds]
    try:
        time.sleep(1)
        yield
    finally:
        for client in clients:
            client.kill()
            client.wait()


def quantile(values: Sequence[float], share: float) -> float:
    """The value that a share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


GREEDY = Fault(
    name="greedy",
    title="one token takes all it can: 1,000 feeds, 40 bodies of 16 MiB, 12 views of 100,000 groups",
    must_hold="another's single append p99 at most 4 times the quiet one, health within 100 ms, 600 MiB, stops in 5 s",
    dose=60,
    unit="seconds of each",
    run=run,
)
