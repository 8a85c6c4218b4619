"""The tables of a ledger file, and the SQL statements on them.

The file itself enforces I1 and I2. Triggers refuse UPDATE and DELETE, and any insert whose position is not head + 1,
whose streamversion is not the next of its stream, or whose id is taken. INSERT OR REPLACE deletes rows that collide in
any unique index, and fires no DELETE trigger; so triggers refuse each collision beforehand (measured: 3 to 5% of the
time of an insert).
"""

from functools import cache

from events.limits import GROUP_EVENTS_MAX
from ledger.transparency.tiles import TILE_BYTES

APPLICATION_ID = 0x54616C79
"""SQLite's application_id of a ledger file: `Taly`."""

SCHEMA_VERSION = 2
"""SQLite's user_version of a ledger file."""

SQLITE_VERSION_MIN = (3, 37, 0)
"""The first version with STRICT tables."""

COLUMNS = ("position", "source", "id", "subject", "streamversion", "type", "time", "recordedtime", "line")

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
"""The events, and the full tiles of the Merkle tree (I7), in the order in which they fill."""

TILES = "SELECT hashes FROM tiles WHERE level = ? AND number >= ? AND number < ? ORDER BY number"

INSERT_TILE = "INSERT INTO tiles (level, number, hashes) VALUES (?, ?, ?)"

HEAD = "SELECT position, recordedtime FROM events ORDER BY position DESC LIMIT 1"

LOOK_UP = """
SELECT e.subject, e.streamversion, e.type, NULL, NULL, NULL, NULL
  FROM json_each(?1) AS stream JOIN events AS e ON e.subject = stream.value
   AND e.streamversion = (SELECT max(streamversion) FROM events WHERE subject = stream.value)
UNION ALL
SELECT e.subject, e.streamversion, e.type, e.source, e.id, e.position, e.line
  FROM json_each(?2) AS pair JOIN events AS e
    ON e.source = json_extract(pair.value, '$[0]') AND e.id = json_extract(pair.value, '$[1]')
"""
"""Look-ups before the admission of a group: the newest event of each of its streams, and its ids that exist already."""

OWNERS = """
SELECT e.subject, e.source FROM json_each(?1) AS stream
  JOIN events AS e ON e.subject = stream.value AND e.streamversion = 1
"""
"""The source of the first event of some streams."""

FIRST_AUTHORS = """
SELECT stream.value, first.source FROM json_each(?1) AS stream JOIN events AS first
  ON first.subject = stream.value AND first.streamversion = (
    SELECT min(e.streamversion) FROM events AS e
    WHERE e.subject = stream.value AND +e.type IN (SELECT value FROM json_each(?2)))
"""
"""The source of the first event of some types in some streams. The `+` keeps SQLite from the index of types."""


@cache
def insert_statement(rows: int) -> str:
    """Return a statement that inserts up to `rows` rows; it skips rows whose parameters are NULL.

    One statement is one step, and one release of the interpreter's lock. executemany would acquire the lock again for
    every row, in competition with the event loop's thread.
    """
    row = f"({', '.join('?' * len(COLUMNS))})"
    return f"INSERT INTO events SELECT * FROM (VALUES {', '.join([row] * rows)}) WHERE column1 IS NOT NULL"


def statement_rows(rows: int) -> int:
    """Return the size of the statement for some rows: the next power of two, so that SQLite compiles few statements."""
    assert 1 <= rows <= GROUP_EVENTS_MAX, rows
    return 1 << (rows - 1).bit_length()
