"""Report files: check before the evaluation that each can be written, and write each whole or not at all."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from api.reports.html.report_page import html_page
from api.reports.junit import junit
from api.reports.markdown import markdown
from api.reports.report import EvaluationReport
from ledger.atomic_file import write_text
from ledger.errors import InvalidQuery

WRITERS = {"junit": junit, "html": html_page, "markdown": markdown}

SQLITE_HEADER = b"SQLite format 3\0"
"""The first bytes of a SQLite file."""


class ReportFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The report files of an evaluation; each field has the name of its option."""

    junit: Path | None = None
    html: Path | None = None
    markdown: Path | None = None

    @classmethod
    def checked(
        cls, ledger: Path, *, junit: Path | None = None, html: Path | None = None, markdown: Path | None = None
    ) -> Self:
        """Check that each file can be written and is not a database. Errors: InvalidQuery, naming the option."""
        files = cls(junit=junit, html=html, markdown=markdown)
        options = {ledger.resolve(): "ledger"}
        for option, path in files:
            if (first := options.setdefault(path.resolve(), option)) != option:
                raise InvalidQuery(
                    option, f"{path} is the file of --{first} too.", "Name another file for each report."
                )
            check_file(option, path)
        return files

    def __iter__(self) -> Iterator[tuple[str, Path]]:
        """Yield each given option with its file."""
        return ((name, path) for name in WRITERS if (path := getattr(self, name)) is not None)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def write(self, report: EvaluationReport) -> None:
        """Write the reports. Errors: InvalidQuery, naming the option; then the previous file remains."""
        for option, path in self:
            write_file(option, path, WRITERS[option](report))


def check_file(option: str, path: Path) -> None:
    """Check that a report can be written to a file. Errors: InvalidQuery, naming the option.

    It creates a temporary file in the same folder, and deletes it again.
    """
    if path.exists() and not path.is_file():
        raise InvalidQuery(option, f"{path} is not a regular file, so it cannot be replaced.", "Name a file.")
    try:
        if path.exists() and _is_database(path):
            raise InvalidQuery(option, f"{path} is a database, which the report would overwrite.", "Name another file.")
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            return
    except OSError as error:
        raise _unwritable_error(option, path, error) from None


def write_file(option: str, path: Path, text: str) -> None:
    """Write a report atomically. Errors: InvalidQuery, naming the option."""
    try:
        write_text(path.resolve(), text)
    except OSError as error:
        raise _unwritable_error(option, path, error) from None


def _is_database(path: Path) -> bool:
    """Return whether a file is a SQLite database, such as a ledger."""
    with path.open("rb") as file:
        return file.read(len(SQLITE_HEADER)) == SQLITE_HEADER


def _unwritable_error(option: str, path: Path, error: OSError) -> InvalidQuery:
    why = error.strerror or str(error)
    return InvalidQuery(option, f"{path} cannot be written: {why}.", "Name a file in a folder that you may write to.")
