"""Use cases of the Merkle tree: inclusion and consistency proofs, the hashes of a tile, and its log lines.

Proofs are those of RFC 6962. Leaves are numbered from 0: the event at position 7 is leaf 6.
"""

import msgspec

from api.service.ledger import LedgerService, View
from ledger.errors import InvalidQuery, NotFound
from ledger.transparency.tiles import WIDTH, TileAddress, entry_bundle, tile_width


class InclusionAnswer(msgspec.Struct, frozen=True):
    """The proof that the event at a position is in the tree of the first `size` events."""

    position: int
    size: int
    leaf: bytes
    """SHA-256 of 0x00 and the event's line."""
    root: bytes
    hashes: list[bytes]
    """The sibling hashes from the leaf to the root; none in a tree of one event."""


class ConsistencyAnswer(msgspec.Struct, frozen=True):
    """The proof that the tree of the first `to` events begins with that of the first `from`."""

    older: int = msgspec.field(name="from")
    older_root: bytes = msgspec.field(name="from_root")
    newer: int = msgspec.field(name="to")
    newer_root: bytes = msgspec.field(name="to_root")
    hashes: list[bytes]
    """Empty if `from` is 0 or equals `to`."""


async def inclusion(ledger: LedgerService, position: int, size: int | None = None) -> InclusionAnswer:
    """Prove that an event is in the tree of the first `size` events, by default all. Errors: InvalidQuery."""
    size = await _check_size(ledger, "size", size)
    if position > size:
        raise InvalidQuery("position", f"{position} is beyond the tree of {size}.", "Positions run from 1 to the size.")
    tree = ledger.proving.tree
    (leaf,) = await tree.leaves(position - 1, position)
    return InclusionAnswer(position, size, leaf, await tree.root(size), await tree.inclusion(position, size))


async def consistency(ledger: LedgerService, older: int, newer: int | None = None) -> ConsistencyAnswer:
    """Prove that a tree, by default the current one, begins with an older one. Errors: InvalidQuery."""
    newer = await _check_size(ledger, "to", newer)
    if older > newer:
        raise InvalidQuery("from", f"{older} is beyond the tree of {newer}.", "Name a size up to it.")
    tree = ledger.proving.tree
    hashes = await tree.consistency(older, newer)
    return ConsistencyAnswer(older, await tree.root(older), newer, await tree.root(newer), hashes)


async def _check_size(view: View, name: str, size: int | None) -> int:
    head = (await view.reader.head()).position
    if size is not None and size > head:
        raise InvalidQuery(name, f"{size} is beyond the head, {head}.", "Name a size up to the head.")
    return head if size is None else size


async def tile(ledger: LedgerService, level: int, address: TileAddress) -> bytes:
    """Return the hashes of a tile, concatenated. Errors: NotFound, for more hashes than exist."""
    await _check_width(ledger, level, address)
    return await ledger.proving.tree.tile(level, *address)


async def entries(ledger: LedgerService, address: TileAddress) -> bytes:
    """Return the lines of a tile of level 0, each after its length. Errors: NotFound, for more lines than exist."""
    await _check_width(ledger, 0, address)
    first = address.number * WIDTH
    return entry_bundle(await ledger.proving.tree.lines(first, first + address.width))


async def _check_width(ledger: LedgerService, level: int, address: TileAddress) -> None:
    head = (await ledger.reader.head()).position
    width = tile_width(level, address.number, head)
    if address.width > width:
        part = f"its first {width} hashes are" if width else "nothing of it is"
        detail = f"Tile {address.number} of level {level} is not {address.width} wide: {part} in the tree of {head}."
        raise NotFound(detail, "Take the sizes from a checkpoint.")
