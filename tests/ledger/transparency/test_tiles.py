"""Tiles: what a tree is cut into, however it has grown."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ledger.transparency.merkle import EMPTY_ROOT, perfect_root, root_of
from ledger.transparency.tiles import (
    TILE_BYTES,
    TreeEdge,
    split_hashes,
    tile_width,
)

LEAVES = [number.to_bytes(32) for number in range(70_000)]


def test_the_tree_of_70_000_is_cut_as_its_specification_says() -> None:
    edge, filled = TreeEdge().grow(LEAVES)
    assert [len([tile for tile in filled if tile.level == level]) for level in range(3)] == [273, 1, 0]
    assert [len(hashes) for hashes in edge.levels] == [112, 17, 1]
    assert [tile_width(level, number, 70_000) for level, number in ((0, 272), (0, 273), (0, 274))] == [256, 112, 0]
    assert [tile_width(level, number, 70_000) for level, number in ((1, 0), (1, 1), (2, 0), (3, 0))] == [256, 17, 1, 0]
    assert {len(tile.hashes) for tile in filled} == {TILE_BYTES}


def test_a_tile_holds_the_roots_of_the_tiles_below() -> None:
    _, filled = TreeEdge().grow(LEAVES)
    tiles = {tile[:2]: split_hashes(tile.hashes) for tile in filled}
    assert [one for number in range(273) for one in tiles[0, number]] == LEAVES[: 273 * 256]
    assert tiles[1, 0] == [perfect_root(tiles[0, number]) for number in range(256)]


@given(st.lists(st.integers(0, 700), max_size=12))
def test_a_tree_grows_to_the_same_however_it_is_fed(steps: list[int]) -> None:
    edge, filled, size = TreeEdge(), [], 0
    for step in steps:
        edge, more = edge.grow(LEAVES[size : size + step])
        filled += more
        size += step
    whole, tiles = TreeEdge().grow(LEAVES[:size])
    assert edge == whole
    assert sorted(filled) == sorted(tiles)


def test_tiles_of_a_level_fill_in_order_after_those_they_stand_over() -> None:
    _, filled = TreeEdge().grow(LEAVES)
    for level in (0, 1):
        numbers = [tile.number for tile in filled if tile.level == level]
        assert all(later == earlier + 1 for earlier, later in pairwise(numbers))
    assert filled[-1][:2] == (1, 0)


@given(st.integers(0, 2_000))
def test_the_root_of_an_edge_is_that_of_its_tree(size: int) -> None:
    edge, _ = TreeEdge().grow(LEAVES[:size])
    assert edge.root() == root_of(
        size, lambda level, index: perfect_root(LEAVES[index << level : (index + 1) << level])
    )
    assert (edge.root() == EMPTY_ROOT) == (size == 0)
