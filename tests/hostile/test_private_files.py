"""Every file that Tallystick makes is its owner's alone, and no symbolic link beside a ledger is followed."""

import os
import stat
from array import array
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from instruments.evals.scoring.embedding_cache import EmbeddingCache
from ledger.errors import LedgerUnusable
from ledger.private_file import make_private_folder, open_private, read_private
from tests.api.cli.command import done, refused
from tests.support.server import served
from tests.support.wait import wait_until

EVENT = b'{"type":"decision.recorded.v1","data":{"decision_id":"d1","decision":"ship it","confidence":0.7}}\n'


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """A umask that this process and those that it starts have."""
    before = os.umask(request.param)
    try:
        yield request.param
    finally:
        os.umask(before)


def modes(folder: Path, *left_out: str) -> dict[str, str]:
    """Every file and folder that others than the owner may use, or the owner may not, with its mode."""
    found: dict[str, str] = {}
    for path in folder.rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode != (0o700 if path.is_dir() else 0o600) and path.name not in left_out:
            found[str(path.relative_to(folder))] = oct(mode)
    return found


@pytest.mark.slow
@pytest.mark.trial("C7")
def test_what_verbs_make_is_private(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "made"
    folder.mkdir(0o700)
    folder.chmod(0o700)
    ledger = folder / "t.db"
    done(ledger, "append", "-", given=EVENT)
    done(ledger, "token", "add", "scout")
    done(ledger, "evidence", "put", "-", given=b"the answer")
    done(ledger, "evidence", "get", sha256(b"the answer").hexdigest(), "--output", folder / "copy.txt")
    done(ledger, "checkpoint")
    done(ledger, "decisions", "--search", "ship")
    done(ledger, "backup", folder / "backup.db", "--with-key")
    done(ledger, "export", "--output", folder / "out")
    done(ledger, "export", "--output", folder / "out.zip")
    done(folder / "again.db", "restore", folder / "backup.db")
    done(folder / "imported.db", "import", "ledger", folder / "out")
    done(ledger, "restore", "--replace", folder / "backup.db")
    assert (folder / "t.db.evidence").is_dir()
    assert (folder / "out").is_dir()
    assert modes(folder) == {}


@pytest.mark.slow
@pytest.mark.trial("C7")
def test_what_a_server_makes_is_private(tmp_path: Path, umask: int) -> None:
    folder, logs = tmp_path / "made", tmp_path / "logs"
    for made in (folder, logs):
        made.mkdir(0o700)
        made.chmod(0o700)
    ledger = folder / "t.db"
    with served(ledger, logs=logs) as server:
        done(ledger, "--url", server.url, "append", "-", given=EVENT)
        wait_until((folder / "t.db.views.db").exists, server.process)
        assert (folder / "t.db-wal").exists()
        assert (folder / "t.db-shm").exists()
        done(ledger, "--url", server.url, "export", "--output", folder / "out.zip")
        assert modes(folder) == {}
    assert modes(folder) == {}


@pytest.mark.trial("C7")
@pytest.mark.trial("C8")
def test_vectors_are_private_and_follow_no_link(tmp_path: Path, umask: int) -> None:
    key, vector = "a" * 64, array("f", [1.0])
    EmbeddingCache(tmp_path / "t.db.embeddings").put([(key, vector)])
    assert stat.S_IMODE((tmp_path / "t.db.embeddings").stat().st_mode) & ~0o600 == 0
    victim = tmp_path / "victim"
    victim.touch()
    (tmp_path / "link").symlink_to(victim)
    EmbeddingCache(tmp_path / "link").put([(key, vector)])
    assert victim.read_bytes() == b""
    os.mkfifo(tmp_path / "pipe")
    assert EmbeddingCache(tmp_path / "pipe").get(key) is None


@pytest.mark.trial("C7")
def test_a_mode_that_its_owner_chose_stays(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=EVENT)
    done(ledger, "checkpoint")
    chosen = {"t.db": 0o640, "t.db.checkpoint": 0o644}
    for name, mode in chosen.items():
        (tmp_path / name).chmod(mode)
    done(ledger, "append", "-", given=EVENT.replace(b"d1", b"d2"))
    assert b"\n2\n" in done(ledger, "checkpoint").out
    assert {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in chosen} == chosen


def link(path: Path, target: Path) -> bytes:
    """Put a link to another's file in the place of a file; what the other's file has."""
    if path.is_dir():
        path.rename(path.with_name(path.name + ".moved"))
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(target)
    return target.read_bytes() if target.is_file() else b""


@pytest.mark.trial("C8")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("t.db.key", ("checkpoint",)),
        ("t.db.key", ("key", "show")),
        ("t.db.key", ("key", "make", "--replace")),
        ("t.db.checkpoint", ("checkpoint",)),
        ("t.db.witnessed", ("checkpoint",)),
        ("t.db.tokens", ("token", "add", "scout")),
        ("t.db.tokens", ("token", "list")),
        ("t.db.tokens.lock", ("token", "add", "scout")),
        ("t.db.lock", ("append", "-")),
        ("t.db-wal", ("append", "-")),
        ("t.db-shm", ("append", "-")),
        ("t.db-journal", ("append", "-")),
        ("t.db.evidence", ("evidence", "put", "-")),
        ("t.db.checkpoint", ("verify",)),
        ("t.db.tokens", ("backup", "b.db")),
    ],
)
def test_a_link_beside_a_ledger_is_refused_by_name(tmp_path: Path, name: str, words: tuple[str, ...]) -> None:
    ledger, victim = tmp_path / "t.db", tmp_path / "victim"
    done(ledger, "append", "-", given=EVENT)
    done(ledger, "checkpoint")
    (victim.mkdir if name.endswith("evidence") else victim.touch)()
    before = link(tmp_path / name, victim)
    words = tuple(str(tmp_path / word) if word == "b.db" else word for word in words)
    said = refused(ledger, *words, given=EVENT.replace(b"d1", b"d2"))
    assert f"{name} is a symbolic link" in said
    assert (list(victim.iterdir()) == []) if victim.is_dir() else (victim.read_bytes() == before)


@pytest.mark.trial("C8")
@pytest.mark.parametrize("name", ["t.db.key.part", "t.db.checkpoint.part", "t.db.tokens.part"])
def test_a_link_in_the_place_of_a_temporary_file_is_not_written_through(tmp_path: Path, name: str) -> None:
    ledger, victim = tmp_path / "t.db", tmp_path / "victim"
    done(ledger, "append", "-", given=EVENT)
    victim.write_bytes(b"another's")
    link(tmp_path / name, victim)
    done(ledger, "checkpoint")
    done(ledger, "token", "add", "scout")
    assert victim.read_bytes() == b"another's"
    assert not (tmp_path / name.removesuffix(".part")).is_symlink()


@pytest.mark.trial("C8")
@pytest.mark.parametrize("name", ["t.db.views.db", "t.db.search.db"])
def test_a_link_in_the_place_of_a_view_is_replaced(tmp_path: Path, name: str) -> None:
    ledger, victim = tmp_path / "t.db", tmp_path / "victim"
    done(ledger, "append", "-", given=EVENT)
    victim.touch()
    link(tmp_path / name, victim)
    with served(ledger) as server:
        assert b"ship it" in done(ledger, "--url", server.url, "checkpoint").out or True
    assert b"d1" in done(ledger, "decisions", "--search", "ship", "--json").out
    assert victim.read_bytes() == b""
    assert not (tmp_path / name).is_symlink()


@pytest.mark.trial("C8")
def test_a_ledger_that_is_a_link_is_followed_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, typed = tmp_path / "real" / "t.db", tmp_path / "typed.db"
    done(real, "append", "-", given=EVENT)
    typed.symlink_to(real)
    done(typed, "append", "-", given=EVENT.replace(b"d1", b"d2"))
    done(typed, "token", "add", "scout")
    assert b"d2" in done(typed, "decisions", "--search", "ship", "--json").out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["real", "typed.db"]
    assert done(real, "token", "list", "--json").out == done(typed, "token", "list", "--json").out


@pytest.mark.trial("C8")
def test_tokens_beside_a_link_are_not_forgotten(tmp_path: Path) -> None:
    """Before, they were beside the link: a server that overlooked them would let everybody in."""
    (tmp_path / "real").mkdir()
    real, typed = tmp_path / "real" / "t.db", tmp_path / "typed.db"
    done(real, "append", "-", given=EVENT)
    typed.symlink_to(real)
    (tmp_path / "typed.db.tokens").write_bytes(b"[]")
    said = refused(typed, "token", "list")
    assert str(tmp_path / "typed.db.tokens") in said
    assert str(real) in said


@pytest.mark.trial("C8")
def test_other_kinds_of_files_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(LedgerUnusable, match="not a regular file"):
            open_private(tmp_path / name, os.O_RDONLY)
    (tmp_path / "long").write_bytes(b"12345")
    with pytest.raises(LedgerUnusable, match="more than 4 bytes"):
        read_private(tmp_path / "long", 4)
    assert read_private(tmp_path / "long", 5) == b"12345"
    assert not make_private_folder(tmp_path / "folder")
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "long")
