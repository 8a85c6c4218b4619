"""A stream that the ledger names gets a name that no stream has."""

import random
from pathlib import Path

from ledger.sqlite.log import SqliteLog
from tests.support.drafts import recorded
from tests.support.event_loop import run


def test_a_name_that_is_in_use_is_not_given_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        subjects = set()
        for number in range(5):
            log._writer._rng = random.Random(7)
            (placed,) = await log.append([recorded(id=f"{number}")])
            subjects.add(placed.subject)
        assert len(subjects) == 5
        await log.close()

    run(scenario())
