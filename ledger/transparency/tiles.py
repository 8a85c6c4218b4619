"""Tiles: the tree in pieces of 256 hashes, as C2SP's tlog-tiles cuts it.

Tile N of level 0 holds the hashes of the leaves 256 N .. 256 N + 255; that of level L, hash by hash, the roots of full
tiles of level L - 1. A full tile never changes, and is what a ledger keeps; the one at the right edge of a level is
partial, and is worked out from what it stands over.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from ledger.transparency.merkle import HASH_BYTES, joined, perfect_root

WIDTH = 256
"""Hashes in a full tile."""

HEIGHT = 8
"""Levels of the tree in a level of tiles: 2**8 is 256."""

TILE_BYTES = WIDTH * HASH_BYTES
"""A full tile."""


class Tile(NamedTuple):
    """A full tile: its level, its number from the left, and its hashes side by side, 8,192 bytes."""

    level: int
    number: int
    hashes: bytes


_address = re.compile(r"((?:x[0-9]{3}/){0,6}[0-9]{3})(?:\.p/([0-9]{1,3}))?")


class TileAddress(NamedTuple):
    """Which tile of a level: its number from the left, and how many of its hashes, 1..256.

    Source: C2SP's tlog-tiles. Tile 1,234,067 is at `x001/x234/067`, the first five of its hashes at
    `x001/x234/067.p/5`.
    """

    number: int
    width: int = WIDTH

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read an address; None where it is none, or not written in the one way."""
        found = _address.fullmatch(text)
        if found is None:
            return None
        address = cls(int(re.sub("[x/]", "", found[1])), WIDTH if found[2] is None else int(found[2]))
        return address if 1 <= address.width <= WIDTH and str(address) == text else None

    def __str__(self) -> str:
        groups = f"{self.number:,}".split(",")
        path = "/".join([*(f"x{group:0>3}" for group in groups[:-1]), f"{groups[-1]:0>3}"])
        return path if self.width == WIDTH else f"{path}.p/{self.width}"


class TreeEdge(NamedTuple):
    """The right edge of a tree: how many leaves it has, and for each level the hashes of its partial tile.

    From it alone a tree grows and its root is known. A level may be empty; none stands above the last that is not.
    """

    size: int = 0
    levels: tuple[tuple[bytes, ...], ...] = ()

    def grow(self, leaves: Sequence[bytes]) -> tuple["TreeEdge", list[Tile]]:
        """The edge after some more leaves, and the tiles that they filled, those of lower levels first."""
        levels: list[tuple[bytes, ...]] = []
        filled: list[Tile] = []
        coming: Sequence[bytes] = leaves
        while coming:
            level = len(levels)
            held = (*(self.levels[level] if level < len(self.levels) else ()), *coming)
            first = (self.size >> HEIGHT * level) // WIDTH
            whole = [held[start : start + WIDTH] for start in range(0, len(held) - WIDTH + 1, WIDTH)]
            filled += [Tile(level, first + offset, b"".join(hashes)) for offset, hashes in enumerate(whole)]
            levels.append(held[len(whole) * WIDTH :])
            coming = [perfect_root(hashes) for hashes in whole]
        return TreeEdge(self.size + len(leaves), (*levels, *self.levels[len(levels) :])), filled

    def partial(self, level: int, number: int) -> tuple[bytes, ...]:
        """The hashes of a partial tile; none where that tile is full, or not there."""
        there = level < len(self.levels) and number == (self.size >> HEIGHT * level) // WIDTH
        return self.levels[level] if there else ()

    def root(self) -> bytes:
        """The root of the tree; that of no leaves for an edge of size 0."""
        return joined([root for hashes in reversed(self.levels) for root in perfect_roots(hashes)])


def perfect_roots(hashes: Sequence[bytes]) -> list[bytes]:
    """The roots of the largest perfect subtrees over neighbours of one level, from left to right."""
    roots: list[bytes] = []
    start = 0
    for bit in reversed(range(len(hashes).bit_length())):
        if len(hashes) >> bit & 1:
            roots.append(perfect_root(hashes[start : start + (1 << bit)]))
            start += 1 << bit
    return roots


def width_of(level: int, number: int, size: int) -> int:
    """How many hashes a tile has in the tree of a size: 256 where it is full, 0 where there is none."""
    return max(0, min(WIDTH, (size >> HEIGHT * level) - number * WIDTH))


def split_hashes(hashes: bytes) -> list[bytes]:
    """The hashes of a tile, one by one."""
    return [hashes[start : start + HASH_BYTES] for start in range(0, len(hashes), HASH_BYTES)]


def bundle(lines: Iterable[bytes]) -> bytes:
    """The lines behind a tile of level 0, each behind its length in two bytes, big-endian."""
    return b"".join(len(line).to_bytes(2) + line for line in lines)
