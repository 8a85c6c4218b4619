"""The tables of a ledger file, and the statements that touch them.

I1 and I2 are the file's own law: triggers refuse UPDATE and DELETE, any insert whose position is not head + 1 or whose
streamversion is not its stream's next, and any whose id is taken. INSERT OR REPLACE deletes what it collides with, in
any unique index and without firing a DELETE trigger; so each collision is refused before it (measured: 3 to 5% of the
insert).
"""

from functools import cache

from events.limits import GROUP_EVENTS_MAX
from ledger.transparency.tiles import TILE_BYTES

APPLICATION_ID = 0x54616C79
"""SQLite's application_id of a ledger file: `Taly`."""

SCHEMA_VERSION = 2
"""SQLite's user_version of a ledger file."""

UNTILED_VERSION = 1
"""That of a file from before there were tiles."""

SQLITE_VERSION_MIN = (3, 37, 0)
"""STRICT tables."""

COLUMNS = ("position", "source", "id", "subject", "streamversion", "type", "time", "recordedtime", "line")

CREATE_TILES = f"""
CREATE TABLE tiles (
  level  INTEGER NOT NULL,
  number INTEGER NOT NULL,
  hashes BLOB NOT NULL CHECK (length(hashes) = {TILE_BYTES}),
  PRIMARY KEY (level, number)
) STRICT;
CREATE TRIGGER tiles_contiguous BEFORE INSERT ON tiles
WHEN NEW.number IS NOT (SELECT coalesce(max(number) + 1, 0) FROM tiles WHERE level = NEW.level)
BEGIN SELECT RAISE(ABORT, 'a tile is not the next of its level'); END;
CREATE TRIGGER tiles_unchanged BEFORE UPDATE ON tiles
BEGIN SELECT RAISE(ABORT, 'tiles never change'); END;
CREATE TRIGGER tiles_kept BEFORE DELETE ON tiles
BEGIN SELECT RAISE(ABORT, 'tiles are never deleted'); END;
PRAGMA user_version = {SCHEMA_VERSION};
"""
"""The full tiles of the tree (I7), in the order in which they fill."""

CREATE = f"""
CREATE TABLE events (
  position      INTEGER PRIMARY KEY,
  source        TEXT NOT NULL,
  id            TEXT NOT NULL,
  subject       TEXT NOT NULL,
  streamversion INTEGER NOT NULL,
  type          TEXT NOT NULL,
  time          INTEGER NOT NULL,
  recordedtime  INTEGER NOT NULL,
  line          BLOB NOT NULL,
  UNIQUE (subject, streamversion),
  UNIQUE (source, id)
) STRICT;
CREATE INDEX events_by_type ON events (type);
CREATE TRIGGER events_contiguous BEFORE INSERT ON events
WHEN NEW.position IS NOT (SELECT coalesce(max(position), 0) + 1 FROM events)
BEGIN SELECT RAISE(ABORT, 'position is not head + 1'); END;
CREATE TRIGGER events_in_stream BEFORE INSERT ON events
WHEN NEW.streamversion IS NOT (SELECT coalesce(max(streamversion), 0) + 1 FROM events WHERE subject = NEW.subject)
BEGIN SELECT RAISE(ABORT, 'streamversion is not the next of its stream'); END;
CREATE TRIGGER events_named_once BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE source = NEW.source AND id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'id is taken'); END;
CREATE TRIGGER events_unchanged BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events never change'); END;
CREATE TRIGGER events_kept BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
PRAGMA application_id = {APPLICATION_ID};
{CREATE_TILES}"""

TILES = "SELECT hashes FROM tiles WHERE level = ? AND number >= ? AND number < ? ORDER BY number"

TILES_KEPT = "SELECT coalesce(max(number) + 1, 0) FROM tiles WHERE level = 0"

INSERT_TILE = "INSERT INTO tiles (level, number, hashes) VALUES (?, ?, ?)"

HEAD = "SELECT position, recordedtime FROM events ORDER BY position DESC LIMIT 1"

KNOWN = """
SELECT e.subject, e.streamversion, e.type, NULL, NULL, NULL, NULL
  FROM json_each(?1) AS asked JOIN events AS e ON e.subject = asked.value
   AND e.streamversion = (SELECT max(streamversion) FROM events WHERE subject = asked.value)
UNION ALL
SELECT e.subject, e.streamversion, e.type, e.source, e.id, e.position, e.line
  FROM json_each(?2) AS asked JOIN events AS e
    ON e.source = json_extract(asked.value, '$[0]') AND e.id = json_extract(asked.value, '$[1]')
"""
"""What a group must know before it is decided: the newest event of each stream it touches, the ids it repeats."""


@cache
def insert_statement(rows: int) -> str:
    """One statement that inserts up to `rows` rows; unused places are bound to NULL and fall away.

    One statement is one step, and one release of the interpreter's lock: executemany would take the lock back for
    every row, against the event loop's thread.
    """
    place = f"({', '.join('?' * len(COLUMNS))})"
    return f"INSERT INTO events SELECT * FROM (VALUES {', '.join([place] * rows)}) WHERE column1 IS NOT NULL"


def statement_rows(rows: int) -> int:
    """The size of the statement for a number of rows: the next power of two, so that few are ever compiled."""
    assert 1 <= rows <= GROUP_EVENTS_MAX, rows
    return 1 << (rows - 1).bit_length()
