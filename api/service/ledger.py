"""The ledger service: one open ledger, for every use case and every interface."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Self

from msgspec import structs

from api.parameters import parse_instant
from api.principal import Forbidden, Principal
from api.progress import OpenProgress, no_progress
from api.service.as_of import AsOf, as_of
from api.service.checkpoints import CheckpointService
from api.service.evidence import EVIDENCE, EvidenceService
from api.service.guardrail_permission import GUARDRAIL_EVENTS, GuardrailPermission
from api.service.position_notes import note_read, note_written
from api.service.search_indexes import SearchIndexes
from api.token_store import TokenStore
from events import VOCABULARY, DecisionReviewed, Draft, Event, InvalidEvent, agent_of, timestamp
from events.breaker import BreakersConfigured
from ledger import (
    AppendedEvent,
    Clock,
    LogReader,
    Page,
    Query,
    SqliteLog,
    SqliteReader,
    microseconds,
    moment_of,
    system_clock,
)
from ledger.errors import ForeignStream, InvalidQuery, LedgerLocked, LedgerUnavailable, NotFound
from ledger.private_file import follow_typed_link
from ledger.sqlite.read_only import can_be_written
from ledger.view_key import read_view_key
from projections.engine import Engine, Progress
from projections.registry import PROJECTIONS
from projections.snapshots import Snapshots

POSITION_DIGITS_MAX = 20
"""Digits of an `as_of` that are read: more than any position has."""


class LedgerService:
    """One ledger with its projections, open for writing in one process, or for reading in any."""

    def __init__(
        self,
        log: SqliteLog | None,
        reader: SqliteReader,
        engine: Engine,
        indexes: SearchIndexes,
        tokens: TokenStore,
        clock: Clock,
    ) -> None:
        self.log = log
        self.reader: LogReader = log if log is not None else reader
        self.engine = engine
        self.indexes = indexes
        self.search, self.embeddings = indexes
        self.tokens = tokens
        self.clock = clock
        self.path = reader.path
        self.evidence = EvidenceService(reader.path, self.reader, engine, self.record, writable=log is not None)
        self.proving = CheckpointService(reader.path, self.reader, log)
        self._scanner = reader
        self._guardrails = GuardrailPermission()

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        writable: bool,
        address: str | None = None,
        clock: Clock = system_clock,
        progress: Progress | None = None,
        views: bool = True,
    ) -> Self:
        """Open a ledger file, creating it if `writable`, and bring the projections up to date.

        With `views=False` nothing is folded until `fold`: for callers that only read or append events.
        Errors: LedgerLocked, LedgerUnusable.
        """
        path = follow_typed_link(path)
        log = await SqliteLog.open(path, clock=clock, address=address, progress=progress) if writable else None
        try:
            scanner = await SqliteReader.open(path)
        except BaseException:
            if log is not None:
                await log.close()
            raise
        secret = await asyncio.to_thread(read_view_key, path, make=writable)
        snapshots = await Snapshots.open(path.with_name(path.name + ".views.db"), writable=writable, secret=secret)
        engine = Engine(_Committed(log, scanner) if log is not None else scanner, PROJECTIONS, snapshots)
        indexes = SearchIndexes.beside(path, log if log is not None else scanner, engine, secret)
        ledger = cls(log, scanner, engine, indexes, TokenStore(path), clock)
        try:
            if writable:
                await ledger.evidence.recover()
            if views:
                await ledger.fold(progress)
        except BaseException:
            await ledger.close()
            raise
        return ledger

    async def close(self) -> None:
        """Finish accepted appends, sign the head, save snapshots, close the files.

        If one close fails, the others still run: the thread of an open connection would keep the process from ending.
        """
        async with AsyncExitStack() as closing:
            if self.log is not None:
                closing.push_async_callback(self.log.close)
            closing.push_async_callback(self._scanner.close)
            closing.push_async_callback(self.engine.close)
            closing.push_async_callback(self.indexes.close)
            await self.proving.close()

    async def fold(self, progress: Progress | None = None) -> None:
        """Bring the projections up to date, after opening with `views=False`."""
        await self.engine.start(progress)

    async def record(self, drafts: Sequence[Draft], caller: Principal) -> list[AppendedEvent]:
        """Append a batch in the name of a principal. Errors: Forbidden, and those of `Log.append`."""
        caller.require("append")
        caller.spend(len(drafts))
        for index, draft in enumerate(drafts):
            if type(draft.data) in EVIDENCE:
                self.evidence.check(draft, index)
            if type(draft.data) in GUARDRAIL_EVENTS:
                self._guardrails.check(draft, caller, index)
            if type(draft.data) is BreakersConfigured:
                caller.require("admin")
            if type(draft.data) is DecisionReviewed and caller.review == "none":
                raise Forbidden(
                    f"The token of {caller.agent} may not review decisions. Nothing was written.",
                    "Use a token of a reviewer: its policy is `review: none`.",
                )
            try:
                draft.source = caller.resolve_source(draft.source)
            except InvalidQuery as error:
                raise InvalidEvent(error.detail, error.advice, field="source", index=index) from None
        if self.log is None:
            raise LedgerUnavailable("This ledger is open for reading only; nothing was written.", "Open it to write.")
        try:
            async with self.embeddings.admit(drafts):
                appended = await self.log.append(drafts, caller.permissions)
        except ForeignStream as error:
            _explain(error)
            raise
        note_written(appended)
        return appended

    async def record_check(self, draft: Draft, caller: Principal) -> AppendedEvent:
        """Append an evaluation of guardrails, which only this process can make. Errors: those of `record`."""
        with self._guardrails.accept(draft):
            return (await self.record([draft], caller))[0]

    async def has_guardrails(self) -> bool:
        """Return whether the log may have guardrails. If not, nothing needs to be folded to know that none applies."""
        if self.log is None:
            return True  # another process may set one at any time
        if self._guardrails.ever_set is None:
            page = await self.reader.read(Query(types=("guardrail.set.v1",), limit=1))
            self._guardrails.note(found=bool(page.positions))
        return bool(self._guardrails.ever_set)

    async def head_position(self) -> int:
        """Return the position of the newest event; 0 if there is none."""
        return (await self.reader.head()).position

    async def read(self, query: Query) -> Page:
        """Read a page of events. Errors: InvalidQuery, for a cursor beyond the head."""
        await self._check_cursor(query.after)
        page = await self.reader.read(query)
        note_read(page.positions)
        return page

    async def follow(self, query: Query) -> AsyncIterator[Page]:
        """Yield events as they are committed, after a cursor. Errors: InvalidQuery, for a cursor beyond the head."""
        await self._check_cursor(query.after)
        async for page in self.reader.follow(query):
            note_read(page.positions)
            yield page

    async def scan(self, query: Query) -> AsyncIterator[Page]:
        """Yield every selected event that is committed now, page by page."""
        await self._check_cursor(query.after)
        head = (await self.reader.head()).position
        query = structs.replace(query, before=min(query.before or head + 1, head + 1))
        while True:
            page = await self.reader.read(query)
            if page.positions:
                note_read(page.positions)
                yield page
            if not page.more:
                return
            edge = {"before" if query.order == "desc" else "after": page.positions[-1]}
            query = structs.replace(query, **edge)

    async def event(self, position: int) -> bytes:
        """Return the stored line at a position. Errors: NotFound."""
        page = await self.reader.read(Query(after=position - 1, before=position + 1, limit=1))
        if not page.positions:
            head = (await self.reader.head()).position
            raise NotFound(f"Position {position} is not in the log.", f"Positions run from 1 to {head}.")
        note_read(page.positions)
        return page.ndjson

    async def stream(self, subject: str, after: int, limit: int) -> Page:
        """Read a page of one stream's events. Errors: NotFound."""
        page = await self.read(Query(subjects=(subject,), after=after, limit=limit))
        if not page.positions and not (await self.reader.read(Query(subjects=(subject,), limit=1))).positions:
            raise NotFound(f"{subject} is not in the log.", "Streams are named KIND/ID, as in decision/3f2a9c1e.")
        return page

    async def resolve(self, as_of: str | None, name: str = "as_of") -> int | None:
        """Return the position of an `as_of`, a position or a time as text; None for None. Errors: InvalidQuery."""
        if as_of is None:
            return None
        head = await self.reader.head()
        if as_of.isascii() and as_of.isdigit():
            position = int(as_of[:POSITION_DIGITS_MAX])
            if position > head.position:
                detail = f"{as_of} is beyond the head, {head.position}."
                raise InvalidQuery(name, detail, "Name a position up to the head.")
            return position
        moment = parse_instant(name, as_of, end=True)
        if parse_instant(name, as_of) > self.clock() and microseconds(moment) > head.recorded_us:
            detail = f"{as_of} is beyond the head, recorded {timestamp(moment_of(head.recorded_us))}."
            raise InvalidQuery(name, detail, "Name a time that has passed.")
        return await self.reader.position_at(microseconds(moment))

    def usable_events(self, page: Page) -> Iterable[Event]:
        """Return the events of a page, without those that are left out of the views."""
        left_out = self.engine.left_out
        if not left_out:
            return VOCABULARY.events(page.ndjson)
        lines = zip(page.positions, page.lines, strict=False)
        return (VOCABULARY.event(line) for position, line in lines if position not in left_out)

    async def _check_cursor(self, position: int) -> None:
        head = (await self.reader.head()).position
        if position > head:
            detail = f"{position} is beyond the head, {head}."
            raise InvalidQuery("after", detail, "Was the cursor made by another ledger? Begin again from 0.")

    async def dated(self, position: int) -> AsOf:
        """Return a position with the time when it was recorded. A view as of it has read every event up to it."""
        note_read((1, position) if position else ())
        return await as_of(self.reader, position)


def _explain(error: ForeignStream) -> None:
    """Say in an error who the agent is and which scope is missing; the log knows only sources."""
    agent = agent_of(error.author)
    if error.rule == "owner":
        error.detail = f"{error.subject} belongs to {agent}: only {agent} may append {error.type} to it."
        error.advice = f"Use a token of {agent}, or one with the scope import or admin."
    elif error.rule == "first":
        by = f"only {agent}, or a token with the scope review, may replace it"
        error.detail = f"{error.subject} was reviewed by {agent}; {by}."
        error.advice = f"Use a token of {agent}, or make one: tallystick token add NAME --scope append --scope review."
    else:
        error.detail = f"{error.subject} belongs to {agent}, and this token may review only decisions of others."
        error.advice = "Let another agent review it: the token's policy is `review: others`."
    error.detail += " Nothing was written."


class _Committed:
    """The log for the engine: the writer's head, and reads on a connection of their own, so that no reader waits."""

    def __init__(self, log: SqliteLog, scanner: SqliteReader) -> None:
        self.head = log.head
        self.read = scanner.read
        self.follow = log.follow
        self.position_at = scanner.position_at
        self.recorded_at = scanner.recorded_at
        self.counts = scanner.counts
        self.tiles = scanner.tiles


def page_json(page: Page, head: int) -> bytes:
    """Return a page as JSON that contains the stored lines. Lines contain no line feeds, so each line feed ends one."""
    next_cursor = str(page.positions[-1]).encode() if page.more else b"null"
    lines = page.ndjson.replace(b"\n", b",")
    return b'{"events":[%b],"next":%b,"head":%d}' % (lines, next_cursor, head)


@asynccontextmanager
async def open_for_reading(
    path: Path, *, views: bool = True, progress: OpenProgress = no_progress
) -> AsyncIterator[LedgerService]:
    """Open a ledger file for reading; another process may write it. With `views`, fold the new events.

    Errors: LedgerUnusable.
    """
    with progress("folding", "events") as report:
        ledger = await LedgerService.open(path, writable=False, progress=report, views=views)
    try:
        yield ledger
    finally:
        await ledger.close()


@asynccontextmanager
async def open_for_signing(path: Path) -> AsyncIterator[LedgerService]:
    """Open a ledger file to sign its head; if another process writes it, for reading. Errors: LedgerUnusable."""
    try:
        ledger = await LedgerService.open(path, writable=can_be_written(path), views=False)
    except LedgerLocked:
        ledger = await LedgerService.open(path, writable=False, views=False)
    try:
        yield ledger
    finally:
        await ledger.close()
