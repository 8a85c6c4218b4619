"""Use cases of evidence: store blobs beside the log, read them, erase them for good.

The events in the log decide. A blob is on disk before its `evidence.stored` is appended, and is removed after its
`evidence.erased` is appended; between these two steps it is in the store's `pending/`. After a crash, the next opening
for writing finishes or undoes such a step. Of callers that use the same digest at the same time, one records it.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec

from api.errors import BodyTooLarge
from api.principal import OWNER, Principal
from events.envelope import Draft
from events.errors import TallystickError
from events.evidence import EvidenceErased, EvidenceStored
from events.limits import EVIDENCE_BYTES_MAX, EVIDENCE_NOTE_CHARS_MAX, ITEMS_MAX, LABEL_CHARS_MAX, PAGE_EVENTS_MAX
from events.payload import DIGEST_PATTERN
from events.registry import VOCABULARY
from ledger.errors import Damaged, Gone, InvalidQuery, LedgerUnavailable, LifecycleViolation, NotFound
from ledger.evidence_store import EvidenceStore
from ledger.log import LogReader, Query
from ledger.threads import run_on_thread
from projections.engine import Engine
from tallystick.shapes.appended import AppendedEvent

Record = Callable[[Sequence[Draft], Principal], Awaitable[list[AppendedEvent]]]
"""Appends a batch in the name of a principal: `LedgerService.record`."""

_Result = TypeVar("_Result")
_stored = VOCABULARY.event_types["evidence.stored.v1"].own_draft
_erased = VOCABULARY.event_types["evidence.erased.v1"].own_draft
_media_type = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+( *;[ -~]*)?", re.ASCII)


class Blob(msgspec.Struct, frozen=True):
    """Bytes to store, with their media type and a note, if known."""

    data: bytes
    media_type: str | None = None
    note: str | None = None


class StoredEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """A blob in the log, at `position`; `duplicate` if an earlier call recorded it."""

    digest: str
    size_bytes: int
    media_type: str | None
    position: int
    duplicate: bool


class ErasureReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """An erasure in the log, at `position`; `duplicate` if an earlier call recorded it."""

    digest: str
    size_bytes: int
    reason: str | None
    position: int
    duplicate: bool


class EvidenceContent(msgspec.Struct, frozen=True):
    """A stored blob with its media type."""

    digest: str
    data: bytes
    media_type: str | None


class EvidenceInfo(NamedTuple):
    """The events of a digest with their positions; `erasure` if it was erased."""

    stored: EvidenceStored
    position: int
    erasure: EvidenceErased | None = None
    erased_position: int = 0


class EvidenceService:
    """Keep, read and erase the evidence of one ledger."""

    def __init__(self, ledger: Path, reader: LogReader, engine: Engine, record: Record, *, writable: bool) -> None:
        self._reader = reader
        self._engine = engine
        self._record = record
        self._writable = writable
        self._store = EvidenceStore(ledger)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def recover(self) -> None:
        """Finish or undo the pending steps of a writer that crashed. Errors: LedgerUnavailable."""
        digests = await run_on_thread(self._store.pending)
        known = await self.known(digests)
        for digest in digests:
            info = known.get(digest)
            finish = self._store.publish if info is not None and info.erasure is None else self._store.remove
            await run_on_thread(finish, digest)

    async def put(self, blob: Blob, caller: Principal) -> StoredEvidence:
        """Store a blob. A repetition with the same bytes returns the first answer, and appends nothing.

        Errors: Forbidden; Gone, for erased bytes; BodyTooLarge, InvalidQuery; those of `LedgerService.record`.
        """
        caller.require("append")
        digest = digest_of(blob.data)
        placed: list[AppendedEvent] = []
        try:
            async with self.keep([blob]) as drafts:
                if drafts:
                    placed = await self._record(drafts, caller)
        except LifecycleViolation:
            pass  # the caller of an earlier put of these bytes cancelled it, but it was written
        stored, position, *_ = (await self.known([digest]))[digest]
        return StoredEvidence(
            digest=digest,
            size_bytes=stored.size_bytes,
            media_type=stored.media_type,
            position=position,
            duplicate=not placed,
        )

    @asynccontextmanager
    async def keep(self, blobs: Iterable[Blob]) -> AsyncIterator[list[Draft]]:
        """Store blobs for a batch; yield the drafts of the new ones, which the caller must append in the same batch.

            async with ledger.evidence.keep([Blob(response)]) as drafts:
                await ledger.record([*drafts, attempted], caller)

        The blobs are on disk when the block begins. They stay if the drafts were appended, and are removed otherwise.
        Do not nest: two callers that wait for each other's digests would wait without end.
        Errors: Gone, for erased bytes; BodyTooLarge, InvalidQuery, LedgerFull, LedgerUnavailable.
        """
        self._require_writer()
        requested = {digest_of(blob.data): blob for blob in map(_check_blob, blobs)}
        async with self._lock(requested):
            known = await self.known(tuple(requested))
            for digest, info in known.items():
                if info.erasure is not None:
                    raise _gone_error(digest, info)
            missing = [
                digest
                for digest, info in known.items()
                if not await run_on_thread(self._store.is_readable, digest, info.stored.size_bytes)
            ]
            unrecorded = [digest for digest in requested if digest not in known]
            unwritten = {digest: requested[digest].data for digest in (*unrecorded, *missing)}
            created = await run_on_thread(self._store.write_pending, unwritten) if unwritten else []
            drafts = [_stored_draft(digest, requested[digest]) for digest in unrecorded]
            try:
                yield drafts
            except LedgerUnavailable:
                raise  # the drafts may have been appended: the blobs stay pending
            except TallystickError:
                await self._publish_recorded(unwritten, created)
                raise
            await self._publish_recorded(unwritten, created)

    async def get(self, digest: str, caller: Principal) -> EvidenceContent:
        """Return the blob of a digest, verified. Errors: Forbidden, InvalidQuery, NotFound, Gone, Damaged."""
        caller.require("read")
        info = await self._require_stored(digest)
        try:
            data = await run_on_thread(self._store.read, digest, info.stored.size_bytes)
        except Damaged:
            await self._require_stored(digest)  # raises Gone if it was erased meanwhile
            raise
        return EvidenceContent(digest, data, info.stored.media_type)

    async def erase(self, digest: str, reason: str | None, caller: Principal) -> ErasureReceipt:
        """Erase a blob for good. A repetition returns the first answer, and removes the blob if it still exists.

        Errors: Forbidden, InvalidQuery, NotFound; those of `LedgerService.record`; LedgerUnavailable if the blob
        could not be removed: it is no longer readable, and is removed by a repetition or at the next opening.
        """
        caller.require("admin")
        self._require_writer()
        async with self._lock([_check_digest(digest)]):
            try:
                info, duplicate = await self._require_stored(digest), False
            except Gone:
                info, duplicate = (await self.known([digest]))[digest], True
            if not duplicate:
                await self._record_erasure(digest, reason, caller)
                info = (await self.known([digest]))[digest]
            await run_on_thread(self._store.remove, digest)
        assert info.erasure is not None
        return ErasureReceipt(
            digest=digest,
            size_bytes=info.stored.size_bytes,
            reason=info.erasure.reason,
            position=info.erased_position,
            duplicate=duplicate,
        )

    async def known(self, digests: Sequence[str]) -> dict[str, EvidenceInfo]:
        """Return the log's information about some digests; unknown ones are absent."""
        infos: dict[str, EvidenceInfo] = {}
        for start in range(0, len(digests), ITEMS_MAX):
            subjects = tuple(f"evidence/{digest}" for digest in digests[start : start + ITEMS_MAX])
            page = await self._reader.read(Query(subjects=subjects, limit=PAGE_EVENTS_MAX))
            for event in self._engine.events.usable_events(page):
                data = event.data
                if isinstance(data, EvidenceStored):
                    infos[data.digest] = EvidenceInfo(data, event.position)
                elif isinstance(data, EvidenceErased):
                    infos[data.digest] = EvidenceInfo(*infos[data.digest][:2], data, event.position)
        return infos

    def _require_writer(self) -> None:
        """Refuse a ledger that is open for reading: another process may write its files. Errors: LedgerUnavailable."""
        if not self._writable:
            raise LedgerUnavailable("This ledger is open for reading only.", "Open it to write.", written=False)

    async def _require_stored(self, digest: str) -> EvidenceInfo:
        """Return the log's information about a stored digest. Errors: InvalidQuery, NotFound, Gone."""
        info = (await self.known([_check_digest(digest)])).get(digest)
        if info is None:
            raise NotFound(f"There is no evidence {digest}.", "Check the digest; `tallystick evidence list` shows all.")
        if info.erasure is not None:
            raise _gone_error(digest, info)
        return info

    async def _record_erasure(self, digest: str, reason: str | None, caller: Principal) -> None:
        draft = _erased(data=EvidenceErased(digest=digest, reason=_check_text("reason", reason)))
        await run_on_thread(self._store.unpublish, digest)
        try:
            await self._record([draft], caller)
        except LedgerUnavailable:
            raise
        except TallystickError:
            await run_on_thread(self._store.publish, digest)
            raise

    async def _publish_recorded(self, digests: Iterable[str], created: Sequence[str]) -> None:
        """Publish the blobs that the log contains, and remove new ones that it does not."""
        known = await self.known(tuple(digests))
        for digest in known:
            await run_on_thread(self._store.publish, digest)
        for digest in set(created) - known.keys():
            await run_on_thread(self._store.remove_pending, digest)

    @asynccontextmanager
    async def _lock(self, digests: Iterable[str]) -> AsyncIterator[None]:
        """Lock some digests against other callers; always in the same order, to prevent deadlocks."""
        async with AsyncExitStack() as stack:
            for digest in sorted(digests):
                await stack.enter_async_context(self._locks.setdefault(digest, asyncio.Lock()))
            yield


def digest_of(data: bytes) -> str:
    """Return the digest of a blob: its SHA-256 in hex."""
    return sha256(data).hexdigest()


def _check_blob(blob: Blob) -> Blob:
    """Check a blob. Errors: BodyTooLarge; InvalidQuery, naming the parameter."""
    if len(blob.data) > EVIDENCE_BYTES_MAX:
        raise BodyTooLarge(f"The evidence is over {EVIDENCE_BYTES_MAX:,} bytes.", "Put it in several pieces.")
    media_type = blob.media_type
    if media_type is not None and (len(media_type) > LABEL_CHARS_MAX or _media_type.fullmatch(media_type) is None):
        raise InvalidQuery("media_type", f"{media_type!r} is not one.", "Write text/plain, or leave it out.")
    _check_text("note", blob.note)
    return blob


def _check_text(name: str, text: str | None) -> str | None:
    if text == "":
        raise InvalidQuery(name, "is empty.", "Say it in words, or leave it out.")
    if text is not None and len(text) > EVIDENCE_NOTE_CHARS_MAX:
        raise InvalidQuery(name, f"is over {EVIDENCE_NOTE_CHARS_MAX:,} characters long.", "Shorten it.")
    return text


def _check_digest(digest: str) -> str:
    """Check the form of a digest. Errors: InvalidQuery."""
    if re.fullmatch(DIGEST_PATTERN, digest) is None:
        raise InvalidQuery("digest", f"{digest!r} is none.", "A digest is 64 lower-case hex digits, of SHA-256.")
    return digest


def _stored_draft(digest: str, blob: Blob) -> Draft:
    data = EvidenceStored(digest=digest, size_bytes=len(blob.data), media_type=blob.media_type, note=blob.note)
    draft: Draft = _stored(data=data)
    return draft


def _gone_error(digest: str, info: EvidenceInfo) -> Gone:
    reason = f": {info.erasure.reason}" if info.erasure is not None and info.erasure.reason else ""
    return Gone(
        f"evidence {digest} was erased at position {info.erased_position}{reason}.",
        "It cannot be restored. Its stream keeps the record of it.",
    )


async def read_blobs(
    evidence: EvidenceService, requested: Collection[str], named: Collection[str] = ()
) -> dict[str, bytes | None]:
    """Read the blobs of the `requested` digests that are readable; None for erased ones, also of the `named` digests.

    An erased blob is erased in views of the past too: its bytes no longer exist.
    """
    known = await evidence.known(sorted({*requested, *named}))
    blobs: dict[str, bytes | None] = {digest: None for digest, info in known.items() if info.erasure is not None}
    for digest in set(requested) & known.keys() - blobs.keys():
        try:
            blobs[digest] = (await evidence.get(digest, OWNER)).data
        except Gone:
            blobs[digest] = None
        except Damaged:
            pass  # views show its digest; a request for it reports the damage
    return blobs
