"""The Merkle tree over a log (I7): its edge, roots, tiles and proofs, from stored tiles and the lines after them.

Positions and sizes must be at most the head. Errors of all methods: LedgerUnavailable.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, TypeVar

from ledger.errors import Forked, LedgerUnavailable
from ledger.log import Log, LogReader, Query
from ledger.transparency.merkle import NodeOf, consistency_proof, inclusion_proof, leaf_hashes, perfect_root, root_of
from ledger.transparency.tiles import HEIGHT, WIDTH, TreeEdge, split_hashes, tile_width

_Result = TypeVar("_Result")


class TreeLog(Log, Protocol):
    """A log with the right edge of its tree. Where many processes write the log, the tree may lack its newest lines."""

    @property
    def edge(self) -> TreeEdge:
        """Return the right edge of the tree, as far as this process knows it, without waiting. It only grows."""
        ...

    async def wait_for_tree(self, size: int) -> TreeEdge:
        """Return the right edge once the tree covers `size` events or more, which must be committed.

        Errors: LedgerUnavailable, if the tree does not grow.
        """
        ...

    def refuse_appends(self, reason: Forked) -> None:
        """Refuse every append until the log is opened again: a new event would take the position of a lost one."""
        ...


class LogTree:
    """The tree over a reader's lines. With the writer's edge, partial tiles need not be computed.

    What the stored tiles lack is computed from the lines.
    """

    def __init__(self, reader: LogReader, edge: TreeEdge | None = None) -> None:
        self._reader = reader
        self._edge = TreeEdge() if edge is None else edge

    async def edge(self, size: int) -> TreeEdge:
        """Return the right edge of the tree of a size."""
        levels: list[tuple[bytes, ...]] = []
        while size >> HEIGHT * len(levels):
            level = len(levels)
            number = (size >> HEIGHT * level) // WIDTH
            levels.append(tuple(await self._hashes(level, number, tile_width(level, number, size))))
        return TreeEdge(size, tuple(levels))

    async def root(self, size: int) -> bytes:
        """Return the root of the tree of a size."""
        return await self._compute(lambda node: root_of(size, node), size)

    async def inclusion(self, position: int, size: int) -> list[bytes]:
        """Return the proof that the tree of a size includes the event at a position, from 1.

        `merkle.verify_inclusion`, which checks it, counts from 0.
        """
        return await self._compute(lambda node: inclusion_proof(position - 1, size, node), size)

    async def consistency(self, old_size: int, size: int) -> list[bytes]:
        """Return the proof that the tree of a size begins with the tree of an older size."""
        return await self._compute(lambda node: consistency_proof(old_size, size, node), size)

    async def tile(self, level: int, number: int, width: int) -> bytes:
        """Return the first `width` hashes of a tile, concatenated."""
        return b"".join(await self._hashes(level, number, width))

    async def lines(self, first: int, end: int) -> list[bytes]:
        """Return the lines of the leaves first..end-1, counted from 0. Errors: LedgerUnavailable, if one is missing."""
        lines = (await self._reader.read(Query(after=first, before=end + 1, limit=end - first))).lines
        if len(lines) != end - first:
            raise LedgerUnavailable(
                f"{end - first} events after position {first} were expected, and the ledger has {len(lines)}.",
                "It may have lost events: compare it with its checkpoints, tallystick verify.",
            )
        return lines

    async def leaves(self, first: int, end: int) -> list[bytes]:
        """Return the hashes of the leaves first..end-1, counted from 0, computed from their lines."""
        return leaf_hashes(await self.lines(first, end))

    async def _hashes(self, level: int, number: int, width: int) -> list[bytes]:
        if width == 0:
            return []
        if width <= len(partial := self._edge.partial(level, number)):
            return list(partial[:width])
        if stored := await self._reader.tiles(level, number, 1):
            return split_hashes(stored[0])[:width]
        first = number * WIDTH
        if level == 0:
            return await self.leaves(first, first + width)
        roots = [_tile_root(hashes) for hashes in await self._reader.tiles(level - 1, first, width)]
        missing = [await self._hashes(level - 1, first + index, WIDTH) for index in range(len(roots), width)]
        return roots + [perfect_root(hashes) for hashes in missing]

    async def _compute(self, work: Callable[[NodeOf], _Result], size: int) -> _Result:
        """Return the result of a function of nodes. The first call only records which tiles it reads."""
        needed: set[tuple[int, int]] = set()

        def record(level: int, index: int) -> bytes:
            needed.add(_tile_of(level, index)[:2])
            return b""

        work(record)
        tiles = {tile: await self._hashes(*tile, tile_width(*tile, size)) for tile in needed}

        def node(level: int, index: int) -> bytes:
            tile_level, number, first = _tile_of(level, index)
            return perfect_root(tiles[tile_level, number][first : first + (1 << level % HEIGHT)])

        return work(node)


@lru_cache(2 * WIDTH)
def _tile_root(hashes: bytes) -> bytes:
    """Return the root of a full tile: remembered, because a node on PostgreSQL computes the tree's edge each second."""
    return perfect_root(split_hashes(hashes))


def _tile_of(level: int, index: int) -> tuple[int, int, int]:
    """Return the tile that a node is computed from: its level and number, and the first of the node's hashes in it."""
    number, first = divmod(index << level % HEIGHT, WIDTH)
    return level // HEIGHT, number, first
