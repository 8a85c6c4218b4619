"""Whatever is changed in a ledger file is found, and the first position that is wrong is named."""

import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from api.verify import VerifyReport, verify_ledger
from ledger.errors import InvalidQuery, LedgerUnusable
from ledger.evidence_store import EvidenceStore
from ledger.transparency.merkle import leaf_hash
from ledger.transparency.signed_note import Checkpoint, Signer
from tests.api.cli.command import refused, tally
from tests.api.verify.sealed_ledger import (
    GONE,
    KEPT,
    SIZE,
    Sealed,
    alter,
    sealed,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Sealed:
    return sealed(tmp_path_factory.mktemp("sealed") / "t.db", steps=(300,))


@pytest.fixture
def ledger(made: Sealed, tmp_path: Path) -> Sealed:
    """A copy that a test may change."""
    shutil.copytree(made.path.parent, tmp_path, dirs_exist_ok=True)
    return Sealed(tmp_path / "t.db", made.signer)


def verified(path: Path, key: str | None = None, since: Path | None = None, *, quick: bool = False) -> VerifyReport:
    return verify_ledger(path, key, since, quick=quick)


def wrong(report: VerifyReport) -> set[str]:
    """The checks that found something."""
    assert not report.right
    return {check.name for check in report.checks if not check.right}


def test_a_ledger_as_it_was_written_is_right(ledger: Sealed) -> None:
    report = verified(ledger.path, ledger.key, ledger.path.with_name("t.db.300"))
    assert report.right, report.first
    assert (report.events, report.key, report.key_given, report.first) == (SIZE, ledger.key, True, None)
    counts = {check.name: check.count for check in report.checks}
    assert counts["lines"] == counts["positions"] == counts["columns"] == SIZE
    assert (counts["tiles"], counts["roots"], counts["signatures"], counts["evidence"]) == (2, 2, 2, 2)
    assert report.notes == []


LINE = "UPDATE events SET line = CAST(replace(CAST(line AS TEXT), '\"choice {}\"', '\"choice X\"') AS BLOB)"

ALTERED = {
    "a changed line under a tile": (301, (LINE.format(300),)),
    "a changed line behind the tiles": (None, (LINE.format(590),)),
    "a removed event": (100, ("DELETE FROM events WHERE position = 100",)),
    "the last event removed": (SIZE, (f"DELETE FROM events WHERE position = {SIZE}",)),
    "two events swapped": (
        20,
        (
            "UPDATE events SET position = -1 WHERE position = 20",
            "UPDATE events SET position = 20 WHERE position = 21",
            "UPDATE events SET position = 21 WHERE position = -1",
        ),
    ),
    "an event inserted at the end": (
        SIZE + 1,
        (
            (
                f"INSERT INTO events SELECT {SIZE + 1}, source, 'new', 'decision/new', 1, type, time, recordedtime, "
                "line FROM events WHERE position = 1"
            ),
        ),
    ),
    "a tile changed": (
        257,
        ("UPDATE tiles SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB) WHERE number = 1",),
    ),
    "a tile removed": (None, ("DELETE FROM tiles WHERE number = 1",)),
    "a tile too many": (None, ("INSERT INTO tiles SELECT 0, 2, hashes FROM tiles WHERE number = 1",)),
    **{
        f"column {name} changed": (7, (f"UPDATE events SET {name} = {value} WHERE position = 7",))
        for name, value in {
            "source": "'/agents/other'", "id": "'other'", "subject": "'decision/other'", "streamversion": 9,
            "type": "'decision.amended.v1'", "time": "time + 1", "recordedtime": "recordedtime - 1",
        }.items()
    },
}  # fmt: skip


@pytest.mark.parametrize(("first", "statements"), ALTERED.values(), ids=list(ALTERED))
def test_whatever_is_altered_is_found(ledger: Sealed, first: int | None, statements: tuple[str, ...]) -> None:
    alter(ledger.path, *statements)
    report = verified(ledger.path, ledger.key)
    assert not report.right
    assert report.first is not None
    assert report.first.position == first, report.checks


def test_a_line_is_reported_from_its_tile(ledger: Sealed) -> None:
    alter(ledger.path, LINE.format(300))
    report = verified(ledger.path)
    assert wrong(report) == {"roots", "tiles"}
    alter(ledger.path, *ALTERED["a tile changed"][1])
    assert "the line at position 301 is not the one" not in str(verified(ledger.path).checks)


def test_a_line_that_is_changed_with_its_tile_is_found(ledger: Sealed) -> None:
    """Nothing locates it then; but that of two checkpoints one is right bounds it."""
    alter(ledger.path, LINE.format(400))
    with closing(sqlite3.connect(ledger.path)) as connection:
        ((line,),) = connection.execute("SELECT line FROM events WHERE position = 401")
        ((tile,),) = connection.execute("SELECT hashes FROM tiles WHERE number = 1")
    at = (400 - 256) * 32
    forged_tile = tile[:at] + leaf_hash(line) + tile[at + 32 :]
    alter(ledger.path, f"UPDATE tiles SET hashes = x'{forged_tile.hex()}' WHERE number = 1")
    report = verified(ledger.path, ledger.key, ledger.path.with_name("t.db.300"))
    assert wrong(report) == {"roots"}
    assert "after position 300" in str(report.first)


def test_a_tile_above_is_held_to_the_lines_below_it(tmp_path: Path) -> None:
    """A tile of level 1 that is kept of 65,536 lines, for fewer of them: as many as the tiles below it."""
    path = sealed(tmp_path / "t.db", 20).path
    alter(path, f"INSERT INTO tiles VALUES (1, 0, zeroblob({256 * 32}))")
    report = verified(path)
    assert wrong(report) == {"tiles"}
    assert "level 1 has 1 tiles; 20 events fill 0" in str(report.first)


@pytest.mark.parametrize(
    ("statement", "check", "said"),
    [
        ("UPDATE events SET line = CAST(line AS TEXT) WHERE position = 3", "columns", "column line holds str"),
        ("UPDATE events SET line = 7 WHERE position = 3", "columns", "column line holds int"),
        ("UPDATE tiles SET hashes = 7 WHERE number = 1", "tiles", "tile 0/1 is int"),
        ("UPDATE tiles SET hashes = x'00' WHERE number = 1", "tiles", "tile 0/1 has 1 bytes"),
        ("UPDATE tiles SET level = 'x' WHERE number = 1", "tiles", "a tile has the level 'x'"),
    ],
)
def test_a_value_of_a_type_that_no_table_takes_is_found(ledger: Sealed, statement: str, check: str, said: str) -> None:
    """What a flipped bit of a row's header makes of it."""
    strict, loose = ") STRICT", ")        "
    for old, new, statements in ((strict, loose, ()), (loose, strict, (statement,))):
        alter(
            ledger.path,
            "PRAGMA ignore_check_constraints = ON",
            *statements,
            "PRAGMA writable_schema = ON",
            f"UPDATE sqlite_schema SET sql = replace(sql, '{old}', '{new}') WHERE type = 'table'",
        )
    report = verified(ledger.path, quick=True)
    assert check in wrong(report)
    assert any(said in fault.detail for one in report.checks for fault in one.faults), report


def test_the_schema_is_the_one_that_a_ledger_is_made_with(ledger: Sealed) -> None:
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute("DROP TRIGGER events_kept")
        connection.execute("CREATE TRIGGER quietly AFTER INSERT ON events BEGIN DELETE FROM tiles; END")
        connection.execute("CREATE TABLE _litestream_seq (id INTEGER)")
    report = verified(ledger.path)
    assert wrong(report) == {"schema"}
    faults = [fault.detail for check in report.checks for fault in check.faults]
    assert len(faults) == 2
    assert "events_kept is missing" in faults[0]
    assert "quietly does not belong to a ledger" in faults[1]


def forged(ledger: Sealed, signer: Signer, size: int = SIZE) -> None:
    """Sign the current ledger with some key, and write the result as its checkpoint."""
    root = verified(ledger.path).root
    note = signer.sign(Checkpoint(signer.verifier.name, size, root).text()).encode()
    ledger.path.with_name("t.db.checkpoint").write_bytes(note)


def test_who_forges_lines_tiles_and_key_is_caught_by_the_key_alone(ledger: Sealed) -> None:
    alter(ledger.path, LINE.format(590))
    signer = Signer.make(ledger.signer.verifier.name)
    forged(ledger, signer)
    assert wrong(verified(ledger.path)) == {"signatures"}, "the key beside it is still the true one"
    ledger.path.with_name("t.db.key").write_text(signer.secret())
    report = verified(ledger.path)
    assert report.right, "without a key from elsewhere nothing tells"
    assert not report.key_given
    assert "not who signed it" in report.notes[0]
    assert wrong(verified(ledger.path, ledger.key)) == {"signatures"}
    since = ledger.path.with_name("t.db.300")
    assert wrong(verified(ledger.path, since=since)) == {"signatures"}, "the checkpoint from before has another signer"


def test_a_checkpoint_from_before_must_be_continued(ledger: Sealed) -> None:
    alter(ledger.path, LINE.format(298))
    forged(ledger, ledger.signer)
    report = verified(ledger.path, ledger.key, ledger.path.with_name("t.db.300"))
    assert wrong(report) == {"roots", "tiles"}
    assert report.first is not None
    assert (report.first.check, report.first.position) == ("roots", 299)


@pytest.mark.parametrize("name", ["checkpoint", "300"])
def test_any_byte_of_a_checkpoint_matters(ledger: Sealed, name: str) -> None:
    file = ledger.path.with_name(f"t.db.{name}")
    whole = file.read_bytes()
    for at in range(0, len(whole), 7):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert not verified(ledger.path, ledger.key, ledger.path.with_name("t.db.300"), quick=True).right, at


def test_evidence_that_is_missing_changed_or_still_there_is_found(ledger: Sealed) -> None:
    store = EvidenceStore(ledger.path)
    kept, gone = sha256(KEPT).hexdigest(), sha256(GONE).hexdigest()
    place = store.folder / kept[:2] / kept
    whole = place.read_bytes()
    place.write_bytes(whole[:-1])
    report = verified(ledger.path)
    assert wrong(report) == {"evidence"}
    assert report.first is not None
    assert report.first.position == SIZE - 3
    place.unlink()
    assert wrong(verified(ledger.path)) == {"evidence"}
    store.write_pending({kept: KEPT, gone: GONE})
    assert verified(ledger.path).right, "what is pending is finished when the ledger is next opened"
    store.publish(gone)
    report = verified(ledger.path)
    assert report.first is not None
    assert "was erased, but its file exists" in report.first.detail


def test_a_page_that_cannot_be_read_is_a_fault(ledger: Sealed) -> None:
    data = bytearray(ledger.path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = bytes(4096)
    ledger.path.write_bytes(data)
    report = verified(ledger.path, ledger.key)
    assert not report.right


@pytest.mark.parametrize(
    ("key", "match"), [("x", "This is not a key"), ("a+00000000+AAAA", "kind"), ("log+zz", "This is not a key")]
)
def test_a_key_that_is_none_is_refused(ledger: Sealed, key: str, match: str) -> None:
    with pytest.raises(InvalidQuery, match=match):
        verified(ledger.path, key)


def test_what_is_no_ledger_is_refused(tmp_path: Path) -> None:
    for content, match in ((None, "There is no ledger"), (b"text " * 100, "not a ledger"), (b"", "not a ledger")):
        if content is not None:
            (tmp_path / "t.db").write_bytes(content)
        with pytest.raises(LedgerUnusable, match=match):
            verified(tmp_path / "t.db")


def test_a_ledger_without_key_and_checkpoint_says_so(ledger: Sealed) -> None:
    for ending in ("key", "checkpoint"):
        ledger.path.with_name(f"t.db.{ending}").unlink()
    report = verified(ledger.path)
    assert report.right
    assert ["There is no t.db.checkpoint" in report.notes[0], "There is no t.db.key" in report.notes[1]] == [True] * 2


@pytest.mark.slow
def test_the_verb_prints_what_it_checked(ledger: Sealed) -> None:
    ended = tally(ledger.path, "verify", "--key", ledger.key)
    assert ended.code == 0, ended.err
    assert "Nothing is wrong: 600 events" in ended.text
    alter(ledger.path, LINE.format(300))
    ended = tally(Path("elsewhere.db"), "verify", "--ledger", ledger.path)
    assert ended.code == 1
    assert "WRONG" in ended.text
    assert "First at position 301" in ended.text
    assert "not who signed it" in ended.text
    assert tally(ledger.path, "verify", "--json").code == 1
    refused(ledger.path.with_name("none.db"), "verify")


def test_a_tampering_changes_what_it_says_it_changes(ledger: Sealed) -> None:
    before = ledger.path.read_bytes()
    alter(ledger.path, LINE.format(590))
    assert ledger.path.read_bytes() != before
