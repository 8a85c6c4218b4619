"""Find CSTP's decision files and SQLite stores at a path, and read their decisions."""

import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from api.importers.cstp.coerce import to_time
from api.importers.cstp.cstp_yaml import CstpYaml
from api.importers.cstp.other_files import DATA_SUFFIXES, is_special, is_tallystick, other_contents
from api.importers.cstp.report import CstpImportResult
from api.importers.cstp.source_decision import SourceDecision, read_decision
from api.importers.cstp.source_links import GRAPH_SUFFIX, SourceLink, is_graph_file, read_graph
from api.importers.cstp.sqlite_reader import MAGIC, NoDecisions, read_rows
from api.progress import OpenProgress
from events.limits import BODY_BYTES_MAX
from instruments.yaml_reader import UnreadableFile
from ledger.clock import moment_of
from ledger.errors import InvalidQuery
from ledger.regular_file import check_regular

STORE_SUFFIXES = (".db", ".sqlite", ".sqlite3")

_decision_name = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)?.*-decision-(?P<id>.*)\.yaml", re.DOTALL)
"""File names of decisions. CSTP reads no other files. The id is the text after the last `-decision-`."""

_READABLE_FILE = "a file that can be read"
_SPECIAL = "not a regular file, but a folder, a pipe or a device"


class SourceFiles(NamedTuple):
    """The files of an installation."""

    decisions: list[Path]
    stores: list[Path]
    graphs: list[Path]


def find_files(path: Path, report: CstpImportResult) -> SourceFiles:
    """Return the decision files and stores at a path, in order of their names. Errors: InvalidQuery."""
    try:
        if not (is_folder := path.is_dir()):
            check_regular(path)
    except OSError as error:
        raise InvalidQuery("PATH", f"{path} cannot be read: {error.strerror}.", "Name another.") from None
    if not is_folder:
        if path.suffix.lower() == GRAPH_SUFFIX:
            return SourceFiles([], [], [path])
        return SourceFiles([], [path], []) if _is_store(path) else SourceFiles([path], [], [])
    files = SourceFiles([], [], [])
    for file in _walk(path, report):
        _add_file(file, files, report)
    if not any(files):
        detail = f"{path} has neither a file *-decision-ID.yaml nor a .db file."
        raise InvalidQuery("PATH", detail, "Name the folder in DECISIONS_PATH or the file in CSTP_DB_PATH.")
    return files


def _add_file(file: Path, files: SourceFiles, report: CstpImportResult) -> None:
    """Add a file of a folder to those of its kind; report a file of another kind that may belong to CSTP."""
    suffix = file.suffix.lower()
    if _decision_name.fullmatch(file.name) is not None:
        files.decisions.append(file)
    elif is_special(file):
        if suffix in (*STORE_SUFFIXES, *DATA_SUFFIXES):
            report.add_loss(str(file), "file", _SPECIAL, _READABLE_FILE)
    elif suffix in STORE_SUFFIXES or (suffix not in DATA_SUFFIXES and _is_store(file)):
        if is_tallystick(file):
            report.passed_over.append(str(file))
        else:
            files.stores.append(file)
    elif suffix == GRAPH_SUFFIX and is_graph_file(file):
        files.graphs.append(file)
    elif (contents := other_contents(file)) is not None:
        report.add_loss(str(file), "file", file.name, f"decisions or links: it holds {contents}")
    elif suffix in DATA_SUFFIXES:
        report.passed_over.append(str(file))


def _walk(path: Path, report: CstpImportResult) -> Iterator[Path]:
    """Yield every file below a folder; follow links to folders, and enter each folder once."""

    def add_unreadable(error: OSError) -> None:
        report.add_loss(str(error.filename), "folder", error.strerror, "a folder that can be read")

    entered = {path.resolve()}
    for folder, folder_names, file_names in os.walk(path, onerror=add_unreadable, followlinks=True):
        folder_names.sort()
        for name in tuple(folder_names):
            target = (Path(folder) / name).resolve()
            if target in entered:
                folder_names.remove(name)
            entered.add(target)
        yield from (Path(folder) / name for name in sorted(file_names))


def _is_store(path: Path) -> bool:
    try:
        return path.suffix.lower() in STORE_SUFFIXES or _first_bytes(path) == MAGIC
    except OSError:
        return False


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(MAGIC))


def read_decisions(files: SourceFiles, report: CstpImportResult, progress: OpenProgress) -> Iterator[SourceDecision]:
    """Yield every decision of every file and store. Files come first: they are more complete than stores."""
    with progress("reading", "files") as show_progress:
        total = len(files.decisions) + len(files.stores)
        for number, path in enumerate(files.decisions):
            show_progress(number, total)
            decision = _read_file(path, report)
            if decision is not None:
                yield decision
        for number, path in enumerate(files.stores, len(files.decisions)):
            show_progress(number, total)
            yield from _read_store(path, report)


def read_links(files: SourceFiles, report: CstpImportResult) -> Iterator[SourceLink]:
    """Yield every link of every graph file."""
    for path in files.graphs:
        yield from read_graph(path, report)


def _read_file(path: Path, report: CstpImportResult) -> SourceDecision | None:
    """Read the decision of a YAML file; None, with a loss, if it cannot be used."""
    file, reader = str(path), CstpYaml()
    try:
        modified, content = _read_bytes(path)
        values = reader.read(content)
    except OSError as error:
        report.add_loss(file, "file", error.strerror, _READABLE_FILE)
        return None
    except UnreadableFile as error:
        report.add_loss(file, "file", error.problem, "one decision as YAML in UTF-8")
        return None
    if not isinstance(values, dict):
        report.add_loss(file, "file", values, "one decision, as names with values")
        return None
    for field in reader.repeated:
        allowed = "one value; the last one counts, as for CSTP"
        report.add_loss(file, field, "occurs twice", allowed, left_out="the first value")
    name = _decision_name.fullmatch(path.name)
    stated_id = values.get("id")
    decision = read_decision(values, stated_id if name is None else name["id"], file, "yaml", report)
    if decision is None:
        return None
    if stated_id not in (None, decision.id):
        allowed = "the id in the file's name, which counts"
        report.add_loss(file, "id", stated_id, allowed, decision_id=decision.id)
    if decision.time is None and name is not None and name["day"] is not None:
        decision.time = to_time(name["day"])
    # CSTP writes no time of change into its files; the file's own time is the best estimate.
    decision.changed = decision.changed or modified
    return decision


def _read_bytes(path: Path) -> tuple[datetime, bytes]:
    """Read a regular file of limited size; return its modification time, too. Errors: OSError, UnreadableFile."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFile(_SPECIAL, "Put a file there.", verb="is")
    if status.st_size > BODY_BYTES_MAX:
        raise UnreadableFile(f"has {status.st_size:,} bytes, more than {BODY_BYTES_MAX:,}", "Leave out the rest.")
    return moment_of(status.st_mtime_ns // 1000), path.read_bytes()


def _read_store(path: Path, report: CstpImportResult) -> Iterator[SourceDecision]:
    file = str(path)
    try:
        first_bytes = _first_bytes(path)
        if first_bytes != MAGIC:
            report.add_loss(file, "file", first_bytes.decode("latin-1"), "a SQLite file")
            return
        for row in read_rows(path, report):
            decision = read_decision(row, row.pop("id"), file, "sqlite", report)
            if decision is not None:
                yield decision
    except OSError as error:
        report.add_loss(file, "file", error.strerror, _READABLE_FILE)
    except NoDecisions:
        report.passed_over.append(file)
