"""Importing any export, damaged or not, makes the original ledger again, byte for byte, or makes none."""

import shutil
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.export.manifest import MANIFEST
from api.importers.ledger_rebuild import rebuild_ledger
from api.verify import verify_ledger
from events.errors import TallystickError
from tests.api.verify.exported import copied, export_all, zipped
from tests.api.verify.sealed_ledger import sealed
from tests.fuzz.mutated import bodies, noise

SIZE = 12


class Made(NamedTuple):
    """Exports of one ledger, its key and its root."""

    whole: Path
    table: Path
    archive: bytes
    key: str
    root: bytes


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("exported")
    ledger = sealed(folder / "t.db", SIZE)
    whole, table = folder / "whole", folder / "table"
    export_all(ledger.path, {whole: {"evidence": "true"}, table: {"format": "csv"}})
    root = verify_ledger(ledger.path, None, None, quick=False).root
    return Made(whole, table, zipped(whole, folder / "whole.zip").read_bytes(), ledger.key, root)


def rebuilt(export: Path, made: Made) -> None:
    """Import an export. Check that the result is the original ledger, or that there is none."""
    ledger = export.with_name("again.db")
    try:
        found = rebuild_ledger(export, ledger, made.key)
    except TallystickError as error:
        assert (ledger.exists(), error.detail != "") == (False, True)  # noqa: PT017 - any other error is the finding
    else:
        assert ledger.exists() == found.placed == found.report.right
        if found.placed:
            assert found.report.root == made.root
            ledger.unlink()
    assert not list(ledger.parent.glob("*.part"))
    shutil.rmtree(f"{ledger}.evidence", ignore_errors=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("again")


@given(st.data())
def test_a_damaged_file_of_an_export_makes_no_other_ledger(made: Made, folder: Path, data: st.DataObject) -> None:
    export = copied(data.draw(st.sampled_from([made.whole, made.table])), folder)
    files = sorted(file for file in export.rglob("*") if file.is_file())
    for file in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=2, unique=True)):
        body = file.read_bytes()
        wrong = noise(st.just(body)) | st.binary(max_size=64)
        if file.name == MANIFEST:
            wrong = wrong | bodies([msgspec.json.decode(body)])
        elif file.suffix == ".ndjson":
            wrong = wrong | bodies([msgspec.json.decode(line) for line in body.splitlines()])
        file.write_bytes(data.draw(wrong))
    rebuilt(export, made)


@given(st.data())
def test_a_damaged_archive_makes_no_other_ledger(made: Made, folder: Path, data: st.DataObject) -> None:
    archive = folder / "copy.zip"
    archive.write_bytes(data.draw(noise(st.just(made.archive)) | noise(st.just(made.archive[-2_000:]))))
    rebuilt(archive, made)
