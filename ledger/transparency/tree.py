"""The tree over a log (I7): its edge, roots, tiles and proofs, from the tiles that are kept and the lines behind them.

What is asked for must be there: positions and sizes up to the head. Errors of all: LedgerUnavailable.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from ledger.log import LogReader, Query
from ledger.transparency.merkle import NodeOf, consistency, inclusion, leaf_hashes, perfect_root, root_of
from ledger.transparency.tiles import HEIGHT, WIDTH, TreeEdge, split_hashes, width_of

_Found = TypeVar("_Found")


class TreeLog(LogReader, Protocol):
    """A log whose writer holds the right edge of the tree."""

    @property
    def edge(self) -> TreeEdge:
        """The right edge of the tree over what is committed, without waiting."""
        ...


class LogTree:
    """The tree over the lines that a reader reads; the edge that its writer holds spares working out partial tiles."""

    def __init__(self, reader: LogReader, held: TreeEdge | None = None) -> None:
        self._reader = reader
        self._held = TreeEdge() if held is None else held

    async def edge(self, size: int) -> TreeEdge:
        """The right edge of the tree of a size."""
        levels: list[tuple[bytes, ...]] = []
        while size >> HEIGHT * len(levels):
            level = len(levels)
            number = (size >> HEIGHT * level) // WIDTH
            levels.append(tuple(await self._hashes(level, number, width_of(level, number, size))))
        return TreeEdge(size, tuple(levels))

    async def root(self, size: int) -> bytes:
        """The root of the tree of a size."""
        return await self._asked(lambda node: root_of(size, node), size)

    async def inclusion(self, position: int, size: int) -> list[bytes]:
        """The proof that the event at a position, from 1, is in the tree of a size; `merkle.includes` counts from 0."""
        return await self._asked(lambda node: inclusion(position - 1, size, node), size)

    async def consistency(self, old: int, size: int) -> list[bytes]:
        """The proof that the tree of a size begins with that of an older one."""
        return await self._asked(lambda node: consistency(old, size, node), size)

    async def tile(self, level: int, number: int, width: int) -> bytes:
        """The first hashes of a tile, side by side: all 256, or fewer."""
        return b"".join(await self._hashes(level, number, width))

    async def lines(self, first: int, end: int) -> list[bytes]:
        """The lines of the leaves first..end-1, counted from 0."""
        return (await self._reader.read(Query(after=first, before=end + 1, limit=end - first))).lines

    async def leaves(self, first: int, end: int) -> list[bytes]:
        """The hashes of the leaves first..end-1, counted from 0, worked out from their lines."""
        return leaf_hashes(await self.lines(first, end))

    async def _hashes(self, level: int, number: int, width: int) -> list[bytes]:
        if width == 0:
            return []
        if width <= len(partial := self._held.partial(level, number)):
            return list(partial[:width])
        if kept := await self._reader.tiles(level, number, 1):
            return split_hashes(kept[0])[:width]
        first = number * WIDTH
        if level == 0:
            return await self.leaves(first, first + width)
        below = await self._reader.tiles(level - 1, first, width)
        assert len(below) == width, (level, number, width, len(below))
        return [perfect_root(split_hashes(hashes)) for hashes in below]

    async def _asked(self, work: Callable[[NodeOf], _Found], size: int) -> _Found:
        """What a function of nodes gives. It is called twice: to learn which tiles it reads, and with them."""
        wanted: set[tuple[int, int]] = set()

        def note(level: int, index: int) -> bytes:
            wanted.add(_tile_of(level, index)[:2])
            return b""

        work(note)
        held = {tile: await self._hashes(*tile, width_of(*tile, size)) for tile in wanted}

        def node(level: int, index: int) -> bytes:
            tile_level, number, first = _tile_of(level, index)
            return perfect_root(held[tile_level, number][first : first + (1 << level % HEIGHT)])

        return work(node)


def _tile_of(level: int, index: int) -> tuple[int, int, int]:
    """Where a node is worked out: the tile's level and number, and the first of the hashes it stands over."""
    number, first = divmod(index << level % HEIGHT, WIDTH)
    return level // HEIGHT, number, first
