"""The tree of 70,000 events as it is served: which tiles there are, and that every line hashes to its leaf."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ledger import SqliteLog
from ledger.merkle import leaf_hash, perfect_root
from ledger.tiles import Address, split_hashes, width_of
from tests.drafts import batch_of
from tests.loop import run
from tests.serving import served

SIZE = 70_000
BATCH = 2_000


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    ledger = tmp_path_factory.mktemp("large") / "ledger.db"
    run(filled(ledger))
    with served(ledger) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        yield client


async def filled(ledger: Path) -> None:
    log = await SqliteLog.open(ledger)
    for start in range(0, SIZE, BATCH):
        await log.append(batch_of(BATCH, f"{start}-"))
    await log.close()


def lines_of(bundled: bytes) -> Iterator[bytes]:
    """The lines of an entry bundle."""
    start = 0
    while start < len(bundled):
        end = start + 2 + int.from_bytes(bundled[start : start + 2])
        yield bundled[start + 2 : end]
        start = end


def test_the_tree_of_70_000_is_served_as_its_specification_cuts_it(http: httpx.Client) -> None:
    """273 full tiles and one of 112 at level 0, a full one and one of 17 at level 1, one of 1 at level 2."""
    served_tiles = {(level, number): width_of(level, number, SIZE) for level in range(3) for number in range(274)}
    expected = {**{(0, number): 256 for number in range(273)}, (0, 273): 112, (1, 0): 256, (1, 1): 17, (2, 0): 1}
    assert {tile: width for tile, width in served_tiles.items() if width} == expected
    held: dict[tuple[int, int], list[bytes]] = {}
    for (level, number), width in expected.items():
        answer = http.get(f"/tile/{level}/{Address(number, width)}")
        assert answer.status_code == 200, (level, number)
        held[level, number] = split_hashes(answer.content)
        assert len(answer.content) == width * 32
    for number in range(274):
        bundled = http.get(f"/tile/entries/{Address(number, expected[0, number])}").content
        assert [leaf_hash(line) for line in lines_of(bundled)] == held[0, number]
    below = [perfect_root(held[0, number]) for number in range(273)]
    assert held[1, 0] + held[1, 1] == below
    assert held[2, 0] == [perfect_root(held[1, 0])]
    for path in ("0/273", "0/273.p/113", "0/274.p/1", "1/001", "1/001.p/18", "1/002.p/1", "2/000", "2/000.p/2"):
        assert http.get(f"/tile/{path}").status_code == 404, path
    assert [http.get(f"/tile/{level}/000.p/1").status_code for level in range(3, 64)] == [404] * 61
