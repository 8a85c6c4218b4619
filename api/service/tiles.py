"""Use cases of tiles: the hashes of a tile of the Merkle tree, and its log lines."""

from api.service.ledger import LedgerService
from ledger.errors import NotFound
from ledger.transparency.tiles import WIDTH, TileAddress, entry_bundle, tile_width


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
