"""The tree grown again from the lines, beside the one that is claimed of them.

No hash that is kept or served is ever trusted: roots come from the lines alone. What is claimed (tiles, a file of leaf
hashes) is compared, and where it differs a second tree is grown of it. If that one has the signed root and ours has
not, the first difference is the first line that is not what was signed; if ours has it, the claim is wrong there.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.transparency.merkle import EMPTY_ROOT, HASH_BYTES
from ledger.transparency.tiles import HEIGHT, WIDTH, Tile, TreeEdge


class KnownRoots(NamedTuple):
    """The root of the lines, and that of what is claimed of them where it is another."""

    lines: bytes
    claimed: bytes


class TreeRebuild:
    """The tree over lines from the first on; `roots` has those of the sizes that were wanted, once they are reached.

    `first` is the first position at which a claim differs from the line, `agreed` how far none does.
    """

    def __init__(self, wanted: Sequence[int] = ()) -> None:
        self.edge = TreeEdge()
        self.roots: dict[int, KnownRoots] = {0: KnownRoots(EMPTY_ROOT, EMPTY_ROOT)}
        self.first: int | None = None
        self.agreed = 0
        self._claimed: TreeEdge | None = None
        self._wanted = sorted(set(wanted), reverse=True)

    def grow(self, leaves: list[bytes], claimed: bytes | None = None) -> list[Tile]:
        """Take the leaves that follow, and what is claimed of the first of them; the tiles that they filled.

        Leaves behind what is claimed count as claimed as they are.
        """
        self._compare(leaves, claimed)
        filled: list[Tile] = []
        rivals = leaves
        if self._claimed is not None and claimed is not None:
            hashes = [claimed[at : at + HASH_BYTES] for at in range(0, len(claimed), HASH_BYTES)]
            rivals = [*hashes, *leaves[len(hashes) :]]
        begin = 0
        while begin < len(leaves):
            end = self._next_cut(begin, len(leaves))
            self.edge, tiles = self.edge.grow(leaves[begin:end])
            filled += tiles
            if self._claimed is not None:
                self._claimed, _ = self._claimed.grow(rivals[begin:end])
            self._note_root()
            begin = end
        return filled

    def root(self) -> KnownRoots:
        """The roots over all that was taken."""
        ours = self.edge.root()
        return KnownRoots(ours, ours if self._claimed is None else self._claimed.root())

    def _compare(self, leaves: list[bytes], claimed: bytes | None) -> None:
        if claimed is None or self.first is not None:
            return
        count = len(claimed) // HASH_BYTES
        assert len(claimed) == count * HASH_BYTES, len(claimed)
        assert count <= len(leaves), (count, len(leaves))
        if b"".join(leaves[:count]) != claimed:
            place = next(at for at in range(count) if leaves[at] != claimed[at * HASH_BYTES :][:HASH_BYTES])
            self.first = self.edge.size + place + 1
            self._claimed = self.edge
        elif count and self.agreed == self.edge.size:
            self.agreed += count

    def _next_cut(self, begin: int, end: int) -> int:
        """How far the leaves go before a root is wanted."""
        size = self.edge.size
        while self._wanted and self._wanted[-1] <= size:
            self._wanted.pop()
        if self._wanted and self._wanted[-1] - size < end - begin:
            return begin + self._wanted[-1] - size
        return end

    def _note_root(self) -> None:
        if self._wanted and self.edge.size == self._wanted[-1]:
            self.roots[self._wanted.pop()] = self.root()


def difference(tile: Tile, held: object) -> tuple[str, int | None]:
    """What is wrong with a tile that is not as the lines make it, and the position it is wrong at, where it is one."""
    level, number, hashes = tile
    if held is None:
        return f"tile {level}/{number} is missing.", None
    if not isinstance(held, bytes):
        return f"tile {level}/{number} is {type(held).__name__} and no bytes.", None
    if len(held) != len(hashes):
        return f"tile {level}/{number} has {len(held):,} bytes; it must have {len(hashes):,}.", None
    place = next(at for at in range(0, len(hashes), HASH_BYTES) if hashes[at:][:HASH_BYTES] != held[at:][:HASH_BYTES])
    index = number * WIDTH + place // HASH_BYTES
    if level == 0:
        return f"tile {level}/{number} has another hash than the line at position {index + 1:,}.", index + 1
    first, end = index << HEIGHT * level, index + 1 << HEIGHT * level
    return f"tile {level}/{number} has another hash than the lines at positions {first + 1:,} to {end:,}.", None
