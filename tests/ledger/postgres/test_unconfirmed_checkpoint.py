"""S5: a checkpoint whose commit was not confirmed is not published, and what is stored then decides."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ledger.errors import LedgerUnavailable
from ledger.place import DatabasePlace
from ledger.postgres import notes
from ledger.postgres.log import PostgresLog
from ledger.postgres.notes import SharedNotes
from ledger.postgres.reader import CONNECTIONS
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint
from ledger.transparency.shared_checkpoints import NEWEST, SharedCheckpointStore
from ledger.transparency.signed_note import SignedCheckpoint
from tests.ledger.postgres.places import LEDGER, new_ledger
from tests.ledger.postgres.waiting_commit import HAZARDS, Hazard, WaitingCommit
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.postgres import Primary

pytestmark = pytest.mark.slow

VERSION = f"SELECT version FROM notes WHERE name = '{NEWEST}'"


class WaitingCheckpoint:
    """A node with a checkpoint of one event, whose checkpoint of two waits for the frozen standby."""

    def __init__(self, primary: Primary, place: DatabasePlace, ledger: Path) -> None:
        self.commit = WaitingCommit(primary, place, "notes")
        self.ledger = ledger
        self.store: SharedCheckpointStore
        self.signing: asyncio.Task[SignedCheckpoint]

    def published(self) -> tuple[int, int]:
        """The sizes that this node shows and has in its file."""
        seen = read_checkpoint(checkpoint_path(self.ledger))
        assert seen is not None
        assert self.store.newest is not None
        return self.store.newest.size, seen.size


@asynccontextmanager
async def waiting_checkpoint(primary: Primary, folder: Path) -> AsyncIterator[WaitingCheckpoint]:
    place = await new_ledger(primary)
    waiting = WaitingCheckpoint(primary, place, folder / LEDGER)
    log = await PostgresLog.open(place)
    shared = await SharedNotes.open(place)
    try:
        waiting.store = store = await SharedCheckpointStore.open(waiting.ledger, log, shared)
        await log.append([recorded("a")])
        await store.checkpoint(at_once=True)
        await log.append([recorded("b")])
        # a connection that is made from here on would wait for the standby, before the checkpoint
        await asyncio.gather(*(one.head() for one in (log, shared.log) for _ in range(CONNECTIONS)))
        primary.standby(1).freeze()
        waiting.signing = asyncio.create_task(store.checkpoint(at_once=True))
        await waiting.commit.is_waiting()
        yield waiting
    finally:
        primary.standby(1).thaw()
        await shared.close()
        await log.close()


@pytest.mark.parametrize("hazard", HAZARDS)
def test_a_checkpoint_that_no_standby_has_is_not_published(replicated: Primary, hazard: Hazard, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with waiting_checkpoint(replicated, tmp_path) as waiting:
            await asyncio.to_thread(hazard, waiting.commit)
            await waiting.commit.until(VERSION, "2")  # readable, although no standby has it
            done, _ = await asyncio.wait([waiting.signing], timeout=1)
            assert not done, "published, and only the primary has it"
            assert waiting.published() == (1, 1)
            replicated.standby(1).thaw()
            assert (await waiting.signing).size == 2
            assert waiting.published() == (2, 2)
            await waiting.commit.until(VERSION, "2")

    run(scenario())


def test_a_checkpoint_that_is_never_confirmed_is_an_error_and_found_later(
    replicated: Primary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "COMMIT_S", 1.0)

    async def scenario() -> None:
        async with waiting_checkpoint(replicated, tmp_path) as waiting:
            with pytest.raises(LedgerUnavailable, match="did not confirm"):
                await waiting.signing
            assert waiting.published() == (1, 1)
            replicated.standby(1).thaw()
            await waiting.commit.until(VERSION, "2")
            assert (await waiting.store.checkpoint(2)).size == 2
            assert waiting.published() == (2, 2)
            await waiting.commit.until(VERSION, "2")

    run(scenario())
