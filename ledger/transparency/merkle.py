"""The Merkle tree over the lines (I7): hashes, roots and proofs of RFC 6962, and nothing that could keep or fetch one.

A leaf is SHA-256 of 0x00 and a line, a node that of 0x01 and its two children, and the tree of no lines is SHA-256 of
nothing. A node is named as in C2SP's tlog-tiles: `level` counts from the leaves, at 0, and `index` from the left; here
the node (level, index) always stands over 2**level leaves, all of which are there.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256

HASH_BYTES = 32
"""A hash, whatever it is of."""

EMPTY_ROOT = sha256(b"").digest()
"""The root of the tree of no lines."""

NodeOf = Callable[[int, int], bytes]
"""The hash of the node (level, index)."""


def leaf_hash(line: bytes) -> bytes:
    """The hash of one line."""
    return sha256(b"\x00" + line).digest()


def leaf_hashes(lines: Iterable[bytes]) -> list[bytes]:
    """The hash of each line."""
    return [sha256(b"\x00" + line).digest() for line in lines]


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of a node over its two children."""
    return sha256(b"\x01" + left + right).digest()


def perfect_root(hashes: Sequence[bytes]) -> bytes:
    """The node over neighbours of one level, as many as a power of two."""
    assert len(hashes).bit_count() == 1, len(hashes)
    while len(hashes) > 1:
        pairs = iter(hashes)
        hashes = [sha256(b"\x01" + left + right).digest() for left, right in zip(pairs, pairs, strict=True)]
    return hashes[0]


def joined(perfect: Sequence[bytes]) -> bytes:
    """The root over perfect subtrees from left to right, each smaller than the one before it; EMPTY_ROOT of none."""
    if not perfect:
        return EMPTY_ROOT
    root = perfect[-1]
    for left in reversed(perfect[:-1]):
        root = node_hash(left, root)
    return root


def cover(first: int, end: int) -> Iterator[tuple[int, int]]:
    """The fewest nodes over the leaves first..end-1, from left to right."""
    while first < end:
        level = (end - first).bit_length() - 1
        if first:
            level = min(level, (first & -first).bit_length() - 1)
        yield level, first >> level
        first += 1 << level


def subtree(first: int, end: int, node: NodeOf) -> bytes:
    """The hash of the subtree over the leaves first..end-1, where RFC 6962 splits there; of all of them the root."""
    return joined([node(level, index) for level, index in cover(first, end)])


def root_of(size: int, node: NodeOf) -> bytes:
    """The root of the tree over the first `size` leaves."""
    return subtree(0, size, node)


def inclusion(index: int, size: int, node: NodeOf) -> list[bytes]:
    """The proof that a leaf, counted from 0, is in the tree of a size: the siblings on its way up (RFC 6962, 2.1.1)."""
    assert 0 <= index < size, (index, size)
    proof: list[bytes] = []
    first, end = 0, size
    while end - first > 1:
        middle = first + _split(end - first)
        if index < middle:
            proof.append(subtree(middle, end, node))
            end = middle
        else:
            proof.append(subtree(first, middle, node))
            first = middle
    return proof[::-1]


def consistency(old: int, size: int, node: NodeOf) -> list[bytes]:
    """The proof that the tree of a size begins with that of an older one (RFC 6962, 2.1.2).

    Empty where the older one has no leaves, or as many.
    """
    assert 0 <= old <= size, (old, size)
    if old in (0, size):
        return []
    proof: list[bytes] = []
    first, end = 0, size
    while old != end:
        middle = first + _split(end - first)
        if old <= middle:
            proof.append(subtree(middle, end, node))
            end = middle
        else:
            proof.append(subtree(first, middle, node))
            first = middle
    if first:
        proof.append(subtree(first, end, node))
    return proof[::-1]


def includes(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether a proof shows that the leaf stands at an index, counted from 0, in the tree of that size and root.

    Source: RFC 9162, 2.1.3.2.
    """
    if not 0 <= index < size:
        return False
    place, last, found = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = node_hash(sibling, found)
            while not place & 1 and place:
                place >>= 1
                last >>= 1
        else:
            found = node_hash(found, sibling)
        place >>= 1
        last >>= 1
    return last == 0 and found == root


def continues(old: int, size: int, proof: Sequence[bytes], old_root: bytes, root: bytes) -> bool:
    """Whether a proof shows that the tree of a size and root begins with that of the older size and root.

    Every tree begins with that of no leaves, and with itself; both take an empty proof. Source: RFC 9162, 2.1.4.2.
    """
    if not 0 <= old <= size:
        return False
    if old == 0:
        return not proof and old_root == EMPTY_ROOT and (size > 0 or root == EMPTY_ROOT)
    if old == size:
        return not proof and old_root == root
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not path:
        return False
    place, last = old - 1, size - 1
    while place & 1:
        place >>= 1
        last >>= 1
    older = newer = path[0]
    for sibling in path[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            older, newer = node_hash(sibling, older), node_hash(sibling, newer)
            while not place & 1 and place:
                place >>= 1
                last >>= 1
        else:
            newer = node_hash(newer, sibling)
        place >>= 1
        last >>= 1
    return last == 0 and older == old_root and newer == root


def _split(leaves: int) -> int:
    """The largest power of two smaller than a number of leaves: how many stand on the left."""
    return 1 << (leaves - 1).bit_length() - 1
