"""Review decisions by their tests while a server runs: after new scans, and when windows end."""

import asyncio
import time
from typing import Final

from api.service.decision_tests import resolve_tests
from api.service.ledger import LedgerService
from api.service.server_log import log
from projections.resolve.stated_tests import StatedTests

TICK_S: Final = 1.0
"""Seconds between two looks whether something was observed that may decide."""

CLOCK_S: Final = 60.0
"""Seconds after which tests are looked at also if nothing was: their windows end."""

REST: Final = 10
"""So many times as long as a look took is the pause after it, so that requests are not slowed by it."""


async def keep_resolved(ledger: LedgerService) -> None:
    """Resolve tests until it is cancelled. Faults are logged, and never end the server."""
    seen, looked_s, pause_s, closed = 0, 0.0, TICK_S, set[str]()
    while True:
        await asyncio.sleep(pause_s)
        pause_s = TICK_S
        try:
            projection, _ = await ledger.at(StatedTests)
            now_s = time.monotonic()
            if projection.newest == seen and now_s - looked_s < CLOCK_S:
                continue
            seen, looked_s = projection.newest, now_s
            found = await resolve_tests(ledger, closed=closed)
            if found.resolved:
                log.info("resolved", decisions=len(found.resolved))
            pause_s = max(TICK_S, REST * (time.monotonic() - now_s))
        except Exception:
            log.exception("resolving failed", advice="It is tried again. Check the ledger's file and disk.")
