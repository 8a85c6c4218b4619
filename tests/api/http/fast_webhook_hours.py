"""The command with a fast clock: for the server a second of the machine is SPEED seconds, also while webhooks wait."""

import asyncio
import os
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from api.cli.main import main as run
from api.service.ledger import LedgerService
from api.service.webhooks import delivery
from tests.api.http import short_webhook_waits

SPEED_ENV = "TEST_CLOCK_SPEED"


def main() -> None:
    speed, began_s = float(os.environ[SPEED_ENV]), time.time()

    def clock() -> datetime:
        return datetime.fromtimestamp(began_s, UTC) + timedelta(seconds=speed * (time.time() - began_s))

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / speed)

    defaults = LedgerService.open.__func__.__kwdefaults__  # type: ignore[attr-defined]
    defaults["clock"] = clock
    vars(delivery)["asyncio"] = SimpleNamespace(**{**vars(asyncio), "sleep": sleep})
    short_webhook_waits.shorten()
    run()


if __name__ == "__main__":
    main()
