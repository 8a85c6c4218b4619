"""Find and read CSTP's decision files and SQLite stores at a path."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from api.importers.cstp.coerce import to_time
from api.importers.cstp.cstp_yaml import CstpYaml
from api.importers.cstp.report import ReportBuilder
from api.importers.cstp.source_decision import SourceDecision, read_decision
from api.importers.cstp.sqlite_reader import MAGIC, NoDecisions, read_rows
from api.progress import OpenProgress
from events.limits import BODY_BYTES_MAX
from instruments.yaml_reader import UnreadableFile
from ledger import moment_of
from ledger.errors import InvalidQuery

YAML_SUFFIXES = (".yaml", ".yml")
STORE_SUFFIXES = (".db", ".sqlite", ".sqlite3")

_named = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)?.*-decision-(?P<id>.*)\.yaml", re.DOTALL)
"""How CSTP names decision files; it reads no others. The id follows the last `-decision-`."""


class SourceFiles(NamedTuple):
    """The files of an installation."""

    decisions: list[Path]
    stores: list[Path]


def find_files(path: Path, notes: ReportBuilder) -> SourceFiles:
    """Return the decision files and stores at a path, in order of their names. Errors: InvalidQuery."""
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
        detail = f"{path} has neither a file *-decision-ID.yaml nor a .db file."
        raise InvalidQuery("PATH", detail, "Name the folder in DECISIONS_PATH or the file in CSTP_DB_PATH.")
    return found


def _walk(path: Path, notes: ReportBuilder) -> Iterator[Path]:
    """Yield every file below a folder; follow links to folders, and enter each folder once."""

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


def read_decisions(found: SourceFiles, notes: ReportBuilder, progress: OpenProgress) -> Iterator[SourceDecision]:
    """Yield every decision of every file and store. Files come first: they are more complete than stores."""
    with progress("reading", "files") as report:
        total = len(found.decisions) + len(found.stores)
        for number, path in enumerate(found.decisions):
            report(number, total)
            decision = _read_file(path, notes)
            if decision is not None:
                yield decision
        for number, path in enumerate(found.stores, len(found.decisions)):
            report(number, total)
            yield from _read_store(path, notes)


def _read_file(path: Path, notes: ReportBuilder) -> SourceDecision | None:
    try:
        status, content = _read_bytes(path)
        reader = CstpYaml()
        values = reader.read(content)
    except OSError as error:
        notes.lose(str(path), "file", error.strerror, "a file that can be read", "file")
        return None
    except UnreadableFile as unreadable:
        notes.lose(str(path), "file", str(unreadable).removeprefix("is "), "one decision as YAML in UTF-8", "file")
        return None
    if not isinstance(values, dict):
        notes.lose(str(path), "file", values, "one decision, as names with values", "file")
        return None
    for field in reader.repeated:
        notes.lose(str(path), field, "occurs twice", "one value; the last one counts, as for CSTP", "the first value")
    name = _named.fullmatch(path.name)
    known = name["id"] if name is not None else values.get("id")
    decision = read_decision(values, known, str(path), "yaml", notes)
    if decision is None:
        return None
    if name is not None and values.get("id") not in (None, decision.id):
        notes.lose(str(path), "id", values["id"], "the id in the file's name, which counts", "id", decision.id)
    if decision.time is None and name is not None and name["day"] is not None:
        decision.time = to_time(name["day"])
    # CSTP writes no time of change into its files; the file's own time is the best estimate.
    decision.changed = decision.changed or moment_of(status.st_mtime_ns // 1000)
    return decision


def _read_bytes(path: Path) -> tuple[os.stat_result, bytes]:
    """Read a regular file of limited size. Errors: OSError, UnreadableFile."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile("is not a regular file, but a folder, a pipe or a device", "Put a file there.")
    if status.st_size > BODY_BYTES_MAX:
        raise UnreadableFile(f"has {status.st_size:,} bytes, more than {BODY_BYTES_MAX:,}", "Leave out the rest.")
    return status, path.read_bytes()


def _read_store(path: Path, notes: ReportBuilder) -> Iterator[SourceDecision]:
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except OSError as error:
        notes.lose(str(path), "file", error.strerror, "a file that can be read", "file")
        return
    if start != MAGIC:
        notes.lose(str(path), "file", start.decode("latin-1"), "a SQLite file", "file")
        return
    try:
        for row in read_rows(path, notes):
            decision = read_decision(row, row.pop("id"), str(path), "sqlite", notes)
            if decision is not None:
                yield decision
    except NoDecisions:
        notes.passed_over.append(str(path))
