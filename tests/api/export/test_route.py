"""Every way to export: the command with and without a running server, and GET /export."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import httpx
import msgspec
import pytest

from api.export import Manifest
from tests.api.cli.command import done, refused
from tests.api.export.auditing import audit
from tests.api.export.conftest import Ledger
from tests.support.server import Served, served


@pytest.fixture(scope="module")
def server(ledger: Ledger) -> Iterator[Served]:
    with served(ledger.path) as running:
        yield running


def manifest_of(out: bytes) -> Manifest:
    return msgspec.json.decode(out, type=Manifest)


@pytest.mark.slow
def test_the_verb_exports_beside_a_server_and_through_it(ledger: Ledger, server: Served, tmp_path: Path) -> None:
    beside = done(ledger.path, "export", "--output", tmp_path / "beside", "--json")
    assert "Another process writes this ledger" in beside.err
    through = done(ledger.path, "export", "--output", tmp_path / "through.zip", "--url", server.url, "--json")
    assert manifest_of(beside.out).size == manifest_of(through.out).size == len(ledger.lines)
    with ZipFile(tmp_path / "through.zip") as archive:
        archive.extractall(tmp_path / "through")
    for name in ("beside", "through"):
        assert audit(tmp_path / name).startswith("whole: all")
        assert (tmp_path / name / "events.ndjson").read_bytes() == b"".join(line + b"\n" for line in ledger.lines)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beside", "through", "through.zip"]


def test_the_interface_answers_the_zip_of_the_verb(server: Served, tmp_path: Path) -> None:
    answer = httpx.get(f"{server.url}/export", params={"agent": "agent-1", "format": "csv", "gzip": "true"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    with ZipFile(BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path / "out")
    assert audit(tmp_path / "out").startswith("whole: ")


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"type": "no.such.v1"}, "type"),
        ({"format": "xlsx"}, "format"),
        ({"gzip": "perhaps"}, "gzip"),
        ({"format": "parquet", "gzip": "true"}, "gzip"),
        ({"since": "2026-02-02", "until": "2026-02-01"}, "since"),
        ({"limit": "3"}, "limit"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named(
    ledger: Ledger, server: Served, tmp_path: Path, parameters: dict[str, str], field: str
) -> None:
    answer = httpx.get(f"{server.url}/export", params=parameters)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    if field != "limit":
        options = [f"--{name}={value}" for name, value in parameters.items() if name != "gzip"]
        gzip = ["--gzip"] if parameters.get("gzip") == "true" else []
        if parameters != {"gzip": "perhaps"}:
            said = refused(ledger.path, "export", "--output", tmp_path / "out", *options, *gzip)
            assert f"--{field}" in said
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_in_the_log_is_not_an_empty_export(server: Served) -> None:
    for parameters in ({"agent": "nobody"}, {"subject": "decision/none"}):
        assert httpx.get(f"{server.url}/export", params=parameters).status_code == 404


def test_nothing_is_written_over(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "file.zip").write_text("mine")
    (tmp_path / "folder").mkdir()
    for name in ("file.zip", "folder"):
        assert "exists already" in refused(ledger.path, "export", "--output", tmp_path / name)
    assert "does not exist" in refused(ledger.path, "export", "--output", tmp_path / "none" / "out")
    assert (tmp_path / "file.zip").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.zip", "folder"]


@pytest.mark.slow
def test_a_server_answers_with_a_zip_alone(ledger: Ledger, server: Served, tmp_path: Path) -> None:
    said = refused(ledger.path, "export", "--output", tmp_path / "out", "--url", server.url)
    assert "ends in .zip" in said
    gone = refused(ledger.path, "export", "--output", tmp_path / "a.zip", "--url", "http://127.0.0.1:9", code=1)
    assert "no part of the export was kept" in gone
    assert list(tmp_path.iterdir()) == []
