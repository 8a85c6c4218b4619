"""The ledger service: one open ledger, and views of it, for every use case and every interface."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Self, TypeVar

from api.parameters import parse_instant
from api.principal import OWNER, Forbidden, Principal
from api.progress import OpenProgress, no_progress
from api.service.checkpoints import CheckpointService, read_line
from api.service.evidence import EvidenceService
from api.service.narrowed_read import read_narrowed, scan_narrowed
from api.service.open_log import CommittedReader, Connections, can_write, open_connections
from api.service.position_notes import note_read, note_written
from api.service.search_indexes import SearchIndexes
from api.service.shared_tokens import follow_tokens, tokens_of
from api.service.test_checks import CHECKED, check_own_reviews, check_tests
from events.blank_texts import check_texts
from events.discovery import DiscoverySignalled
from events.envelope import Draft, Event, agent_of, timestamp
from events.errors import InvalidEvent
from events.guardrail import GuardrailSet
from events.life import Author
from events.registry import VOCABULARY
from ledger.clock import Clock, microseconds, moment_of, system_clock
from ledger.errors import (
    ForeignStream,
    InvalidQuery,
    LedgerLocked,
    LedgerUnavailable,
    LedgerUnusable,
    NotFound,
    ServerOnly,
)
from ledger.log import LogPage, LogReader, Query
from ledger.place import Place
from ledger.view_key import read_view_key
from projections.engine import Engine, Progress
from projections.projection import Projection
from projections.snapshots import Snapshots
from tallystick.shapes.appended import AppendedEvent
from tallystick.shapes.parts import AsOf


async def as_of(reader: LogReader, position: int) -> AsOf:
    """Return a position with its time. The time of the head needs no query for the position."""
    head = await reader.head()
    if position == 0:
        return AsOf(0, None)
    recorded_us = head.recorded_us if position == head.position else await reader.recorded_at(position)
    return AsOf(position, moment_of(recorded_us))


POSITION_DIGITS_MAX = 20
"""Digits of an `as_of` that are read: more than any position has."""

P = TypeVar("P", bound=Projection)
_Params = TypeVar("_Params")
_Answer = TypeVar("_Answer")

_INSTEAD = {
    "evidence": "PUT /evidence or DELETE /evidence/{digest}; tallystick evidence put or erase.",
    "check": "POST /guardrails/check, cstp.checkGuardrails or tallystick guardrail check.",
}
"""For streams whose events the ledger makes: what a caller does instead."""

_ANYONE, _OWNER = Author.ANYONE, Author.OWNER
"""Local names: an enumeration's member is slow to find, and every event is compared with these."""

_REVIEWS = {"decision": "review decisions", "label": "label answers"}
"""For streams with reviews: what a caller may not do whose policy is to review none."""


class View:
    """A ledger as of a position, or as it is now.

    As of a position the clock shows the time of that position, so that the same question has the same answer whenever
    it is asked.
    """

    def __init__(
        self,
        ledger: "LedgerService",
        reader: LogReader,
        engine: Engine,
        indexes: SearchIndexes,
        clock: Clock,
        evidence: EvidenceService,
        position: int | None = None,
    ) -> None:
        self.ledger = ledger
        """The ledger itself, as it is now."""
        self.reader = reader
        """The log, as it is now."""
        self.engine = engine
        self.indexes = indexes
        self.clock = clock
        self.evidence = evidence
        self.position = position
        """The position; None: now."""
        self.used: set[int] | None = None if ledger is self else set()
        """The positions of the states that were read. More than one: events were appended between two reads."""

    async def as_of(self, when: str | None, name: str = "as_of") -> "View":
        """Return the view as of a position or a time as text; of None, now. Errors: InvalidQuery."""
        position = await self.resolve(when, name)
        if when is None or position is None:
            return self.now()
        view = await self.past(position)
        if not when.isdigit():
            now = min(parse_instant(name, when, end=True), self.clock())
            view.clock = lambda: now
        return view

    def now(self) -> "View":
        """Return the view of now that notes the positions it uses."""
        return View(self.ledger, self.reader, self.engine, self.indexes, self.ledger.clock, self.evidence)

    async def past(self, position: int) -> "View":
        """Return the view as of a position."""
        known = 0 < position <= (await self.reader.head()).position
        moment = (await as_of(self.reader, position)).time if known else None
        clock = self.ledger.clock if moment is None else lambda: moment
        return View(self.ledger, self.reader, self.engine, self.indexes, clock, self.evidence, position)

    async def answer(
        self, operation: Callable[["View", _Params, Principal], Awaitable[_Answer]], params: _Params
    ) -> _Answer:
        """Return the answer of an operation to the owner of the ledger."""
        return await operation(self, params, OWNER)

    async def evidence_bytes(self, digest: str) -> bytes:
        """Return the bytes of a digest to the owner of the ledger. Errors: those of `EvidenceService.get`."""
        return (await self.evidence.get(digest, OWNER)).data

    async def at(self, kind: type[P], *, also: Sequence[type[Projection]] = ()) -> tuple[P, int]:
        """Return the state of a projection and its position, that of the view. See `Engine.at`. Errors: InvalidQuery.

        `beside` returns the states of those in `also` at the same position.
        """
        if also and self.position is not None:
            await self.engine.catch_up(kinds=also)
        state, position = await self.engine.at(kind, self.position, also=also)
        self._note(position)
        return state, position

    async def beside(self, kind: type[P]) -> P:
        """Return the state of a projection that the last call of `at` had in `also`. Use it before the next `await`.

        A live state has the same position, since there is no pause in between.
        """
        if self.position is not None:
            return (await self.at(kind))[0]
        state = self.engine.live[kind.name]
        assert isinstance(state, kind)
        return state

    async def head_position(self) -> int:
        """Return the position of the view, now that of the newest event; 0 if there is none."""
        if self.position is not None:
            return self.position
        return (await self.reader.head()).position

    async def read(self, query: Query) -> LogPage:
        """Read a page of events. Errors: InvalidQuery, for a cursor beyond the head."""
        await self._check_cursor(query.after)
        page = await read_narrowed(self.reader, self.engine, query)
        note_read(page.positions)
        return page

    async def scan(self, query: Query) -> AsyncIterator[LogPage]:
        """Yield every selected event up to the position of the view, now every one that is committed, page by page."""
        await self._check_cursor(query.after)
        end = await self.head_position()
        self._note(end)
        async with aclosing(scan_narrowed(self.reader, self.engine, query, end)) as pages:
            async for page in pages:
                note_read(page.positions)
                yield page

    async def event(self, position: int) -> bytes:
        """Return the stored line at a position. Errors: NotFound."""
        line = await read_line(self.reader, position)
        note_read((position,))
        return line

    async def stream(self, subject: str, after: int, limit: int) -> LogPage:
        """Read a page of one stream's events. Errors: NotFound."""
        page = await self.read(Query(subjects=(subject,), after=after, limit=limit))
        if not page.positions and not (await self.reader.read(Query(subjects=(subject,), limit=1))).positions:
            raise NotFound(f"{subject} is not in the log.", "Streams are named KIND/ID, as in decision/3f2a9c1e.")
        return page

    async def resolve(self, when: str | None, name: str = "as_of") -> int | None:
        """Return the position of a position or a time as text; None for None. Errors: InvalidQuery."""
        if when is None:
            return None
        head = await self.reader.head()
        if when.isascii() and when.isdigit():
            position = int(when[:POSITION_DIGITS_MAX])
            if position > head.position:
                detail = f"{when} is beyond the head, {head.position}."
                raise InvalidQuery(name, detail, "Name a position up to the head.")
            return position
        moment = parse_instant(name, when, end=True)
        if parse_instant(name, when) > self.clock() and microseconds(moment) > head.recorded_us:
            detail = f"{when} is beyond the head, recorded {timestamp(moment_of(head.recorded_us))}."
            raise InvalidQuery(name, detail, "Name a time that has passed.")
        return await self.reader.position_at(microseconds(moment))

    def usable_events(self, page: LogPage) -> Iterable[Event]:
        """Return the events of a page, without those that are left out of the views."""
        left_out = self.engine.left_out
        if not left_out:
            return VOCABULARY.events(page.ndjson)
        lines = zip(page.positions, page.lines, strict=False)
        return (VOCABULARY.event(line) for position, line in lines if position not in left_out)

    async def dated(self, position: int) -> AsOf:
        """Return a position with the time when it was recorded. A view as of it has read every event up to it."""
        note_read((1, position) if position else ())
        return await as_of(self.reader, position)

    def _note(self, position: int) -> None:
        if self.used is not None:
            self.used.add(position)

    async def _check_cursor(self, position: int) -> None:
        head = (await self.reader.head()).position
        if position > head:
            detail = f"{position} is beyond the head, {head}."
            raise InvalidQuery("after", detail, "Was the cursor made by another ledger? Begin again from 0.")


class LedgerService(View):
    """One ledger with its projections, open for writing in one process, or for reading in any."""

    def __init__(
        self,
        place: Place,
        connections: Connections,
        engine: Engine,
        indexes: SearchIndexes,
        clock: Clock,
    ) -> None:
        log, path = connections.log, place.path
        self.place = place
        self.standby = connections.standby
        """Whether the ledger is read from a standby, as far as it is signed."""
        self.path = path
        """The ledger file; for a ledger in a database, the beginning of the paths of the files that a node keeps."""
        self.log = log
        self.tokens = tokens_of(place)
        reader: LogReader = log if log is not None else connections.scanner
        evidence = EvidenceService(path, reader, engine, self.record, writable=log is not None)
        super().__init__(self, reader, engine, indexes, clock, evidence)
        self.proving = CheckpointService(path, self.reader, log, connections.notes, place.key)
        self._opened = AsyncExitStack()
        self._guardrails_set = self._guardrails_known = False

    @classmethod
    async def open(
        cls,
        place: Place | Path,
        *,
        writable: bool,
        address: str | None = None,
        clock: Clock = system_clock,
        progress: Progress | None = None,
        views: bool = True,
    ) -> Self:
        """Open a ledger, creating a file if `writable`, and bring the projections up to date.

        With `views=False` a projection is folded when a use case asks for it, or all by `fold`: for a process that
        answers one question, or only reads or appends events. Then `progress` is called for that too.
        Errors: LedgerLocked, LedgerUnusable.
        """
        place = Place.of(place).follow_link()
        path = place.path
        async with AsyncExitStack() as opened:  # an open connection has a thread, which would keep the process alive
            connections = await open_connections(opened, place, writable=writable, clock=clock, address=address)
            log, scanner, keeps_files, place, notes, _ = connections
            secret = await asyncio.to_thread(read_view_key, path, make=keeps_files)
            file = path.with_name(path.name + ".views.db")
            snapshots = await Snapshots.open(file, writable=keeps_files, secret=secret)
            reader = CommittedReader(log, scanner) if log is not None else scanner
            engine = Engine(reader, (), snapshots, progress=progress)
            opened.push_async_callback(engine.close)
            indexes = SearchIndexes(path, log if log is not None else scanner, engine, secret)
            opened.push_async_callback(indexes.close)
            ledger = cls(place, connections, engine, indexes, clock)
            if notes is not None:
                await follow_tokens(opened, ledger.tokens, notes)
            if keeps_files:
                await ledger.evidence.recover()
            if views:
                await ledger.fold(progress)
            ledger._opened = opened.pop_all()
        return ledger

    async def close(self) -> None:
        """Finish accepted appends, sign the head, save snapshots, close the files.

        If one close fails, the others still run: the thread of an open connection would keep the process from ending.
        """
        async with self._opened:
            await self.proving.close()

    async def fold(self, progress: Progress | None = None, *, beside: bool = False) -> None:
        """Bring all projections up to date, after opening with `views=False`. `beside`: see `Engine.start`."""
        from projections.registry import PROJECTIONS  # noqa: PLC0415 - all views; most commands need one

        self.engine.add(PROJECTIONS)
        await self.engine.start(progress, beside=beside)

    async def record(self, drafts: Sequence[Draft], caller: Principal) -> list[AppendedEvent]:
        """Append a batch in the name of a principal. Errors: Forbidden, and those of `Log.append`."""
        caller.require("append")
        caller.spend(len(drafts))
        for index, draft in enumerate(drafts):
            check_author(draft, caller, index)
            if type(draft.data) is GuardrailSet:
                self._guardrails_set = True  # or is about to be
            if type(draft.data) in CHECKED:
                check_tests(draft, caller, self.clock(), index)
            check_texts(draft.data, index)
            try:
                draft.source = caller.resolve_source(draft.source)
            except InvalidQuery as error:
                raise InvalidEvent(error.detail, error.advice, field="source", index=index) from None
        if self.log is None:
            raise LedgerUnavailable("This ledger is open for reading only.", "Open it to write.", written=False)
        if not caller.permissions.as_first:
            await check_own_reviews(self.reader, drafts, caller)
        try:
            async with self.indexes.admit(drafts):
                appended = await self.log.append(drafts, caller.permissions)
        except ForeignStream as error:
            _explain(error)
            raise
        note_written(appended)
        return appended

    async def record_own(self, drafts: Sequence[Draft]) -> list[AppendedEvent]:
        """Append a batch of the ledger itself, with the sources it has. Errors: those of `Log.append`."""
        if self.log is None:
            raise LedgerUnavailable("This ledger is open for reading only.", "Open it to write.", written=False)
        async with self.indexes.admit(drafts):
            appended = await self.log.append(drafts)
        note_written(appended)
        return appended

    async def has_guardrails(self) -> bool:
        """Return whether the log may have guardrails. If not, nothing needs to be folded to know that none applies."""
        if self.log is None:
            return True  # another process may set one at any time
        if not self._guardrails_known:
            page = await self.reader.read(Query(types=("guardrail.set.v1",), limit=1))
            self._guardrails_known = True
            self._guardrails_set |= bool(page.positions)  # one may have been set meanwhile
        return self._guardrails_set

    async def follow(self, query: Query) -> AsyncIterator[LogPage]:
        """Yield events as they are committed, after a cursor. Errors: InvalidQuery, for a cursor beyond the head."""
        await self._check_cursor(query.after)
        async for page in self.reader.follow(query):
            note_read(page.positions)
            yield page


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


def page_json(page: LogPage, head: int) -> bytes:
    """Return a page as JSON that contains the stored lines. Lines contain no line feeds, so each line feed ends one."""
    next_cursor = str(page.positions[-1]).encode() if page.more else b"null"
    lines = page.ndjson.replace(b"\n", b",")
    return b'{"events":[%b],"next":%b,"head":%d}' % (lines, next_cursor, head)


@asynccontextmanager
async def open_for_reading(
    place: Place | Path, *, progress: OpenProgress = no_progress
) -> AsyncIterator[LedgerService]:
    """Open a ledger for reading; another process may write it. A view is folded when it is first asked for.

    Errors: LedgerUnusable.
    """
    with progress("folding", "events") as report:
        ledger = await LedgerService.open(place, writable=False, progress=report, views=False)
        try:
            yield ledger
        finally:
            await ledger.close()


@asynccontextmanager
async def open_for_signing(place: Place | Path) -> AsyncIterator[LedgerService]:
    """Open a ledger to sign its head; for reading, if another process writes its file, or if only a standby answers.

    Errors: LedgerUnusable.
    """
    try:
        ledger = await LedgerService.open(place, writable=can_write(Place.of(place)), views=False)
    except LedgerLocked:
        ledger = await LedgerService.open(place, writable=False, views=False)
    except LedgerUnusable as error:
        ledger = await _open_standby(Place.of(place), error)
    try:
        yield ledger
    finally:
        await ledger.close()


async def _open_standby(place: Place, error: LedgerUnusable) -> LedgerService:
    """Open a ledger that can be read from nothing but a standby. Errors: the given one, for every other ledger."""
    if place.database is None:
        raise error
    try:
        ledger = await LedgerService.open(place, writable=False, views=False)
    except LedgerUnusable:
        raise error from None
    if not ledger.standby:
        await ledger.close()
        raise error
    return ledger


def check_author(draft: Draft, caller: Principal, index: int) -> None:
    """Check that a caller may append an event. Errors: Forbidden, InvalidEvent, ServerOnly.

    Only the log knows who owns a stream and who was its first author: ledger/admission.py checks these two.
    """
    kind = VOCABULARY.event_types[draft.name]
    if kind.by is _ANYONE or (kind.by is _OWNER and type(draft.data) is not DiscoverySignalled):
        return  # most events: to look at every rule would take a twentieth of their append
    may_import = not caller.scopes.isdisjoint({"import", "admin"})
    if kind.by is Author.SERVER:
        raise ServerOnly(kind.name, kind.stream, index)
    if kind.by is Author.ADMIN:
        caller.require("admin")
    if not draft.by_ledger and (kind.by is Author.LEDGER or (kind.by is Author.IMPORTER and not may_import)):
        detail = f"{draft.name} is appended by the ledger, and not by itself."
        raise InvalidEvent(detail, _INSTEAD[kind.stream], field="type", index=index)
    if kind.by is Author.OBSERVER and not may_import:
        caller.require("observe")
    if kind.by in (Author.FIRST, Author.REVIEWER) and caller.review == "none":
        detail = f"The token of {caller.agent} may not {_REVIEWS[kind.stream]}."
        raise Forbidden(detail, "Use a token of a reviewer: its policy is `review: none`.", written=False)
    if isinstance(draft.data, DiscoverySignalled) and draft.data.agent not in (None, caller.agent) and not may_import:
        detail = f"{caller.agent} cannot signal as {draft.data.agent}."
        raise Forbidden(detail, "Omit agent, or use a token with the scope 'import'.", written=False)
