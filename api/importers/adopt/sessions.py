"""Read the sessions of coding agents that are on this machine, without a ledger. Nothing of theirs is changed."""

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from api.importers.adopt.session_events import describe_session, scan_sessions, session_events
from api.importers.batch_append import FileFault
from api.progress import OpenProgress
from api.service.sessions import describe_coverage, list_caveats
from api.text_format import pluralize
from events.envelope import timestamp
from events.observation import ObservationScanned
from instruments.sessions.claude_code import ClaudeCodeReader
from instruments.sessions.codex import CodexReader
from instruments.sessions.gemini import GeminiReader
from instruments.sessions.json_lines import FileLines
from instruments.sessions.named import HISTORY, read_named_sessions
from instruments.sessions.opencode import OpencodeReader
from instruments.sessions.session import AgentSession
from ledger.errors import InvalidQuery
from projections.sessions.program_sessions import describe_programs, moment_of
from projections.sessions.session_index import SessionIndex
from tallystick.shapes.sessions import ProgramSessions

HEAD_BYTES: Final = 4_096
"""The beginning of a file, by which it is recognised."""

KEPT_FOR: Final = timedelta(days=30)
"""Claude Code deletes sessions that are so old, if its settings do not say otherwise."""

SOON: Final = timedelta(days=7)

_NO_SESSIONS: Final = frozenset((HISTORY, "sessions-index.json", "session_index.jsonl", "journal.jsonl"))


class SessionReader(Protocol):
    """Reads files of one program."""

    sessions: dict[str, AgentSession]

    def read(self, file: Path, counts: FileLines) -> None:
        """Read a file. Errors: OSError, msgspec.DecodeError."""
        ...


class SessionSource(NamedTuple):
    """A program: its name, what reads its files, where these are, and what is in their beginning."""

    program: str
    reader: type[SessionReader]
    places: tuple[tuple[str, str, str], ...]
    """Variables that name a folder, the folder without them (below the user's), and the pattern of files in it."""
    marks: tuple[bytes, ...]


SOURCES: Final = (
    SessionSource(
        "codex",
        CodexReader,
        (("CODEX_HOME", ".codex", "sessions/**/*.jsonl"), ("CODEX_HOME", ".codex", "archived_sessions/*.jsonl")),
        (b'"session_meta"', b'"instructions":'),
    ),
    SessionSource(
        "gemini-cli", GeminiReader, (("", ".gemini", "tmp/*/chats/**/session-*.json*"),), (b'"projectHash"',)
    ),
    SessionSource("opencode", OpencodeReader, (), (b'{"info":', b'"sessionID"')),
    SessionSource(
        "claude-code",
        ClaudeCodeReader,
        (
            ("CLAUDE_CONFIG_DIR", ".claude", "projects/*/**/*.jsonl"),
            ("", ".config/claude", "projects/*/**/*.jsonl"),
        ),
        (b'"sessionId"', b'"parentUuid"', b'"leafUuid"', b'"file-history-snapshot"'),
    ),
)
"""The first one whose mark a file has is used."""


class FoundSecrets(msgspec.Struct, frozen=True, kw_only=True):
    """Secrets in a file that is now evidence. They are not in the log, and not in this answer."""

    kind: str
    """What they are by their form, such as `token of GitHub`."""
    number: int
    """How many different ones."""
    file: str
    """The file."""
    evidence: str
    """The digest of the evidence that has them: `evidence erase` removes it."""


class RecordedSessions(msgspec.Struct, kw_only=True):
    """What was recorded."""

    sessions: int = 0
    """Sessions of which something was new."""
    unchanged: int = 0
    """Sessions of which everything was there."""
    answers: int = 0
    """New answers of models."""
    calls: int = 0
    """New calls of tools."""
    decisions: int = 0
    """New commits, pull requests, and final answers of headless runs."""
    there: int = 0
    """Answers and calls that were there: of the same session before, or of one that copied them."""
    unfinished: int = 0
    """Answers and calls that may still change: recorded the next time."""
    evidence_bytes: int = 0
    """New bytes of files, kept as evidence."""
    secrets: list[FoundSecrets] = []
    """Secrets in these."""
    erased: int = 0
    """Sessions that were not read again: their evidence is erased, or that of one that they copied."""
    differing: int = 0
    """Answers and calls that today's reader reads in another way. They stay as they are recorded."""


class SessionsPreview(msgspec.Struct, kw_only=True):
    """The sessions that were read, and what was wrong with files."""

    programs: list[ProgramSessions] = []
    files: int = 0
    """How many files were read."""
    lines: int = 0
    """How many lines they have."""
    repaired: int = 0
    """Damaged lines of which every record could be read."""
    lost: int = 0
    """Records, or parts of some, that could not be read."""
    unfinished: int = 0
    """Files that end in the middle of a line: it may still be written."""
    unknown: dict[str, int] = {}
    """Kinds of lines that are not known here, and how many there are."""
    deleted_soon: int = 0
    """Files that Claude Code deletes within 7 days, if its settings do not say otherwise."""
    compressed: int = 0
    """Files that Codex has compressed, and that are not read."""
    coverage: str = ""
    """Which calls have a result, as a sentence."""
    caveats: list[str] = []
    """What limits the figures."""
    faults: list[FileFault] = []
    """Files that could not be read, or recorded."""
    recorded: RecordedSessions | None = None
    """What was recorded; None without a ledger."""


class FoundSessions(NamedTuple):
    """Sessions, program by program, what they show, and what there should be, if all places were read."""

    sessions: list[AgentSession]
    preview: SessionsPreview
    scans: Sequence[ObservationScanned] = ()


def read_sessions(
    paths: Sequence[Path], now: datetime, progress: OpenProgress, *, since: datetime | None = None
) -> FoundSessions:
    """Read sessions: files, those below folders, or without a path those in the usual places of programs.

    Errors: InvalidQuery, for a path that is not there.
    """
    found = list(_files_below(paths) if paths else _usual_files())
    preview = SessionsPreview()
    readers = {source.program: source.reader() for source in SOURCES}
    with progress("sessions", "files") as report:
        for done, (program, file) in enumerate(sorted(found), 1):
            counts = FileLines()
            try:
                readers[program].read(file, counts)
            except (OSError, msgspec.DecodeError) as error:
                preview.faults.append(_unreadable(file, error))
                continue
            count_lines(preview, counts)
            report(done, len(found))
    sessions = [session for reader in readers.values() for session in reader.sessions.values()]
    scans = list(scan_sessions(sessions, _named_sessions(paths, preview.faults), since))
    if since is not None:
        sessions = [one for one in sessions if (last := moment_of(one.last_time)) is not None and last >= since]
    if not paths:
        preview.deleted_soon = sum(_is_deleted_soon(file, now) for program, file in found if program == "claude-code")
    preview.compressed = sum(not file.with_suffix("").exists() for file in _compressed_files(paths))
    describe_found(preview, sessions, scans)
    return FoundSessions(sessions, preview, () if paths or since is not None else scans)


def describe_found(
    preview: SessionsPreview, sessions: Iterable[AgentSession], scans: Iterable[ObservationScanned]
) -> None:
    """Note in a preview what sessions show, and what there should be."""
    index = SessionIndex()
    for scan in scans:
        index.add(scan, scan.through)
    for session in sessions:
        events = session_events(session)
        index.add(describe_session(session, 0, ()), session.last_time)
        for call, time in events.calls:
            index.add(call, "" if time is None else timestamp(time))
        for kind, n in session.unknown.items():
            preview.unknown[kind] = preview.unknown.get(kind, 0) + n
    preview.programs = describe_programs(index)
    preview.coverage = describe_coverage(preview.programs)
    preview.caveats = list(_caveats(preview))


def _files_below(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Yield the session files of some paths, each with its program."""
    for path in paths:
        if path.is_file():
            program = recognise(path)
            if program is None:
                detail = f"{path} is not a session of {', '.join(source.program for source in SOURCES)}."
                raise InvalidQuery("PATH", detail, "Name a file as the program wrote it.")
            yield program, path
            continue
        if not path.is_dir():
            raise InvalidQuery("PATH", f"{path} is not there.", "Name files of sessions, or folders with some.")
        for folder, _, names in os.walk(path):
            for name in names:
                file = Path(folder, name)
                if name.endswith((".json", ".jsonl")) and name not in _NO_SESSIONS and not file.is_symlink():
                    program = recognise(file)
                    if program is not None:
                        yield program, file


def _places() -> Iterator[tuple[SessionSource, Path, str]]:
    """Yield the usual folders of programs, each with the pattern of the files in it."""
    for source in SOURCES:
        for variable, default, pattern in source.places:
            yield source, Path(os.environ.get(variable) or Path.home() / default), pattern


def _usual_files() -> Iterator[tuple[str, Path]]:
    """Yield the session files in the usual places of programs, each once."""
    seen: set[Path] = set()
    for source, folder, pattern in _places():
        for file in folder.glob(pattern):
            if file.name not in _NO_SESSIONS and not file.is_symlink() and file.resolve() not in seen:
                seen.add(file.resolve())
                yield source.program, file


def _compressed_files(paths: Sequence[Path]) -> set[Path]:
    """Return the compressed files of sessions in some folders, or in the usual places."""
    folders = [(path, "**/*.jsonl") for path in paths] or [(folder, pattern) for _, folder, pattern in _places()]
    return {file.resolve() for folder, pattern in folders for file in folder.glob(f"{pattern}.zst")}


def _unreadable(file: Path, error: Exception) -> FileFault:
    return FileFault(file=str(file), detail=f"{file} cannot be read: {error}.", advice="Check the file.")


def _named_sessions(paths: Sequence[Path], faults: list[FileFault]) -> dict[str, dict[str, datetime]]:
    """Return by program the sessions that lists of prompts name."""
    found: dict[str, dict[str, datetime]] = {}
    for file in _histories(paths):
        try:
            named = read_named_sessions(file)
        except OSError as error:
            faults.append(_unreadable(file, error))
            continue
        for program, sessions in named.items():
            found.setdefault(program, {}).update(sessions)
    return found


def _histories(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the lists of prompts below some folders, or without one those in the usual places."""
    for folder in paths or sorted({folder for _, folder, _ in _places()}):
        if (folder / HISTORY).is_file():
            yield folder / HISTORY


def recognise(file: Path) -> str | None:
    """Return the program that wrote a file, by its beginning; None if it is none of those that are known."""
    try:
        with file.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except OSError:
        return None
    for source in SOURCES:
        if any(mark in head for mark in source.marks):
            return source.program
    return None


def count_lines(preview: SessionsPreview, counts: FileLines) -> None:
    """Add the lines of a file to those of a preview."""
    preview.files += 1
    preview.lines += counts.lines
    preview.repaired += counts.repaired
    preview.lost += counts.lost + counts.too_long
    preview.unfinished += counts.unfinished


def _is_deleted_soon(file: Path, now: datetime) -> bool:
    try:
        written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except OSError:
        return False
    return written + KEPT_FOR <= now + SOON


def _caveats(preview: SessionsPreview) -> Iterator[str]:
    yield from list_caveats(preview.programs)
    if preview.lost:
        yield f"{pluralize(preview.lost, 'record')} could not be read."
    if preview.compressed:
        yield f"Not read: {pluralize(preview.compressed, 'compressed file')}. To read them: unzstd FILE.jsonl.zst"
    if preview.deleted_soon:
        yield f"Claude Code deletes {pluralize(preview.deleted_soon, 'file')} within 7 days (cleanupPeriodDays: 30)."
