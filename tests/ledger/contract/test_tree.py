"""I7: the Merkle tree is a function of the lines alone, kept as they are appended."""

import asyncio
import random

import pytest

from events.errors import TallystickError
from ledger.log import Log, Query
from ledger.transparency.merkle import (
    leaf_hashes,
    perfect_root,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from ledger.transparency.tiles import WIDTH, Tile, TreeEdge
from ledger.transparency.tree import LogTree
from tests.ledger.contract.conftest import Ledgers
from tests.support.drafts import batch_of, thought
from tests.support.event_loop import run


async def grown(log: Log, events: int, seed: int) -> list[bytes]:
    """Append so many events in batches of any size, a refused one among them; the leaves of all the log holds."""
    rng, left = random.Random(seed), events
    while left:
        step = min(left, rng.choice((1, 2, 3, 255, 256, 257, 700)))
        await log.append(batch_of(step, f"s{left}-"))
        left -= step
        with pytest.raises(TallystickError):
            await log.append([thought("nowhere")])
    return leaf_hashes((await log.read(Query(limit=1_000_000))).lines)


async def kept(log: Log) -> list[Tile]:
    """Every tile that is kept, as soon as those of all events are there."""
    full = (await log.head()).position // WIDTH
    while full and not await log.tiles(0, full - 1, 1):  # noqa: ASYNC110 - another process may store them
        await asyncio.sleep(0.01)
    return [
        Tile(level, number, hashes)
        for level in range(3)
        for number, hashes in enumerate(await log.tiles(level, 0, 1_000))
    ]


@pytest.mark.parametrize("events", [0, 1, 255, 256, 257, 2_000])
def test_i7_the_tiles_that_are_kept_are_those_of_the_lines(ledgers: Ledgers, events: int) -> None:
    async def scenario() -> None:
        place = ledgers.place()
        async with ledgers.open(place) as log:
            leaves = await grown(log, events, seed=events)
        async with ledgers.open(place) as log:
            edge, filled = TreeEdge().grow(leaves)
            assert await kept(log) == sorted(filled)
            assert await LogTree(log).edge(events) == edge
            leaves = await grown(log, 300, seed=1)
            edge, filled = TreeEdge().grow(leaves)
            assert await kept(log) == sorted(filled)
            assert await LogTree(log).root(events + 300) == edge.root()

    run(scenario())


def test_i7_every_proof_holds_for_the_tree_of_the_lines(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            leaves = await grown(log, 1_300, seed=7)
            tree = LogTree(log)

            def root(size: int) -> bytes:
                return root_of(size, lambda level, index: perfect_root(leaves[index << level : (index + 1) << level]))

            rng = random.Random(11)
            for _ in range(60):
                size = rng.randint(1, 1_300)
                position, old = rng.randint(1, size), rng.randint(0, size)
                proof = await tree.inclusion(position, size)
                assert verify_inclusion(leaves[position - 1], position - 1, size, proof, root(size))
                assert verify_consistency(old, size, await tree.consistency(old, size), root(old), root(size))
                number = rng.randint(0, (size - 1) // 256)
                width = min(256, size - number * 256)
                assert await tree.tile(0, number, width) == b"".join(leaves[number * 256 : number * 256 + width])

    run(scenario())
