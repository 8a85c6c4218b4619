"""Where reports go: looked at before anything runs, written whole or not at all."""

import os
import sqlite3
from pathlib import Path

import pytest

from api.reports import (
    ReportFiles,
    html_page,
    junit,
    markdown,
)
from ledger.errors import InvalidQuery
from tests.api.reports.fixed_evaluations import ALONE


def test_each_is_written_in_place_of_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("old")
    files = ReportFiles.checked(
        tmp_path / "ledger.db", junit=tmp_path / "a.xml", html=tmp_path / "b.html", markdown=tmp_path / "c.md"
    )
    assert [name for name, _ in files] == ["junit", "html", "markdown"]
    assert (tmp_path / "a.xml").read_text() == "old"
    files.write(ALONE)
    assert (tmp_path / "a.xml").read_bytes() == junit(ALONE).encode()
    assert (tmp_path / "b.html").read_bytes() == html_page(ALONE).encode()
    assert (tmp_path / "c.md").read_bytes() == markdown(ALONE).encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.xml", "b.html", "c.md"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    ReportFiles.checked(tmp_path / "ledger.db", markdown=tmp_path / "link.md").write(ALONE)
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text(encoding="utf-8") == markdown(ALONE)


def test_nothing_asked_for_is_nothing_written(tmp_path: Path) -> None:
    assert not ReportFiles.checked(tmp_path / "ledger.db")
    ReportFiles.checked(tmp_path / "ledger.db").write(ALONE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["none/report.md", ".", "pipe", "file/report.md"])
def test_what_cannot_be_written_is_refused_before(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidQuery, match=r"^markdown: ") as refused:
        ReportFiles.checked(tmp_path / "ledger.db", markdown=tmp_path / path)
    assert str(tmp_path / path) in str(refused.value)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["file", "pipe"]


def test_two_reports_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidQuery, match=r"^markdown: .* is the file of --html too\."):
        ReportFiles.checked(tmp_path / "ledger.db", html=tmp_path / "a", markdown=tmp_path / "." / "a")


def test_no_report_takes_the_place_of_a_ledger(tmp_path: Path) -> None:
    ledger, link = tmp_path / "ledger.db", tmp_path / "link.md"
    with pytest.raises(InvalidQuery, match=r"^html: .* is the file of --ledger too\."):
        ReportFiles.checked(ledger, html=tmp_path / "." / "ledger.db")
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("create table t(x)")
    other.close()
    link.symlink_to("other.db")
    for path in (tmp_path / "other.db", link):
        with pytest.raises(InvalidQuery, match=r"^markdown: .* is a database, which the report would overwrite\."):
            ReportFiles.checked(ledger, markdown=path)


def test_what_was_there_stays_where_the_folder_went_away(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    files = ReportFiles.checked(tmp_path / "ledger.db", markdown=tmp_path / "folder" / "a.md")
    (tmp_path / "folder").rmdir()
    with pytest.raises(InvalidQuery, match="cannot be written: No such file or directory"):
        files.write(ALONE)
