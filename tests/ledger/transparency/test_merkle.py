"""The tree's hashes and proofs, against RFC 6962's own recursive definitions written out plainly."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.transparency.merkle import (
    EMPTY_ROOT,
    consistency_proof,
    covering_nodes,
    inclusion_proof,
    leaf_hash,
    leaf_hashes,
    perfect_root,
    root_of,
    verify_consistency,
    verify_inclusion,
)

LINES = [f"line {number}".encode() for number in range(300)]
LEAVES = leaf_hashes(LINES)


def defined(lines: list[bytes]) -> bytes:
    """MTH of RFC 6962, 2.1."""
    if not lines:
        return sha256(b"").digest()
    if len(lines) == 1:
        return sha256(b"\x00" + lines[0]).digest()
    left = 1
    while left * 2 < len(lines):
        left *= 2
    return sha256(b"\x01" + defined(lines[:left]) + defined(lines[left:])).digest()


def node(level: int, index: int) -> bytes:
    return perfect_root(LEAVES[index << level : (index + 1) << level])


ROOTS = [defined(LINES[:size]) for size in range(len(LINES) + 1)]


def test_the_example_of_certificate_transparency() -> None:
    leaves = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
    hashes = [leaf_hash(bytes.fromhex(leaf)) for leaf in leaves]
    root = root_of(8, lambda level, index: perfect_root(hashes[index << level : (index + 1) << level]))
    assert root.hex() == "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"


def test_the_root_is_that_of_the_definition() -> None:
    assert EMPTY_ROOT == ROOTS[0] == root_of(0, node)
    assert [root_of(size, node) for size in range(len(ROOTS))] == ROOTS


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_range_is_covered_by_the_fewest_whole_nodes(one: int, other: int) -> None:
    first, end = sorted((one, other))
    nodes = list(covering_nodes(first, end))
    assert [leaf for level, index in nodes for leaf in range(index << level, (index + 1) << level)] == list(
        range(first, end)
    )
    siblings = {(level, index ^ 1) for level, index in nodes}
    assert not siblings & set(nodes)


@given(st.data())
def test_a_proof_of_inclusion_shows_its_leaf_at_its_place_alone(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 300))
    index = data.draw(st.integers(0, size - 1))
    proof = inclusion_proof(index, size, node)
    assert verify_inclusion(LEAVES[index], index, size, proof, ROOTS[size])
    other = data.draw(st.integers(-1, size + 1).filter(lambda place: place != index))
    assert not verify_inclusion(LEAVES[index], other, size, proof, ROOTS[size])
    assert not verify_inclusion(LEAVES[(index + 1) % 300], index, size, proof, ROOTS[size])
    assert not verify_inclusion(LEAVES[index], index, size, [*proof, proof[-1] if proof else EMPTY_ROOT], ROOTS[size])
    if proof:
        bent = data.draw(st.integers(0, len(proof) - 1))
        assert not verify_inclusion(LEAVES[index], index, size, proof[:bent] + proof[bent + 1 :], ROOTS[size])
        bits = bytes([proof[bent][0] ^ 1]) + proof[bent][1:]
        assert not verify_inclusion(LEAVES[index], index, size, [*proof[:bent], bits, *proof[bent + 1 :]], ROOTS[size])


@given(st.data())
def test_a_proof_of_consistency_shows_its_two_trees_alone(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 300))
    old = data.draw(st.integers(0, size))
    proof = consistency_proof(old, size, node)
    assert verify_consistency(old, size, proof, ROOTS[old], ROOTS[size])
    assert not verify_consistency(old, size, [*proof, EMPTY_ROOT], ROOTS[old], ROOTS[size])
    assert not verify_consistency(old, size, proof, bytes(32), ROOTS[size])
    assert not verify_consistency(size + 1, size, proof, ROOTS[old], ROOTS[size])
    if old:
        assert not verify_consistency(old, size, proof, ROOTS[old], bytes(32))
    for place in range(len(proof)):
        assert not verify_consistency(old, size, proof[:place] + proof[place + 1 :], ROOTS[old], ROOTS[size])


@pytest.mark.parametrize(("index", "size"), [(0, 0), (-1, 3), (3, 3), (4, 3)])
def test_a_leaf_beyond_the_tree_is_in_none(index: int, size: int) -> None:
    assert not verify_inclusion(LEAVES[0], index, size, [], ROOTS[size])
