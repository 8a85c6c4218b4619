"""The webhooks of a server: read the endpoints, run the checks, and deliver what the log has for each endpoint."""

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from api.service.ledger import LedgerService
from api.service.server_log import log
from api.service.webhooks.endpoint_store import Endpoint, EndpointStore
from api.service.webhooks.event_kinds import Kind, types_of
from api.service.webhooks.server_events import ServerEvents
from events.errors import TallystickError
from events.webhook import WebhookEnded, WebhookStarted
from ledger.log import Query
from projections.webhook_index import WebhookIndex

if TYPE_CHECKING:
    from api.service.webhooks.alert_checks import AlertChecks
    from api.service.webhooks.delivery import Delivery, NoteAttempt

TICK_S = 0.5
"""Seconds between two looks at the file of the endpoints and at the head of the log."""

RESTART_S = 10.0
"""Seconds after which a delivery or a check that failed for an unexpected reason starts again."""


class Dispatcher:
    """The webhooks of one ledger that is open for writing. `note` is called with each attempt."""

    def __init__(self, ledger: LedgerService, note: "NoteAttempt") -> None:
        assert ledger.log is not None
        self._ledger = ledger
        self._note = note
        self._store = EndpointStore(ledger.path)
        self._events = ServerEvents(ledger.log)
        self._version: tuple[int, int] | None = None
        self._fault: str | None = None
        self._deliveries: dict[str, Delivery] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._seen = 0
        self._known = False

    @cached_property
    def _checks(self) -> "AlertChecks":
        from api.service.webhooks.alert_checks import AlertChecks  # noqa: PLC0415 - as `_start`

        return AlertChecks(self._ledger, self._events, time.monotonic)

    @property
    def waiting(self) -> int:
        """Events that wait for their delivery, at all endpoints."""
        return sum(delivery.waiting for delivery in self._deliveries.values())

    @property
    def failing(self) -> int:
        """Endpoints whose last attempt failed."""
        return sum(delivery.failures > 0 for delivery in self._deliveries.values())

    async def run(self) -> None:
        """Deliver until it is cancelled. Faults are logged, and never end the server."""
        checks: asyncio.Task[None] | None = None
        try:
            while True:
                try:
                    await self._read_endpoints()
                    await self._wake()
                    if self._deliveries and (checks is None or checks.done()):
                        checks = asyncio.create_task(self._check())
                except Exception:
                    log.exception("webhooks failed", advice="They start again. Check the ledger's file and disk.")
                    await asyncio.sleep(RESTART_S)
                await asyncio.sleep(TICK_S)
        finally:
            tasks = [task for task in (checks, *self._tasks.values()) if task is not None]
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    def _report(self, fault: str) -> None:
        """Log a fault once."""
        if fault != self._fault:
            log.error("webhooks", reason=fault, advice="Until then the endpoints stay as they were.")
        self._fault = fault

    async def _read_endpoints(self) -> None:
        """Read the endpoints if their file has changed. While it cannot be used, they stay as they were."""
        # before the file is read: what changes in between is read at the next look
        version = self._store.version()
        try:
            # most ledgers never had an endpoint: for them no projection is folded
            if not self._known and version is None and not await self._left_over():
                self._known = True
            elif version != self._version or not self._known:
                await self._update(self._store.list())
                self._version, self._known, self._fault = version, True, None
        except TallystickError as error:
            self._report(error.detail)

    async def _left_over(self) -> bool:
        """Return whether the log has endpoints that have not ended."""
        return bool(await self._ledger.reader.counts(Query(types=("webhook.started.v1",))))

    async def _update(self, endpoints: Sequence[Endpoint]) -> None:
        index, _ = await self._ledger.engine.at(WebhookIndex)
        states = {state.endpoint_id: state for state in index.endpoints()}
        for endpoint_id in [name for name, state in states.items() if state.ended is None]:
            if all(endpoint.id != endpoint_id for endpoint in endpoints):
                await self._remove(endpoint_id)
        for endpoint in endpoints:
            state = states.get(endpoint.id)
            if endpoint.id in self._deliveries or (state is not None and state.ended is not None):
                continue
            if state is None:
                # a log that was restored may be shorter than when the endpoint was added
                position = min(endpoint.after, await self._ledger.head_position())
                started = WebhookStarted(endpoint_id=endpoint.id, after=position, kinds=endpoint.kinds)
                await self._events.record([started])
            else:
                position = state.position
            self._start(endpoint, position)

    def _start(self, endpoint: Endpoint, position: int) -> None:
        from api.service.webhooks.delivery import Delivery  # noqa: PLC0415 - loads httpx: most ledgers have no endpoint

        types = types_of(endpoint.kinds)
        delivery = Delivery(self._ledger, self._events, endpoint, types, position, self._note)
        self._deliveries[endpoint.id] = delivery
        self._tasks[endpoint.id] = asyncio.create_task(self._deliver(delivery), name=f"webhook {endpoint.id}")

    async def _deliver(self, delivery: "Delivery") -> None:
        """Deliver until the endpoint has gone. After an unexpected fault, start again."""
        while True:
            try:
                await delivery.run()
                del self._deliveries[delivery.endpoint.id]
                return
            except Exception:
                log.exception("webhook stopped", webhook=delivery.endpoint.id, advice="It starts again.")
            await asyncio.sleep(RESTART_S)

    async def _remove(self, endpoint_id: str) -> None:
        self._deliveries.pop(endpoint_id, None)
        if (task := self._tasks.pop(endpoint_id, None)) is not None:
            # first of all, so that nothing is delivered after the event that says that the endpoint has ended
            task.cancel()
            await asyncio.wait([task])
        last = await self._ledger.head_position()
        await self._events.record([WebhookEnded(endpoint_id=endpoint_id, reason="removed", last_position=last)])

    async def _wake(self) -> None:
        """Wake the deliveries if the log has new events of their types."""
        assert self._ledger.log is not None
        head = self._ledger.log.newest.position
        if not self._deliveries or head == self._seen:
            return
        types = tuple(sorted({name for delivery in self._deliveries.values() for name in delivery.types}))
        if await self._ledger.reader.counts(Query(types=types, after=self._seen, before=head + 1)):
            for delivery in list(self._deliveries.values()):
                await delivery.wake()
        self._seen = head

    async def _check(self) -> None:
        """Run the checks whose alerts some endpoint gets."""
        endpoints = [delivery.endpoint for delivery in self._deliveries.values()]
        wanted: dict[Kind, datetime] = {}
        for endpoint in endpoints:
            for kind in endpoint.kinds:
                wanted[kind] = min(endpoint.created, wanted.get(kind, endpoint.created))
        since = min((endpoint.after for endpoint in endpoints if "gate" in endpoint.kinds), default=0)
        try:
            await self._checks.run(wanted, since)
        except Exception:
            log.exception("webhook checks failed", advice="They are tried again. Check the ledger's file and disk.")
            await asyncio.sleep(RESTART_S)
