"""Whether a ledger file is what was appended: everything is worked out anew from its lines, and nothing is trusted.

In this order: the tables and triggers are those of `schema.py`; SQLite finds its pages, rows and indexes whole; every
row says what its line says, positions and stream versions are contiguous, recordedtime never decreases (I1, I6); every
full tile is the one that the lines make (I7); the tree of a checkpoint's size has its root. A tile, a column or an
index that fits is evidence of nothing: what is wrong is told by where two of them disagree.

What no full tile and no checkpoint covers is a text that may have changed without a trace: at most the last 255 lines,
and none of them once a checkpoint covers the head.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import aiosqlite
import msgspec

from events.envelope import Event
from events.registry import VOCABULARY, Vocabulary
from ledger.clock import microseconds
from ledger.connect import connect
from ledger.errors import LedgerUnusable
from ledger.merkle import leaf_hash
from ledger.note import Checkpoint
from ledger.reader import connect_reader
from ledger.schema import COLUMNS, CREATE, HEAD, SCHEMA_VERSION, TILES
from ledger.tiles import HEIGHT, WIDTH, Edge, Tile, split_hashes

FLAWS_MAX = 20
"""Flaws that are told of one file; what lies behind so many is not looked at."""

ROWS = 8 * WIDTH
"""Rows that are read at once."""

Progress = Callable[[int, int], None]
"""Told how many events are done, of how many."""

_ROWS = f"SELECT {', '.join(COLUMNS)} FROM events WHERE position > ? ORDER BY position LIMIT ?"
_OURS = "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name IN ('events', 'tiles')"
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError)


class Flaw(NamedTuple):
    """Something that is wrong: where, what, and the first position it may concern, where that is known."""

    where: str
    what: str
    position: int | None = None

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Audit(NamedTuple):
    """What a file holds: how many lines, the edge of their tree, and what is wrong with it."""

    size: int
    edge: Edge
    flaws: list[Flaw]


async def audit(
    path: Path,
    *,
    checkpoint: Checkpoint | None = None,
    vocabulary: Vocabulary = VOCABULARY,
    progress: Progress | None = None,
) -> Audit:
    """Check a ledger file, beside its writer or without one, as far as its head is at the beginning.

    Errors: LedgerUnusable, for a file that cannot be opened as a ledger at all, or that an older version wrote.
    """
    connection = await connect_reader(path)
    try:
        return await _Auditor(connection, checkpoint, vocabulary, progress).run(path)
    finally:
        await connection.close()


class _Auditor:
    """One pass over one file."""

    def __init__(
        self,
        connection: aiosqlite.Connection,
        checkpoint: Checkpoint | None,
        vocabulary: Vocabulary,
        progress: Progress | None,
    ) -> None:
        self._connection = connection
        self._checkpoint = checkpoint
        self._vocabulary = vocabulary
        self._progress = progress
        self._flaws: list[Flaw] = []
        self._edge = Edge()
        self._versions: dict[str, int] = {}
        self._recorded_us = -(2**63)
        self._said: tuple[str, int] = ("", 0)

    async def run(self, path: Path) -> Audit:
        try:
            ((version,),) = await self._fetch("PRAGMA user_version")
            if version < SCHEMA_VERSION:
                raise LedgerUnusable(
                    f"{path} was written by an older Tallystick.", "Open it once for writing: tallystick serve."
                )
            await self._check_schema()
            heads = await self._fetch(HEAD)
            head = int(heads[0][0]) if heads else 0
            await self._check_pages()
        except sqlite3.Error as error:
            self._flaws.append(Flaw("the file", f"SQLite cannot read it: {error}"))
            return self._audit()
        await self._check_rows(head)
        if self._edge.size == head:
            await self._check_tile_count(head)
        self._check_reach()
        return self._audit()

    def _audit(self) -> Audit:
        return Audit(self._edge.size, self._edge, self._flaws[:FLAWS_MAX])

    async def _check_schema(self) -> None:
        expected = await _expected_schema()
        found = set(await self._fetch(_OURS))
        for kind, name, _ in sorted(expected - found):
            self._flaws.append(Flaw("the schema", f"the {kind} {name} is missing or is not as it was made"))
        if not expected - found:
            for kind, name, _ in sorted(found - expected):
                self._flaws.append(Flaw("the schema", f"the {kind} {name} does not belong to a ledger"))

    async def _check_pages(self) -> None:
        for (told,) in await self._fetch(f"PRAGMA integrity_check({FLAWS_MAX})"):
            if told != "ok":
                self._flaws.append(Flaw("the file", " ".join(str(told).split())))

    async def _check_rows(self, head: int) -> None:
        """Read the rows up to the head; what stands at a position that cannot be read, or is not there, ends it."""
        limit = ROWS
        while self._edge.size < head and len(self._flaws) < FLAWS_MAX:
            after = self._edge.size
            try:
                rows = await self._fetch(_ROWS, (after, min(limit, self._room(head))))
            except (sqlite3.Error, OverflowError) as error:
                if limit == 1:
                    self._flaws.append(Flaw(_at(after + 1), f"its row cannot be read: {error}", after + 1))
                    return
                limit = 1
                continue
            if not await self._check_run(rows, after):
                return
            if self._progress is not None:
                self._progress(self._edge.size, head)

    def _room(self, head: int) -> int:
        """How many rows may be read, so that the tree is once of the checkpoint's size."""
        at, sealed = self._edge.size, self._checkpoint.size if self._checkpoint else 0
        return (sealed if at < sealed <= head else head) - at

    async def _check_run(self, rows: Sequence[sqlite3.Row], after: int) -> bool:
        """Check some rows and the tiles that they fill; whether the next ones follow."""
        leaves: list[bytes] = []
        for expected, row in enumerate(rows, after + 1):
            if row[0] != expected or type(row[-1]) is not bytes:
                break
            self._flaws += self._row_flaws(expected, row)
            leaves.append(leaf_hash(row[-1]))
        self._edge, filled = self._edge.grow(leaves)
        for tile in filled:
            await self._check_tile(tile)
        self._check_root()
        position = after + len(leaves) + 1
        if len(leaves) < len(rows):
            self._flaws.append(Flaw(_at(position), f"position {rows[len(leaves)][0]} stands in its place", position))
        elif not rows:
            self._flaws.append(Flaw(_at(position), "it is not there, though positions behind it are", position))
        return bool(rows) and len(leaves) == len(rows)

    def _row_flaws(self, position: int, row: sqlite3.Row) -> Iterator[Flaw]:
        """What is wrong with a row by itself, and behind those before it."""
        subject, version, recorded_us, line = row[3], row[4], row[7], row[8]
        try:
            found = self._columns(self._vocabulary.stored(line))
        except _UNDECODABLE as error:
            yield Flaw(_at(position), f"its line is no stored event: {error}", position)
        else:
            if found != row[:-1]:
                for name, said, kept in zip(COLUMNS, found, row, strict=False):
                    if said != kept:
                        yield Flaw(_at(position), f"its line says {name} {said!r}, its row {kept!r}", position)
        if version != self._versions.get(subject, 0) + 1:
            yield Flaw(_at(position), f"streamversion {version} of {subject} is not the next", position)
        self._versions[subject] = version
        if type(recorded_us) is int:
            if recorded_us < self._recorded_us:
                yield Flaw(_at(position), "it was recorded before the one in front of it", position)
            self._recorded_us = recorded_us

    def _columns(self, event: Event) -> tuple[object, ...]:
        """What the columns of a line's row say, but for the line. Errors: ValueError."""
        time, recorded = event.time, event.recordedtime
        if recorded != self._said[0]:
            self._said = (recorded, microseconds(datetime.fromisoformat(recorded)))
        recorded_us = self._said[1]
        time_us = recorded_us if time == recorded else microseconds(event.moment)
        return (
            event.position, event.source, event.id, event.subject, event.streamversion, event.name, time_us,
            recorded_us,
        )  # fmt: skip

    async def _check_tile(self, tile: Tile) -> None:
        where = f"tile {tile.level}/{tile.number}"
        first = tile.number * WIDTH << HEIGHT * tile.level
        try:
            kept = [hashes for (hashes,) in await self._fetch(TILES, (*tile[:2], tile.number + 1))]
        except sqlite3.Error as error:
            self._flaws.append(Flaw(where, f"it cannot be read: {error}", first + 1))
            return
        if not kept:
            self._flaws.append(Flaw(where, "it is missing", first + 1))
        elif kept[0] != tile.hashes:
            self._flaws += _tile_flaws(where, tile, kept[0])

    def _check_root(self) -> None:
        sealed = self._checkpoint
        if sealed is None or self._edge.size != sealed.size or self._edge.root() == sealed.root:
            return
        told = [flaw.position for flaw in self._flaws if flaw.position is not None]
        if told:
            where, position = f"positions up to {sealed.size}", min(told)
        else:  # every full tile fits: it lies behind the last of them
            position = sealed.size // WIDTH * WIDTH + 1
            where = f"positions {position}..{sealed.size}" if position < sealed.size else _at(sealed.size)
        self._flaws.append(Flaw(where, "the lines are not those that the checkpoint was signed over", position))

    async def _check_tile_count(self, size: int) -> None:
        expected, level = 0, 1
        while size >> HEIGHT * level:
            expected += size >> HEIGHT * level
            level += 1
        try:
            ((count,),) = await self._fetch("SELECT count(*) FROM tiles")
        except sqlite3.Error as error:
            self._flaws.append(Flaw("the tiles", f"they cannot be read: {error}"))
            return
        if count > expected:
            self._flaws.append(Flaw("the tiles", f"there are {count}; {size} lines fill {expected}"))

    def _check_reach(self) -> None:
        if self._checkpoint is not None and self._checkpoint.size > self._edge.size and not self._flaws:
            missing = self._checkpoint.size - self._edge.size
            what = f"the checkpoint covers {self._checkpoint.size:,} lines; the last {missing:,} are missing"
            self._flaws.append(Flaw(_at(self._edge.size + 1), what, self._edge.size + 1))

    async def _fetch(self, statement: str, parameters: tuple[object, ...] = ()) -> list[sqlite3.Row]:
        return list(await self._connection.execute_fetchall(statement, parameters))


def _tile_flaws(where: str, tile: Tile, kept: bytes) -> Iterator[Flaw]:
    """Every hash of a kept tile that is not the one its lines make."""
    covered = 1 << HEIGHT * tile.level
    for index, (ours, theirs) in enumerate(zip(split_hashes(tile.hashes), split_hashes(kept), strict=False)):
        if ours != theirs:
            first = (tile.number * WIDTH + index) * covered + 1
            lines = f"the line of position {first}" if covered == 1 else f"lines {first}..{first + covered - 1}"
            yield Flaw(f"{where}, hash {index}", f"it is not that of {lines}", first)
    if len(kept) != len(tile.hashes):
        yield Flaw(where, f"it has {len(kept)} bytes", tile.number * WIDTH * covered + 1)


def _at(position: int) -> str:
    return f"position {position}"


async def _expected_schema() -> set[tuple[str, str, str | None]]:
    """What `sqlite_schema` says of a ledger's tables."""
    memory = await connect(":memory:", isolation_level=None)
    try:
        await memory.executescript(CREATE)
        return {(kind, name, sql) for kind, name, sql in await memory.execute_fetchall(_OURS)}
    finally:
        await memory.close()
