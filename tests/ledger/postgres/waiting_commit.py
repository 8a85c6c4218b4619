"""A commit that waits for a frozen standby, and the hazards for its outcome."""

import asyncio
from collections.abc import Callable

from ledger.place import DatabasePlace
from tests.ledger.postgres.places import LEDGER, schema_sql
from tests.support.postgres import Primary


class WaitingCommit:
    """The backend that writes a table of a ledger, while it waits for the standby."""

    def __init__(self, primary: Primary, place: DatabasePlace, table: str) -> None:
        self.primary = primary
        self.place = place
        self._backend = f"""
FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid IN (
  SELECT pid FROM pg_locks WHERE relation = 'tallystick_{LEDGER}.{table}'::regclass AND mode = 'RowExclusiveLock')
"""

    def signal(self, function: str) -> None:
        """Call a function of PostgreSQL with the id of the backend: there is one."""
        assert self.primary.psql(f"SELECT {function}(pid) {self._backend}", self.place.database) == "t"

    async def is_waiting(self) -> None:
        """Return when the backend waits."""
        await self._until(lambda: self.primary.psql(f"SELECT count(*) {self._backend}", self.place.database) == "1")

    async def until(self, sql: str, answer: str) -> None:
        """Return when a statement in the schema of the ledger has an answer."""
        await self._until(lambda: schema_sql(self.place, self.primary, sql) == answer)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - PostgreSQL tells nobody
            await asyncio.sleep(0.02)


Hazard = Callable[[WaitingCommit], None]


def cancel_wait(waiting: WaitingCommit) -> None:
    waiting.signal("pg_cancel_backend")


def end_backend(waiting: WaitingCommit) -> None:
    waiting.signal("pg_terminate_backend")


def crash(waiting: WaitingCommit) -> None:
    waiting.primary.kill()
    waiting.primary.start()


HAZARDS = (cancel_wait, end_backend, crash)
