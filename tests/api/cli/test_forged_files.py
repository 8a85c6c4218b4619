"""Files beside a ledger that someone else has written: they change no answer, and each is named."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import httpx
import msgspec
import pytest

from ledger.view_key import read_view_key, view_key_path
from tests.api.cli.command import done, refused, tally
from tests.support.server import served

Forgery = Callable[[bytes], bytes]


def lines(outcome: str) -> bytes:
    """Forty decisions with a confidence of 0.9 and their reviews."""
    pairs = (
        b'{"type":"decision.recorded.v1","data":{"decision_id":"d%d","decision":"bound the queue","confidence":0.9}}\n'
        b'{"type":"decision.reviewed.v1","data":{"decision_id":"d%d","outcome":"%s"}}\n'
        % (number, number, outcome.encode())
        for number in range(40)
    )
    return b"".join(pairs)


def calibration(path: Path) -> bytes:
    answer = msgspec.json.decode(done(path, "calibration", "--json").out)
    answer.pop("as_of")
    return msgspec.json.encode(answer)


@pytest.fixture
def ledgers(tmp_path: Path) -> tuple[Path, Path]:
    """A ledger whose decisions all failed, and one whose decisions all succeeded; both have every file beside them."""
    for name, outcome in (("one", "failure"), ("other", "success")):
        path = tmp_path / name / "t.db"
        path.parent.mkdir()
        done(path, "append", "-", given=lines(outcome))
        with served(path) as server:
            httpx.get(f"{server.url}/decisions?search=queue").raise_for_status()
    return tmp_path / "one" / "t.db", tmp_path / "other" / "t.db"


def plain_digest(state: bytes) -> bytes:
    return sha256(state).digest()


@pytest.mark.slow
@pytest.mark.trial("C13")
@pytest.mark.parametrize("forged_seal", [None, plain_digest])
def test_forged_snapshots_are_folded_again_and_named(ledgers: tuple[Path, Path], forged_seal: Forgery | None) -> None:
    one, other = ledgers
    honest = calibration(one)
    assert honest != calibration(other)
    with closing(sqlite3.connect(f"{one}.views.db")) as mine, mine:
        mine.execute("ATTACH ? AS theirs", (f"{other}.views.db",))
        for name, contents, seal in mine.execute("SELECT name, contents, seal FROM theirs.snapshots").fetchall():
            row = (contents, forged_seal(contents) if forged_seal else seal, name)
            assert mine.execute("UPDATE main.snapshots SET contents = ?, seal = ? WHERE name = ?", row).rowcount == 1
    shown = tally(one, "calibration", "--json")
    assert shown.err.count("was not written by this ledger's owner") == 1
    assert calibration(one) == honest
    with served(one) as server:
        answer = httpx.get(f"{server.url}/calibration").json()
        answer.pop("as_of")
        assert msgspec.json.encode(answer) == honest
        named = [line for line in server.log() if "not written by this ledger's owner" in line.get("message", "")]
        assert len(named) == 1
    assert tally(one, "calibration").err == "", "the server has saved its own"


@pytest.mark.slow
@pytest.mark.trial("C13")
def test_the_whole_file_of_another_ledger_changes_nothing(ledgers: tuple[Path, Path]) -> None:
    one, other = ledgers
    honest = calibration(one)
    searched = done(one, "decisions", "--search", "queue", "--json").out
    for ending in (".views.db", ".search.db", ".search.db.seal", ".views.key"):
        shutil.copy(f"{other}{ending}", f"{one}{ending}")
        assert calibration(one) == honest
        assert done(one, "decisions", "--search", "queue", "--json").out == searched


@pytest.mark.slow
@pytest.mark.trial("C13")
def test_a_forged_search_index_is_made_again(ledgers: tuple[Path, Path]) -> None:
    one, _ = ledgers
    searched = done(one, "decisions", "--search", "queue", "--json").out
    with closing(sqlite3.connect(f"{one}.search.db")) as connection, connection:
        connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    again = done(one, "decisions", "--search", "queue", "--json")
    assert again.out == searched
    assert "indexed again" in again.err
    assert done(one, "decisions", "--search", "queue", "--json").err == ""
    journal = Path(f"{one}.search.db-journal")
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600))
    assert done(one, "decisions", "--search", "queue", "--json").out == searched


@pytest.mark.slow
@pytest.mark.trial("C13")
def test_tokens_that_another_program_changed_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    done(path, "append", "-", given=lines("success"))
    secret = done(path, "token", "add", "scout", "--scope", "read").text.split()[-1]
    tokens = Path(f"{path}.tokens")
    honest = tokens.read_bytes()
    headers = {"authorization": f"Bearer {secret}"}
    with served(path) as server, httpx.Client(base_url=server.url, headers=headers) as http:
        assert http.get("/decisions").status_code == 200
    tokens.write_bytes(honest.replace(b'"read"', b'"admin"'))
    said = refused(path, "token", "list")
    assert "t.db.tokens was changed by another program" in said
    assert "remove" in said
    tokens.write_bytes(honest)
    assert b"scout" in done(path, "token", "list").out
    Path(f"{tokens}.seal").unlink()
    done(path, "token", "add", "ranger")
    assert Path(f"{tokens}.seal").stat().st_mode & 0o777 == 0o600


@pytest.mark.trial("C13")
def test_the_secret_is_the_owners_alone(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    assert read_view_key(ledger, make=False) is None
    secret = read_view_key(ledger, make=True)
    assert secret is not None
    file = view_key_path(ledger)
    assert (len(secret), file.stat().st_mode & 0o777) == (32, 0o600)
    assert read_view_key(ledger, make=False) == secret == read_view_key(ledger, make=True)
    file.chmod(0o640)
    assert read_view_key(ledger, make=False) is None, "others can read it"
    assert read_view_key(ledger, make=True) not in (None, secret)
    for damage in (b"", b"00" * 31 + b"\n", b"zz" * 32 + b"\n", b"00" * 32 + b"\nmore"):
        file.write_bytes(damage)
        file.chmod(0o600)
        assert read_view_key(ledger, make=False) is None
    file.unlink()
    (tmp_path / "elsewhere").write_bytes(b"00" * 32 + b"\n")
    (tmp_path / "elsewhere").chmod(0o600)
    file.symlink_to(tmp_path / "elsewhere")
    assert read_view_key(ledger, make=False) is None
    made = read_view_key(ledger, make=True)
    assert made is not None
    assert made != bytes(32)
    assert (tmp_path / "elsewhere").read_bytes() == b"00" * 32 + b"\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "t.db.views.key"]
