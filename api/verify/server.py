"""Verify the tiles of a server (C2SP tlog-tiles): fetch and hash every entry, and compare every tile with them.

The server is not trusted. The root is computed from the entries. The tiles are compared with the entries: if the root
differs, the tiles show which line was changed.
"""

import asyncio
from collections.abc import Sequence
from itertools import takewhile

import msgspec

from api.client.server_connection import ServerConnection, connect, decode_error
from api.errors import UnexpectedAnswer
from api.progress import ReportProgress
from events.decode_error_messages import DECODE_ERRORS
from events.limits import LINE_BYTES_MAX, NOTE_BYTES_MAX
from ledger.transparency.merkle import HASH_BYTES, leaf_hashes, verify_consistency
from ledger.transparency.signed_note import Checkpoint, Verifier
from ledger.transparency.tiles import WIDTH, Tile, TileAddress, tile_width
from ledger.verify import (
    FileFindings,
    Findings,
    LineHeader,
    OrderCheck,
    SignatureCheck,
    TreeRebuild,
    describe_difference,
)

GROUP_TILES = 8
"""Tiles that are fetched at once, with their entries."""

LENGTH_BYTES = 2
"""Bytes of the length of an entry in a bundle (big-endian)."""

ENTRIES_BYTES_MAX = WIDTH * (LENGTH_BYTES + LINE_BYTES_MAX)
"""One bundle of entries."""

TILE_BYTES_MAX = WIDTH * HASH_BYTES
"""One tile."""

PROOF_BYTES_MAX = 16_384
"""One consistency proof; the longest one has about 120 hashes."""

WRONG_MAX = 1_000
"""Faults after which no more entries are fetched: the server sends what its checkpoint does not claim, without end."""


async def verify_served(
    findings: Findings,
    url: str,
    token: str | None,
    *,
    key: Verifier | None = None,
    earlier: bytes | None = None,
    witnesses: Sequence[Verifier] = (),
    progress: ReportProgress = lambda done, total: None,
) -> FileFindings:
    """Verify the entries and tiles under a server's checkpoint; add faults to `findings`.

    `earlier` is a checkpoint that was published before. Each of `witnesses` must have cosigned a checkpoint.
    Errors: LedgerUnavailable, if the server cannot be reached; the errors that it answers instead of a checkpoint;
    UnexpectedAnswer.
    """
    async with connect(url, token) as server:
        return await _Served(findings, server, key).run(earlier, witnesses, progress)


class _Consistency(msgspec.Struct):
    hashes: list[bytes]


class _Served:
    """Verifies one server once."""

    def __init__(self, findings: Findings, server: ServerConnection, key: Verifier | None) -> None:
        self._findings = findings
        self._server = server
        self._key = key
        self._notes = SignatureCheck(findings)
        self._entries = findings.check("entries", "bundles")
        self._tiles = findings.check("tiles", "tiles")

    async def run(self, earlier: bytes | None, witnesses: Sequence[Verifier], progress: ReportProgress) -> FileFindings:
        """Verify everything."""
        answer = await self._server.get("/checkpoint", NOTE_BYTES_MAX)
        if answer.status != 200:
            raise decode_error(answer)
        checkpoint = self._notes.read(answer.body, "the server's checkpoint")
        older = self._notes.read(earlier, "the earlier checkpoint") if earlier is not None else None
        if witnesses:
            await self._read_witnessed()
        if self._key is None:
            self._findings.notes.append(
                "Without --key no signature was verified: the data is consistent, but its origin is not proven."
            )
        self._notes.check_signatures(self._key)
        self._notes.check_witnesses(witnesses)
        rebuild = TreeRebuild(self._notes.sizes)
        if checkpoint is not None:
            order = OrderCheck(self._findings, LineHeader, complete=True, streams=True)
            await self._read(checkpoint.size, rebuild, order, progress)
            order.end()
            await self._check_partial(rebuild)
            if older is not None:
                await self._check_consistency(older, checkpoint)
        self._notes.compare_roots(rebuild, "the tiles")
        return FileFindings(rebuild.edge.size, rebuild.edge.root(), self._key)

    async def _read_witnessed(self) -> None:
        """Read the checkpoint that was cosigned last; without one, `check_witnesses` reports each witness."""
        answer = await self._server.get("/checkpoint/witnessed", NOTE_BYTES_MAX)
        if answer.status == 200:
            self._notes.read(answer.body, "the server's witnessed checkpoint")

    async def _read(
        self, size: int, rebuild: TreeRebuild, order: OrderCheck[LineHeader], progress: ReportProgress
    ) -> None:
        """Read every entry with its tile of level 0, and the tiles above as they fill."""
        for first in range(0, -(-size // WIDTH), GROUP_TILES):
            numbers = range(first, min(first + GROUP_TILES, -(-size // WIDTH)))
            addresses = [TileAddress(number, tile_width(0, number, size)) for number in numbers]
            fetched = await asyncio.gather(
                *(self._fetch(f"tile/entries/{address}", ENTRIES_BYTES_MAX) for address in addresses),
                *(self._fetch(f"tile/0/{address}", TILE_BYTES_MAX) for address in addresses),
            )
            bundles, tiles = fetched[: len(addresses)], fetched[len(addresses) :]
            lines: list[bytes] = []
            complete_so_far = True
            for address, bundle in zip(addresses, bundles, strict=True):
                self._entries.count += 1
                entries = split_bundle(bundle or b"")
                if complete_so_far and (entries is None or len(entries) != address.width):
                    detail = f"tile/entries/{address} does not have {address.width} entries: {_entry_count(bundle)}."
                    self._entries.fault(detail, address.number * WIDTH + 1)
                    complete_so_far = False
                if complete_so_far:
                    lines += entries or []
            leaves = leaf_hashes(lines)
            claimed = self._compare(addresses, tiles, leaves)
            order.check(lines)
            for tile in rebuild.grow(leaves, claimed):
                if tile.level > 0:
                    await self._check_tile(tile, WIDTH)
            progress(rebuild.edge.size, size)
            if not complete_so_far:
                return
            if sum(check.wrong for check in self._findings.checks) > WRONG_MAX:
                self._findings.notes.append(
                    f"Stopped after {rebuild.edge.size:,} of {size:,} claimed events: more than {WRONG_MAX:,} faults."
                )
                return

    def _compare(self, addresses: list[TileAddress], tiles: list[bytes | None], leaves: list[bytes]) -> bytes:
        """Compare tiles of level 0 with their leaves; return the hashes they claim, up to the first damaged tile."""
        comparable = []
        for index, (address, served) in enumerate(zip(addresses, tiles, strict=True)):
            expected = b"".join(leaves[index * WIDTH : index * WIDTH + address.width])
            self._tiles.count += 1
            if len(expected) < address.width * HASH_BYTES:
                continue
            if served != expected:
                self._tiles.fault(*describe_difference(Tile(0, address.number, expected), served))
            comparable.append((served or b"", len(expected)))
        undamaged = takewhile(lambda tile: len(tile[0]) == tile[1], comparable)
        return b"".join(served for served, _ in undamaged)

    async def _check_partial(self, rebuild: TreeRebuild) -> None:
        """Check the partial tiles above level 0, at the right edge of the tree."""
        size = rebuild.edge.size
        for level, hashes in enumerate(rebuild.edge.levels):
            if level and hashes:
                await self._check_tile(Tile(level, (size >> 8 * level) // WIDTH, b"".join(hashes)), len(hashes))

    async def _check_tile(self, tile: Tile, width: int) -> None:
        self._tiles.count += 1
        served = await self._fetch(f"tile/{tile.level}/{TileAddress(tile.number, width)}", TILE_BYTES_MAX)
        if served != tile.hashes:
            self._tiles.fault(*describe_difference(tile, served))

    async def _check_consistency(self, older: Checkpoint, newer: Checkpoint) -> None:
        """Check that the server's own consistency proof shows that its log continues the earlier checkpoint."""
        check = self._findings.check("consistency", "proofs")
        check.count += 1
        answer = await self._server.get(
            "/proofs/consistency", PROOF_BYTES_MAX, **{"from": str(older.size), "to": str(newer.size)}
        )
        try:
            hashes = msgspec.json.decode(answer.body, type=_Consistency).hashes
        except DECODE_ERRORS:
            hashes = None
        if hashes is None or not verify_consistency(older.size, newer.size, hashes, older.root, newer.root):
            check.fault("the proof does not show that the log continues the earlier checkpoint.")

    async def _fetch(self, path: str, bytes_max: int) -> bytes | None:
        """Fetch the bytes at a path; None, with a fault, if they are not served."""
        try:
            answer = await self._server.get(f"/{path}", bytes_max)
        except UnexpectedAnswer as error:
            self._entries.fault(error.detail)
            return None
        if answer.status == 200:
            return answer.body
        self._entries.fault(f"{path} is not served: {answer.status}.")
        return None


def split_bundle(bundle: bytes) -> list[bytes] | None:
    """Split a bundle into entries, each with its length before it; None if the last one is cut off."""
    entries, end = [], 0
    while end < len(bundle):
        start = end + LENGTH_BYTES
        end = start + int.from_bytes(bundle[end:start])
        if end > len(bundle):
            return None
        entries.append(bundle[start:end])
    return entries


def _entry_count(bundle: bytes | None) -> str:
    if bundle is None:
        return "it is not served"
    entries = split_bundle(bundle)
    return "it is cut off" if entries is None else f"it has {len(entries)}"
