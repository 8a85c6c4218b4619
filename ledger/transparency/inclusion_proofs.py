"""Inclusion proofs of many events in the tree of one size: neighbours share the tile they stand in, and all above.

A tree of a size is a row of perfect subtrees, its peaks, from left to right. The proof of a leaf is its siblings up to
the top of its peak, one a level, then the root over the peaks on its right, then the peaks on its left. What is behind
the siblings is the same for all leaves of a peak, and the siblings above a tile are the same for all leaves of a tile:
so a proof costs eight look-ups, where one made by itself walks the tree from its root.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from ledger.log import LogReader
from ledger.transparency.merkle import cover, joined, node_hash
from ledger.transparency.tiles import HEIGHT, WIDTH, split_hashes, width_of
from ledger.transparency.tree import LogTree

TILES_HELD = 64
"""Tiles whose layers are held, 33 KB each: those above the leaves at hand, whatever the size of the tree."""

Layers = tuple[list[bytes], ...]
"""Of a tile: its hashes, the nodes over pairs of them, and so on, as far as pairs are whole."""


class InclusionProof(NamedTuple):
    """An event of a tree: its position, the hash of its leaf, and the proof that it is there."""

    position: int
    leaf: bytes
    hashes: list[bytes]


class Peak(NamedTuple):
    """A perfect subtree of the row: its height, and what ends the proof of each of its leaves."""

    height: int
    tail: list[bytes]


class InclusionProver:
    """Proofs for the tree of one size, which is at most that of the log."""

    def __init__(self, reader: LogReader, size: int) -> None:
        self._tree = LogTree(reader)
        self._size = size
        self._peaks: list[Peak] = []
        self._held: OrderedDict[tuple[int, int], Layers] = OrderedDict()

    async def prove(self, positions: Iterable[int]) -> list[InclusionProof]:
        """The proofs of some positions, from 1, in growing order. Errors: LedgerUnavailable."""
        if not self._peaks:
            self._peaks = await self._row()
        proofs: list[InclusionProof] = []
        for (number, height), found in groupby(positions, self._place):
            together = list(found)
            assert 1 <= together[0] <= together[-1] <= self._size, together
            peak = next(peak for peak in self._peaks if peak.height == height)
            layers = await self._layers(0, number)
            shared = await self._above(together[0] - 1, height) + peak.tail
            low = min(height, HEIGHT)
            for position in together:
                index = position - 1 & WIDTH - 1
                siblings = [layers[level][index >> level ^ 1] for level in range(low)]
                proofs.append(InclusionProof(position, layers[0][index], siblings + shared))
        return proofs

    def _place(self, position: int) -> tuple[int, int]:
        """Which tile a position stands in, and how high its peak is."""
        index = position - 1
        return index // WIDTH, (index ^ self._size).bit_length() - 1

    async def _row(self) -> list[Peak]:
        """The peaks of the tree, from left to right."""
        nodes = [(level, index, await self._node(level, index)) for level, index in cover(0, self._size)]
        roots = [root for *_, root in nodes]
        peaks: list[Peak] = []
        for place, (level, *_) in enumerate(nodes):
            right = [joined(roots[place + 1 :])] if place + 1 < len(roots) else []
            peaks.append(Peak(level, right + roots[:place][::-1]))
        return peaks

    async def _above(self, index: int, height: int) -> list[bytes]:
        """The siblings of a leaf from the top of its tile to that of its peak."""
        return [await self._node(level, index >> level ^ 1) for level in range(HEIGHT, height)]

    async def _node(self, level: int, index: int) -> bytes:
        """The root of the perfect subtree (level, index)."""
        layer = level % HEIGHT
        number, first = divmod(index << layer, WIDTH)
        return (await self._layers(level // HEIGHT, number))[layer][first >> layer]

    async def _layers(self, level: int, number: int) -> Layers:
        """The layers of a tile: held, or made of what is kept of it."""
        if held := self._held.get((level, number)):
            self._held.move_to_end((level, number))
            return held
        hashes = split_hashes(await self._tree.tile(level, number, width_of(level, number, self._size)))
        made = tuple(_layers_over(hashes))
        self._held[level, number] = made
        if len(self._held) > TILES_HELD:
            self._held.popitem(last=False)
        return made


def _layers_over(hashes: list[bytes]) -> Iterator[list[bytes]]:
    for _ in range(HEIGHT):
        yield hashes
        hashes = [node_hash(hashes[place], hashes[place + 1]) for place in range(0, len(hashes) - 1, 2)]
