"""Every verb of the house, once. Doors decode, call here, and encode; none holds logic of its own."""

from asyncio import to_thread
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Self

from msgspec import structs

from api.access import Speaker, Tokens
from api.answers import (
    Advice,
    AsOf,
    CalibrationAnswer,
    Categorised,
    DecisionPage,
    DecisionQuery,
    ProjectionInfo,
    ProjectionState,
    Question,
    Replayed,
)
from api.custody import EVIDENCE, Custody
from api.parameters import instant
from api.proving import Proving
from events.envelope import Draft, timestamp
from events.errors import InvalidEvent
from events.limits import PAGE_EVENTS_MAX, SEARCH_WORDS_MAX
from events.registry import VOCABULARY
from ledger import Clock, Placed, Query, Reading, Slice, SqliteLog, SqliteReader, microseconds, moment_of, system_clock
from ledger.errors import InvalidQuery, LedgerUnavailable, NotFound
from projections import (
    PROJECTIONS,
    Calibration,
    CalibrationView,
    Category,
    Counted,
    Course,
    Decisions,
    Decline,
    Engine,
    Filter,
    Limits,
    Plan,
    Progress,
    Projection,
    Reasons,
    ReasonsView,
    Search,
    Selection,
    Snapshots,
    Standing,
    Table,
    breadth,
    calibrate,
    categories,
    chart,
    compare_windows,
    examined,
    precedent,
    stand,
    words_of,
)

QUICK_GROUPS_MAX = 20
"""Up to so many groups their figures take a few milliseconds, as long as the way to a thread and back under load."""


class House:
    """One ledger with its views, opened for writing by the one process that may, or for reading by any."""

    def __init__(
        self, log: SqliteLog | None, reader: SqliteReader, engine: Engine, search: Search, tokens: Tokens, clock: Clock
    ) -> None:
        self.log = log
        self.reader: Reading = log if log is not None else reader
        self.engine = engine
        self.search = search
        self.tokens = tokens
        self.clock = clock
        self.path = reader.path
        self.evidence = Custody(self, reader.path)
        self.proving = Proving(reader.path, self.reader, log)
        self._scanner = reader

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
        """Open a ledger file, making it when it is to be written and is not there, and bring the views up to date.

        Without `views` none is folded until `fold`: for who reads or appends events alone.
        Errors: LedgerLocked, LedgerUnusable.
        """
        log = await SqliteLog.open(path, clock=clock, address=address, progress=progress) if writable else None
        try:
            scanner = await SqliteReader.open(path)
        except BaseException:
            if log is not None:
                await log.close()
            raise
        snapshots = await Snapshots.open(path.with_name(path.name + ".views.db"), writable=writable)
        engine = Engine(_Committed(log, scanner) if log is not None else scanner, PROJECTIONS, snapshots)
        search = Search(path.with_name(path.name + ".search.db"), engine)
        house = cls(log, scanner, engine, search, Tokens(path), clock)
        try:
            if writable:
                await house.evidence.recover()
            if views:
                await house.fold(progress)
        except BaseException:
            await house.close()
            raise
        return house

    async def close(self) -> None:
        """Answer what was accepted, sign it where that is done, keep what was folded, let go of the files.

        Whatever fails, of the rest nothing stays open: the thread of a connection would keep the process from ending.
        """
        async with AsyncExitStack() as closing:
            if self.log is not None:
                closing.push_async_callback(self.log.close)
            closing.push_async_callback(self._scanner.close)
            closing.push_async_callback(self.engine.close)
            closing.push_async_callback(self.search.close)
            await self.proving.close()

    async def fold(self, progress: Progress | None = None) -> None:
        """Bring the views up to date, in a house that was opened without."""
        await self.engine.start(progress)

    async def record(self, drafts: Sequence[Draft], speaker: Speaker) -> list[Placed]:
        """Append a batch, spoken by an agent. Errors: Forbidden, and those of `Log.append`."""
        speaker.require("append")
        speaker.spend(len(drafts))
        for index, draft in enumerate(drafts):
            if type(draft.data) in EVIDENCE:
                self.evidence.check(draft, index)
            try:
                draft.source = speaker.speaks_as(draft.source)
            except InvalidQuery as error:
                raise InvalidEvent(error.detail, error.advice, field="source", index=index) from None
        if self.log is None:
            raise LedgerUnavailable("This ledger is open for reading only; nothing was written.", "Open it to write.")
        return await self.log.append(drafts)

    async def read(self, query: Query) -> Slice:
        """A page of events. Errors: InvalidQuery, for a cursor beyond the head."""
        await self._check_cursor("after", query.after)
        return await self.reader.read(query)

    async def follow(self, query: Query) -> AsyncIterator[Slice]:
        """Events as they are committed, from a cursor on. Errors: InvalidQuery, for a cursor beyond the head."""
        await self._check_cursor("after", query.after)
        async for page in self.reader.follow(query):
            yield page

    async def scan(self, query: Query) -> AsyncIterator[Slice]:
        """Every event that fits and is committed now, page by page."""
        await self._check_cursor("after", query.after)
        head = (await self.reader.head()).position
        query = structs.replace(query, before=min(query.before or head + 1, head + 1))
        while True:
            page = await self.reader.read(query)
            if page.positions:
                yield page
            if not page.more:
                return
            edge = {"before" if query.order == "desc" else "after": page.positions[-1]}
            query = structs.replace(query, **edge)

    async def event(self, position: int) -> bytes:
        """The stored line at a position. Errors: NotFound."""
        page = await self.reader.read(Query(after=position - 1, before=position + 1, limit=1))
        if not page.positions:
            head = (await self.reader.head()).position
            raise NotFound(f"Position {position} is not in the log.", f"Positions run from 1 to {head}.")
        return page.ndjson

    async def stream(self, subject: str, after: int, limit: int) -> Slice:
        """A page of one stream's events. Errors: NotFound."""
        page = await self.read(Query(subjects=(subject,), after=after, limit=limit))
        if not page.positions and not (await self.reader.read(Query(subjects=(subject,), limit=1))).positions:
            raise NotFound(f"{subject} is not in the log.", "Streams are named KIND/ID, as in decision/3f2a9c1e.")
        return page

    async def calibration(self, question: Question, as_of: int | None = None) -> CalibrationAnswer:
        """The figures of some decisions. Errors: InvalidQuery."""
        return (await self.calibration_by_category(question, as_of)).answer

    async def calibration_by_category(self, question: Question, as_of: int | None = None) -> Categorised:
        """The figures of some decisions, and the scores of their categories. Errors: InvalidQuery."""
        projection, position = await self.engine.at(Calibration, as_of)
        table = projection.table(question.filter)
        history = projection.history(question.filter) if question.include else None
        found = categories(table)
        view = await _calibrate(table, question, found)
        course = Course() if history is None else await to_thread(chart, history, question.include, question.trend_days)
        told = {**structs.asdict(view), **structs.asdict(course)}
        return Categorised(CalibrationAnswer(**told, as_of=await self.dated(position)), found)

    async def decline(self, about: Filter, now: datetime, limits: Limits) -> Decline:
        """The last 30 days of some decisions against the 90 before; the range of the filter is these 120 days."""
        projection, _ = await self.engine.at(Calibration)
        history = projection.history(structs.replace(about, range=examined(now)))
        return await to_thread(compare_windows, history, now, limits)

    async def advice(self, plan: Plan, as_of: int | None = None) -> Advice:
        """What decisions like the one planned came to. Errors: InvalidQuery."""
        projection, position = await self.engine.at(Calibration, as_of)
        found = precedent(projection.table(Filter(agent=plan.agent)), plan)
        return Advice(**structs.asdict(found), as_of=await self.dated(position))

    async def reasons(self, wanted: Filter, min_reviewed: int) -> ReasonsView:
        """What the reasons of some decisions came to."""
        projection, _ = await self.engine.at(Reasons)
        return projection.view(wanted, min_reviewed)

    async def decisions(self, query: DecisionQuery, as_of: int | None = None) -> DecisionPage:
        """Decisions as they stand. Errors: InvalidQuery."""
        projection, position = await self.engine.at(Decisions, as_of)
        ordered = projection.order(projection.find(query.selection), query.sort, descending=query.descending)
        if query.search is not None and (words := searched(query.search, "search")):
            hits = await self.search.find(words, position, projection.index)
            ordered = hits.holding(ordered, len(words))
        chosen = projection.subjects(ordered[query.offset : query.offset + query.limit])
        shown = await self.standings(chosen, position, history=query.history)
        after = query.offset + len(shown)
        total, dated = len(ordered), await self.dated(position)
        return DecisionPage(decisions=shown, total=total, next=after if after < total else None, as_of=dated)

    async def decision(self, decision_id: str, as_of: int | None = None, *, prefix: bool = False) -> Standing:
        """One decision with its history; by an unambiguous beginning of its id where asked. Errors: NotFound."""
        projection, position = await self.engine.at(Decisions, as_of)
        found = [decision_id] if projection.has(decision_id) else []
        if not found and prefix and decision_id:
            found = projection.matching(decision_id)
        if len(found) != 1:
            several = f"{decision_id} begins more than one id." if found else ""
            raise NotFound(
                f"Decision not found: {decision_id}", several or "Check the id, or list the decisions to find it."
            )
        events = await self._events_of([f"decision/{found[0]}"], position)
        standing = stand(VOCABULARY.events(events))
        assert standing is not None, "the index names a stream the log does not hold"
        return standing

    async def count(self, selection: Selection, as_of: int | None = None) -> Counted:
        """Counts of some decisions by what they are about."""
        projection, _ = await self.engine.at(Decisions, as_of)
        return projection.count(projection.find(selection))

    async def count_since(self, selection: Selection, moments: Sequence[datetime]) -> list[int]:
        """How many of some decisions were made at or after each of some moments."""
        projection, _ = await self.engine.at(Decisions)
        places = projection.find(selection)
        return [projection.recorded_within(places, moment) for moment in moments]

    async def projections(self) -> list[ProjectionInfo]:
        """Every projection, and how far it has folded."""
        position = await self.engine.catch_up()
        return [ProjectionInfo(**_info(kind, position)) for kind in PROJECTIONS]  # type: ignore[arg-type]

    async def projection(self, name: str, as_of: int | None = None) -> ProjectionState:
        """A projection as of a position. Errors: NotFound, InvalidQuery."""
        kind = _kind_of(name)
        projection, position = await self.engine.at(kind, as_of)
        digest, view = projection.digest(), dict(projection.summary())
        info = _info(kind, position)
        return ProjectionState(**info, digest=digest, as_of=await self.dated(position), view=view)  # type: ignore[arg-type]

    async def replay(
        self,
        name: str | None = None,
        upto: int | None = None,
        *,
        check: bool = False,
        progress: Progress | None = None,
    ) -> list[Replayed]:
        """Fold everything again from 1, one projection or all; compare with the incremental states where asked.

        Errors: NotFound, InvalidQuery.
        """
        kinds = PROJECTIONS if name is None else (_kind_of(name),)
        target = (await self.reader.head()).position if upto is None else upto
        incremental = {kind.name: (await self.engine.at(kind, target))[0].digest() for kind in kinds} if check else {}
        folded = await Engine(self.reader, kinds).replay(target, progress)
        found = ((kind, folded[kind.name].digest(), incremental.get(kind.name)) for kind in kinds)
        return [
            Replayed(
                name=kind.name,
                version=kind.version,
                position=target,
                digest=digest,
                incremental=other,
                same=None if other is None else digest == other,
            )
            for kind, digest, other in found
        ]

    async def resolve(self, as_of: str | None, name: str = "as_of") -> int | None:
        """An `as_of`, a position or a time, to a position; None for now. Errors: InvalidQuery."""
        if as_of is None:
            return None
        head = await self.reader.head()
        if as_of.isascii() and as_of.isdigit():
            position = int(as_of[:20])
            if position > head.position:
                detail = f"{as_of} is beyond the head, {head.position}."
                raise InvalidQuery(name, detail, "Name a position up to the head.")
            return position
        moment = instant(name, as_of, end=True)
        if instant(name, as_of) > self.clock() and microseconds(moment) > head.recorded_us:
            detail = f"{as_of} is beyond the head, recorded {timestamp(moment_of(head.recorded_us))}."
            raise InvalidQuery(name, detail, "Name a time that has passed.")
        return await self.reader.position_at(microseconds(moment))

    async def _check_cursor(self, name: str, position: int) -> None:
        head = (await self.reader.head()).position
        if position > head:
            detail = f"{position} is beyond the head, {head}."
            raise InvalidQuery(name, detail, "Was the cursor made by another ledger? Begin again from 0.")

    async def dated(self, position: int) -> AsOf:
        """A position with its time; the head's is known without asking the file."""
        head = await self.reader.head()
        if position == 0:
            return AsOf(0, None)
        recorded_us = head.recorded_us if position == head.position else await self.reader.recorded_at(position)
        return AsOf(position, moment_of(recorded_us))

    async def _events_of(self, subjects: Sequence[str], upto: int) -> bytes:
        query = Query(subjects=tuple(subjects), before=upto + 1, limit=PAGE_EVENTS_MAX)
        return b"\n".join([page.ndjson async for page in self.scan(query)])

    async def standings(self, subjects: Sequence[str], upto: int, *, history: bool = False) -> list[Standing]:
        """The decisions of some streams, in their order, as they stood behind a position."""
        if not subjects:
            return []
        streams: dict[str, list[object]] = {subject: [] for subject in subjects}
        for event in VOCABULARY.events(await self._events_of(subjects, upto)):
            streams[event.subject].append(event)
        standings = (stand(streams[subject]) for subject in subjects)  # type: ignore[arg-type]
        found = [standing for standing in standings if standing is not None]
        return found if history else [structs.replace(standing, history=()) for standing in found]


class _Committed:
    """The log as the engine reads it: the writer's head, through a connection that no other reader waits for."""

    def __init__(self, log: SqliteLog, scanner: SqliteReader) -> None:
        self.head = log.head
        self.read = scanner.read
        self.follow = log.follow
        self.position_at = scanner.position_at
        self.recorded_at = scanner.recorded_at
        self.counts = scanner.counts
        self.tiles = scanner.tiles


async def _calibrate(table: Table, asked: Question, found: Sequence[Category]) -> CalibrationView:
    """The figures of cells; on a thread of its own where they take long, so that others are answered meanwhile."""
    curves = asked.detail == "curves"
    ask = partial(calibrate, table, asked.group_by, asked.min_decisions, curves=curves, warned=found)
    return await to_thread(ask) if curves or breadth(table, asked.group_by) > QUICK_GROUPS_MAX else ask()


def _kind_of(name: str) -> type[Projection]:
    """The projection of a name. Errors: NotFound."""
    for kind in PROJECTIONS:
        if kind.name == name:
            return kind
    names = ", ".join(kind.name for kind in PROJECTIONS)
    raise NotFound(f"There is no projection {name!r}.", f"Projections: {names}.")


def _info(kind: type[Projection], position: int) -> dict[str, object]:
    types = [known.name for known in VOCABULARY.kinds.values() if known.payload in kind.reads]
    return {"name": kind.name, "version": kind.version, "types": types, "position": position}


def searched(text: str, field: str) -> set[str]:
    """The words of a search. Errors: InvalidQuery, naming the field, for too many of them."""
    words = words_of(text)
    if len(words) > SEARCH_WORDS_MAX:
        detail = f"{len(words)} different words are more than {SEARCH_WORDS_MAX}."
        raise InvalidQuery(field, detail, "Search by those that matter most.")
    return words
