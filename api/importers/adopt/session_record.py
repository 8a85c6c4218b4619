"""Record sessions: their bytes as evidence, then their answers and calls, then what the files show besides.

Ids come from the programs' own ids. So what is recorded again, or was copied into a fork, is there already, and a file
that has grown adds what is new. A file is known again by the digest of what was recorded of it.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from msgspec import structs

from api.importers.adopt.session_decisions import FoundDecision, session_decisions
from api.importers.adopt.session_events import SessionEvents, describe_session, session_events
from api.importers.adopt.sessions import FoundSecrets, FoundSessions, RecordedSessions
from api.importers.batch_append import STREAMS_MAX, FileFault, append_all
from api.progress import OpenProgress
from api.service.evidence import Blob, digest_of
from api.service.store import EventStore
from events.call import CallRecorded
from events.decision import DecisionRecorded
from events.envelope import Draft
from events.limits import EVIDENCE_BYTES_MAX, ITEMS_MAX
from events.registry import VOCABULARY
from events.session import SessionFile, SessionRecorded
from instruments.sessions.json_lines import FileLines
from instruments.sessions.secrets import count_secrets
from instruments.sessions.session import AgentSession, ReadFile
from ledger.errors import Gone

if TYPE_CHECKING:
    from hashlib import _Hash

PIECE_BYTES: Final = EVIDENCE_BYTES_MAX
"""Bytes of a file that are one piece of evidence."""

_HASHED_BYTES: Final = 1 << 20


class Kept(NamedTuple):
    """What is read again: files by where they are now, as they were recorded; and the sessions that are erased."""

    files: Mapping[Path, SessionFile]
    erased: Set[str]


async def record_sessions(found: FoundSessions, store: EventStore, now: datetime, progress: OpenProgress) -> None:
    """Record what is new of sessions, and note it in their preview. Errors: those of `EventStore`."""
    await SessionWriter(store, now).write_all(found, progress)


class SessionWriter:
    """Compares sessions with a ledger, and writes what is new. With `kept`, their files are evidence already."""

    def __init__(self, store: EventStore, now: datetime, kept: Kept | None = None) -> None:
        self._store = store
        self._now = now
        self._again = kept
        self._result = RecordedSessions()
        self._faults: list[FileFault] = []

    async def write_all(self, found: FoundSessions, progress: OpenProgress) -> None:
        """Write what the ledger lacks of some sessions, and note it in their preview."""
        with progress("recording", "sessions") as report:
            for done, session in enumerate(found.sessions, 1):
                await self._write(session)
                report(done, len(found.sessions))
        if found.scans:
            await self._store.append([VOCABULARY.draft_of(scan, id=f"scan:{scan.scan_id}") for scan in found.scans])
        found.preview.recorded = self._result
        found.preview.faults += self._faults

    async def _write(self, session: AgentSession) -> None:
        found, result = session_events(session, self._now), self._result
        stored, version = await self._stored(found.session_id)
        if self._again is not None and await self._is_erased(found, self._again.erased):
            result.erased += 1
            return
        try:
            files = [await self._keep(file, () if stored is None else stored.files) for file in session.files]
        except OSError as error:
            self._refuse(session, f"cannot be read again: {error}.")
            return
        if len(files) > ITEMS_MAX or any(len(file.evidence) > ITEMS_MAX for file in files):
            self._refuse(session, f"has over {ITEMS_MAX} files, or pieces of {PIECE_BYTES >> 20} MiB.")
            return
        result.unfinished += found.unfinished
        described = describe_session(session, found.unfinished, files)
        if described == stored:
            result.unchanged += 1
            return
        known = await self._known(found)
        new = [(call, time) for call, time in found.calls if call.call_id not in known]
        drafts: list[Draft] = [VOCABULARY.draft_of(call, id=f"call:{call.call_id}", time=time) for call, time in new]
        decisions = await self._new_decisions(session, is_over=found.is_over)
        drafts += [draft for decision in decisions for draft in decision.drafts(session.program)]
        event_id = f"session:{found.session_id}:{version + 1}"
        drafts.append(VOCABULARY.draft_of(described, id=event_id))  # the last: without it the session is read again
        await append_all(drafts, self._store)
        result.sessions += 1
        result.there += len(known)
        result.decisions += len(decisions)
        result.calls += sum(call.tool is not None for call, _ in new)
        result.answers += sum(call.tool is None for call, _ in new)
        here = [known[call.call_id] == call for call, _ in found.calls if call.call_id in known]
        result.differing += len(here) - sum(here)

    async def _new_decisions(self, session: AgentSession, *, is_over: bool) -> Sequence[FoundDecision]:
        """Return the decisions of a session that the ledger does not have."""
        found = {f"decision/{one.decision.decision_id}": one for one in session_decisions(session, is_over=is_over)}
        names, subjects = VOCABULARY.names_of(DecisionRecorded), list(found)
        for start in range(0, len(subjects), STREAMS_MAX):
            for fact in VOCABULARY.facts(await self._store.streams(subjects[start : start + STREAMS_MAX], names)):
                found.pop(fact.subject, None)
        return list(found.values())

    async def _is_erased(self, found: SessionEvents, erased: Set[str]) -> bool:
        """Return whether a session is erased, or has calls of one: its own part is not known then."""
        if not erased:
            return False
        known = await self._known(found)
        return found.session_id in erased or any(call.conversation_id in erased for call in known.values())

    def _refuse(self, session: AgentSession, detail: str) -> None:
        file = str(session.files[0].path)
        self._faults.append(FileFault(file=file, detail=f"{file} {detail}", advice="Nothing of it was recorded."))

    async def _stored(self, session_id: str) -> tuple[SessionRecorded | None, int]:
        """Return what the ledger has of a session besides its calls, and how often it was recorded."""
        events = VOCABULARY.events(await self._store.streams([f"session/{session_id}"]))
        last = events[-1].data if events else None
        return last if isinstance(last, SessionRecorded) else None, len(events)

    async def _known(self, found: SessionEvents) -> Mapping[str, CallRecorded]:
        """Return those of the calls of a session that the ledger has, also if another session has them."""
        known = dict[str, CallRecorded]()
        names, call_ids = VOCABULARY.names_of(CallRecorded), [call.call_id for call, _ in found.calls]
        for start in range(0, len(call_ids), STREAMS_MAX):
            subjects = [f"call/{call_id}" for call_id in call_ids[start : start + STREAMS_MAX]]
            for fact in VOCABULARY.facts(await self._store.streams(subjects, names)):
                if isinstance(fact.data, CallRecorded):
                    known[fact.data.call_id] = fact.data
        return known

    async def _keep(self, file: ReadFile, before: Sequence[SessionFile]) -> SessionFile:
        """Keep the bytes of a file that no recorded file begins with. Errors: OSError."""
        size_bytes, counts = file.counts.size_bytes, file.counts
        if self._again is not None:
            return _with_counts(self._again.files[file.path], counts)
        digest, begun = await asyncio.to_thread(_recognise, file.path, size_bytes, before)
        evidence = [] if begun is None else list(begun.evidence)
        start = 0 if begun is None else begun.size_bytes
        if len(evidence) + -(-(size_bytes - start) // PIECE_BYTES) > ITEMS_MAX:  # too many small pieces: in large ones
            evidence, start = [], 0
        pieces = _pieces(file.path, start, size_bytes)
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            evidence.append(await self._put(piece, file.path))
        return _with_counts(SessionFile(size_bytes=size_bytes, digest=digest, evidence=tuple(evidence)), counts)

    async def _put(self, piece: bytes, path: Path) -> str:
        """Keep a piece as evidence, unless it was erased, and return its digest. Secrets in it are counted."""
        try:
            stored = await self._store.put(Blob(piece, "application/x-ndjson"))
        except Gone:
            return digest_of(piece)
        if not stored.duplicate:
            self._result.evidence_bytes += stored.size_bytes
            for kind, number in (await asyncio.to_thread(count_secrets, piece)).items():
                self._result.secrets.append(
                    FoundSecrets(kind=kind, number=number, file=str(path), evidence=stored.digest)
                )
        return stored.digest


def _with_counts(file: SessionFile, counts: FileLines) -> SessionFile:
    lost = counts.lost + counts.too_long
    return structs.replace(file, lines=counts.lines, repaired=counts.repaired, lost=lost)


def _recognise(path: Path, size_bytes: int, before: Sequence[SessionFile]) -> tuple[str, SessionFile | None]:
    """Return the digest of the first bytes of a file, and the longest of some recorded files with which it begins."""
    digest, at, begun = sha256(), 0, None
    with path.open("rb") as stream:
        for file in sorted(before, key=lambda file: file.size_bytes):
            if file.size_bytes <= size_bytes:
                at = _add_bytes(digest, stream, at, file.size_bytes)
                begun = file if digest.hexdigest() == file.digest else begun
        _add_bytes(digest, stream, at, size_bytes)
    return digest.hexdigest(), begun


def _add_bytes(digest: "_Hash", stream: IO[bytes], at: int, end: int) -> int:
    """Add the bytes of a file up to a place to a digest, and return the place."""
    while at < end and (part := stream.read(min(_HASHED_BYTES, end - at))):
        digest.update(part)
        at += len(part)
    return at


def _pieces(path: Path, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes of a file between two places, in pieces."""
    with path.open("rb") as stream:
        stream.seek(start)
        while start < end and (piece := stream.read(min(PIECE_BYTES, end - start))):
            yield piece
            start += len(piece)
