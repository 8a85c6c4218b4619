"""What a server serves, by C2SP's tlog-tiles: every entry fetched and hashed again, every tile compared with them.

The server is trusted with nothing. The root is worked out from the entries; tiles are compared with the entries, and
tell which line was changed where the root is another.
"""

import asyncio
from collections.abc import Callable
from itertools import takewhile

import httpx
import msgspec

from api.client.remote import client_of, error_of
from events.decode_errors import UNDECODABLE
from ledger.errors import LedgerUnavailable
from ledger.transparency.merkle import HASH_BYTES, leaf_hashes, verify_consistency
from ledger.transparency.signed_note import Checkpoint, Verifier
from ledger.transparency.tiles import (
    WIDTH,
    Tile,
    TileAddress,
    tile_width,
)
from ledger.verify import FileFindings, Findings, LineHeader, NoteCheck, OrderCheck, TreeRebuild, difference

GROUP_TILES = 8
"""Tiles fetched at once, with the entries behind them."""

TRIES = 10
"""How often a server that is busy is asked again, waiting as long as it says."""

Progress = Callable[[int, int], None]


async def verify_served(
    account: Findings,
    url: str,
    token: str | None,
    *,
    key: Verifier | None = None,
    earlier: bytes | None = None,
    progress: Progress = lambda done, total: None,
) -> FileFindings:
    """Verify what a server serves under its checkpoint; faults are told in the account.

    `earlier` is a checkpoint that was published before.
    Errors: LedgerUnavailable, for a server that cannot be reached; those it answers instead of a checkpoint.
    """
    async with client_of(url, token) as client:
        client.headers["accept-encoding"] = "identity"
        try:
            return await _Served(account, client, key).run(earlier, progress)
        except httpx.TransportError as error:
            said = str(error) or type(error).__name__
            raise LedgerUnavailable(f"{url} cannot be reached: {said}.", "Is the server running there?") from error


class _Consistency(msgspec.Struct):
    hashes: list[bytes]


class _Served:
    """One verification of one server."""

    def __init__(self, account: Findings, client: httpx.AsyncClient, key: Verifier | None) -> None:
        self._account = account
        self._client = client
        self._key = key
        self._notes = NoteCheck(account)
        self._entries = account.check("entries", "bundles")
        self._tiles = account.check("tiles", "tiles")

    async def run(self, earlier: bytes | None, progress: Progress) -> FileFindings:
        """Verify everything."""
        response = await self._get("checkpoint")
        if response.status_code != 200:
            raise error_of(response)
        checkpoint = self._notes.read(response.content, "the server's checkpoint")
        older = self._notes.read(earlier, "the earlier checkpoint") if earlier is not None else None
        if self._key is None:
            self._account.notes.append(
                "No key was given with --key: what is served belongs together, and no signature was verified."
            )
        self._notes.check_signatures(self._key)
        regrowth = TreeRebuild(self._notes.sizes)
        if checkpoint is not None:
            run = OrderCheck(self._account, LineHeader, complete=True, streams=True)
            await self._read(checkpoint.size, regrowth, run, progress)
            run.end()
            await self._check_partial(regrowth)
            if older is not None:
                await self._check_consistency(older, checkpoint)
        self._notes.compare_roots(regrowth, "the tiles")
        return FileFindings(regrowth.edge.size, regrowth.edge.root(), self._key)

    async def _read(self, size: int, regrowth: TreeRebuild, run: OrderCheck[LineHeader], progress: Progress) -> None:
        """Every entry, with the tile of level 0 over it, and the tiles above as they fill."""
        for first in range(0, -(-size // WIDTH), GROUP_TILES):
            numbers = range(first, min(first + GROUP_TILES, -(-size // WIDTH)))
            addresses = [TileAddress(number, tile_width(0, number, size)) for number in numbers]
            fetched = await asyncio.gather(
                *(self._fetch(f"tile/entries/{address}") for address in addresses),
                *(self._fetch(f"tile/0/{address}") for address in addresses),
            )
            bundles, tiles = fetched[: len(addresses)], fetched[len(addresses) :]
            lines: list[bytes] = []
            whole = True
            for address, bundle in zip(addresses, bundles, strict=True):
                self._entries.count += 1
                found = unbundled(bundle or b"")
                if whole and (found is None or len(found) != address.width):
                    where = address.number * WIDTH + 1
                    told = f"tile/entries/{address} does not hold {address.width} entries: {_sum(bundle)}."
                    self._entries.fault(told, where)
                    whole = False
                if whole:
                    lines += found or []
            leaves = leaf_hashes(lines)
            claimed = self._compare(addresses, tiles, leaves)
            run.check(lines)
            for tile in regrowth.grow(leaves, claimed):
                if tile.level > 0:
                    await self._check_tile(tile, WIDTH)
            progress(regrowth.edge.size, size)
            if not whole:
                return

    def _compare(self, addresses: list[TileAddress], tiles: list[bytes | None], leaves: list[bytes]) -> bytes:
        """Compare tiles of level 0 with the leaves under them; what they claim, as far as they are whole."""
        whole = []
        for at, (address, held) in enumerate(zip(addresses, tiles, strict=True)):
            made = b"".join(leaves[at * WIDTH : at * WIDTH + address.width])
            self._tiles.count += 1
            if len(made) < address.width * HASH_BYTES:
                continue
            if held != made:
                self._tiles.fault(*difference(Tile(0, address.number, made), held))
            whole.append((address, held))
        kept = takewhile(lambda one: one[1] is not None and len(one[1]) == one[0].width * HASH_BYTES, whole)
        return b"".join(held or b"" for _, held in kept)

    async def _check_partial(self, regrowth: TreeRebuild) -> None:
        """The tiles at the right edge, above those of level 0."""
        size = regrowth.edge.size
        for level, hashes in enumerate(regrowth.edge.levels):
            if level and hashes:
                await self._check_tile(Tile(level, (size >> 8 * level) // WIDTH, b"".join(hashes)), len(hashes))

    async def _check_tile(self, tile: Tile, width: int) -> None:
        self._tiles.count += 1
        held = await self._fetch(f"tile/{tile.level}/{TileAddress(tile.number, width)}")
        if held != tile.hashes:
            self._tiles.fault(*difference(tile, held))

    async def _check_consistency(self, older: Checkpoint, newer: Checkpoint) -> None:
        """Whether the proof that the server gives, too, shows that its log went on from the earlier checkpoint."""
        check = self._account.check("consistency", "proofs")
        check.count += 1
        response = await self._get(f"proofs/consistency?from={older.size}&to={newer.size}")
        try:
            hashes = msgspec.json.decode(response.content, type=_Consistency).hashes
        except UNDECODABLE:
            hashes = None
        if hashes is None or not verify_consistency(older.size, newer.size, hashes, older.root, newer.root):
            check.fault("the proof does not show that the log went on from the earlier checkpoint.")

    async def _fetch(self, path: str) -> bytes | None:
        """The bytes at a path; None, with the fault told, where they are not served."""
        response = await self._get(path)
        if response.status_code == 200:
            return response.content
        self._entries.fault(f"{path} is not served: {response.status_code}.")
        return None

    async def _get(self, path: str) -> httpx.Response:
        response = await self._client.get(path)
        for _ in range(TRIES):
            if response.status_code not in (429, 503):
                break
            await asyncio.sleep(float(response.headers.get("retry-after", "1")))
            response = await self._client.get(path)
        return response


def unbundled(bundle: bytes) -> list[bytes] | None:
    """The entries of a bundle, each behind its length in two bytes; None where they do not end with it."""
    entries, at = [], 0
    while at < len(bundle):
        end = at + 2 + int.from_bytes(bundle[at : at + 2])
        if end > len(bundle):
            return None
        entries.append(bundle[at + 2 : end])
        at = end
    return entries


def _sum(bundle: bytes | None) -> str:
    if bundle is None:
        return "it is not served"
    entries = unbundled(bundle)
    return "it is cut off" if entries is None else f"it holds {len(entries)}"
