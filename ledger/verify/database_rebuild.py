"""Rebuild a ledger in PostgreSQL from its lines: the same bytes, positions, columns, tiles and root.

While it is rebuilt, the ledger is marked as incomplete, and every other program refuses to open it. Each page is one
transaction. An interrupted rebuild continues after the last page: the lines that are there are first compared with
those that are added again.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from events.errors import TallystickError
from ledger.errors import LedgerUnavailable, LedgerUnusable
from ledger.log import Progress
from ledger.place import DatabasePlace, Place
from ledger.postgres.connection import UNREADABLE, LedgerConnection, UnknownOutcomeError, connect, unusable
from ledger.postgres.create import create_ledger, drop_incomplete
from ledger.postgres.durability import check_durability
from ledger.postgres.schema import COLUMNS, SHAPE, schema_of
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import TreeEdge
from ledger.verify import Findings, LineHeaders, TimestampParser
from ledger.verify.columns import rows_of
from ledger.verify.database import DatabaseScan

PLANS = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
}
"""The trigger looks up each stream in an index: a plan made for the first page must suit the last one, too."""

_LOCK = "SELECT pg_try_advisory_lock('head'::regclass::oid::int, 2)"

_HEAD = "SELECT position, shape, complete, moved_to FROM head FOR UPDATE"

_LINES = "SELECT line FROM events WHERE position > $1 AND position <= $2 ORDER BY position"

_TILES = """
INSERT INTO tiles (level, number, hashes) SELECT * FROM unnest($1::int[], $2::bigint[], $3::bytea[])
ON CONFLICT DO NOTHING
"""

_NOTE = """
INSERT INTO notes (name, version, content) VALUES ($1, 1, $2)
ON CONFLICT (name) DO UPDATE SET version = notes.version + 1, content = excluded.content
"""

_AGAIN = "Run the import again: it continues where it stopped."


class DatabaseRebuild:
    """A ledger in PostgreSQL that is being rebuilt. Add every page of its lines, call `verify`, then `open`."""

    def __init__(self, place: DatabasePlace, runner: asyncio.Runner, connection: LedgerConnection) -> None:
        self._place = place
        self._runner = runner
        self._connection = connection
        self._instant = TimestampParser().of
        self._edge = TreeEdge()
        self._stored = 0
        """The position up to which an earlier attempt wrote."""
        self._created = False
        self.failure: TallystickError | None = None
        """Why the lines cannot be a ledger, or could not be written; `add` then ignores further lines."""

    @classmethod
    @contextmanager
    def begin(cls, place: Place) -> Iterator[Self]:
        """Begin or continue to rebuild a ledger that does not exist, is empty, or is incomplete.

        Errors: LedgerUnusable, if the ledger has events, or its cluster is less durable than promised.
        """
        database = place.database
        assert database is not None
        with asyncio.Runner() as runner:
            try:
                connection = runner.run(connect(database, **PLANS))
            except UNREADABLE as error:
                raise unusable(database, error) from error
            rebuild = cls(database, runner, connection)
            try:
                runner.run(rebuild._prepare(place))
            except (*UNREADABLE, UnknownOutcomeError) as error:
                connection.abort()
                raise unusable(database, error) from error
            except BaseException:
                connection.abort()
                raise
            try:
                yield rebuild
            finally:
                connection.abort()

    def add(self, lines: Sequence[bytes], headers: Sequence[LineHeaders]) -> None:
        """Write the next lines with the columns from their headers; if that fails, set `failure`.

        Lines that an earlier attempt wrote are compared.
        """
        if self.failure is not None or len(lines) != len(headers) or not lines:
            return
        first = self._edge.size
        try:
            rows = rows_of(lines, headers, self._instant)
            self._edge, filled = self._edge.grow(leaf_hashes(lines))
            known = max(0, min(self._stored - first, len(rows)))
            if known:
                self._runner.run(self._compare(lines[:known], first))
            if known < len(rows):
                self._runner.run(self._write(rows[known:], filled))
        except TallystickError as error:
            self.failure = error
        except (ValueError, OverflowError, *UNREADABLE, UnknownOutcomeError) as error:
            reason = str(error).strip().rstrip(".") or type(error).__name__
            detail = f"{self._place} cannot be written after position {first:,}: {reason}."
            self.failure = LedgerUnavailable(detail, _AGAIN)

    def verify(self, root: bytes, progress: Progress = lambda done, total: None) -> None:
        """Verify what the database has. Errors: LedgerUnusable, if its root is not `root`."""
        if self.failure is not None:
            raise self.failure
        findings = Findings()
        scan = DatabaseScan(findings, self._fetch)
        self._runner.run(scan.run(progress))
        if not findings.right or scan.rebuild.edge.root() != root:
            detail = f"{self._place} differs from the lines that were written: {findings.first}."
            raise LedgerUnusable(detail, "Drop its schema, check the disks of the servers, then import again.")

    def put_notes(self, notes: Mapping[str, bytes]) -> None:
        """Store the notes that the nodes share, in place of those of an earlier attempt. Errors: LedgerUnavailable."""
        try:
            self._runner.run(self._put_notes(notes))
        except (*UNREADABLE, UnknownOutcomeError) as error:
            detail = f"{self._place} did not store the tokens and checkpoints: {error}."
            raise LedgerUnavailable(detail, _AGAIN) from error

    def open(self) -> None:
        """Mark the ledger as complete: it accepts events. Errors: LedgerUnusable, LedgerUnavailable."""
        try:
            self._runner.run(self._open())
        except (*UNREADABLE, UnknownOutcomeError) as error:
            detail = f"{self._place} did not confirm that the import is complete: {error}."
            raise LedgerUnavailable(
                detail, "Look at it: tallystick verify. If it is incomplete, import again."
            ) from error

    def discard(self) -> None:
        """Drop a ledger that this import made. One that was there before stays, incomplete."""
        if self._created:
            self._connection.abort()
            self._runner.run(drop_incomplete(self._place))

    async def _prepare(self, place: Place) -> None:
        connection = self._connection
        await check_durability(connection, self._place, place.durability)
        if await connection.fetchval("SELECT to_regclass($1)", f"{schema_of(self._place)}.head") is None:
            await create_ledger(self._place, complete=False)
            self._created = True
        if not await connection.fetchval(_LOCK):
            raise LedgerUnusable(f"Another process imports into {self._place}.", "Wait until it has ended.")
        await connection.execute("BEGIN")
        row = await connection.fetchrow(_HEAD)
        assert row is not None
        if row["shape"] != SHAPE or row["moved_to"] is not None or (row["complete"] and row["position"]):
            raise LedgerUnusable(f"{self._place} holds events already.", "Name another ledger.")
        if row["complete"]:
            await connection.execute("UPDATE head SET complete = false")
        self._stored = row["position"]
        await connection.commit()

    async def _compare(self, lines: Sequence[bytes], first: int) -> None:
        """Compare lines with those that the database has after a position. Errors: LedgerUnusable."""
        stored = [row[0] for row in await self._connection.fetch(_LINES, first, first + len(lines))]
        if stored != list(lines):
            raise LedgerUnusable(
                f"{self._place} has an incomplete import of another ledger: it differs after position {first:,}.",
                f"Name another ledger, or drop the incomplete one: DROP SCHEMA {schema_of(self._place)} CASCADE.",
            )

    async def _write(self, rows: list[tuple[object, ...]], filled: Sequence[tuple[int, int, bytes]]) -> None:
        await self._connection.execute("BEGIN")
        await self._connection.copy_records_to_table("events", records=rows, columns=COLUMNS)
        if filled:
            await self._connection.execute(_TILES, *map(list, zip(*filled, strict=True)))
        await self._connection.commit()

    async def _put_notes(self, notes: Mapping[str, bytes]) -> None:
        await self._connection.execute("BEGIN")
        await self._connection.executemany(_NOTE, list(notes.items()))
        await self._connection.commit()

    async def _open(self) -> None:
        await self._connection.execute("BEGIN")
        row = await self._connection.fetchrow(_HEAD)
        assert row is not None
        if row["position"] != self._edge.size:
            detail = f"{self._place} has {row['position']:,} events; {self._edge.size:,} were imported."
            raise LedgerUnusable(detail, "It stays incomplete. Name another ledger.")
        await self._connection.execute("UPDATE head SET complete = true")
        await self._connection.commit()

    async def _fetch(self, statement: str, *parameters: object) -> list[Any]:
        return await self._connection.fetch(statement, *parameters)
