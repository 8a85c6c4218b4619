"""Tiles: pieces of the Merkle tree with 256 hashes each, as in C2SP's tlog-tiles.

Tile N of level 0 has the hashes of the leaves 256 N .. 256 N + 255. A tile of level L has the roots of full tiles of
level L - 1. A full tile never changes, and the ledger stores it. The tile at the right edge of a level is partial, and
is computed from the tiles or lines under it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from ledger.transparency.merkle import HASH_BYTES, join_roots, perfect_root

WIDTH = 256
"""Hashes in a full tile."""

HEIGHT = 8
"""Levels of the tree in one level of tiles: 2**8 is 256."""

TILE_BYTES = WIDTH * HASH_BYTES
"""Size of a full tile."""


class Tile(NamedTuple):
    """A full tile: its level, its number from the left, and its concatenated hashes, 8,192 bytes."""

    level: int
    number: int
    hashes: bytes


_address = re.compile(r"((?:x[0-9]{3}/){0,6}[0-9]{3})(?:\.p/([0-9]{1,3}))?")


class TileAddress(NamedTuple):
    """The address of a tile in its level: its number from the left, and the number of its hashes, 1..256.

    Source: C2SP's tlog-tiles. Tile 1,234,067 is at `x001/x234/067`, the first five of its hashes at
    `x001/x234/067.p/5`.
    """

    number: int
    width: int = WIDTH

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse an address; None if it is invalid or not in its only spelling."""
        match = _address.fullmatch(text)
        if match is None:
            return None
        address = cls(int(re.sub("[x/]", "", match[1])), WIDTH if match[2] is None else int(match[2]))
        return address if 1 <= address.width <= WIDTH and str(address) == text else None

    def __str__(self) -> str:
        groups = f"{self.number:,}".split(",")
        path = "/".join([*(f"x{group:0>3}" for group in groups[:-1]), f"{groups[-1]:0>3}"])
        return path if self.width == WIDTH else f"{path}.p/{self.width}"


class TreeEdge(NamedTuple):
    """The right edge of a tree: its number of leaves, and for each level the hashes of its partial tile.

    It suffices to grow the tree and to compute its root. A level may be empty, but not the highest one.
    """

    size: int = 0
    levels: tuple[tuple[bytes, ...], ...] = ()

    def grow(self, leaves: Sequence[bytes]) -> tuple["TreeEdge", list[Tile]]:
        """Return the edge after more leaves, and the tiles that these fill, lower levels first."""
        levels: list[tuple[bytes, ...]] = []
        filled: list[Tile] = []
        added: Sequence[bytes] = leaves
        while added:
            level = len(levels)
            row = (*(self.levels[level] if level < len(self.levels) else ()), *added)
            first = (self.size >> HEIGHT * level) // WIDTH
            full = [row[start : start + WIDTH] for start in range(0, len(row) - WIDTH + 1, WIDTH)]
            filled += [Tile(level, first + offset, b"".join(hashes)) for offset, hashes in enumerate(full)]
            levels.append(row[len(full) * WIDTH :])
            added = [perfect_root(hashes) for hashes in full]
        return TreeEdge(self.size + len(leaves), (*levels, *self.levels[len(levels) :])), filled

    def partial(self, level: int, number: int) -> tuple[bytes, ...]:
        """Return the hashes of a partial tile; none if that tile is full or does not exist."""
        exists = level < len(self.levels) and number == (self.size >> HEIGHT * level) // WIDTH
        return self.levels[level] if exists else ()

    def root(self) -> bytes:
        """Return the root of the tree."""
        return join_roots([root for hashes in reversed(self.levels) for root in perfect_roots(hashes)])


def perfect_roots(hashes: Sequence[bytes]) -> list[bytes]:
    """Return the roots of the largest perfect subtrees over neighbouring hashes of one level, from left to right."""
    roots: list[bytes] = []
    start = 0
    for bit in reversed(range(len(hashes).bit_length())):
        if len(hashes) >> bit & 1:
            roots.append(perfect_root(hashes[start : start + (1 << bit)]))
            start += 1 << bit
    return roots


def tile_width(level: int, number: int, size: int) -> int:
    """Return the number of hashes of a tile in the tree of a size: 256 if it is full, 0 if it does not exist."""
    return max(0, min(WIDTH, (size >> HEIGHT * level) - number * WIDTH))


def split_hashes(hashes: bytes) -> list[bytes]:
    """Split a tile into its hashes."""
    return [hashes[start : start + HASH_BYTES] for start in range(0, len(hashes), HASH_BYTES)]


def entry_bundle(lines: Iterable[bytes]) -> bytes:
    """Return the entry bundle of a tile of level 0: each line after its length in two bytes, big-endian."""
    return b"".join(len(line).to_bytes(2) + line for line in lines)
