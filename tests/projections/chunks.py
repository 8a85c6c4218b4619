"""Chunks in memory, and states that are restored from them."""

from collections.abc import Mapping
from hashlib import sha256
from typing import TypeVar

from ledger.errors import ViewDamaged
from projections.column_table import ColumnTable
from projections.projection import Projection

P = TypeVar("P", bound=Projection)


class Chunks(dict[bytes, bytes]):
    """Saved chunks by digest; `reads` counts how often one was read."""

    reads = 0

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[bytes] = []
        """The digests of what views keep."""

    def store(self, chunk: bytes) -> bytes:
        digest = sha256(chunk).digest()
        self[digest] = chunk
        self.keep(digest)
        return digest

    def keep(self, digest: bytes) -> None:
        self.kept.append(digest)

    def read(self, digest: bytes) -> bytes:
        self.reads += 1
        if sha256(self.get(digest, b"")).digest() != digest:
            raise ViewDamaged("damaged", "fold again")
        return self[digest]


def restore_tables(tables: Mapping[str, ColumnTable], into: Mapping[str, ColumnTable], chunks: Chunks) -> None:
    """Save tables, and restore them into empty ones."""
    for name, table in tables.items():
        frozen = table.freeze()
        chunks.update(frozen.unsaved(chunks))
        frozen.note_saved(chunks)
        into[name].restore(frozen.saved(), chunks)


def restored(state: P, chunks: Chunks | None = None, kind: type[P] | None = None) -> P:
    """Save a state, and return the one that a restart would have, of `kind`."""
    new = (kind or type(state)).decode(state.encode())
    restore_tables(state.tables(), new.tables(), Chunks() if chunks is None else chunks)
    return new
