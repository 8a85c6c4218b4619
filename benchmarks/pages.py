"""Times, sizes and memory of every web page, over a large ledger with all kinds of events.

A page that takes long answers that it is being computed. So each address has two times: until the server answers, and
until the page that it answers is complete, for which it is asked again as the script of the pages asks.
"""

import asyncio
import gzip
import random
import re
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from benchmarks import ledgers, load, scoreboard
from benchmarks.decision_ledgers import make_decisions
from benchmarks.measure import Measure, expect_at_most, show_beside
from benchmarks.page_addresses import CORRELATION_ID, PAST, addresses
from events.link import DecisionLinked
from events.registry import VOCABULARY
from ledger.sqlite.log import SqliteLog

REQUESTS = 30
MS_MAX, HTML_KB_MAX, SCRIPTS_KB_MAX, SERVER_MB_MAX = 300.0, 200.0, 30.0, 600.0
LIMIT = "the limit"
ATTEMPTS = 10
RELATED = 200
"""Events of one correlation id, the last ones of the ledger."""

_STATUSES = {"/ui/nowhere": 404, "/ui/sign-in": 303}
"""The answers without a page: a ledger without tokens has nothing to sign in to."""

WAITING: Mapping[str, str] = {"prefer": "wait=20"}
"""The header with which the script of the pages asks again."""

_AGAIN = re.compile(r'data-unfinished="([0-9.]+)"')
"""The seconds after which the script asks again."""

_SCRIPT = re.compile(r'<script[^>]* src="([^"]+)"')


class PageCost(NamedTuple):
    """What an address costs: the first time and the times after it in seconds, ascending; its bytes and scripts.

    `complete` has the times until the page is complete; a page that is complete at once has the same twice.
    """

    address: str
    first_s: float
    times: list[float]
    size: int
    html: bool
    scripts: tuple[str, ...]
    first_complete_s: float
    complete: list[float]

    @property
    def p95_ms(self) -> float:
        """The time in milliseconds that 95% of the requests after the first do not exceed."""
        return _p95_ms(self.times)

    @property
    def p95_complete_ms(self) -> float:
        """The same, until the page is complete."""
        return _p95_ms(self.complete)


def _p95_ms(times: list[float]) -> float:
    return times[int(len(times) * 0.95)] * 1e3


def measure_pages(folder: Path, decisions: int, runs: int, evaluations: int) -> Iterator[Measure]:
    """Measure each address on one connection to one server: of each section of the pages the slowest is named."""
    path = folder / "pages.db"
    make_page_ledger(path, decisions, runs, evaluations)
    with load.start_tallystick(path) as server:
        yield from measure_server(server, decisions, runs, evaluations)


def make_page_ledger(path: Path, decisions: int, runs: int, evaluations: int) -> None:
    """Make a ledger of decisions with reviews, discovery runs, evaluations, and links of one correlation id."""
    make_decisions(path, decisions)
    asyncio.run(ledgers.make_run_ledger(path, runs, ATTEMPTS))
    asyncio.run(scoreboard.make_evaluations(path, evaluations))
    asyncio.run(_add_related(path, decisions))


def measure_server(server: load.ServerProcess, decisions: int, runs: int, evaluations: int) -> Iterator[Measure]:
    """Measure every page of a server of a ledger that `make_page_ledger` made."""
    head = load.read_answer(f"{server.url}/events?limit=1&order=desc")["head"]
    places: dict[str, object] = {
        "decision": f"{decisions // 2:08x}", "deep": min(100_000, decisions // 2) // 50 * 50, "middle": decisions,
        "deep_runs": runs // 2, "deep_evaluations": evaluations // 2, "related": max(0, head - 10_000),
        "last_evaluation": f"run-{evaluations - 1}",
    }  # fmt: skip
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=load.ANSWER_S)
    costs: dict[str, list[PageCost]] = {}
    for path, address in addresses(places):
        costs.setdefault(_section(path), []).append(_measure(connection, address, head))
    yield from _times(costs, f"{decisions:,} decisions")
    every = [cost for section in costs.values() for cost in section]
    largest = max((cost for cost in every if cost.html), key=lambda cost: cost.size)
    yield expect_at_most(f"largest HTML: {largest.address}", largest.size / 1e3, HTML_KB_MAX, "KB", LIMIT, 1.0)
    scripts = {cost.address: sum(_compressed(connection, script) for script in cost.scripts) for cost in every}
    heaviest = max(scripts, key=lambda address: scripts[address])
    yield expect_at_most(f"scripts of {heaviest}, gzip", scripts[heaviest] / 1e3, SCRIPTS_KB_MAX, "KB", LIMIT, 1.0)
    yield expect_at_most("memory of the server of all pages, peak", server.peak_mb, SERVER_MB_MAX, "MB", LIMIT, 1.0)
    connection.close()


def _times(costs: dict[str, list[PageCost]], history: str) -> Iterator[Measure]:
    """Yield the slowest page of each section and every other one above the limit, then the slowest first requests."""
    for section, pages in costs.items():
        slowest, *others = sorted(pages, key=lambda cost: -cost.p95_ms)
        yield _within(f"pages of {section}, {history}, p95: {slowest.address}", slowest)
        for cost in others:
            if cost.p95_ms > MS_MAX:
                yield _within(f"pages of {section}, {history}, p95: {cost.address}", cost)
    for section, pages in costs.items():
        slowest = max(pages, key=lambda cost: cost.first_s)
        name = f"pages of {section}, {history}, first request: {slowest.address}"
        yield expect_at_most(name, slowest.first_s * 1e3, MS_MAX, "ms", LIMIT, 1.0)
    for cost in (cost for pages in costs.values() for cost in pages):
        if cost.p95_complete_ms > max(MS_MAX, cost.p95_ms):
            name = f"{cost.address}, {history}, complete, p95"
            yield show_beside(name, cost.p95_complete_ms, cost.p95_ms, "ms", "p95 of the answer")
        if cost.first_complete_s > max(MS_MAX / 1e3, cost.first_s):
            name = f"{cost.address}, {history}, complete, first request"
            yield show_beside(name, cost.first_complete_s * 1e3, cost.first_s * 1e3, "ms", "its answer")


def _within(name: str, cost: PageCost) -> Measure:
    return expect_at_most(name, cost.p95_ms, MS_MAX, "ms", LIMIT, 1.0)


def _section(path: str) -> str:
    """Return the beginning of a page's path, which names its section."""
    section = path.removeprefix("/ui").strip("/").partition("/")[0]
    return "other" if section.startswith("{") else section or "overview"


def _measure(connection: HTTPConnection, address: str, head: int) -> PageCost:
    positions = random.Random(len(address))
    asked = [address.replace(PAST, str(positions.randint(1, head))) for _ in range(REQUESTS + 1)]
    first, *later = [_complete(connection, each) for each in asked]
    html = first.media.startswith("text/html")
    scripts = tuple(_SCRIPT.findall(first.body.decode())) if html else ()
    times, complete = sorted(each.answer_s for each in later), sorted(each.complete_s for each in later)
    return PageCost(address, first.answer_s, times, len(first.body), html, scripts, first.complete_s, complete)


class _Complete(NamedTuple):
    """A complete page, and the seconds until the server answered, and until the page was complete."""

    answer_s: float
    complete_s: float
    media: str
    body: bytes


def _complete(connection: HTTPConnection, address: str) -> _Complete:
    """Ask for an address, and ask again until the page is complete, as a browser does."""
    started_s = time.perf_counter()
    answer_s, media, body = _ask(connection, address)
    while media.startswith("text/html") and (pause := _AGAIN.search(body.decode())) is not None:
        time.sleep(float(pause[1]))
        _, media, body = _ask(connection, address, WAITING)
    return _Complete(answer_s, time.perf_counter() - started_s, media, body)


def _ask(
    connection: HTTPConnection, address: str, headers: Mapping[str, str] = MappingProxyType({})
) -> tuple[float, str, bytes]:
    """Return the seconds, media type and body of an answer. Errors: SystemExit, if it is not what is to be measured."""
    started_s = time.perf_counter()
    connection.request("GET", address, headers=dict(headers))
    answer = connection.getresponse()
    body = answer.read()
    elapsed_s = time.perf_counter() - started_s
    if answer.status != _STATUSES.get(address, 200):
        raise SystemExit(f"{address} was answered with {answer.status}:\n{body.decode()}")
    return elapsed_s, answer.getheader("content-type") or "", body


def _compressed(connection: HTTPConnection, script: str) -> int:
    return len(gzip.compress(_ask(connection, script)[2]))


async def _add_related(path: Path, decisions: int) -> None:
    """Append links of the first decisions with the newer ones, all with one correlation id."""
    link = VOCABULARY.event_types["decision.linked.v1"].draft
    log = await SqliteLog.open(path)
    try:
        drafts = [
            link(
                source="/agents/agent-0",
                correlationid=CORRELATION_ID,
                data=DecisionLinked(
                    link_id=f"link-{number}",
                    source_id=f"{decisions // 2:08x}",
                    target_id=f"{number:08x}",
                    edge_type="relates_to",
                ),
            )
            for number in range(RELATED)
        ]
        await log.append(drafts)
    finally:
        await log.close()
