"""Verify a ledger in PostgreSQL, also while nodes write it: rehash every line, compare everything stored beside it.

Rows are read up to the head at the start of the verification. Tiles are stored after the commits, so that the newest
may be missing; each one that is stored must be that of the lines.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from ledger.evidence_store import EvidenceStore
from ledger.log import Progress
from ledger.place import Place
from ledger.postgres.notes import read_contents
from ledger.postgres.schema import COLUMNS
from ledger.postgres.standby import open_reader, wait_for_seen
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.signed_note import Verifier
from ledger.transparency.tiles import HEIGHT, WIDTH, Tile
from ledger.verify.columns import ColumnCheck
from ledger.verify.event_order import LineHeaders, OrderCheck
from ledger.verify.evidence import ERASED, EvidenceCheck
from ledger.verify.findings import Findings
from ledger.verify.ledger_file import PAGE_EVENTS, STORED_TILES, FileFindings, read_bundled_key, read_notes
from ledger.verify.merkle_rebuild import TreeRebuild, describe_difference

Fetch = Callable[..., Awaitable[list[Any]]]
"""Runs a statement with its parameters, and returns the rows."""

TRIGGERS = frozenset({"events_follow_head", "events_unchanged", "head_kept", "tiles_unchanged"})
"""Without one of them, the database would accept a change of the log."""

_TRIGGERS = """
SELECT tgname FROM pg_trigger WHERE tgrelid = ANY (ARRAY['events'::regclass, 'head'::regclass, 'tiles'::regclass])
   AND tgenabled IN ('O', 'A')
"""

_HEADS = "SELECT (SELECT position FROM head), (SELECT coalesce(max(position), 0) FROM events)"

_PAGE = f"SELECT {', '.join(COLUMNS)} FROM events WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3"

_TILES = "SELECT number, hashes FROM tiles WHERE level = $1 AND number >= $2 AND number < $3"

_TILE_ENDS = "SELECT level, max(number) + 1 FROM tiles GROUP BY level"

_ERASURE = "SELECT 1 FROM events WHERE subject = $1 AND type = $2 LIMIT 1"


async def verify_database(
    findings: Findings,
    place: Place,
    *,
    key: Verifier | None = None,
    earlier: bytes | None = None,
    witnesses: Sequence[Verifier] = (),
    progress: Progress = lambda done, total: None,
) -> FileFindings:
    """Verify a ledger in PostgreSQL and the files that this machine keeps of it; add the faults to the findings.

    Shapes: as `verify_file`. Errors: LedgerUnusable, LedgerUnavailable.
    """
    assert place.database is not None
    reader = await open_reader(place.database)

    async def fetch(statement: str, *parameters: object) -> list[Any]:
        return await reader.run(lambda connection: connection.fetch(statement, *parameters))

    try:
        await wait_for_seen(reader, place)
        shared = await read_contents(reader)
        notes = read_notes(findings, place.path, earlier, shared)
        key = key or read_bundled_key(findings, place.path, shared)
        notes.check_signatures(key)
        notes.check_witnesses(witnesses)
        scan = DatabaseScan(findings, fetch, notes.sizes)
        await scan.run(progress)
        await scan.check_evidence(EvidenceStore(place.path))
    finally:
        await reader.close()
    notes.compare_roots(scan.rebuild, STORED_TILES)
    return FileFindings(scan.rebuild.edge.size, scan.rebuild.edge.root(), key)


class DatabaseScan:
    """One pass over the rows of a ledger, with all comparisons. `root_sizes` are sizes whose roots are needed."""

    def __init__(self, findings: Findings, fetch: Fetch, root_sizes: Sequence[int] = ()) -> None:
        self.rebuild = TreeRebuild(root_sizes)
        self._findings = findings
        self._fetch = fetch
        self._schema = findings.check("schema", "triggers")
        self._order = OrderCheck(findings, LineHeaders, complete=True, streams=True)
        self._columns = ColumnCheck(findings.check("columns", "rows"))
        self._tiles = findings.check("tiles", "tiles")
        self._evidence = EvidenceCheck()
        self._ends: dict[int, int] = {}
        """For each level, the number after that of its last tile."""

    async def run(self, progress: Progress) -> None:
        """Read and compare every row up to the current head."""
        await self._check_triggers()
        ((head, last),) = await self._fetch(_HEADS)
        if head != last:
            self._schema.fault(
                f"the head is {head:,}, and the last event is at position {last:,}.", min(head, last) + 1
            )
        self._ends = dict(await self._fetch(_TILE_ENDS))
        async for rows in self._pages(last):
            lines = [row[-1] for row in rows]
            headers = self._order.check(lines)
            self._columns.compare(rows, headers, self.rebuild.edge.size + 1)
            self._evidence.add(headers, lines)
            await self._grow(lines)
            progress(self.rebuild.edge.size, last)
        self._order.end()
        await self._count_tiles()

    async def check_evidence(self, store: EvidenceStore) -> None:
        """Compare the evidence store with the events, on a thread."""
        loop = asyncio.get_running_loop()

        def erased(digest: str) -> bool:
            found = self._fetch(_ERASURE, f"evidence/{digest}", ERASED)
            return bool(asyncio.run_coroutine_threadsafe(_result(found), loop).result())

        await asyncio.to_thread(self._evidence.check, self._findings, store, erased)

    async def _check_triggers(self) -> None:
        self._schema.count += len(TRIGGERS)
        for name in sorted(TRIGGERS - {row[0] for row in await self._fetch(_TRIGGERS)}):
            self._schema.fault(f"the trigger {name} is missing or switched off.")

    async def _pages(self, head: int) -> AsyncIterator[list[tuple[Any, ...]]]:
        after = 0
        while rows := [tuple(row) for row in await self._fetch(_PAGE, after, head, PAGE_EVENTS)]:
            yield rows
            after = rows[-1][0]

    async def _grow(self, lines: Sequence[bytes]) -> None:
        """Grow the tree by lines, and compare the tiles that they fill with the stored ones."""
        number, partial = divmod(self.rebuild.edge.size, WIDTH)
        end = number + (partial + len(lines)) // WIDTH
        stored = dict(await self._fetch(_TILES, 0, number, end))
        claimed: list[bytes] = []
        with suppress(KeyError):
            if partial == 0:
                claimed.extend(stored[index] for index in range(number, end))
        for tile in self.rebuild.grow(leaf_hashes(lines), b"".join(claimed)):
            await self._compare(tile, stored)

    async def _compare(self, tile: Tile, leaves: dict[int, bytes]) -> None:
        level, number, hashes = tile
        found = (
            leaves.get(number) if level == 0 else dict(await self._fetch(_TILES, level, number, number + 1)).get(number)
        )
        if found is None and number >= self._ends.get(level, 0):
            return  # not stored yet
        self._tiles.count += 1
        if found != hashes:
            self._tiles.fault(*describe_difference(tile, found))

    async def _count_tiles(self) -> None:
        """Check that no level has more tiles than the lines fill."""
        for level, end in await self._fetch(_TILE_ENDS):
            ((last,),) = await self._fetch("SELECT coalesce(max(position), 0) FROM events")
            filled = last >> HEIGHT * (level + 1)
            if end > filled:
                self._tiles.fault(f"level {level} has tiles up to {end:,}; {last:,} events fill {filled:,}.")


async def _result(found: Awaitable[list[Any]]) -> list[Any]:
    return await found
