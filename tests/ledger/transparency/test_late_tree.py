"""A log whose tree lacks its newest lines, as where many processes write it: proofs hold, and signing waits."""

import asyncio
import shutil
from pathlib import Path

import pytest

from ledger.errors import Forked
from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from ledger.transparency.checkpoints import CheckpointStore
from ledger.transparency.merkle import leaf_hashes, verify_inclusion
from ledger.transparency.tiles import TreeEdge
from ledger.transparency.tree import LogTree
from tests.support.drafts import batch_of
from tests.support.event_loop import run


class LateLog(SqliteLog):
    """Its tree grows only when `integrate` is called, and has only the tiles up to there."""

    late: TreeEdge = TreeEdge()
    grown: asyncio.Event

    @property
    def edge(self) -> TreeEdge:
        return self.late

    async def wait_for_tree(self, size: int) -> TreeEdge:
        while self.late.size < size:
            await self.grown.wait()
        return self.late

    async def integrate(self, size: int) -> None:
        self.late = await LogTree(self).edge(size)
        self.grown.set()
        self.grown = asyncio.Event()

    async def tiles(self, level: int, first: int, count: int) -> list[bytes]:
        full = self.late.size >> 8 * (level + 1)
        return await super().tiles(level, first, max(0, min(count, full - first)))


async def opened(ledger: Path) -> LateLog:
    log = await LateLog.open(ledger)
    log.grown = asyncio.Event()
    return log


@pytest.mark.slow
def test_proofs_hold_for_lines_that_the_tree_lacks(tmp_path: Path) -> None:
    size, step = 66_000, 2_000  # 257 full tiles of level 0, and one of level 1

    async def scenario() -> None:
        log = await opened(tmp_path / "ledger.db")
        try:
            for begin in range(0, size, step):
                await log.append(batch_of(step, f"s{begin}-"))
            leaves = leaf_hashes((await log.read(Query(limit=size))).lines)
            root = TreeEdge().grow(leaves)[0].root()
            for integrated in (0, 1, 256, 700, 65_700):
                await log.integrate(integrated)
                tree = LogTree(log, log.edge)
                assert await tree.root(size) == root
                for position in (1, 256, 65_537, size):
                    proof = await tree.inclusion(position, size)
                    assert verify_inclusion(leaves[position - 1], position - 1, size, proof, root)
        finally:
            await log.close()

    run(scenario())


def test_signing_waits_until_the_tree_covers_what_must_be_signed(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = await opened(tmp_path / "ledger.db")
        try:
            store = await CheckpointStore.open(tmp_path / "ledger.db", log)
            await log.append(batch_of(3))
            assert (await store.checkpoint(at_once=True)).size == 0
            signing = asyncio.ensure_future(store.checkpoint(3, at_once=True))
            await log.integrate(2)
            await asyncio.wait([signing], timeout=0.1)
            assert not signing.done()
            await log.integrate(3)
            assert (await signing).size == 3
        finally:
            await log.close()

    run(scenario())


def test_s2_a_tree_that_lacks_signed_lines_is_awaited_and_a_log_that_lacks_them_has_forked(tmp_path: Path) -> None:
    """Another process may have signed what this one's tree does not cover yet."""
    ledger, copy = tmp_path / "ledger.db", tmp_path / "copy.db"

    async def scenario() -> None:
        for path, events in ((ledger, 3), (copy, 2)):
            log = await SqliteLog.open(path)
            await log.append(batch_of(events))
            if path == ledger:
                await (await CheckpointStore.open(path, log)).checkpoint()
            await log.close()
        log = await opened(ledger)
        try:
            opening = asyncio.ensure_future(CheckpointStore.open(ledger, log))
            await asyncio.wait([opening], timeout=0.1)
            assert not opening.done()
            await log.integrate(3)
            assert (await opening).newest is not None
        finally:
            await log.close()
        for ending in (".key", ".checkpoint"):
            shutil.copy(f"{ledger}{ending}", f"{copy}{ending}")
        log = await opened(copy)
        await log.integrate(2)
        try:
            with pytest.raises(Forked, match="3 events were signed, and the ledger has 2"):
                await CheckpointStore.open(copy, log)
        finally:
            await log.close()

    run(scenario())
