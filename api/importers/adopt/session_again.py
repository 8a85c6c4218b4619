"""Read recorded sessions again, from their evidence: files may be gone, and the reader better than it was."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from api.importers.adopt.session_record import Kept, SessionWriter
from api.importers.adopt.sessions import SOURCES, FoundSessions, SessionsPreview, count_lines, describe_found
from api.importers.batch_append import FileFault
from api.progress import OpenProgress
from api.service.store import EventStore
from events.registry import VOCABULARY
from events.session import SessionFile, SessionRecorded
from instruments.sessions.json_lines import FileLines
from ledger.errors import Gone, NotFound

HEAD_BYTES: Final = 1 << 20
"""The beginning of a file in which its first line is looked for."""


class _Head(msgspec.Struct, frozen=True):
    """What the first line of a sub-agent's file has."""

    agent: str = msgspec.field(default="", name="agentId")
    is_sidechain: bool = msgspec.field(default=False, name="isSidechain")


async def record_again(store: EventStore, now: datetime, progress: OpenProgress) -> SessionsPreview:
    """Read every recorded session again, record what differs, and return what they show.

    Errors: those of `EventStore`.
    """
    stored = await _stored(store)
    preview, readers = SessionsPreview(), {source.program: source.reader() for source in SOURCES}
    kept: dict[Path, SessionFile] = {}
    erased = set[str]()
    with TemporaryDirectory(prefix="tallystick-") as folder, progress("sessions", "sessions") as report:
        for done, session in enumerate(stored.values(), 1):
            for number, file in enumerate(session.files):
                path = Path(folder, f"{done}-{number}")
                path.mkdir()
                try:
                    restored = await _restore(store, file, path)
                except (Gone, NotFound):
                    erased.add(session.session_id)
                    continue
                kept[restored] = file
                counts = FileLines()
                try:
                    readers[session.program].read(restored, counts)
                except (OSError, msgspec.DecodeError) as error:
                    detail = f"A file of the session {session.session_id} cannot be read: {error}."
                    preview.faults.append(
                        FileFault(file=session.session_id, detail=detail, advice="It stays as it is.")
                    )
                restored.unlink()
                count_lines(preview, counts)
            report(done, len(stored))
    found = [session for reader in readers.values() for session in reader.sessions.values()]
    describe_found(preview, found, ())
    await SessionWriter(store, now, Kept(kept, erased)).write_all(FoundSessions(found, preview), progress)
    return preview


async def _stored(store: EventStore) -> Mapping[str, SessionRecorded]:
    """Return the last record of each session."""
    found: dict[str, SessionRecorded] = {}
    async for page in store.pages(VOCABULARY.names_of(SessionRecorded)):
        for fact in VOCABULARY.facts(page):
            if isinstance(fact.data, SessionRecorded):
                found[fact.data.session_id] = fact.data
    return found


async def _restore(store: EventStore, file: SessionFile, folder: Path) -> Path:
    """Write the bytes of a recorded file into a folder, by a name that says what readers take from names."""
    path = folder / "file"
    with path.open("wb") as stream:
        for digest in file.evidence:
            stream.write((await store.evidence(digest)).data)
    return path.rename(folder / _name(path))


def _name(path: Path) -> str:
    with path.open("rb") as stream:
        line = stream.readline(HEAD_BYTES)
    try:
        head = msgspec.json.decode(line if line.endswith(b"\n") else b"", type=_Head)
    except msgspec.DecodeError:
        return "file.json"  # a document, and no lines of records
    return f"agent-{head.agent}.jsonl" if head.is_sidechain and head.agent else "file.jsonl"
