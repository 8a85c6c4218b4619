"""How a table of columns is saved: as the digests of its chunks, each the values of one column in one group of rows."""

from typing import Final, Protocol

import msgspec

ALL_ZERO: Final = b""
"""Stands for the digest of a chunk of zeros, which is neither stored nor held in memory."""


class ChunkSource(Protocol):
    """Where saved chunks are read from."""

    def read(self, digest: bytes) -> bytes:
        """Return the bytes with a SHA-256 digest. Errors: ViewDamaged."""
        ...


class SavedTable(msgspec.Struct, frozen=True):
    """A table by the digests of its chunks: its number of rows, and for each column a digest for each group."""

    rows: int
    columns: dict[str, list[bytes]]
