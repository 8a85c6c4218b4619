"""Inclusion proofs of many events in the tree of one size, which share the work of neighbouring events.

A tree is a row of perfect subtrees, its peaks, from left to right. The proof of a leaf has its siblings up to the top
of its peak, one per level, then the root over the peaks to the right, then the peaks to the left. All leaves of a peak
share the part after the siblings, and all leaves of a tile share the siblings above the tile. So each proof costs eight
look-ups, while a single proof walks the tree from its root.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from ledger.log import LogReader
from ledger.transparency.merkle import covering_nodes, join_roots, node_hash
from ledger.transparency.tiles import HEIGHT, WIDTH, split_hashes, tile_width
from ledger.transparency.tree import LogTree

CACHED_TILES_MAX = 64
"""Tiles whose layers are cached, 33 KB each: enough for those above the current leaves, for any size of tree."""

Layers = tuple[list[bytes], ...]
"""The layers of a tile: its hashes, the nodes over pairs of them, and so on, as far as pairs are complete."""


class InclusionProof(NamedTuple):
    """The proof that a tree includes an event: its position, the hash of its leaf, and the proof's hashes."""

    position: int
    leaf: bytes
    hashes: list[bytes]


class Peak(NamedTuple):
    """A perfect subtree of the row: its height, and the last hashes in the proof of each of its leaves."""

    height: int
    tail: list[bytes]


class InclusionProver:
    """Makes inclusion proofs for the tree of one size, at most that of the log."""

    def __init__(self, reader: LogReader, size: int) -> None:
        self._tree = LogTree(reader)
        self._size = size
        self._peaks: list[Peak] = []
        self._cached: OrderedDict[tuple[int, int], Layers] = OrderedDict()

    async def prove(self, positions: Iterable[int]) -> list[InclusionProof]:
        """Return the proofs of some positions, from 1, in ascending order. Errors: LedgerUnavailable."""
        if not self._peaks:
            self._peaks = await self._find_peaks()
        proofs: list[InclusionProof] = []
        for (number, height), run in groupby(positions, self._tile_and_height):
            neighbours = list(run)
            assert 1 <= neighbours[0] <= neighbours[-1] <= self._size, neighbours
            peak = next(peak for peak in self._peaks if peak.height == height)
            layers = await self._layers(0, number)
            shared = await self._siblings_above_tile(neighbours[0] - 1, height) + peak.tail
            levels = min(height, HEIGHT)
            for position in neighbours:
                index = position - 1 & WIDTH - 1
                siblings = [layers[level][index >> level ^ 1] for level in range(levels)]
                proofs.append(InclusionProof(position, layers[0][index], siblings + shared))
        return proofs

    def _tile_and_height(self, position: int) -> tuple[int, int]:
        """Return the number of a position's tile, and the height of its peak."""
        index = position - 1
        # size has a peak for each of its bits; the highest bit in which the index differs is that of its peak
        return index // WIDTH, (index ^ self._size).bit_length() - 1

    async def _find_peaks(self) -> list[Peak]:
        """Return the peaks of the tree, from left to right."""
        nodes = [(level, index, await self._node(level, index)) for level, index in covering_nodes(0, self._size)]
        roots = [root for *_, root in nodes]
        peaks: list[Peak] = []
        for number, (level, *_) in enumerate(nodes):
            right = [join_roots(roots[number + 1 :])] if number + 1 < len(roots) else []
            peaks.append(Peak(level, right + roots[:number][::-1]))
        return peaks

    async def _siblings_above_tile(self, index: int, height: int) -> list[bytes]:
        """Return the siblings of a leaf from the top of its tile to the top of its peak."""
        return [await self._node(level, index >> level ^ 1) for level in range(HEIGHT, height)]

    async def _node(self, level: int, index: int) -> bytes:
        """Return the root of the perfect subtree (level, index)."""
        layer = level % HEIGHT
        number, first = divmod(index << layer, WIDTH)
        return (await self._layers(level // HEIGHT, number))[layer][first >> layer]

    async def _layers(self, level: int, number: int) -> Layers:
        """Return the layers of a tile, from the cache or computed from its hashes."""
        if cached := self._cached.get((level, number)):
            self._cached.move_to_end((level, number))
            return cached
        hashes = split_hashes(await self._tree.tile(level, number, tile_width(level, number, self._size)))
        layers = tuple(_layers_over(hashes))
        self._cached[level, number] = layers
        if len(self._cached) > CACHED_TILES_MAX:
            self._cached.popitem(last=False)
        return layers


def _layers_over(hashes: list[bytes]) -> Iterator[list[bytes]]:
    for _ in range(HEIGHT):
        yield hashes
        hashes = [node_hash(hashes[index], hashes[index + 1]) for index in range(0, len(hashes) - 1, 2)]
