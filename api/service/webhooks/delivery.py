"""Deliver the events of the log to one endpoint, in their order, at least once.

The log is the queue: the next event is the first one of the endpoint's types after the position of its newest
`webhook.delivered` or `webhook.abandoned`. An event is sent again until either is committed, so a server that is killed
loses nothing, and sends at most one event twice.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from datetime import datetime

from api.service.ledger import LedgerService
from api.service.server_log import log
from api.service.webhooks.attempt import AttemptResult, attempt
from api.service.webhooks.endpoint_store import Endpoint, Pace
from api.service.webhooks.message import Message, messages_of
from api.service.webhooks.server_events import ServerEvents
from events.envelope import timestamp
from events.limits import PAGE_EVENTS_MAX
from events.webhook import WebhookAbandoned, WebhookDelivered, WebhookEnded
from ledger.log import Query

PAGE_EVENTS = 50
"""Events that are read at once."""

ABANDONED_MAX = 500
"""Events that are given up in one append."""

REASON_CHARS_MAX = 200


NoteAttempt = Callable[[str, str, int, int], None]
"""Notes an attempt for the audit log: endpoint, message, the event's position, and the status; 0 without an answer."""


class Delivery:
    """The deliveries to one endpoint, from `position` on. `types` are those of its kinds."""

    def __init__(
        self,
        ledger: LedgerService,
        events: ServerEvents,
        endpoint: Endpoint,
        types: Sequence[str],
        position: int,
        note: NoteAttempt,
    ) -> None:
        self.endpoint = endpoint
        self.types = tuple(types)
        self.position = position
        self.waiting = 0
        """Events that wait for their delivery."""
        self.failures = 0
        """Attempts that failed since the last one that succeeded."""
        self._ledger = ledger
        self._events = events
        self._note = note
        self._attempts = 0
        self._counted = position
        self._counting = asyncio.Lock()
        self._began = ledger.clock()
        self._wake = asyncio.Event()

    async def wake(self) -> None:
        """Look for new events."""
        await self._count()
        self._wake.set()

    async def _count(self) -> None:
        """Count the messages that were not counted yet. Not every event of the types is a message."""
        async with self._counting:
            more = True
            while more:
                after = max(self._counted, self.position)
                page = await self._ledger.reader.read(Query(types=self.types, after=after, limit=PAGE_EVENTS_MAX))
                self.waiting += sum(message.position > self.position for message in messages_of(page))
                self._counted, more = max([after, *page.positions[-1:]]), page.more

    def _advance(self, ended: Sequence[Message]) -> None:
        """Continue after messages that were delivered or given up."""
        self.position = ended[-1].position
        self.waiting -= sum(message.position <= self._counted for message in ended)

    async def run(self) -> None:
        """Deliver until the endpoint has gone."""
        await self._count()
        while True:
            self._wake.clear()
            page = await self._ledger.reader.read(Query(types=self.types, after=self.position, limit=PAGE_EVENTS))
            for message in messages_of(page):
                if not await self._deliver(message):
                    return
            if page.positions:
                self.position = max(self.position, page.positions[-1])
            if not page.more:
                await self._wake.wait()

    async def _deliver(self, message: Message) -> bool:
        """Send a message until it is accepted or given up; return False once the endpoint has gone."""
        self._attempts = 0
        while message.position > self.position:
            self._attempts += 1
            result = await attempt(self.endpoint, message)
            self._note(self.endpoint.id, message.id, message.position, result.status or 0)
            if result.gone:
                await self._end()
                return False
            if result.reason is None:
                delivered = WebhookDelivered(
                    endpoint_id=self.endpoint.id,
                    event_position=message.position,
                    message_id=message.id,
                    attempts=self._attempts,
                    status=result.status or 0,
                )
                await self._events.record([delivered], [message.event_id])
                self._advance([message])
                self.failures = 0
                continue
            await self._fail(message, result)
        return True

    async def _fail(self, message: Message, result: AttemptResult) -> None:
        """Give up what has waited too long, and wait before the next attempt."""
        self.failures += 1
        wait_s = max(result.retry_after_s, backoff_s(self.endpoint.pace, self.failures))
        log.warning(
            "webhook failed",
            webhook=self.endpoint.id,
            position=message.position,
            reason=result.reason,
            detail=result.detail,
            failures=self.failures,
            wait_s=round(wait_s, 1),
        )
        await self._give_up(str(result.reason))
        await asyncio.sleep(wait_s)

    async def _give_up(self, reason: str) -> None:
        """Give up the waiting events that are too old. The time in which no server ran does not count."""
        after, more = self.position, True
        while more:
            page = await self._ledger.reader.read(Query(types=self.types, after=after, limit=ABANDONED_MAX))
            messages = list(messages_of(page))
            expired = [message for message in messages if self._age_s(message) >= self.endpoint.pace.give_up_s]
            if expired:
                await self._abandon(expired, reason)
            if len(expired) < len(messages):
                return
            after, more = max([after, *page.positions[-1:]]), page.more

    async def _abandon(self, expired: Sequence[Message], reason: str) -> None:
        """Record that messages are given up."""
        drafts = [
            WebhookAbandoned(
                endpoint_id=self.endpoint.id,
                event_position=message.position,
                message_id=message.id,
                attempts=self._attempts if index == 0 else 0,
                reason=reason[:REASON_CHARS_MAX],
            )
            for index, message in enumerate(expired)
        ]
        await self._events.record(drafts, [message.event_id for message in expired])
        self._attempts = 0
        self._advance(expired)
        log.error("webhook gave up", webhook=self.endpoint.id, events=len(expired), reason=reason)

    def _age_s(self, message: Message) -> float:
        since = max(message.recordedtime, timestamp(self._began))
        return (self._ledger.clock() - datetime.fromisoformat(since)).total_seconds()

    async def _end(self) -> None:
        """Record that the receiver takes no more messages."""
        last = await self._ledger.head_position()
        ended = WebhookEnded(endpoint_id=self.endpoint.id, reason="gone", last_position=last)
        await self._events.record([ended])
        self.position, self._counted, self.waiting = last, last, 0
        log.error(
            "webhook gone", webhook=self.endpoint.id, advice="The receiver answered 410. Remove it, or add it again."
        )


def backoff_s(pace: Pace, failures: int) -> float:
    """Return the seconds to wait after some failures: they double, with up to half of them at random."""
    longest = min(pace.longest_wait_s, pace.first_wait_s * 2.0 ** min(failures - 1, 40))
    return longest * random.uniform(0.5, 1.0)
