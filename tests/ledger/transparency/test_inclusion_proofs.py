"""Proofs of many events: each is the one that it would be by itself, for every size and wherever its tile ends."""

from pathlib import Path

import pytest

from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.reader import SqliteReader
from ledger.transparency.inclusion_proofs import InclusionProver
from ledger.transparency.tree import LogTree
from tests.support.drafts import batch_of
from tests.support.event_loop import run

EVENTS = 1_100
SIZES = [1, 2, 3, 255, 256, 257, 511, 512, 513, 767, 769, 1_024, 1_025, 1_099, EVENTS]


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prover") / "ledger.db"

    async def fill() -> None:
        log = await SqliteLog.open(path)
        for start in range(0, EVENTS, 550):
            await log.append(batch_of(550, f"d{start}-"))
        await log.close()

    run(fill())
    return path


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", [1, 7, 300])
def test_each_proof_is_that_of_the_tree(ledger: Path, size: int, step: int) -> None:
    async def scenario() -> None:
        reader = await SqliteReader.open(ledger)
        tree, positions = LogTree(reader), list(range(1, size + 1, step))
        proofs = await InclusionProver(reader, size).prove(positions)
        leaves = await tree.leaves(0, size)
        assert [(proof.position, proof.leaf) for proof in proofs] == [(at, leaves[at - 1]) for at in positions]
        for proof in proofs[:: max(1, len(proofs) // 40)] + proofs[-3:]:
            assert proof.hashes == await tree.inclusion(proof.position, size)
        await reader.close()

    run(scenario())


def test_what_was_proved_before_changes_no_proof(ledger: Path) -> None:
    """Layers are held from one call to the next."""

    async def scenario() -> None:
        reader = await SqliteReader.open(ledger)
        prover = InclusionProver(reader, EVENTS)
        once = await prover.prove(range(1, EVENTS + 1))
        assert await prover.prove([1, 700, EVENTS]) == [once[0], once[699], once[-1]]
        assert await reader.counts(Query(before=6)) == {"decision.recorded.v1": 5}
        await reader.close()

    run(scenario())
