"""The README of an export keeps its word: its programs accept what is whole, and nothing that was tampered with."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from ledger.transparency.signed_note import SignedNote, Signer
from tests.api.export.auditing import audit, programs, reseal
from tests.api.export.conftest import Ledger, export

LINES_MAX = 20


@pytest.fixture(scope="module")
def complete(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("complete") / "out"
    export(ledger.path, output)
    return output


@pytest.fixture(scope="module")
def filtered(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("filtered") / "out"
    export(ledger.path, output, agent="agent-1")
    return output


@pytest.fixture
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of one of them, to tamper with."""
    return Path(shutil.copytree(request.getfixturevalue(request.param), tmp_path / "copy"))


@pytest.mark.parametrize("form", [{}, {"gzip": "true"}, {"format": "csv"}, {"format": "parquet"}], ids=str)
@pytest.mark.parametrize("filters", [{}, {"agent": "agent-1"}, {"until": "2020-01-01"}], ids=str)
def test_what_is_whole_is_called_whole(
    ledger: Ledger, tmp_path: Path, form: dict[str, str], filters: dict[str, str]
) -> None:
    manifest = export(ledger.path, tmp_path / "out", **form, **filters)
    assert audit(tmp_path / "out").startswith("whole: all" if not filters else f"whole: {manifest.events} of the")
    assert audit(tmp_path / "out", signature=True) == f"signed by {manifest.origin}\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["complete", "filtered"])
def test_twenty_lines_of_plain_python_are_enough(request: pytest.FixtureRequest, name: str) -> None:
    """Run as an auditor does: the standard library, and a process without ours in its path."""
    folder: Path = request.getfixturevalue(name)
    program = programs(folder)[0]
    assert len([line for line in program.splitlines() if line.strip()]) <= LINES_MAX
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"whole: ")


def changed(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Change a file line by line."""
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


CHANGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a changed byte": lambda lines: [*lines[:3], lines[3].replace(b"0.7", b"0.8").replace(b"1", b"2", 1), *lines[4:]],
    "a removed event": lambda lines: lines[:3] + lines[4:],
    "a removed end": lambda lines: lines[:-1],
    "two swapped events": lambda lines: [lines[1], lines[0], *lines[2:]],
    "an event twice": lambda lines: [lines[0], *lines],
    "no event": lambda lines: [],
}


@pytest.mark.parametrize("copied", ["complete", "filtered"], indirect=True)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("resealed", [True, False], ids=["resealed", "as it was summed"])
def test_changed_events_are_found(copied: Path, change: Callable[[list[bytes]], list[bytes]], resealed: bool) -> None:
    changed(copied / "events.ndjson", change)
    if resealed:
        reseal(copied)
    assert audit(copied).startswith("WRONG: ")


@pytest.mark.parametrize("copied", ["complete"], indirect=True)
@pytest.mark.parametrize("name", ["leaves", "checkpoint", "README.md"])
def test_a_changed_file_is_found(copied: Path, name: str) -> None:
    (copied / name).write_bytes((copied / name).read_bytes() + b"\n")
    assert audit(copied) == f"WRONG: the file {name}"


@pytest.mark.parametrize("copied", ["filtered"], indirect=True)
@pytest.mark.parametrize("what", ["a hash", "too few", "too many", "position"])
def test_a_changed_proof_is_found(copied: Path, what: str) -> None:
    path = copied / "proofs.ndjson"
    proofs = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    hashes = proofs[5]["hashes"]
    if what == "a hash":
        hashes[2] = hashes[1]
    elif what == "too few":
        hashes.pop()
    elif what == "too many":
        hashes.insert(0, hashes[0])
    else:
        proofs[5]["position"] += 1
    path.write_bytes(b"".join(msgspec.json.encode(proof) + b"\n" for proof in proofs))
    reseal(copied)
    assert audit(copied).startswith("WRONG: ")


@pytest.mark.parametrize("copied", ["complete", "filtered"], indirect=True)
def test_another_root_size_or_key_is_found(copied: Path) -> None:
    path = copied / "checkpoint"
    note = SignedNote.parse(path.read_bytes())
    origin, size, root, _ = note.text.split("\n")
    other = Signer.make("other").sign(note.text).signatures
    for text in (
        f"{origin}\n{size}\n{'A' if root[0] != 'A' else 'B'}{root[1:]}\n",
        f"{origin}\n{int(size) - 1}\n{root}\n",
    ):
        path.write_bytes(SignedNote(text, note.signatures).encode())
        reseal(copied)
        # A proof may hold in trees of several sizes: of a filtered export the signature alone tells them apart.
        assert audit(copied).startswith("WRONG: ") or ((copied / "proofs.ndjson").exists() and root in text)
        assert audit(copied, signature=True) == "WRONG: the signature is not of this checkpoint"
    path.write_bytes(SignedNote(note.text, other).encode())
    assert audit(copied, signature=True) == "WRONG: not signed with this key"
    path.write_bytes(Signer.make(origin).sign(note.text).encode())
    assert audit(copied, signature=True) == "WRONG: not signed with this key"
