"""A log in memory with several nodes, transactions that fail, crashes, and faults that the checker must find.

Admission is that of the product, so its lines are stored lines. A transaction waits like one over a network. It may be
aborted, or committed without the client getting the answer; a crash ends every transaction that is under way.
"""

import asyncio
import enum
import random
from array import array
from bisect import insort
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple

from events.envelope import Draft
from events.registry import VOCABULARY
from ledger.admission import ExistingEvent, GroupAdmission, Lookups, StreamHead, assign_stream_id, prepare
from ledger.clock import system_clock
from ledger.errors import LedgerUnavailable
from ledger.log import Head, LogPage, Query
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import TreeEdge
from tallystick.shapes.appended import AppendedEvent
from tests.faults.history.node import LogNode, SizeAndRoot

COLUMNS = 9
ABORTED = 0.04
"""Share of transactions that are aborted; as many are committed without an answer."""

ABORTED_OFTEN = 0.4
"""The share where only an aborted transaction shows the fault, to a reader at that moment."""


class LogBug(enum.Enum):
    """What a faulty log does."""

    EARLY_ANSWER = "acknowledges before the write is durable, and loses the tail at a crash"
    UNCOMMITTED_READS = "shows lines that are not committed, and may be aborted"
    NO_LOCK = "takes positions from a sequence without a lock: gaps, and lines out of order"
    IGNORED_OUTCOME = "reports success where the outcome is unknown"
    NO_IDENTITIES = "does not look up ids: appends a retry again"
    TORN_COMMIT = "commits a batch in two parts"
    STALE_READS = "reads from a copy that is behind"
    SIGNS_UNCOMMITTED = "signs lines that are not committed, and may be aborted"


SHOWN_BY_ABORTS = (LogBug.UNCOMMITTED_READS, LogBug.SIGNS_UNCOMMITTED)


class _Row(NamedTuple):
    position: int
    source: str
    id: str
    subject: str
    version: int
    type: str
    happened_us: int
    recorded_us: int
    line: bytes


class MemoryLedger:
    """The state that all nodes share."""

    def __init__(self, rng: random.Random, bug: LogBug | None = None) -> None:
        self.rng = rng
        self.bug = bug
        self.rows: list[_Row] = []
        """The lines that readers see, by position."""
        self.pending: list[_Row] = []
        """The lines of the transaction that is under way."""
        self.sequence = 0
        self._aborted = ABORTED_OFTEN if bug in SHOWN_BY_ABORTS else ABORTED
        self._durable = 0
        self._crashes = 0
        self._lock = asyncio.Lock()
        self._streams: dict[str, StreamHead] = {}
        self._taken: dict[tuple[str, str], ExistingEvent] = {}

    def crash(self) -> None:
        """End every transaction; a log that answers early loses what is not durable."""
        self._crashes += 1
        if self.bug is LogBug.EARLY_ANSWER:
            self._keep(self._durable)

    def sync(self) -> None:
        """Make all lines durable. Only a log that answers early needs it."""
        self._durable = len(self.rows)

    async def append(self, batch: Sequence[Draft]) -> list[AppendedEvent]:
        """One transaction."""
        async with AsyncExitStack() as stack:
            if self.bug is not LogBug.NO_LOCK:
                await stack.enter_async_context(self._lock)
            await self.wait()
            crashes, before = self._crashes, len(self.rows)
            answers, rows = self._admit(batch)
            self.sequence = max(self.sequence, *(row.position for row in rows)) if rows else self.sequence
            self.pending = rows
            if self.bug is LogBug.UNCOMMITTED_READS:
                self._commit(rows)
            if self.bug is LogBug.TORN_COMMIT:
                self._commit(rows[: len(rows) // 2])
            await self.wait()
            self.pending = []
            fate = self.rng.random()
            if crashes != self._crashes or fate < self._aborted:
                if self.bug is LogBug.UNCOMMITTED_READS:
                    self._keep(before)
                if self.bug is LogBug.IGNORED_OUTCOME:
                    return answers
                raise LedgerUnavailable("The transaction was aborted, or not.", "Retry with the same ids.")
            if self.bug is LogBug.TORN_COMMIT:
                rows = rows[len(rows) // 2 :]
            if self.bug is not LogBug.UNCOMMITTED_READS:
                self._commit(rows)
        await self.wait()
        if fate < self._aborted + ABORTED:
            raise LedgerUnavailable("The connection was lost at the commit.", "Retry with the same ids.")
        return answers

    async def wait(self) -> None:
        """Let others run, like a call over a network."""
        for _ in range(self.rng.randint(0, 3)):
            await asyncio.sleep(0)
        if self.rng.random() < 0.05:
            await asyncio.sleep(0.001)

    def _admit(self, batch: Sequence[Draft]) -> tuple[list[AppendedEvent], list[_Row]]:
        entries = [prepare(VOCABULARY, draft, index) for index, draft in enumerate(batch)]
        newest = self.sequence if self.bug is LogBug.NO_LOCK else len(self.rows)
        for index, entry in enumerate(entries):
            if entry.id_generated:
                entries[index] = assign_stream_id(entry, newest + index, self.rng)
        taken = {} if self.bug is LogBug.NO_IDENTITIES else self._taken
        lookups = Lookups(dict(self._streams), dict(taken))
        head = Head(newest, self.rows[-1].recorded_us if self.rows else 0)
        group = GroupAdmission(VOCABULARY, head, system_clock(), lookups, self.rng)
        answers = group.admit(entries)
        values = group.rows
        return answers, [_Row(*values[first : first + COLUMNS]) for first in range(0, len(values), COLUMNS)]  # type: ignore[arg-type]

    def _commit(self, rows: Sequence[_Row]) -> None:
        for row in rows:
            insort(self.rows, row)
            self._streams[row.subject] = StreamHead(row.version, row.type)
            appended = AppendedEvent(row.position, row.id, row.subject, row.version, duplicate=False)
            self._taken[row.source, row.id] = ExistingEvent(appended, row.line)

    def _keep(self, count: int) -> None:
        """Drop the lines after so many."""
        rows, self.rows = self.rows[:count], []
        self._streams.clear()
        self._taken.clear()
        self._commit(rows)


class MemoryNode:
    """One node of the log: the methods that a workload uses."""

    def __init__(self, ledger: MemoryLedger) -> None:
        self._ledger = ledger
        self._copy: list[_Row] = []
        self._edge = TreeEdge()

    async def append(self, batch: Sequence[Draft]) -> list[AppendedEvent]:
        return await self._ledger.append(batch)

    async def head(self) -> Head:
        await self._ledger.wait()
        rows = self._visible()
        return Head(rows[-1].position, rows[-1].recorded_us) if rows else Head(0, 0)

    async def read(self, query: Query) -> LogPage:
        await self._ledger.wait()
        return self._page(query)

    def _page(self, query: Query) -> LogPage:
        before = query.before if query.before is not None else 2**63
        rows = [row for row in self._visible() if query.after < row.position < before]
        rows = rows[::-1] if query.order == "desc" else rows
        page = rows[: query.limit]
        positions = array("q", [row.position for row in page])
        return LogPage(b"\n".join(row.line for row in page), positions, more=len(rows) > len(page))

    async def follow(self, query: Query) -> AsyncIterator[LogPage]:
        after = query.after
        while True:
            page = self._page(Query(after=after, limit=query.limit))
            if page.positions:
                after = page.positions[-1]
                yield page
            await asyncio.sleep(0.001)

    async def checkpoint(self) -> SizeAndRoot:
        """The tree over all lines that a reader sees. A node keeps its right edge, as the product does."""
        for _ in range(5):
            await self._ledger.wait()
        rows = self._visible()
        if len(rows) < self._edge.size:
            self._edge = TreeEdge()
        self._edge, _ = self._edge.grow(leaf_hashes(row.line for row in rows[self._edge.size :]))
        edge = self._edge
        if self._ledger.bug is LogBug.SIGNS_UNCOMMITTED:
            edge, _ = edge.grow(leaf_hashes(row.line for row in self._ledger.pending))
        return SizeAndRoot(edge.size, edge.root())

    def _visible(self) -> list[_Row]:
        if self._ledger.bug is LogBug.STALE_READS:
            if self._ledger.rng.random() < 0.2:
                self._copy = list(self._ledger.rows)
            return self._copy
        return self._ledger.rows


def memory_nodes(ledger: MemoryLedger, count: int) -> list[LogNode]:
    """Nodes over one ledger."""
    nodes = [MemoryNode(ledger) for _ in range(count)]
    return [LogNode(f"n{number}", node, node.checkpoint) for number, node in enumerate(nodes, 1)]
