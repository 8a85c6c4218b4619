"""What an export holds: exact lines in every format, sums that are right, proofs that prove, evidence that is kept."""

import csv
import gzip
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import msgspec
import pyarrow.parquet
import pytest

from api.export.manifest import decode_manifest
from events.registry import VOCABULARY
from ledger.transparency.merkle import (
    leaf_hashes,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from ledger.transparency.signed_note import Checkpoint, SignedNote, Signer, Verifier
from tests.api.export.conftest import (
    ERASED,
    EVENTS,
    KEPT,
    Ledger,
    export,
)

FILTERS: list[dict[str, str]] = [
    {},
    {"agent": "agent-1"},
    {"type": "decision.reviewed.v1,decision.thought.v1"},
    {"subject": "decision/d0,decision/d199"},
    {"since": "2020-01-01", "until": "2020-01-02"},
    {"since": "2020-01-01"},
]


def lines_of(folder: Path) -> list[bytes]:
    """The lines of an export, whatever its format, as its format says."""
    (path,) = folder.glob("events.*")
    if path.suffix == ".parquet":
        return [text.encode() for text in pyarrow.parquet.read_table(path)["line"].to_pylist()]
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if ".ndjson" in path.name:
        return data.splitlines()
    csv.field_size_limit(1 << 20)
    rows = list(csv.reader(data.decode("utf-8-sig").split("\r\n")[:-1]))
    assert rows[0][-1] == "line"
    return [row[-1].encode() if row[-1].startswith("{") else b64decode(row[-1]) for row in rows[1:]]


def fits(line: bytes, filters: dict[str, str]) -> bool:
    """The filters, said plainly."""
    event = VOCABULARY.event(line)
    return (
        filters.get("agent") in (None, event.agent)
        and ("type" not in filters or event.name in filters["type"].split(","))
        and ("subject" not in filters or event.subject in filters["subject"].split(","))
        and "until" not in filters
    )


@pytest.mark.parametrize(
    ("format_", "gzipped"),
    [("ndjson", "false"), ("ndjson", "true"), ("csv", "false"), ("csv", "true"), ("parquet", "false")],
)
@pytest.mark.parametrize("filters", [{}, {"agent": "agent-1"}], ids=["complete", "filtered"])
def test_every_format_holds_the_exact_lines(
    ledger: Ledger, tmp_path: Path, format_: str, gzipped: str, filters: dict[str, str]
) -> None:
    manifest = export(ledger.path, tmp_path / "out", format=format_, gzip=gzipped, **filters)
    assert lines_of(tmp_path / "out") == [line for line in ledger.lines if fits(line, filters)]
    assert manifest.events == len(lines_of(tmp_path / "out"))


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_the_manifest_is_right(ledger: Ledger, tmp_path: Path, filters: dict[str, str]) -> None:
    export(ledger.path, tmp_path / "out", **filters)
    manifest = decode_manifest((tmp_path / "out" / "manifest.json").read_bytes())
    chosen = [VOCABULARY.event(line) for line in ledger.lines if fits(line, filters)]
    positions = [event.position for event in chosen]
    names = [event.name for event in chosen]
    assert (manifest.events, manifest.complete) == (len(chosen), not filters)
    assert (manifest.first, manifest.last) == ((positions[0], positions[-1]) if positions else (None, None))
    assert manifest.types == {name: names.count(name) for name in sorted(set(names))}
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.name != "manifest.json"}
    assert {name: (held.bytes, held.sha256) for name, held in manifest.files.items()} == {
        name: (len(data), sha256(data).hexdigest()) for name, data in files.items()
    }
    assert files["leaves"] == b"".join(leaf_hashes(line for line in ledger.lines if fits(line, filters)))


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_the_checkpoint_covers_it_all(ledger: Ledger, tmp_path: Path, filters: dict[str, str]) -> None:
    manifest = export(ledger.path, tmp_path / "out", **filters)
    note = SignedNote.parse((tmp_path / "out" / "checkpoint").read_bytes())
    checkpoint = Checkpoint.parse(note.text)
    assert Verifier.parse(manifest.verifier).verifies(note)
    assert (checkpoint.origin, checkpoint.size, checkpoint.root) == (manifest.origin, manifest.size, manifest.root)
    nodes = leaf_hashes(ledger.lines)
    assert checkpoint.size == len(nodes)
    assert checkpoint.root == plain_root(nodes)
    proofs = tmp_path / "out" / "proofs.ndjson"
    assert proofs.exists() == bool(filters)
    if filters:
        reported: list[dict[str, Any]] = [msgspec.json.decode(line) for line in proofs.read_bytes().splitlines()]
        assert [proof["position"] for proof in reported] == [
            VOCABULARY.event(line).position for line in ledger.lines if fits(line, filters)
        ]
        for proof in reported:
            index, hashes = proof["position"] - 1, [b64decode(text) for text in proof["hashes"]]
            assert verify_inclusion(nodes[index], index, checkpoint.size, hashes, checkpoint.root)


def plain_root(leaves: list[bytes]) -> bytes:
    """The root over some leaves, without tiles."""

    def node(level: int, index: int) -> bytes:
        if level == 0:
            return leaves[index]
        return sha256(b"\x01" + node(level - 1, 2 * index) + node(level - 1, 2 * index + 1)).digest()

    return root_of(len(leaves), node)


def test_a_zip_holds_what_a_folder_does(ledger: Ledger, tmp_path: Path) -> None:
    for filters in ({}, {"agent": "agent-1", "evidence": "true"}):
        folder, archive = tmp_path / f"out{len(filters)}", tmp_path / f"out{len(filters)}.zip"
        export(ledger.path, folder, **filters)
        export(ledger.path, archive, **filters)
        with ZipFile(archive) as zipped:
            assert zipped.testzip() is None
            assert {info.compress_type for info in zipped.infolist()} == {ZIP_STORED}
            assert zipped.namelist()[-1] == "manifest.json"
            for path in (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"):
                assert zipped.read(str(path.relative_to(folder))) == path.read_bytes()


def test_the_same_events_are_the_same_bytes(ledger: Ledger, tmp_path: Path) -> None:
    for format_ in ("ndjson", "csv"):
        for name in ("one", "two"):
            export(ledger.path, tmp_path / f"{name}.{format_}", format=format_, gzip="true")
        one, two = (tmp_path / f"{name}.{format_}" / f"events.{format_}.gz" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
        assert one.read_bytes()[4:8] == bytes(4), "it contains no time"


def test_kept_evidence_goes_along_and_erased_does_not(ledger: Ledger, tmp_path: Path) -> None:
    digest = sha256(KEPT).hexdigest()
    for name, filters in (("all", {}), ("naming", {"type": "evidence.stored.v1"}), ("other", {"agent": "agent-1"})):
        manifest = export(ledger.path, tmp_path / name, evidence="true", **filters)
        held = {path.name: path.read_bytes() for path in (tmp_path / name / "evidence").glob("*")}
        assert held == ({} if name == "other" else {digest: KEPT})
        assert manifest.evidence is not None
        assert (manifest.evidence.files, manifest.evidence.bytes) == (len(held), sum(map(len, held.values())))
        assert manifest.evidence.absent == ()
        assert not any(name.startswith("evidence/") for name in manifest.files)
    assert sha256(ERASED).hexdigest() in (tmp_path / "all" / "events.ndjson").read_text(encoding="utf-8")
    assert export(ledger.path, tmp_path / "without").evidence is None


def test_evidence_that_is_damaged_is_named(ledger: Ledger, tmp_path: Path) -> None:
    digest = sha256(KEPT).hexdigest()
    (path,) = (found for found in ledger.path.parent.rglob(digest))
    whole = path.read_bytes()
    try:
        path.write_bytes(whole[:-1])
        manifest = export(ledger.path, tmp_path / "out", evidence="true")
    finally:
        path.write_bytes(whole)
    assert manifest.evidence is not None
    assert (manifest.evidence.files, manifest.evidence.absent) == (0, (digest,))


def test_a_filtered_export_continues_an_earlier_checkpoint(ledger: Ledger, tmp_path: Path) -> None:
    """An earlier checkpoint that a witness cosigned, as the file beside the ledger contains it."""
    path = ledger.path
    signer = Signer.parse(path.with_name(f"{path.name}.key").read_text().strip())
    witnessed = path.with_name(f"{path.name}.witnessed")
    size = EVENTS // 2
    root = plain_root(leaf_hashes(ledger.lines[:size]))
    older = signer.sign(Checkpoint(signer.verifier.name, size, root).text())
    witnessed.write_bytes(older.encode())
    try:
        manifest = export(path, tmp_path / "out", agent="agent-1")
    finally:
        witnessed.unlink()
    assert (tmp_path / "out" / "checkpoint.earlier").read_bytes() == older.encode()
    reported = manifest.consistency
    assert reported is not None
    assert (reported.size, reported.root) == (size, root)
    assert verify_consistency(size, manifest.size, reported.hashes, root, manifest.root)
