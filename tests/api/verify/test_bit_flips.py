"""Any byte of any file of an export, changed to any other: it is found, or it says nothing that anybody reads."""

from pathlib import Path
from zipfile import BadZipFile, ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.verify import verify_package
from ledger.errors import UnusableExport
from tests.api.verify.exported import export_all, zipped
from tests.api.verify.sealed_ledger import sealed

pytestmark = pytest.mark.slow

FORMS = {
    "whole": {"evidence": "true"},
    "chosen": {"type": "decision.thought.v1", "since": "2020-01-01"},
    "csv": {"format": "csv"},
    "gzip": {"gzip": "true"},
    "parquet": {"format": "parquet"},
}


class Small:
    """Small exports, each as a folder and as a ZIP, and the key."""

    def __init__(self, folder: Path) -> None:
        ledger = sealed(folder / "t.db", 12)
        self.key = ledger.key
        self.folders = {form: folder / form for form in FORMS}
        wanted = {self.folders[form]: parameters for form, parameters in FORMS.items()}
        made = folder / "made.zip"
        export_all(ledger.path, {**wanted, made: FORMS["whole"]})
        self.zips = {"made": made, "packed": zipped(self.folders["whole"], folder / "packed.zip")}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return Small(tmp_path_factory.mktemp("small"))


def found(path: Path, key: str | None) -> bool:
    """Whether a verification tells that something is wrong, or that it cannot be verified."""
    try:
        return not verify_package(path, key, None).right
    except UnusableExport:
        return True


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_any_byte_of_any_file_matters(small: Small, data: st.DataObject) -> None:
    """In a folder there is none without meaning."""
    export = small.folders[data.draw(st.sampled_from(sorted(small.folders)))]
    files = sorted(file for file in export.rglob("*") if file.is_file())
    file = data.draw(st.sampled_from(files))
    whole = file.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != whole[at]))
    key = small.key if data.draw(st.booleans()) else None
    file.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
    try:
        assert found(export, key), (file, at, byte)
    finally:
        file.write_bytes(whole)
    assert not found(export, key)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_byte_of_a_zip_matters_or_nobody_reads_it(small: Small, data: st.DataObject) -> None:
    """Times, rights and versions in the headers of a ZIP say nothing of what is in it: its files read as before."""
    path = small.zips[data.draw(st.sampled_from(sorted(small.zips)))]
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != whole[at]))
    before = contents(path)
    path.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
    try:
        assert found(path, small.key) or contents(path) == before, (at, byte)
    finally:
        path.write_bytes(whole)


def contents(path: Path) -> dict[str, bytes]:
    """What is in a ZIP."""
    try:
        with ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        return {}
