"""Signals of a discovery run, on every log: after its end they are in a stream of their own, and the log verifies."""

import asyncio

import pytest

from events.discovery import DiscoveryFinished, DiscoverySignalled, DiscoverySignalledLate, DiscoveryStarted
from events.registry import VOCABULARY
from ledger.errors import LifecycleViolation
from ledger.log import Query
from ledger.verify.event_order import LineHeader, OrderCheck
from ledger.verify.findings import Findings
from tests.ledger.contract.conftest import Ledgers
from tests.projections.drafts import post


def test_a_signal_after_the_end_of_a_run_is_accepted_and_its_stream_stays_closed(ledgers: Ledgers) -> None:
    signal = DiscoverySignalled(run_id="r", event="checked")
    late = DiscoverySignalledLate(run_id="r", event="checked")

    async def scenario() -> None:
        place = ledgers.place()
        log = await ledgers.begin(place, VOCABULARY)
        await log.append([post(DiscoveryStarted(run_id="r")), post(signal)])
        await log.append([post(DiscoveryFinished(run_id="r", reason="repeat"))])
        with pytest.raises(LifecycleViolation, match="was closed by"):
            await log.append([post(signal)])
        (first,) = await log.append([post(late)])
        await log.close()
        log = await ledgers.begin(place, VOCABULARY)
        (second,) = await log.append([post(late)])
        assert [(one.position, one.subject, one.streamversion) for one in (first, second)] == [
            (4, "signal/r", 1), (5, "signal/r", 2),
        ]  # fmt: skip
        with pytest.raises(LifecycleViolation, match="was closed by"):
            await log.append([post(signal)])
        page = await log.read(Query(limit=100))
        findings = Findings()
        check = OrderCheck(findings, LineHeader, complete=True, streams=True)
        check.check(page.lines)
        check.end()
        assert findings.right
        assert check.events == 5
        await log.close()

    asyncio.run(scenario())
