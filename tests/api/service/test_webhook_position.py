"""From which position an endpoint gets events."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from api.service.ledger import LedgerService
from api.service.webhooks.dispatcher import Dispatcher
from api.service.webhooks.endpoint_store import DEFAULT_PACE, EndpointStore
from api.service.webhooks.server_events import ServerEvents
from tests.api.http.webhook_receiver import receiving
from tests.api.service.ledgers import within
from tests.events.alert_samples import ALERT_SAMPLES

pytestmark = pytest.mark.slow

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_an_endpoint_that_is_older_than_a_restored_log_misses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with receiving() as receiver:
        EndpointStore(path).add(receiver.url, ["gate"], 1_000, NOW, allow_private=True, pace=DEFAULT_PACE)

        @within(path)
        async def scenario(service: LedgerService) -> None:
            assert service.log is not None
            attempted = asyncio.Event()
            running = asyncio.create_task(Dispatcher(service, lambda *_: attempted.set()).run())
            while not service.log.newest.position:  # noqa: ASYNC110 - the log tells nobody that it has grown
                await asyncio.sleep(0.01)
            await ServerEvents(service.log).record([ALERT_SAMPLES["alert.gate_judged.v1"]])
            await asyncio.wait_for(attempted.wait(), 60)
            running.cancel()
            await asyncio.wait([running])

        assert receiver.first_positions() == [2]
