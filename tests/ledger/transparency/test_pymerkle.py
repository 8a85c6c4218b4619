"""A second opinion: pymerkle, which was written by others and counts leaves from 1, finds the same roots and proofs."""

import random
from pathlib import Path

from pymerkle import InmemoryTree

from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from ledger.transparency.tree import LogTree
from tests.support.drafts import batch_of
from tests.support.event_loop import run

SIZES = range(1, 301)


def test_pymerkle_finds_the_same_roots_and_proofs(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        try:
            await log.append(batch_of(SIZES[-1]))
            tree, theirs = LogTree(log), InmemoryTree(algorithm="sha256")
            lines = (await log.read(Query(limit=SIZES[-1]))).lines
            rng = random.Random(300)
            for size in SIZES:
                assert theirs.append_entry(lines[size - 1]) == size
                root = await tree.root(size)
                assert root == theirs.get_root(size)
                for position in {1, size, rng.randint(1, size)}:
                    proof = theirs.prove_inclusion(position, size)
                    assert await tree.inclusion(position, size) == proof.path[1:]
                    proof.verify(theirs.get_leaf(position), root, position, size)
        finally:
            await log.close()

    run(scenario())
