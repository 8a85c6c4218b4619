"""A process that appends and signs as fast as it can, and says each size it publishes, until it is killed."""

import asyncio
import sys
from pathlib import Path

from ledger.sqlite.log import SqliteLog
from ledger.transparency.checkpoints import CheckpointStore
from tests.support.drafts import recorded


async def sign(ledger: Path) -> None:
    log = await SqliteLog.open(ledger)
    signing = await CheckpointStore.open(ledger, log)
    while True:
        await log.append([recorded()])
        print((await signing.checkpoint(at_once=True)).size, flush=True)


if __name__ == "__main__":
    asyncio.run(sign(Path(sys.argv[1])))
