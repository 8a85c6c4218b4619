"""A file with another schema than ours is refused before anything is read from it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.api.cli.command import done, refused, tally
from tests.support.server import served

EVENT = b'{"type":"decision.recorded.v1","data":{"decision_id":"d1","decision":"ship it","confidence":0.7}}\n'

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


def endless_view(path: Path) -> None:
    """Put an endless view in the place of the table of events."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DROP TABLE events")
        columns = "x AS position, 'a' AS source, x AS id, 's' AS subject, x AS streamversion, 't' AS type"
        times = "1 AS time, 1 AS recordedtime, x'7b7d' AS line"
        connection.execute(f"CREATE VIEW events AS {ENDLESS} SELECT {columns}, {times} FROM n")


def endless_trigger(path: Path) -> None:
    """Add a trigger that never ends."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "CREATE TRIGGER hostile BEFORE INSERT ON events WHEN (SELECT count(*) FROM"
            f" ({ENDLESS} SELECT x FROM n)) BEGIN SELECT 1; END"
        )


@pytest.mark.slow
@pytest.mark.trial("C16")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("verify",), 1), (("decisions",), 2), (("status",), 2), (("log",), 2), (("append", "-"), 2), (("serve",), 2),
        (("backup", "b.db"), 2), (("export", "--output", "out"), 2), (("replay", "--check"), 2), (("checkpoint",), 2),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_an_endless_view_is_no_ledger(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=EVENT)
    endless_view(ledger)
    words = tuple(str(tmp_path / word) if word in ("b.db", "out") else word for word in words)
    ended = tally(ledger, *words, given=EVENT)
    assert ended.code == code, ended.err
    assert "events" in ended.err + ended.text
    assert "Traceback" not in ended.err


@pytest.mark.trial("C16")
def test_a_backup_with_an_endless_view_is_not_restored(tmp_path: Path) -> None:
    done(tmp_path / "t.db", "append", "-", given=EVENT)
    done(tmp_path / "t.db", "backup", tmp_path / "b.db")
    endless_view(tmp_path / "b.db")
    ended = tally(tmp_path / "new.db", "restore", tmp_path / "b.db")
    assert ended.code in {1, 2}, ended
    assert "events is a view" in ended.err
    assert not (tmp_path / "new.db").exists()


@pytest.mark.trial("C16")
def test_a_trigger_that_is_not_a_ledgers_does_not_run(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=EVENT)
    endless_trigger(ledger)
    assert "the trigger hostile" in refused(ledger, "append", "-", given=EVENT.replace(b"d1", b"d2"))
    assert "the trigger hostile" in tally(ledger, "verify").text
    done(ledger, "decisions")


@pytest.mark.trial("C16")
@pytest.mark.parametrize(
    ("name", "table", "columns"),
    [
        (
            "t.db.views.db",
            "snapshots",
            "'a' AS name, 1 AS version, x AS position, 1 AS anchor, 1 AS digest, 1 AS state",
        ),
        ("t.db.search.db", "state", "1 AS one, 1 AS version, x AS position, 1 AS anchor"),
    ],
)
def test_an_endless_view_in_a_rebuilt_file_is_not_read(tmp_path: Path, name: str, table: str, columns: str) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=EVENT)
    (tmp_path / name).unlink(missing_ok=True)
    with closing(sqlite3.connect(tmp_path / name, isolation_level=None)) as connection:
        connection.execute(f"CREATE VIEW {table} AS {ENDLESS} SELECT {columns} FROM n")
    assert b"d1" in done(ledger, "decisions", "--search", "ship", "--json").out
    with served(ledger):
        pass
