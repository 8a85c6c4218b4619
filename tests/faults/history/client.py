"""One client of a workload: its calls follow from its seed and the answers, and each is recorded."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from events.envelope import Draft
from events.errors import InvalidEvent, TallystickError
from events.registry import VOCABULARY
from ledger.errors import AppendRefused, IdentityConflict, LedgerBusy, LedgerFull, LedgerUnavailable, StreamConflict
from ledger.log import Query
from tallystick.shapes.appended import AppendedEvent
from tests.faults.history.node import LogNode
from tests.faults.history.records import (
    AppendFailed,
    AppendInvoked,
    AppendOk,
    CheckpointSeen,
    ClientEvent,
    EventPlace,
    HeadInvoked,
    HeadOk,
    HistoryRecorder,
    OutcomeUnknown,
    PageOk,
    ReadInvoked,
    digests_of,
)

Result = TypeVar("Result")

PAUSE_S = 0.02
"""Longest pause after an unknown outcome, or a refusal for lack of space."""

ATTEMPTS = 50
"""How often a client at its end posts what is still unknown. After that it stays unknown."""


class HistoryClient:
    """Appends to and reads from nodes that it chooses for each call. `unknown` has the batches to post again."""

    def __init__(
        self,
        nodes: Sequence[LogNode],
        recorder: HistoryRecorder,
        number: int,
        rng: random.Random,
        *,
        streams: int,
        patience_s: float | None = None,
    ) -> None:
        self._nodes, self._recorder, self._number, self._rng = nodes, recorder, number, rng
        self._streams, self._patience_s = streams, patience_s
        self._made = 0
        self._newest = 1
        self._own: list[str] = []
        """Decisions of this client that are in the log."""
        self._versions: dict[str, int] = {}
        """The last known version of each shared stream."""
        self._acknowledged: list[list[ClientEvent]] = []
        self.unknown: list[list[ClientEvent]] = []

    async def run(self, operations: int, stop: asyncio.Event) -> None:
        """Make so many calls, or fewer if it is stopped; then post again what is unknown."""
        for _ in range(operations):
            if stop.is_set():
                break
            await self._step()
        for _ in range(ATTEMPTS):
            if not self.unknown:
                break
            await self._append(self.unknown.pop(0))

    async def _step(self) -> None:
        if self.unknown and self._rng.random() < 0.5:
            await self._append(self.unknown.pop(self._rng.randrange(len(self.unknown))))
            return
        weights: dict[Callable[[], Awaitable[None]], int] = {
            self._single: 20, self._batch: 12, self._expect: 30, self._again: 4, self._differ: 4,
            self._read: 18, self._head: 9, self._checkpoint: 5,
        }  # fmt: skip
        await self._rng.choices(list(weights), weights=list(weights.values()))[0]()

    async def _single(self) -> None:
        if self._rng.random() < 0.2:
            await self._append([self._event("thought.recorded.v1", "", {"text": self._text()}, generated="thought_id")])
        else:
            await self._append([self._decision()])

    async def _batch(self) -> None:
        events = [self._decision()]
        for _ in range(self._rng.choice((1, 2, 4, 19, 59))):
            own = self._own and self._rng.random() < 0.4
            events.append(self._thought(self._rng.choice(self._own)) if own else self._decision())
        await self._append(events)

    async def _expect(self) -> None:
        """Append to a shared stream at its last known version, or at a wrong one."""
        name = f"shared-{self._rng.randrange(self._streams)}"
        version = self._versions.get(name, 0)
        if self._rng.random() < 0.1:
            version = max(0, version + self._rng.choice((-1, 1, 5)))
        first = self._thought(name, version) if version else self._decision(name, version)
        more = range(self._rng.choice((0, 0, 0, 1, 2)))
        await self._append([first, *(self._thought(name, version + 1 + place) for place in more)])

    async def _again(self) -> None:
        """Post again what was acknowledged."""
        if self._acknowledged:
            await self._append(self._rng.choice(self._acknowledged))

    async def _differ(self) -> None:
        """Post an acknowledged id with other content."""
        if self._acknowledged:
            first = self._rng.choice(self._acknowledged)[0]
            await self._append([msgspec.structs.replace(self._decision(), id=first.id)])

    async def _read(self) -> None:
        limit = self._rng.choice((5, 50, 500))
        after = self._rng.choice((0, self._rng.randrange(self._newest), max(0, self._newest - limit // 2)))
        before = after + self._rng.randint(1, 2 * limit) if self._rng.random() < 0.2 else None
        query = Query(after=after, before=before, limit=limit, order=self._rng.choice(("asc", "desc")))
        node = self._node()
        call = self._recorder.invoke(
            ReadInvoked, node=node.name, client=self._number,
            after=after, before=before, limit=limit, order=query.order,
        )  # fmt: skip
        page = await self._answer(call, node.log.read(query))
        if page is not None:
            digests = digests_of(page.lines)
            self._recorder.answer(call, PageOk, positions=list(page.positions), digests=digests, more=page.more)
            self._newest = max([self._newest, *page.positions])

    async def _head(self) -> None:
        node = self._node()
        call = self._recorder.invoke(HeadInvoked, node=node.name, client=self._number)
        head = await self._answer(call, node.log.head())
        if head is not None:
            self._recorder.answer(call, HeadOk, position=head.position)

    async def _checkpoint(self) -> None:
        await record_checkpoint(self._node(), self._recorder)

    async def _append(self, events: list[ClientEvent]) -> None:
        node = self._node()
        drafts = [draft_of(event) for event in events]
        call = self._recorder.invoke(AppendInvoked, node=node.name, client=self._number, events=events)
        try:
            appended = await self._answer(call, node.log.append(drafts))
        except (InvalidEvent, AppendRefused, LedgerBusy, LedgerFull) as error:
            self._recorder.answer(call, AppendFailed, error=type(error).__name__, **_facts(error))
            if isinstance(error, StreamConflict):
                within = sum(event.subject == error.subject for event in events[: error.index])
                self._versions[error.subject.partition("/")[2]] = error.found - within
            if isinstance(error, InvalidEvent | AppendRefused):
                return
            appended = None
        if appended is None:
            self.unknown.append(events)
            await asyncio.sleep(self._rng.uniform(0, PAUSE_S))
            return
        places = [EventPlace(one.position, one.subject, one.streamversion, one.duplicate) for one in appended]
        self._recorder.answer(call, AppendOk, places=places)
        self._learn(events, appended)

    def _learn(self, events: list[ClientEvent], appended: Sequence[AppendedEvent]) -> None:
        self._acknowledged.append(events)
        for event, place in zip(events, appended, strict=False):
            stream, _, name = place.subject.partition("/")
            if event.expected is not None:
                self._versions[name] = max(self._versions.get(name, 0), place.streamversion)
            elif stream == "decision" and place.streamversion == 1:
                self._own.append(name)
            self._newest = max(self._newest, place.position)

    async def _answer(self, call: int, answer: Awaitable[Result]) -> Result | None:
        """Wait for an answer. Record an unknown outcome and return None; raise errors by which nothing was written."""
        try:
            longest_s = self._patience_s
            return await asyncio.wait_for(answer, None if longest_s is None else self._rng.uniform(0, longest_s))
        except (InvalidEvent, AppendRefused, LedgerBusy, LedgerFull):
            raise
        except LedgerUnavailable as error:
            self._recorder.answer(call, OutcomeUnknown, error=str(error))
        except Exception as error:  # noqa: BLE001 - the checker reports it
            given_up = isinstance(error, TimeoutError) and self._patience_s is not None
            self._recorder.answer(call, OutcomeUnknown, error=repr(error), unexpected=not given_up)
        return None

    def _node(self) -> LogNode:
        return self._rng.choice(self._nodes)

    def _text(self) -> str:
        return "x" * (self._rng.randint(1, 200) if self._rng.random() < 0.97 else self._rng.randint(1_000, 9_000))

    def _decision(self, name: str = "", expected: int | None = None) -> ClientEvent:
        name = name or f"{self._recorder.process}.{self._number}.{self._made}"
        data: dict[str, object] = {"decision_id": name, "decision": self._text(), "confidence": 0.8}
        return self._event("decision.recorded.v1", f"decision/{name}", data, expected)

    def _thought(self, decision: str, expected: int | None = None) -> ClientEvent:
        data: dict[str, object] = {"decision_id": decision, "text": self._text()}
        return self._event("decision.thought.v1", f"decision/{decision}", data, expected)

    def _event(
        self, type_: str, subject: str, data: dict[str, object], expected: int | None = None, generated: str = ""
    ) -> ClientEvent:
        self._made += 1
        return ClientEvent(
            id=f"{self._recorder.process}.{self._number}.{self._made}",
            source=f"/agents/client-{self._number}",
            type=type_,
            data=msgspec.Raw(msgspec.json.encode(data)),
            subject=subject,
            expected=expected,
            generated=generated,
        )


async def record_checkpoint(node: LogNode, recorder: HistoryRecorder) -> None:
    """Record the newest checkpoint of a node, if it has one."""
    try:
        seen = await node.checkpoint()
    except LedgerUnavailable:
        return
    if seen is not None:
        recorder.invoke(CheckpointSeen, node=node.name, size=seen.size, root=seen.root)


def draft_of(event: ClientEvent) -> Draft:
    """The event as it comes to the log. Its data have the order of the payload's fields, so their bytes are stored."""
    posted: dict[str, object] = {"type": event.type, "id": event.id, "source": event.source, "data": event.data}
    if event.expected is not None:
        posted["expectedversion"] = event.expected
    return VOCABULARY.draft(msgspec.json.encode(posted))


def _facts(error: TallystickError) -> dict[str, object]:
    """What the record of a refusal has of the error."""
    facts: dict[str, object] = {}
    if isinstance(error, AppendRefused):
        facts |= {"subject": error.subject, "index": error.index}
    if isinstance(error, StreamConflict):
        facts |= {"expected": error.expected, "found": error.found}
    if isinstance(error, IdentityConflict):
        facts |= {"position": error.position}
    return facts
