"""The chunks of a snapshot file are found by their digests."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from projections.chunk_store import CHUNKS_TABLE, DIGESTS_ASKED, ChunkReader, store_chunks


def chunks(count: int) -> dict[bytes, bytes]:
    contents = [number.to_bytes(8, "big") for number in range(count)]
    return {sha256(content).digest(): content for content in contents}


@contextmanager
def stored(path: Path, count: int) -> Iterator[ChunkReader]:
    """A file of some chunks, opened for reading."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(CHUNKS_TABLE)
        store_chunks(connection, chunks(count).items())
    with closing(
        ChunkReader.open(path, CHUNKS_TABLE, "SELECT digest, bytes FROM chunks LIMIT 0", whole=True)
    ) as reader:
        yield reader


@pytest.mark.parametrize("count", [0, 1, DIGESTS_ASKED, DIGESTS_ASKED + 1, 2 * DIGESTS_ASKED + 500])
def test_each_digest_is_looked_up(tmp_path: Path, count: int) -> None:
    with stored(tmp_path / "views.db", count + 10) as reader:
        asked = chunks(count).keys()
        assert reader.has_all(asked)
        for missing in (b"", bytes(32), sha256(b"not stored").digest()):
            assert not reader.has_all(asked | {missing})


def test_only_the_digests_that_are_asked_for_are_looked_up(tmp_path: Path) -> None:
    steps: list[int] = []
    for count in (10, 1_000):
        with stored(tmp_path / f"{count}.db", count) as reader:
            asked = chunks(5).keys()
            assert reader.has_all(asked)
            steps.append(0)

            def step() -> None:
                steps[-1] += 1

            reader._connection.set_progress_handler(step, 1)
            assert reader.has_all(asked)
    assert 0 < steps[1] < 2 * steps[0], "about as many in a file of many chunks"
