"""Rebuild the Merkle tree from the lines, and compare it with claimed hashes.

No stored or served hash is trusted: roots come from the lines alone. Claimed hashes (tiles, a file of leaf hashes) are
compared, and after a difference a second tree grows from them. If only the second tree has the signed root, the first
difference is the first altered line. If only the tree of the lines has it, the claim is wrong there.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.transparency.merkle import EMPTY_ROOT, HASH_BYTES
from ledger.transparency.tiles import HEIGHT, WIDTH, Tile, TreeEdge, split_hashes


class KnownRoots(NamedTuple):
    """The root of the lines and the root of the claimed hashes, which are equal if no hash differs."""

    lines: bytes
    claimed: bytes


class TreeRebuild:
    """The tree over lines from the first on; `roots` has the roots of each size in `root_sizes` reached so far.

    `first` is the first position whose claimed hash differs from the line's; up to `agreed` all claimed hashes agree.
    """

    def __init__(self, root_sizes: Sequence[int] = ()) -> None:
        self.edge = TreeEdge()
        self.roots: dict[int, KnownRoots] = {0: KnownRoots(EMPTY_ROOT, EMPTY_ROOT)}
        self.first: int | None = None
        self.agreed = 0
        self._claimed: TreeEdge | None = None
        self._root_sizes = sorted(set(root_sizes), reverse=True)

    def grow(self, leaves: list[bytes], claimed: bytes | None = None) -> list[Tile]:
        """Add the next leaves, with the claimed hashes of the first of them; return the tiles that they fill.

        For leaves after the claimed ones, the claimed tree uses the leaves themselves.
        """
        self._compare(leaves, claimed)
        filled: list[Tile] = []
        claimed_leaves = leaves
        if self._claimed is not None and claimed is not None:
            hashes = split_hashes(claimed)
            claimed_leaves = [*hashes, *leaves[len(hashes) :]]
        begin = 0
        while begin < len(leaves):
            end = self._next_cut(begin, len(leaves))
            self.edge, tiles = self.edge.grow(leaves[begin:end])
            filled += tiles
            if self._claimed is not None:
                self._claimed, _ = self._claimed.grow(claimed_leaves[begin:end])
            self._record_root()
            begin = end
        return filled

    def root(self) -> KnownRoots:
        """Return the roots over all leaves so far."""
        lines = self.edge.root()
        return KnownRoots(lines, lines if self._claimed is None else self._claimed.root())

    def _compare(self, leaves: list[bytes], claimed: bytes | None) -> None:
        if claimed is None or self.first is not None:
            return
        count = len(claimed) // HASH_BYTES
        assert len(claimed) == count * HASH_BYTES, len(claimed)
        assert count <= len(leaves), (count, len(leaves))
        if b"".join(leaves[:count]) != claimed:
            pairs = zip(leaves, split_hashes(claimed), strict=False)
            index = next(index for index, (leaf, hash_) in enumerate(pairs) if leaf != hash_)
            self.first = self.edge.size + index + 1
            self._claimed = self.edge
        elif count and self.agreed == self.edge.size:
            self.agreed += count

    def _next_cut(self, begin: int, end: int) -> int:
        """Return the end of the leaves up to the next size whose root is needed."""
        size = self.edge.size
        while self._root_sizes and self._root_sizes[-1] <= size:
            self._root_sizes.pop()
        if self._root_sizes and self._root_sizes[-1] - size < end - begin:
            return begin + self._root_sizes[-1] - size
        return end

    def _record_root(self) -> None:
        if self._root_sizes and self.edge.size == self._root_sizes[-1]:
            self.roots[self._root_sizes.pop()] = self.root()


def describe_difference(tile: Tile, stored: object) -> tuple[str, int | None]:
    """Describe how a stored tile differs from the lines' tile; return the text, and the position if it is one line."""
    level, number, hashes = tile
    if stored is None:
        return f"tile {level}/{number} is missing.", None
    if not isinstance(stored, bytes):
        return f"tile {level}/{number} is {type(stored).__name__}, not bytes.", None
    if len(stored) != len(hashes):
        return f"tile {level}/{number} has {len(stored):,} bytes; it must have {len(hashes):,}.", None
    pairs = zip(split_hashes(hashes), split_hashes(stored), strict=True)
    index = number * WIDTH + next(offset for offset, (right, claimed) in enumerate(pairs) if right != claimed)
    if level == 0:
        return f"tile {level}/{number} has another hash than the line at position {index + 1:,}.", index + 1
    first, end = index << HEIGHT * level, index + 1 << HEIGHT * level
    return f"tile {level}/{number} has another hash than the lines at positions {first + 1:,} to {end:,}.", None
