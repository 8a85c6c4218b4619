"""The queue before a log's writer: appends that arrive together are written as one group, in order.

One task takes all waiting appends, up to GROUP_EVENTS_MAX events, has the log write them, and answers each; then it
takes the next group.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from events.envelope import Draft
from events.errors import InvalidEvent, TallystickError
from events.limits import BATCH_EVENTS_MAX, GROUP_EVENTS_MAX, QUEUE_EVENTS_MAX
from events.vocabulary import Vocabulary
from ledger.admission import PreparedEvent, prepare
from ledger.errors import LedgerBusy, LedgerUnavailable
from ledger.log import UNRESTRICTED, Permissions
from tallystick.shapes.appended import AppendedEvent

Answer = list[AppendedEvent] | TallystickError
"""The appended events of a batch, or the error that refused it."""


class WaitingAppend(NamedTuple):
    """An append in the queue."""

    batch: list[PreparedEvent]
    answer: asyncio.Future[list[AppendedEvent]]


Group = Sequence[WaitingAppend]
"""Appends that are written in one transaction."""


class AppendQueue:
    """Collects appends into groups and hands them to the log, one group at a time.

    `write` writes a group and answers it with `answer_group`. If it raises, `explain` returns the error with which all
    appends of the group are answered.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        write: Callable[[Group], Awaitable[None]],
        explain: Callable[[Exception], TallystickError],
    ) -> None:
        self.broken: LedgerUnavailable | None = None
        """Why all appends are refused; None while they are accepted."""
        self.waiting_events = 0
        """Events that are accepted and not yet answered."""
        self._vocabulary = vocabulary
        self._write = write
        self._explain = explain
        self._queue: deque[WaitingAppend] = deque()
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._closing = False
        self._task = asyncio.create_task(self._run(), name="ledger-writer")

    async def append(self, batch: Sequence[Draft], permissions: Permissions = UNRESTRICTED) -> list[AppendedEvent]:
        """Check a batch, queue it, and wait until it is written. Errors: those of `Log.append`."""
        if not 1 <= len(batch) <= BATCH_EVENTS_MAX:
            raise InvalidEvent(
                f"A batch holds 1..{BATCH_EVENTS_MAX} events; this one has {len(batch)}.",
                "Send at least one event." if not batch else "Split it.",
            )
        entries = [prepare(self._vocabulary, draft, index, permissions) for index, draft in enumerate(batch)]
        if self.broken is not None:
            raise self.broken
        if self._closing:
            raise LedgerUnavailable("The ledger is closing.", "Retry when it is back.", written=False)
        if self.waiting_events + len(entries) > QUEUE_EVENTS_MAX:
            raise LedgerBusy(self.waiting_events)
        answer: asyncio.Future[list[AppendedEvent]] = self._loop.create_future()
        self._queue.append(WaitingAppend(entries, answer))
        self.waiting_events += len(entries)
        self._wake.set()
        return await answer

    async def close(self) -> None:
        """Refuse further appends, and wait until the accepted ones are answered."""
        self._closing = True
        self._wake.set()
        await self._task

    async def _run(self) -> None:
        while not (self._closing and not self._queue):
            await self._wake.wait()
            self._wake.clear()  # before the queue is read, so that no append after that is missed
            while self._queue:
                await asyncio.sleep(0)  # requests that the event loop has read join the group
                group = self._take_group()
                try:
                    if self.broken is not None:
                        raise self.broken
                    await self._write(group)
                except Exception as error:  # noqa: BLE001 - after any error the group must get an answer
                    answer_group(group, [self._explain(error)] * len(group))
                self.waiting_events -= sum(len(waiting.batch) for waiting in group)

    def _take_group(self) -> list[WaitingAppend]:
        group: list[WaitingAppend] = []
        events = 0
        # never empty: a batch has at most BATCH_EVENTS_MAX events, which are fewer than a group may have
        while self._queue and events + len(self._queue[0].batch) <= GROUP_EVENTS_MAX:
            group.append(self._queue.popleft())
            events += len(group[-1].batch)
        return group


def answer_group(group: Group, answers: Sequence[Answer]) -> None:
    """Give each append of a group its answer, unless its caller has left or has an answer already."""
    for waiting, answer in zip(group, answers, strict=True):
        if waiting.answer.done():
            continue
        if isinstance(answer, TallystickError):
            waiting.answer.set_exception(answer)
        else:
            waiting.answer.set_result(answer)
