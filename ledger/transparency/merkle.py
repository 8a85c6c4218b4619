"""The Merkle tree over the lines (I7): hashes, roots and proofs of RFC 6962, as pure functions without storage.

A leaf is SHA-256 of 0x00 and a line. A node is SHA-256 of 0x01 and its two children. The root of the empty tree is
SHA-256 of nothing. Nodes are named as in C2SP's tlog-tiles: `level` counts from 0 at the leaves, `index` from the left.
Here the node (level, index) always covers exactly 2**level leaves.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256

HASH_BYTES = 32
"""Size of a hash."""

EMPTY_ROOT = sha256(b"").digest()
"""The root of the empty tree."""

NodeOf = Callable[[int, int], bytes]
"""A function that returns the hash of the node (level, index)."""


def leaf_hash(line: bytes) -> bytes:
    """Return the leaf hash of a line."""
    return sha256(b"\x00" + line).digest()


def leaf_hashes(lines: Iterable[bytes]) -> list[bytes]:
    """Return the leaf hash of each line."""
    return [sha256(b"\x00" + line).digest() for line in lines]


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node from its two children."""
    return sha256(b"\x01" + left + right).digest()


def perfect_root(hashes: Sequence[bytes]) -> bytes:
    """Return the node over neighbouring hashes of one level; their number is a power of two."""
    assert len(hashes).bit_count() == 1, len(hashes)
    while len(hashes) > 1:
        pairs = iter(hashes)
        hashes = [sha256(b"\x01" + left + right).digest() for left, right in zip(pairs, pairs, strict=True)]
    return hashes[0]


def join_roots(perfect: Sequence[bytes]) -> bytes:
    """Return the root over perfect subtrees in order, each smaller than the one before; EMPTY_ROOT for none."""
    if not perfect:
        return EMPTY_ROOT
    root = perfect[-1]
    for left in reversed(perfect[:-1]):
        root = node_hash(left, root)
    return root


def covering_nodes(first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the fewest nodes (level, index) that cover the leaves first..end-1, from left to right."""
    while first < end:
        level = (end - first).bit_length() - 1
        # a perfect subtree begins at a multiple of its size, which 0 is of every size
        if first:
            level = min(level, (first & -first).bit_length() - 1)
        yield level, first >> level
        first += 1 << level


def subtree_hash(first: int, end: int, node: NodeOf) -> bytes:
    """Return the hash of the subtree over the leaves first..end-1; RFC 6962 must split the tree there."""
    return join_roots([node(level, index) for level, index in covering_nodes(first, end)])


def root_of(size: int, node: NodeOf) -> bytes:
    """Return the root of the tree over the first `size` leaves."""
    return subtree_hash(0, size, node)


def inclusion_proof(index: int, size: int, node: NodeOf) -> list[bytes]:
    """Return the proof that the tree of a size includes a leaf: its siblings, bottom up. Source: RFC 6962, 2.1.1.

    `index` is 0-based.
    """
    assert 0 <= index < size, (index, size)
    proof: list[bytes] = []
    first, end = 0, size
    while end - first > 1:
        middle = first + _split(end - first)
        if index < middle:
            proof.append(subtree_hash(middle, end, node))
            end = middle
        else:
            proof.append(subtree_hash(first, middle, node))
            first = middle
    return proof[::-1]


def consistency_proof(old_size: int, size: int, node: NodeOf) -> list[bytes]:
    """Return the proof that the tree of a size begins with the tree of an older size. Source: RFC 6962, 2.1.2.

    The proof is empty if the older size is 0 or the same.
    """
    assert 0 <= old_size <= size, (old_size, size)
    if old_size in (0, size):
        return []
    proof: list[bytes] = []
    first, end = 0, size
    while old_size != end:
        middle = first + _split(end - first)
        if old_size <= middle:
            proof.append(subtree_hash(middle, end, node))
            end = middle
        else:
            proof.append(subtree_hash(first, middle, node))
            first = middle
    # from 0 on it is the older tree itself, whose root the verifier has
    if first:
        proof.append(subtree_hash(first, end, node))
    return proof[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Return whether a proof shows that the tree of a size and root has the leaf at an index.

    `index` is 0-based. Source: RFC 9162, 2.1.3.2.
    """
    if not 0 <= index < size:
        return False
    node, last_node, computed = index, size - 1, leaf
    for sibling in proof:
        if last_node == 0:
            return False
        if node & 1 or node == last_node:
            computed = node_hash(sibling, computed)
            # a node at the right edge without a sibling has no hash in the proof on these levels
            while not node & 1 and node:
                node >>= 1
                last_node >>= 1
        else:
            computed = node_hash(computed, sibling)
        node >>= 1
        last_node >>= 1
    return last_node == 0 and computed == root


def verify_consistency(old_size: int, size: int, proof: Sequence[bytes], old_root: bytes, root: bytes) -> bool:
    """Return whether a proof shows that the tree of a size and root begins with the older size and root.

    Every tree begins with the empty tree, and with itself; both have an empty proof. Source: RFC 9162, 2.1.4.2.
    """
    if not 0 <= old_size <= size:
        return False
    if old_size == 0:
        return not proof and old_root == EMPTY_ROOT and (size > 0 or root == EMPTY_ROOT)
    if old_size == size:
        return not proof and old_root == root
    # an older tree that is perfect is a node of the newer one, which the proof leaves out
    path = [old_root, *proof] if old_size & (old_size - 1) == 0 else list(proof)
    if not path:
        return False
    node, last_node = old_size - 1, size - 1
    # up to the largest perfect subtree at the right edge of the older tree: both trees have it
    while node & 1:
        node >>= 1
        last_node >>= 1
    older = newer = path[0]
    for sibling in path[1:]:
        if last_node == 0:
            return False
        if node & 1 or node == last_node:
            older, newer = node_hash(sibling, older), node_hash(sibling, newer)
            while not node & 1 and node:
                node >>= 1
                last_node >>= 1
        else:
            newer = node_hash(newer, sibling)
        node >>= 1
        last_node >>= 1
    return last_node == 0 and older == old_root and newer == root


def _split(leaves: int) -> int:
    """Return the largest power of two below a number of leaves: the leaves of the left subtree."""
    return 1 << (leaves - 1).bit_length() - 1
