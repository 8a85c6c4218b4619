"""Whatever is changed in an export is found, and the first position that is wrong is named."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from api.export.manifest import ConsistencyProof, Filters
from api.verify import VerifyReport, verify_package
from ledger.errors import UnusableExport
from ledger.transparency.signed_note import Signer
from tests.api.cli.command import done, refused, tally
from tests.api.verify.exported import (
    copied,
    edit,
    export_all,
    forge,
    lines_of,
    manifest_of,
    put_lines,
    restate,
    zipped,
)
from tests.api.verify.sealed_ledger import SIZE, Sealed, sealed
from tests.api.verify.test_ledger_file import wrong

OPTIONS: dict[str, dict[str, str]] = {
    "whole": {"evidence": "true"},
    "gzip": {"gzip": "true"},
    "csv": {"format": "csv"},
    "parquet": {"format": "parquet"},
    "chosen": {"type": "decision.thought.v1", "evidence": "true"},
    "streams": {"subject": "decision/d-0,decision/d-2"},
    "chosen csv": {"type": "decision.thought.v1", "format": "csv", "gzip": "true"},
}


class Exports:
    """A ledger, its key, and an export of each kind."""

    def __init__(self, folder: Path) -> None:
        self.ledger: Sealed = sealed(folder / "t.db", steps=(300,))
        self.key = self.ledger.key
        self.since = folder / "t.db.300"
        shutil.copy(self.since, folder / "t.db.witnessed")
        self.folders = {name: folder / name.replace(" ", "-") for name in OPTIONS}
        self.zip = folder / "whole.zip"
        wanted = {self.folders[name]: options for name, options in OPTIONS.items()}
        export_all(self.ledger.path, {**wanted, self.zip: OPTIONS["whole"]})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Exports:
    return Exports(tmp_path_factory.mktemp("exports"))


def verified(path: Path, key: str | None = None, since: Path | None = None) -> VerifyReport:
    return verify_package(path, key, since)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_export_as_it_was_made_is_right(made: Exports, tmp_path: Path, name: str) -> None:
    for path in (made.folders[name], zipped(made.folders[name], tmp_path / "t.zip")):
        report = verified(path, made.key)
        assert report.right, report.first
        assert (report.key, report.key_given) == (made.key, True)
        counts = {check.name: check.count for check in report.checks}
        assert counts["lines"] == report.events == manifest_of(made.folders[name]).events


def test_a_zip_as_it_was_made_is_right_and_continues_what_was_signed_before(made: Exports) -> None:
    report = verified(made.zip, made.key, made.since)
    assert report.right, report.first
    assert {check.name: check.count for check in report.checks}["roots"] == 3
    assert report.notes == []


def test_without_a_key_it_says_what_is_not_proven(made: Exports) -> None:
    report = verified(made.folders["chosen"])
    assert report.right
    assert not report.key_given
    assert ["not who signed it" in report.notes[0], "filtered export" in report.notes[1]] == [True, True]


def change(lines: list[bytes], position: int) -> list[bytes]:
    """A text changed where nothing else hangs on it."""
    changed = re.sub(rb"choice \d+|hmm", b"other", lines[position - 1])
    assert changed != lines[position - 1]
    return [*lines[: position - 1], changed, *lines[position:]]


def renumbered(lines: list[bytes]) -> list[bytes]:
    return [re.sub(rb'"position":\d+', b'"position":%d' % at, line) for at, line in enumerate(lines, 1)]


LINES: dict[str, tuple[int, Callable[[list[bytes]], list[bytes]]]] = {
    "a byte changed": (300, lambda lines: change(lines, 300)),
    "an event removed": (100, lambda lines: lines[:99] + lines[100:]),
    "an event removed and the others renumbered": (100, lambda lines: renumbered(lines[:99] + lines[100:])),
    "two swapped": (50, lambda lines: [*lines[:49], lines[50], lines[49], *lines[51:]]),
    "one inserted": (20, lambda lines: renumbered([*lines[:19], change(lines, 19)[18], *lines[19:]])),
    "one doubled": (20, lambda lines: [*lines[:19], lines[18], *lines[19:]]),
    "the last cut off": (SIZE, lambda lines: lines[:-1]),
    "one more": (SIZE + 1, lambda lines: renumbered([*lines, lines[-1]])),
    "all cut off": (1, lambda lines: []),
    "a line that is not an event": (30, lambda lines: [*lines[:29], b"nonsense", *lines[30:]]),
}


@pytest.mark.parametrize(("position", "alter"), LINES.values(), ids=list(LINES))
def test_changed_lines_are_found_and_located(
    made: Exports, tmp_path: Path, position: int, alter: Callable[[list[bytes]], list[bytes]]
) -> None:
    export = copied(made.folders["whole"], tmp_path)
    put_lines(export, alter(lines_of(export)))
    for path in (export, zipped(export, tmp_path / "t.zip")):
        report = verified(path)
        assert not report.right
        assert report.first is not None
        assert report.first.position == position, report.first
        assert "files" in wrong(report)


@pytest.mark.parametrize(("position", "alter"), LINES.values(), ids=list(LINES))
def test_a_forger_of_everything_but_the_key_is_caught(
    made: Exports, tmp_path: Path, position: int, alter: Callable[[list[bytes]], list[bytes]]
) -> None:
    """Lines, leaves and manifest fit: the signed root does not."""
    export = copied(made.folders["whole"], tmp_path)
    forge(export, alter(lines_of(export)))
    report = verified(export)
    assert wrong(report) & {"roots", "positions"}
    assert "files" not in wrong(report)


def test_a_forger_with_a_key_of_his_own_is_caught_by_the_key(made: Exports, tmp_path: Path) -> None:
    export = copied(made.folders["whole"], tmp_path)
    lines = change(lines_of(export), 300)
    forge(export, lines, Signer.make(made.ledger.signer.verifier.name))
    report = verified(export)
    assert report.right, "nothing in it tells"
    assert "Someone who forges everything forges the key, too" in report.notes[0]
    assert wrong(verified(export, made.key)) == {"manifest", "signatures"}
    assert wrong(verified(export, since=made.since)) == {"roots", "signatures"}
    forge(export, change(lines, 11), made.ledger.signer)
    report = verified(export, made.key, made.since)
    assert wrong(report) == {"roots"}, "even the holder of the key cannot change signed history"


def digit(text: bytes) -> bytes:
    return b"2" if text != b"2" else b"3"


FILES: dict[str, tuple[str, str, Callable[[bytes], bytes]]] = {
    "checkpoint: size": ("whole", "checkpoint", lambda text: text.replace(b"\n600\n", b"\n599\n")),
    "checkpoint: signature": ("whole", "checkpoint", lambda text: text[:-9] + b"AAAAAA==\n"),
    "checkpoint: cut off": ("whole", "checkpoint", lambda text: text[:40]),
    "leaves: changed": ("whole", "leaves", lambda held: held[:320] + bytes(32) + held[352:]),
    "leaves: cut off": ("whole", "leaves", lambda held: held[:-32]),
    "leaves: longer": ("whole", "leaves", lambda held: held + bytes(32)),
    "leaves of chosen: changed": ("chosen", "leaves", lambda held: held[:320] + bytes(32) + held[352:]),
    "proofs: changed": ("chosen", "proofs.ndjson", lambda text: text.replace(b'["', b'["AAAA', 1)),
    "proofs: one missing": ("chosen", "proofs.ndjson", lambda text: text.partition(b"\n")[2]),
    "proofs: one more": ("chosen", "proofs.ndjson", lambda text: text + text.partition(b"\n")[0] + b"\n"),
    "proofs: cut off": ("chosen", "proofs.ndjson", lambda text: text[:-40]),
    "chosen: one event more": ("chosen", "events.ndjson", lambda text: text + text.partition(b"\n")[0] + b"\n"),
    "chosen: a byte": ("chosen", "events.ndjson", lambda text: text.replace(b'"hmm"', b'"ham"', 1)),
    "streams: a version left out": ("streams", "events.ndjson", lambda text: text.partition(b"\n")[2]),
    "csv: a line": ("csv", "events.csv", lambda text: text.replace(b'""choice 10""', b'""choice 11""', 1)),
    "csv: a column": ("csv", "events.csv", lambda text: text.replace(b'"/agents/tester"', b'"/agents/other"', 1)),
    "csv: cut off": ("csv", "events.csv", lambda text: text[:-100]),
    "csv: a row more": ("csv", "events.csv", lambda text: text + text.splitlines(keepends=True)[-1]),
    "gzip: cut off": ("gzip", "events.ndjson.gz", lambda held: held[:-100]),
    "gzip: something behind it": ("gzip", "events.ndjson.gz", lambda held: held + b"more"),
    "parquet: cut off": ("parquet", "events.parquet", lambda held: held[:-100]),
    "evidence: changed": ("whole", "evidence", lambda held: held + b"!"),
}


@pytest.mark.parametrize(("name", "file", "alter"), FILES.values(), ids=list(FILES))
def test_changed_files_are_found_whether_the_manifest_says_so_or_not(
    made: Exports, tmp_path: Path, name: str, file: str, alter: Callable[[bytes], bytes]
) -> None:
    export = copied(made.folders[name], tmp_path)
    if file == "evidence":
        (file,) = (str(one.relative_to(export)) for one in (export / "evidence").iterdir())
    before = (export / file).read_bytes()
    edit(export, file, alter)
    assert (export / file).read_bytes() != before
    assert not verified(export, made.key).right
    restate(export)
    report = verified(export, made.key)
    assert not report.right
    assert "files" not in wrong(report), "the forger restated the sums"


def test_wrong_leaves_are_not_taken_for_wrong_lines(made: Exports, tmp_path: Path) -> None:
    export = copied(made.folders["whole"], tmp_path)
    edit(export, *FILES["leaves: changed"][1:])
    restate(export)
    report = verified(export, made.key)
    assert wrong(report) == {"leaves"}
    assert report.first is not None
    assert report.first.position == 11


def test_a_parquet_file_made_by_a_forger_is_found(made: Exports, tmp_path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - as the export does
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    export = copied(made.folders["parquet"], tmp_path)
    table = pq.read_table(export / "events.parquet")
    for column in ("source", "line"):
        texts = table.column(column).to_pylist()
        texts[6] = texts[6].replace("choice 6", "choice 7").replace("/agents/tester", "/agents/other")
        forged = table.set_column(table.column_names.index(column), column, pa.array(texts, pa.string()))
        pq.write_table(forged, export / "events.parquet")
        restate(export)
        assert wrong(verified(export, made.key)) & {"events' file", "roots"}


MANIFEST: dict[str, tuple[str, dict[str, object]]] = {
    "events": ("whole", {"events": SIZE - 1}),
    "first": ("whole", {"first": 2}),
    "last": ("whole", {"last": SIZE + 1}),
    "types": ("whole", {"types": {"decision.recorded.v1": SIZE}}),
    "size": ("whole", {"size": SIZE - 1}),
    "root": ("whole", {"root": bytes(32)}),
    "origin": ("whole", {"origin": "elsewhere"}),
    "verifier": ("whole", {"verifier": str(Signer.make("tests.example/log").verifier)}),
    "no verifier": ("whole", {"verifier": "x"}),
    "complete, said of some": ("chosen", {"complete": True}),
    "some, said of all": ("whole", {"complete": False}),
    "evidence": ("whole", {"evidence": None}),
    "consistency": ("chosen", {"consistency": None}),
    "no files": ("whole", {"files": {}}),
    "another consistency": ("chosen", {"consistency": ConsistencyProof(300, bytes(32), ())}),
    "other filters": ("chosen", {"filters": Filters(types=("decision.recorded.v1",))}),
}


@pytest.mark.parametrize(("name", "fields"), MANIFEST.values(), ids=list(MANIFEST))
def test_a_manifest_that_says_something_else_is_found(
    made: Exports, tmp_path: Path, name: str, fields: dict[str, object]
) -> None:
    export = copied(made.folders[name], tmp_path)
    restate(export, **fields)
    assert not verified(export).right


@pytest.mark.parametrize("file", ["events.ndjson", "leaves", "checkpoint", "README.md"])
def test_a_missing_file_is_found(made: Exports, tmp_path: Path, file: str) -> None:
    export = copied(made.folders["whole"], tmp_path)
    (export / file).unlink()
    assert not verified(export).right


def test_what_is_no_export_is_refused(made: Exports, tmp_path: Path) -> None:
    export = copied(made.folders["whole"], tmp_path)
    for change_, match in (
        (
            lambda text: text.replace(b"export/1", b"export/2"),
            "has the format",
        ),
        (lambda text: text[:100], "is not a manifest"),
        (lambda text: b"", "is not a manifest"),
        (lambda text: b'{"format":' + 100_000 * b"[", "is not a manifest"),
    ):
        whole = (export / "manifest.json").read_bytes()
        edit(export, "manifest.json", change_)
        with pytest.raises(UnusableExport, match=match):
            verified(export)
        (export / "manifest.json").write_bytes(whole)
    (export / "manifest.json").unlink()
    with pytest.raises(UnusableExport, match=r"has no manifest\.json"):
        verified(export)
    cut = tmp_path / "cut.zip"
    cut.write_bytes(made.zip.read_bytes()[:-1000])
    for path, match in ((cut, "not a complete ZIP"), (tmp_path / "none", "none does not exist")):
        with pytest.raises(UnusableExport, match=match):
            verified(path)


@pytest.mark.slow
def test_the_verb_verifies_exports(made: Exports, tmp_path: Path) -> None:
    said = done(tmp_path / "none.db", "verify", made.zip, "--key", made.key, "--since", made.since).text
    assert "Nothing is wrong: 600 events" in said
    export = copied(made.folders["whole"], tmp_path)
    put_lines(export, change(lines_of(export), 300))
    ended = tally(tmp_path / "none.db", "verify", export)
    assert ended.code == 1
    assert "First at position 300: the line at position 300 is not the one that" in ended.text
    assert "none does not exist" in refused(tmp_path / "none.db", "verify", tmp_path / "none")
    assert "Name one of them" in refused(tmp_path / "none.db", "verify", export, "--url", "http://127.0.0.1:1")


def test_a_line_that_was_changed_inside_a_zip_is_located(made: Exports, tmp_path: Path) -> None:
    """Its CRC is wrong, and yet all of it is read."""
    changed = tmp_path / "changed.zip"
    changed.write_bytes(made.zip.read_bytes().replace(b'"choice 300"', b'"choice 30X"', 1))
    report = verified(changed, made.key)
    assert report.first is not None
    assert report.first.position == 301
    assert any("CRC-32" in fault.detail for check in report.checks for fault in check.faults)


def test_a_digest_that_is_no_text_is_located_as_any_change(made: Exports, tmp_path: Path) -> None:
    changed = tmp_path / "changed.zip"
    data = bytearray(made.zip.read_bytes())
    data[data.index(b'"digest":"') + len('"digest":"')] = 0x80
    changed.write_bytes(data)
    report = verified(changed, made.key)
    assert report.first is not None
    assert report.first.position == 597
