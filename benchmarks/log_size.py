"""Costs that must not grow with the log: the same figures at a small and a large ledger, measured in turns."""

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import ledgers, load
from benchmarks.child_cost import ChildCost, measure_command
from benchmarks.decision_ledgers import TAGS, burst_bodies, make_decisions
from benchmarks.measure import FULL_EFFORT, Effort, Measure, compare_in_turns, expect_within, show_beside

JSON, NDJSON = "application/json", "application/x-ndjson"
PAGE = 20
DEEP_PAGE = 100
LOADED_ROUNDS = 3
CONNECTIONS = 64
BATCH_CONNECTIONS = 4

START_S_MAX, START_RATIO_MAX = 0.5, 1.5
COMMAND_S_MAX = 0.8
BURST_S_MAX = 0.3
LOADED_MS_MAX = 50.0
LIST_MS_MAX, LIST_RATIO_MAX = 10.0, 2.0
SERVER_MB_MAX, VERB_MB_MAX = 1_200.0, 150.0
VIEWS_SHARE_MAX = 0.1
APPEND_RATIO_MIN = 0.9

COMMANDS = ("calibration", f"decisions --limit {PAGE}", f"log --limit {PAGE}", "status")
"""Commands that read: each loads the views that it asks."""


class Pair(NamedTuple):
    """The figures of a small and a large ledger."""

    small: float
    large: float


class Sizes(NamedTuple):
    """The two ledgers, how many decisions each had at first, and the effort of the measurements."""

    paths: tuple[Path, Path]
    decisions: tuple[int, int]
    effort: Effort

    @property
    def against(self) -> str:
        """What the figures of the large ledger are compared with."""
        return f"the same at {self.decisions[0]:,}"

    def name(self, what: str) -> str:
        """Return the name of a row."""
        return f"{what}, {self.decisions[1]:,} decisions"

    def in_turns(self, measure: Callable[[Path], float]) -> Pair:
        """Measure both ledgers in turns; return the medians."""
        figures = [[measure(path) for path in self.paths] for _ in range(self.effort.rounds)]
        small, large = (median(column) for column in zip(*figures, strict=True))
        return Pair(small, large)


def measure_log_size(
    folder: Path, small: int, large: int, burst: int, effort: Effort = FULL_EFFORT
) -> Iterator[Measure]:
    """Measure two ledgers side by side: of `small` and `large` decisions, each with its review."""
    sizes = Sizes((folder / f"small-{small}.db", folder / f"large-{large}.db"), (small, large), effort)
    rates = []
    for path, decisions in zip(sizes.paths, sizes.decisions, strict=True):
        started_s = time.perf_counter()
        make_decisions(path, decisions)
        rates.append(2 * decisions / (time.perf_counter() - started_s))
    yield show_beside(sizes.name("ledger made"), rates[1], rates[0], "events/s", sizes.against)
    folds = [2 * decisions / _fold(path) for path, decisions in zip(sizes.paths, sizes.decisions, strict=True)]
    yield show_beside(sizes.name("first fold of all events"), folds[1], folds[0], "events/s", sizes.against)
    yield from _after_restart(sizes)
    yield from _of_commands(sizes)
    with ExitStack() as running:
        servers = [running.enter_context(load.start_tallystick(path)) for path in sizes.paths]
        yield from _of_lists(sizes, servers)
        yield _memory("resident memory after figures and lists", sizes, servers)
        yield from _of_appends(sizes, servers)
        yield from _under_load(sizes, servers)
        yield from _after_burst(sizes, servers, burst)
        yield _memory("resident memory after all writes", sizes, servers)
    yield _of_views(sizes)


def _fold(path: Path) -> float:
    """Return the seconds in which a server folds all events for the first time; its snapshots stay."""
    started_s = time.perf_counter()
    with load.start_tallystick(path):
        return time.perf_counter() - started_s


def _after_restart(sizes: Sizes) -> Iterator[Measure]:
    """Measure a server's first figure with nothing to fold, from the start of its process."""
    from_listening: dict[Path, list[float]] = {path: [] for path in sizes.paths}

    def start(path: Path) -> float:
        started_s = time.perf_counter()
        with load.start_unfolded(path) as server:
            listening_s = time.perf_counter()
            load.read_answer(f"{server.url}/calibration")
            answered_s = time.perf_counter()
        from_listening[path].append(answered_s - listening_s)
        return answered_s - started_s

    times = sizes.in_turns(start)
    name = sizes.name("first figure after a restart")
    yield _within(name, times, sizes, "s", START_S_MAX, START_RATIO_MAX)
    small, large = (median(from_listening[path]) for path in sizes.paths)
    yield show_beside(f"{name}, once the server listens", large, small, "s", sizes.against)


def _of_commands(sizes: Sizes) -> Iterator[Measure]:
    """Measure commands that read, with nothing to fold and no server."""
    costs: dict[tuple[str, Path], list[ChildCost]] = {}
    for _ in range(sizes.effort.rounds):
        for path in sizes.paths:
            for arguments in COMMANDS:
                command = [sys.executable, "-m", "tallystick", "--ledger", str(path), *arguments.split()]
                costs.setdefault((arguments, path), []).append(measure_command(command, load.ROOT))
    for arguments in COMMANDS:
        small, large = (median(cost.elapsed_s for cost in costs[arguments, path]) for path in sizes.paths)
        name = sizes.name(f"tallystick {arguments}")
        if arguments == "calibration":
            yield _within(name, Pair(small, large), sizes, "s", COMMAND_S_MAX, START_RATIO_MAX)
        else:
            yield show_beside(name, large, small, "s", sizes.against)
    for arguments in COMMANDS:
        small, large = (max(cost.peak_mb for cost in costs[arguments, path]) for path in sizes.paths)
        yield _within(sizes.name(f"memory of tallystick {arguments}"), Pair(small, large), sizes, "MB", VERB_MB_MAX)


def _of_lists(sizes: Sizes, servers: list[load.ServerProcess]) -> Iterator[Measure]:
    """Measure the first and a deep page of decisions, without a filter and by each."""
    recently = (datetime.now(UTC) - timedelta(days=90)).isoformat(timespec="seconds").replace("+00:00", "Z")
    filters = {
        "": "", "agent": "agent-3", "category": "architecture", "stakes": "high", "project": "apollo",
        "feature": "billing", "cluster": "session-0", "model": "model-large-1", "status": "reviewed",
        "outcome": "failure", "tag": TAGS[0], "since": recently, "until": recently, "window": "90d", "order": "asc",
        "sort": "confidence", "search": "gateway",
    }  # fmt: skip
    for name, value in filters.items():
        query = f"/decisions?limit={PAGE}" + (f"&{name}={value}" if name else "")
        totals = [load.read_answer(f"{server.url}{query}")["total"] for server in servers]
        deepest = min(DEEP_PAGE, *(max(1, total // PAGE) for total in totals))
        by = f"/decisions?limit={PAGE} by {name}" if name else f"/decisions?limit={PAGE}"
        for page in (1, deepest):
            urls = [f"{server.url}{query}&offset={(page - 1) * PAGE}" for server in servers]
            small, large = (median(load.time_answers(url, sizes.effort.seconds / 6)) for url in urls)
            times = Pair(small * 1e3, large * 1e3)
            yield _within(sizes.name(f"{by}, page {page}"), times, sizes, "ms", LIST_MS_MAX, LIST_RATIO_MAX)


def _under_load(sizes: Sizes, servers: list[load.ServerProcess]) -> Iterator[Measure]:
    """Measure /calibration on one connection, while others write as fast as they can."""
    p99: list[float] = []
    seconds = LOADED_ROUNDS * sizes.effort.seconds
    for server in servers:
        with ThreadPoolExecutor(1) as writers:
            written = writers.submit(
                load.run_wrk, f"{server.url}/events", connections=CONNECTIONS, seconds=seconds + 2,
                body=ledgers.SINGLE, media=JSON,
            )  # fmt: skip
            time.sleep(1)
            times = load.time_answers(f"{server.url}/calibration", seconds)
            written.result()
        p99.append(times[int(len(times) * 0.99)] * 1e3)
    name = sizes.name(f"/calibration while {CONNECTIONS} connections write, p99")
    yield _within(name, Pair(*p99), sizes, "ms", LOADED_MS_MAX)


def _after_burst(sizes: Sizes, servers: list[load.ServerProcess], events: int) -> Iterator[Measure]:
    """Measure the first figure after many new decisions and reviews, posted in batches."""
    times: list[float] = []
    rates: list[float] = []
    for server, decisions in zip(servers, sizes.decisions, strict=True):
        step = events // (2 * BATCH_CONNECTIONS)
        shares = [burst_bodies(decisions + number * step, 2 * step) for number in range(BATCH_CONNECTIONS)]
        started_s = time.perf_counter()
        with ThreadPoolExecutor(BATCH_CONNECTIONS) as clients:
            list(clients.map(_post_all, [server.url] * BATCH_CONNECTIONS, shares))
        ended_s = time.perf_counter()
        answer = load.read_answer(f"{server.url}/calibration")
        times.append(time.perf_counter() - ended_s)
        rates.append(events / (ended_s - started_s))
        head = load.read_answer(f"{server.url}/events?limit=1&order=desc")["head"]
        assert answer["as_of"]["position"] == head, "a figure has every event that was committed before it was asked"
    name = sizes.name(f"first figure after a burst of {events:,} events")
    yield _within(name, Pair(*times), sizes, "s", BURST_S_MAX)
    yield show_beside(sizes.name("rate of that burst"), rates[1], rates[0], "events/s", sizes.against)


def _post_all(url: str, bodies: list[bytes]) -> None:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=load.ANSWER_S)
    for body in bodies:
        connection.request("POST", "/events", body, {"Content-Type": NDJSON})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            raise SystemExit(f"A batch of the burst was refused with {answer.status}:\n{text.decode()[:1000]}")
    connection.close()


def _of_appends(sizes: Sizes, servers: list[load.ServerProcess]) -> Iterator[Measure]:
    """Measure the append rates, in turns, with every event folded before each round."""
    kinds: dict[str, tuple[int, int, dict[str, Any]]] = {
        "one a request": (1, CONNECTIONS, {"body": ledgers.SINGLE, "media": JSON}),
        "batches of 1,000": (ledgers.BATCH, BATCH_CONNECTIONS, {"body": ledgers.BATCH_BODY, "media": NDJSON}),
    }
    seconds = sizes.effort.seconds
    for name, (events, connections, body) in kinds.items():
        rates: tuple[list[float], list[float]] = ([], [])
        for _ in range(sizes.effort.rounds):
            for server, figures in zip(servers, rates, strict=True):
                load.read_answer(f"{server.url}/projections")
                sent = load.run_wrk(f"{server.url}/events", connections=connections, seconds=seconds, **body)
                figures.append(events * sent.rate)
        small, large = rates
        yield compare_in_turns(sizes.name(f"append, {name}"), large, small, "events/s", sizes.against, APPEND_RATIO_MIN)


def _memory(what: str, sizes: Sizes, servers: list[load.ServerProcess]) -> Measure:
    return _within(sizes.name(what), Pair(*(server.peak_mb for server in servers)), sizes, "MB", SERVER_MB_MAX)


def _of_views(sizes: Sizes) -> Measure:
    """Measure the views file, with its write-ahead log, against the ledger file."""
    shares = []
    for path in sizes.paths:
        files = [path.with_name(f"{path.name}.views.db{suffix}") for suffix in ("", "-wal")]
        shares.append(sum(file.stat().st_size for file in files if file.exists()) / path.stat().st_size)
    return _within(sizes.name("views file"), Pair(*shares), sizes, "of the ledger", VIEWS_SHARE_MAX)


def _within(name: str, figures: Pair, sizes: Sizes, unit: str, limit: float, ratio_max: float | None = None) -> Measure:
    return expect_within(name, figures.large, figures.small, unit, sizes.against, limit=limit, ratio_max=ratio_max)
