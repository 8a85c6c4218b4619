"""What there is at a path: CSTP's decision files at any depth, its SQLite stores, and what is neither."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from api.importers.cstp.coerce import moment
from api.importers.cstp.cstp_yaml import CstpYaml
from api.importers.cstp.report import ReportBuilder
from api.importers.cstp.source_decision import SourceDecision, account_of
from api.importers.cstp.sqlite_reader import MAGIC, NoStore, rows_of
from api.progress import OpenProgress
from events.limits import BODY_BYTES_MAX
from instruments.yaml_reader import UnreadableFile
from ledger import moment_of
from ledger.errors import InvalidQuery

YAML_SUFFIXES = (".yaml", ".yml")
STORE_SUFFIXES = (".db", ".sqlite", ".sqlite3")

_named = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)?.*-decision-(?P<id>.*)\.yaml", re.DOTALL)
"""How CSTP names a decision's file, and the only names it reads: the id stands behind the last `-decision-`."""


class SourceFiles(NamedTuple):
    """The files of an installation."""

    decisions: list[Path]
    stores: list[Path]


def look(path: Path, notes: ReportBuilder) -> SourceFiles:
    """The decision files and stores at a path, in the order of their names. Errors: InvalidQuery."""
    try:
        status = path.stat()
    except OSError as error:
        raise InvalidQuery("PATH", f"{path} cannot be read: {error.strerror}.", "Name another.") from None
    found = SourceFiles([], [])
    if not stat.S_ISDIR(status.st_mode):
        into = found.stores if _is_store(path) else found.decisions
        into.append(path)
        return found
    for file in _walk(path, notes):
        if file.suffix.lower() in STORE_SUFFIXES:
            found.stores.append(file)
        elif _named.fullmatch(file.name) is not None:
            found.decisions.append(file)
        elif file.suffix.lower() in YAML_SUFFIXES:
            notes.passed_over.append(str(file))
    if not found.decisions and not found.stores:
        detail = f"{path} holds neither a file *-decision-ID.yaml nor a .db file."
        raise InvalidQuery("PATH", detail, "Name the folder in DECISIONS_PATH or the file in CSTP_DB_PATH.")
    return found


def _walk(path: Path, notes: ReportBuilder) -> Iterator[Path]:
    """Every file below a folder; a link to a folder is followed, and each folder entered once."""

    def unreadable(error: OSError) -> None:
        notes.lose(str(error.filename), "folder", error.strerror, "a folder that can be read", "folder")

    seen = {path.resolve()}
    for folder, inner, names in os.walk(path, onerror=unreadable, followlinks=True):
        inner.sort()
        for name in tuple(inner):
            real = (Path(folder) / name).resolve()
            if real in seen:
                inner.remove(name)
            seen.add(real)
        yield from (Path(folder) / name for name in sorted(names))


def _is_store(path: Path) -> bool:
    if path.suffix.lower() in STORE_SUFFIXES:
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def accounts_of(found: SourceFiles, notes: ReportBuilder, progress: OpenProgress) -> Iterator[SourceDecision]:
    """What every file and store says of every decision. Files come first: they are fuller than stores."""
    with progress("reading", "files") as report:
        total = len(found.decisions) + len(found.stores)
        for number, path in enumerate(found.decisions):
            report(number, total)
            account = _of_file(path, notes)
            if account is not None:
                yield account
        for number, path in enumerate(found.stores, len(found.decisions)):
            report(number, total)
            yield from _of_store(path, notes)


def _of_file(path: Path, notes: ReportBuilder) -> SourceDecision | None:
    try:
        status, content = _read(path)
        reader = CstpYaml()
        said = reader.read(content)
    except OSError as error:
        notes.lose(str(path), "file", error.strerror, "a file that can be read", "file")
        return None
    except UnreadableFile as unreadable:
        notes.lose(str(path), "file", str(unreadable).removeprefix("is "), "one decision as YAML in UTF-8", "file")
        return None
    if not isinstance(said, dict):
        notes.lose(str(path), "file", said, "one decision, as names with values", "file")
        return None
    for field in reader.repeated:
        notes.lose(
            str(path), field, "stands twice", "one value; the last counts, as it does for CSTP", "the first value"
        )
    name = _named.fullmatch(path.name)
    known = name["id"] if name is not None else said.get("id")
    account = account_of(said, known, str(path), "yaml", notes)
    if account is None:
        return None
    if name is not None and said.get("id") not in (None, account.id):
        notes.lose(str(path), "id", said["id"], "the id in the file's name, which counts", "id", account.id)
    if account.time is None and name is not None and name["day"] is not None:
        account.time = moment(name["day"])
    # CSTP writes no time of change into its files; the file's own is the nearest there is.
    account.changed = account.changed or moment_of(status.st_mtime_ns // 1000)
    return account


def _read(path: Path) -> tuple[os.stat_result, bytes]:
    """A file that is one, and not too long. Errors: OSError, UnreadableFile."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile("is no file, but a folder, a pipe or a device", "Put a file there.")
    if status.st_size > BODY_BYTES_MAX:
        raise UnreadableFile(f"has {status.st_size:,} bytes, more than {BODY_BYTES_MAX:,}", "Leave out the rest.")
    return status, path.read_bytes()


def _of_store(path: Path, notes: ReportBuilder) -> Iterator[SourceDecision]:
    try:
        with path.open("rb") as file:
            begins = file.read(len(MAGIC))
    except OSError as error:
        notes.lose(str(path), "file", error.strerror, "a file that can be read", "file")
        return
    if begins != MAGIC:
        notes.lose(str(path), "file", begins.decode("latin-1"), "a SQLite file", "file")
        return
    try:
        for row in rows_of(path, notes):
            account = account_of(row, row.pop("id"), str(path), "sqlite", notes)
            if account is not None:
                yield account
    except NoStore:
        notes.passed_over.append(str(path))
