"""The tables of a ledger in PostgreSQL, in a schema of its own, and the SQL statements on them.

The database itself enforces I1 and I2. Triggers refuse UPDATE, DELETE and TRUNCATE, and an insert whose positions do
not follow the head, whose stream versions do not follow those of their streams, or whose recordedtime decreases. The
trigger of the insert moves the head, so that both change in one transaction. The service role can neither switch off
nor replace the triggers: it does not own the tables.

A ledger that is being imported is not `complete`, and only the import opens it. One that was moved (`moved_to`) accepts
no event.

The trigger looks up the previous event of a stream by a scalar subquery: for NOT EXISTS, the planner may read the whole
table into a hash for each insert.
"""

from ledger.place import DatabasePlace
from ledger.transparency.tiles import TILE_BYTES

SHAPE = 1
"""The version of the tables."""

COLUMNS = ("position", "source", "id", "subject", "streamversion", "type", "time", "recordedtime", "line")

CREATE = f"""
CREATE TABLE head (
  one         boolean PRIMARY KEY DEFAULT true CHECK (one),
  shape       integer NOT NULL,
  position    bigint NOT NULL DEFAULT 0,
  recorded_us bigint NOT NULL DEFAULT 0,
  barrier     bigint NOT NULL DEFAULT 0,
  complete    boolean NOT NULL DEFAULT true,
  moved_to    text
) WITH (fillfactor = 10);
INSERT INTO head (shape) VALUES ({SHAPE});

CREATE TABLE events (
  position      bigint PRIMARY KEY,
  source        text COLLATE "C" NOT NULL,
  id            text COLLATE "C" NOT NULL,
  subject       text COLLATE "C" NOT NULL,
  streamversion integer NOT NULL,
  type          text COLLATE "C" NOT NULL,
  time          bigint NOT NULL,
  recordedtime  bigint NOT NULL,
  line          bytea NOT NULL,
  UNIQUE (subject, streamversion),
  UNIQUE (source, id)
);
CREATE INDEX events_by_type ON events (type, position);

CREATE TABLE tiles (
  level  integer NOT NULL,
  number bigint NOT NULL,
  hashes bytea NOT NULL CHECK (length(hashes) = {TILE_BYTES}),
  PRIMARY KEY (level, number)
);

CREATE TABLE notes (
  name    text PRIMARY KEY,
  version bigint NOT NULL,
  content bytea NOT NULL
);

CREATE FUNCTION follow_head() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = SCHEMA, pg_temp AS $$
DECLARE
  old_head head%ROWTYPE;
  first    bigint;
  last     bigint;
  rows     bigint;
  recorded bigint;
  ordered  boolean;
BEGIN
  SELECT * INTO STRICT old_head FROM head FOR UPDATE;
  IF old_head.moved_to IS NOT NULL THEN RAISE EXCEPTION 'the ledger was moved to %', old_head.moved_to; END IF;
  SELECT min(position), max(position), count(*), max(recordedtime), coalesce(bool_and(recordedtime >= earlier), true)
    INTO first, last, rows, recorded, ordered
    FROM (SELECT position, recordedtime,
                 lag(recordedtime, 1, old_head.recorded_us) OVER (ORDER BY position) AS earlier FROM added) AS timed;
  IF rows = 0 THEN RETURN NULL; END IF;
  IF first <> old_head.position + 1 OR last - first + 1 <> rows THEN
    RAISE EXCEPTION 'positions % to % of % events do not follow the head, %', first, last, rows, old_head.position;
  END IF;
  IF NOT ordered THEN RAISE EXCEPTION 'recordedtime decreases'; END IF;
  IF EXISTS (SELECT FROM added WHERE streamversion < 1 OR streamversion > 1 AND (
       SELECT position FROM events WHERE subject = added.subject AND streamversion = added.streamversion - 1) IS NULL
  ) THEN
    RAISE EXCEPTION 'a streamversion is not the next of its stream';
  END IF;
  UPDATE head SET position = last, recorded_us = recorded;
  RETURN NULL;
END $$;
CREATE TRIGGER events_follow_head AFTER INSERT ON events
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION follow_head();

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% never change and are never deleted', TG_TABLE_NAME; END $$;
CREATE TRIGGER events_unchanged BEFORE UPDATE OR DELETE OR TRUNCATE ON events
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER tiles_unchanged BEFORE UPDATE OR DELETE OR TRUNCATE ON tiles
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER head_kept BEFORE DELETE OR TRUNCATE ON head
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""
"""`SCHEMA` stands for the quoted name of the schema."""

GRANT = """
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT, INSERT ON {schema}.events, {schema}.tiles TO {role};
GRANT SELECT, UPDATE (barrier) ON {schema}.head TO {role};
GRANT SELECT, INSERT, UPDATE ON {schema}.notes TO {role};
"""

LOCK_HEAD = "BEGIN; SELECT FROM head FOR UPDATE"
"""Begin the transaction of a group: the next statement sees every group before it."""

MOVE_BARRIER = "UPDATE head SET barrier = barrier + 1"

BARRIER = f"BEGIN; {MOVE_BARRIER}"
"""Begin a write that waits for the row lock of every group before it, and for the standbys when it commits."""

HEAD = "SELECT position, recorded_us FROM head"

LOOK_UP = """
SELECT NULL AS subject, 0 AS streamversion, NULL AS type, NULL AS source, NULL AS id, position, recorded_us,
       NULL::bytea AS line
  FROM head
UNION ALL
SELECT stream.subject, newest.streamversion, newest.type, NULL, NULL, NULL, NULL, NULL
  FROM unnest($1::text[]) AS stream (subject)
  CROSS JOIN LATERAL (SELECT streamversion, type FROM events WHERE events.subject = stream.subject
                       ORDER BY streamversion DESC LIMIT 1) AS newest
UNION ALL
SELECT taken.subject, taken.streamversion, taken.type, pair.source, pair.id, taken.position, NULL, taken.line
  FROM unnest($2::text[], $3::text[]) AS pair (source, id)
  CROSS JOIN LATERAL (SELECT subject, streamversion, type, position, line FROM events
                       WHERE events.source = pair.source AND events.id = pair.id LIMIT 1) AS taken
"""
"""The head; the newest event of each stream of a group; its ids that exist already. LIMIT keeps the planner from a join
that reads a whole table."""

OWNERS = """
SELECT events.subject, events.source FROM unnest($1::text[]) AS stream (subject)
  JOIN events ON events.subject = stream.subject AND events.streamversion = 1
"""
"""The source of the first event of some streams."""

FIRST_AUTHORS = """
SELECT stream.subject, first.source FROM unnest($1::text[]) AS stream (subject)
  CROSS JOIN LATERAL (SELECT source FROM events WHERE events.subject = stream.subject AND type = ANY ($2)
                       ORDER BY streamversion LIMIT 1) AS first
"""
"""The source of the first event of some types in some streams."""


def schema_of(place: DatabasePlace) -> str:
    """Return the name of the schema of a ledger. A ledger's name contains nothing that needs quotes."""
    return f"tallystick_{place.ledger}"
