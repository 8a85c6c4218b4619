"""Use cases of evidence: store blobs beside the log, read them, erase them for good.

The log decides. A blob is on disk before its `evidence.stored` is appended, and removed after its `evidence.erased` is;
between the two steps of either it is in the store's `pending/`, so that a crash is repaired when the ledger is next
opened for writing. Callers that use the same digest at once take turns: only one of them records it.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

import msgspec

from api.auth import OWNER, Principal
from api.errors import BodyTooLarge
from api.service.as_of import AsOf
from api.service.as_of import as_of as date_position
from events.envelope import Draft
from events.errors import InvalidEvent, TallystickError
from events.evidence import EvidenceErased, EvidenceStored
from events.limits import EVIDENCE_BYTES_MAX, EVIDENCE_NOTE_CHARS_MAX, ITEMS_MAX, LABEL_CHARS_MAX, PAGE_EVENTS_MAX
from events.payload import DIGEST_PATTERN
from events.registry import VOCABULARY
from ledger import AppendedEvent, EvidenceStore, LogReader, Query
from ledger.errors import Damaged, Gone, InvalidQuery, LedgerUnavailable, LifecycleViolation, NotFound
from ledger.threads import run_on_thread
from projections.engine import Engine
from projections.evidence import EvidenceEntry, EvidenceIndex

Record = Callable[[Sequence[Draft], Principal], Awaitable[list[AppendedEvent]]]
"""Appends a batch in the name of a principal: `LedgerService.record`."""

EVIDENCE = frozenset({EvidenceStored, EvidenceErased})
"""Payloads that only this module appends: an event without its bytes, or bytes without their event, would be wrong."""

_Result = TypeVar("_Result")
_stored = VOCABULARY.kinds["evidence.stored.v1"].draft
_erased = VOCABULARY.kinds["evidence.erased.v1"].draft
_media_type = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+( *;[ -~]*)?", re.ASCII)


class Blob(msgspec.Struct, frozen=True):
    """Bytes to store, with their media type and a note, if known."""

    data: bytes
    media_type: str | None = None
    note: str | None = None


class StoredEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Where a blob was recorded; `duplicate` if an earlier call recorded it."""

    digest: str
    size_bytes: int
    media_type: str | None
    position: int
    duplicate: bool


class ErasureReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """Where an erasure was recorded; `duplicate` if an earlier call recorded it."""

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


class EvidencePage(msgspec.Struct, frozen=True):
    """Evidence in the order of the log; `next` is the offset of the next page, null on the last."""

    evidence: list[EvidenceEntry]
    total: int
    next: int | None
    as_of: AsOf


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
        self._own: set[int] = set()
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def check(self, draft: Draft, index: int) -> None:
        """Refuse an event of evidence that was not made here. Errors: InvalidEvent."""
        if id(draft) not in self._own:
            raise InvalidEvent(
                f"{draft.name} is appended with its bytes, and not by itself.",
                "PUT /evidence or DELETE /evidence/{digest}; tallystick evidence put or erase. Nothing was written.",
                field="type",
                index=index,
            )

    async def recover(self) -> None:
        """Finish what the last writer had begun when it ended. Errors: LedgerUnavailable."""
        digests = await run_on_thread(self._store.pending)
        known = await self.known(digests)
        for digest in digests:
            found = known.get(digest)
            finish = self._store.publish if found is not None and found.erasure is None else self._store.remove
            await run_on_thread(finish, digest)

    async def put(self, blob: Blob, caller: Principal) -> StoredEvidence:
        """Store a blob; the same bytes again give the first answer and no second event.

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
            """An earlier put of these bytes was cancelled by its caller, but was written."""
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
        """Hold blobs for a batch; the value is the drafts of new ones, to be appended with it.

            async with ledger.evidence.keep([Blob(response)]) as drafts:
                await ledger.record([*drafts, attempted], caller)

        The blobs are on disk when the block begins. They stay if the drafts were appended, and are removed otherwise.
        Do not nest: two callers that wait for each other's digests would wait without end.
        Errors: Gone, for erased bytes; BodyTooLarge, InvalidQuery, LedgerFull, LedgerUnavailable.
        """
        self._require_writer()
        requested = {digest_of(blob.data): blob for blob in map(_check_blob, blobs)}
        async with self._turn(requested):
            known = await self.known(tuple(requested))
            for digest, found in known.items():
                if found.erasure is not None:
                    raise _gone_error(digest, found)
            missing = [
                digest
                for digest, found in known.items()
                if not await run_on_thread(self._store.is_readable, digest, found.stored.size_bytes)
            ]
            fresh = [digest for digest in requested if digest not in known]
            blank = {digest: requested[digest].data for digest in (*fresh, *missing)}
            new = await run_on_thread(self._store.write_pending, blank) if blank else []
            drafts = [_stored_draft(digest, requested[digest]) for digest in fresh]
            with self._appending(drafts):
                try:
                    yield drafts
                except LedgerUnavailable:
                    raise  # whether they were appended is unknown: they stay pending
                except TallystickError:
                    await self._conclude(blank, new)
                    raise
            await self._conclude(blank, new)

    async def get(self, digest: str, caller: Principal) -> EvidenceContent:
        """Return the blob of a digest, verified. Errors: Forbidden, InvalidQuery, NotFound, Gone, Damaged."""
        caller.require("read")
        found = await self._found(digest)
        try:
            data = await run_on_thread(self._store.read, digest, found.stored.size_bytes)
        except Damaged:
            await self._found(digest)  # which says so, where it was erased meanwhile
            raise
        return EvidenceContent(digest, data, found.stored.media_type)

    async def erase(self, digest: str, reason: str | None, caller: Principal) -> ErasureReceipt:
        """Erase a blob for good. A repetition gives the first answer, and checks that the blob is gone.

        Errors: Forbidden, InvalidQuery, NotFound; those of `LedgerService.record`; LedgerUnavailable if the blob
        could not be
        removed: it is no longer readable, and is removed by a repetition or when the ledger is next opened.
        """
        caller.require("admin")
        self._require_writer()
        async with self._turn([_check_digest(digest)]):
            try:
                found, duplicate = await self._found(digest), False
            except Gone:
                found, duplicate = (await self.known([digest]))[digest], True
            if not duplicate:
                await self._record_erasure(digest, reason, caller)
                found = (await self.known([digest]))[digest]
            await run_on_thread(self._store.remove, digest)
        assert found.erasure is not None
        return ErasureReceipt(
            digest=digest,
            size_bytes=found.stored.size_bytes,
            reason=found.erasure.reason,
            position=found.erased_position,
            duplicate=duplicate,
        )

    async def catalogue(self, caller: Principal, offset: int, limit: int, as_of: int | None = None) -> EvidencePage:
        """List evidence, now or as of a position: stored and erased, in the order of the log.

        Errors: Forbidden, InvalidQuery.
        """
        caller.require("read")
        projection, position = await self._engine.at(EvidenceIndex, as_of)
        total, shown = len(projection), projection.page(offset, limit)
        after = offset + len(shown)
        return EvidencePage(shown, total, after if after < total else None, await date_position(self._reader, position))

    async def known(self, digests: Sequence[str]) -> dict[str, EvidenceInfo]:
        """Return the log's information about some digests; unknown ones are absent."""
        found: dict[str, EvidenceInfo] = {}
        for start in range(0, len(digests), ITEMS_MAX):
            subjects = tuple(f"evidence/{digest}" for digest in digests[start : start + ITEMS_MAX])
            page = await self._reader.read(Query(subjects=subjects, limit=PAGE_EVENTS_MAX))
            for event in VOCABULARY.events(page.ndjson):
                data = event.data
                if isinstance(data, EvidenceStored):
                    found[data.digest] = EvidenceInfo(data, event.position)
                elif isinstance(data, EvidenceErased):
                    found[data.digest] = EvidenceInfo(*found[data.digest][:2], data, event.position)
        return found

    def _require_writer(self) -> None:
        """Refuse a ledger that is open for reading: another process may write its files. Errors: LedgerUnavailable."""
        if not self._writable:
            raise LedgerUnavailable("This ledger is open for reading only; nothing was written.", "Open it to write.")

    async def _found(self, digest: str) -> EvidenceInfo:
        """Return the log's information about a stored digest. Errors: InvalidQuery, NotFound, Gone."""
        found = (await self.known([_check_digest(digest)])).get(digest)
        if found is None:
            raise NotFound(f"There is no evidence {digest}.", "Check the digest; `tallystick evidence list` shows all.")
        if found.erasure is not None:
            raise _gone_error(digest, found)
        return found

    async def _record_erasure(self, digest: str, reason: str | None, caller: Principal) -> None:
        draft = _erased(data=EvidenceErased(digest=digest, reason=_check_text("reason", reason)))
        await run_on_thread(self._store.unpublish, digest)
        with self._appending([draft]):
            try:
                await self._record([draft], caller)
            except LedgerUnavailable:
                raise
            except TallystickError:
                await run_on_thread(self._store.publish, digest)
                raise

    async def _conclude(self, digests: Iterable[str], new: Sequence[str]) -> None:
        """Move recorded blobs to their final place, and remove new ones that were not recorded."""
        known = await self.known(tuple(digests))
        for digest in known:
            await run_on_thread(self._store.publish, digest)
        for digest in set(new) - known.keys():
            await run_on_thread(self._store.remove_pending, digest)

    @contextmanager
    def _appending(self, drafts: Sequence[Draft]) -> Iterator[None]:
        """Let some drafts pass `check`."""
        own = {id(draft) for draft in drafts}
        self._own |= own
        try:
            yield
        finally:
            self._own -= own

    @asynccontextmanager
    async def _turn(self, digests: Iterable[str]) -> AsyncIterator[None]:
        """Wait until no other caller uses some digests; always in the same order, against deadlocks."""
        async with AsyncExitStack() as stack:
            for digest in sorted(digests):
                await stack.enter_async_context(self._turns.setdefault(digest, asyncio.Lock()))
            yield


def digest_of(data: bytes) -> str:
    """Return the name of a blob: its SHA-256 in hex."""
    return sha256(data).hexdigest()


def _check_blob(blob: Blob) -> Blob:
    """Check a blob. Errors: BodyTooLarge; InvalidQuery, naming the parameter."""
    if len(blob.data) > EVIDENCE_BYTES_MAX:
        raise BodyTooLarge(
            f"The evidence is over {EVIDENCE_BYTES_MAX:,} bytes; nothing was written.", "Put it in several pieces."
        )
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


def _gone_error(digest: str, found: EvidenceInfo) -> Gone:
    why = f": {found.erasure.reason}" if found.erasure is not None and found.erasure.reason else ""
    return Gone(
        f"evidence {digest} was erased at position {found.erased_position}{why}.",
        "It cannot be restored. Its stream keeps the record of it.",
    )


async def read_blobs(
    evidence: EvidenceService, requested: Collection[str], named: Collection[str] = ()
) -> dict[str, bytes | None]:
    """Read the blobs of some digests, if available; None for erased ones, also among `named`.

    An erased blob is erased in views of the past too: its bytes no longer exist.
    """
    known = await evidence.known(sorted({*requested, *named}))
    found: dict[str, bytes | None] = {digest: None for digest, one in known.items() if one.erasure is not None}
    for digest in set(requested) & known.keys() - found.keys():
        try:
            found[digest] = (await evidence.get(digest, OWNER)).data
        except Gone:
            found[digest] = None
        except Damaged:
            """Its digest is shown; asking for it says what is wrong."""
    return found
