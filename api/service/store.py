"""Event stores: append batches, read streams, and keep evidence, in a ledger file or through a server.

`EventStore` is the protocol. `LocalStore` is the ledger in this process; `api.client.remote_store.RemoteStore` is a
server.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from api.principal import OWNER, Principal
from api.service.answer_label import LabelToRecord, RecordedLabel
from api.service.decision_links import link_decisions
from api.service.decision_writer import (
    DecisionRequest,
    RecordedDecision,
    RecordedRetraction,
    RecordedReview,
    continue_decision,
    record_decision,
)
from api.service.evidence import Blob, ErasureReceipt, EvidenceContent, StoredEvidence, digest_of
from api.service.ledger import View
from events.decision import DecisionRetracted, DecisionReviewed
from events.envelope import Draft
from events.limits import ITEMS_MAX, PAGE_EVENTS_MAX
from events.link import DecisionLinked
from events.registry import VOCABULARY
from ledger.errors import Gone, NotFound
from ledger.log import Query
from tallystick.shapes.appended import AppendedEvent, AppendResult
from tallystick.shapes.decisions import RecordedLink
from tallystick.shapes.tests import ResolvedTests

_Data = TypeVar("_Data")
_Recorded = TypeVar("_Recorded")


class Submission(NamedTuple, Generic[_Data, _Recorded]):
    """What a client records about recorded things: the path that takes it, its answer, and the use case."""

    path: str
    answer: type[_Recorded]
    record: Callable[..., Awaitable[_Recorded]]


async def _label_answer(*arguments: Any, **options: Any) -> RecordedLabel:  # noqa: ANN401 - those of `label_answer`
    from api.service.label_recorder import label_answer  # noqa: PLC0415 - it loads numpy

    return await label_answer(*arguments, **options)


REVIEW: Submission[DecisionReviewed, RecordedReview] = Submission(
    "/reviews", RecordedReview, partial(continue_decision, RecordedReview)
)
RETRACTION: Submission[DecisionRetracted, RecordedRetraction] = Submission(
    "/retractions", RecordedRetraction, partial(continue_decision, RecordedRetraction)
)
LINK: Submission[DecisionLinked, RecordedLink] = Submission("/links", RecordedLink, link_decisions)
LABEL: Submission[LabelToRecord, RecordedLabel] = Submission("/labels", RecordedLabel, _label_answer)


class EventStore(Protocol):
    """A ledger to append to and read from."""

    async def append(self, drafts: list[Draft]) -> AppendResult:
        """Append a batch atomically. Errors: those of `LedgerService.record`."""
        ...

    async def record_decision(self, request: DecisionRequest, *, source: str | None) -> RecordedDecision:
        """Record a decision, with the pending thoughts of its agent. Errors: those of `record_decision`."""
        ...

    async def submit(
        self, kind: Submission[_Data, _Recorded], data: _Data, *, event_id: str | None, source: str | None
    ) -> _Recorded:
        """Record a review, retraction, link or label; ids in it may be unique beginnings. Errors: those of `kind`."""
        ...

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        """Read the stored events of at most ITEMS_MAX streams, or of all, as NDJSON; only of `types` if given.

        Errors: those of `LedgerService.read`.
        """
        ...

    def pages(self, types: Sequence[str], subjects: Sequence[str] = ()) -> AsyncIterator[bytes]:
        """Read every stored event of some types, and of some streams if given, as pages of NDJSON.

        Errors: those of `LedgerService.read`.
        """
        ...

    def keep(self, blobs: Iterable[Blob]) -> AbstractAsyncContextManager[list[Draft]]:
        """Store blobs for a batch; yield the drafts to append with it. Errors: those of `EvidenceService.keep`.

        A server records blobs at once, so that `RemoteStore` yields no drafts.
        """
        ...

    async def put(self, blob: Blob) -> StoredEvidence:
        """Store a blob. Errors: those of `EvidenceService.put`."""
        ...

    async def evidence(self, digest: str) -> EvidenceContent:
        """Read the blob of a digest. Errors: those of `EvidenceService.get`."""
        ...

    async def erase(self, digest: str, reason: str | None) -> ErasureReceipt:
        """Erase the blob of a digest. Errors: those of `EvidenceService.erase`."""
        ...

    async def resolve(self, *, dry_run: bool) -> ResolvedTests:
        """Review decisions by their tests, or list them. Errors: those of `resolve_tests`."""
        ...


class LocalStore:
    """A view of the ledger in this process. It appends as one principal."""

    def __init__(self, view: View, caller: Principal = OWNER) -> None:
        self._view = view
        self.ledger = view.ledger
        self.caller = caller

    async def append(self, drafts: list[Draft]) -> AppendResult:
        return append_result(await self.ledger.record(drafts, self.caller))

    async def record_decision(self, request: DecisionRequest, *, source: str | None) -> RecordedDecision:
        return await record_decision(self.ledger, self.caller, request, source=source)

    async def submit(
        self, kind: Submission[_Data, _Recorded], data: _Data, *, event_id: str | None, source: str | None
    ) -> _Recorded:
        return await kind.record(self.ledger, self.caller, data, event_id=event_id, source=source, prefix=True)

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        return b"\n".join([page async for page in self.pages(types, subjects)])

    async def pages(self, types: Sequence[str], subjects: Sequence[str] = ()) -> AsyncIterator[bytes]:
        async for page in self._view.scan(Query(types=tuple(types), subjects=tuple(subjects), limit=PAGE_EVENTS_MAX)):
            yield page.ndjson

    def keep(self, blobs: Iterable[Blob]) -> AbstractAsyncContextManager[list[Draft]]:
        return self.ledger.evidence.keep(blobs)

    async def put(self, blob: Blob) -> StoredEvidence:
        return await self.ledger.evidence.put(blob, self.caller)

    async def evidence(self, digest: str) -> EvidenceContent:
        return await self.ledger.evidence.get(digest, self.caller)

    async def erase(self, digest: str, reason: str | None) -> ErasureReceipt:
        return await self.ledger.evidence.erase(digest, reason, self.caller)

    async def resolve(self, *, dry_run: bool) -> ResolvedTests:
        from api.service.decision_tests import resolve_tests  # noqa: PLC0415 - no other verb needs its rules

        return await resolve_tests(self.ledger, dry_run=dry_run)


class EmptyStore:
    """A ledger file that does not exist, opened for reading: it has only what an `EventStore` reads."""

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        return b""

    async def pages(self, types: Sequence[str], subjects: Sequence[str] = ()) -> AsyncIterator[bytes]:
        none: tuple[bytes, ...] = ()
        for page in none:
            yield page

    async def evidence(self, digest: str) -> EvidenceContent:
        raise NotFound(f"There is no evidence {digest}, and no ledger.", "Name one with --ledger.")


def append_result(events: list[AppendedEvent]) -> AppendResult:
    """Return the result of a batch, given its events."""
    positions = [event.position for event in events]
    duplicates = sum(event.duplicate for event in events)
    return AppendResult(min(positions), max(positions), len(events), duplicates, tuple(events))


async def append_with(store: EventStore, blobs: Sequence[Blob], drafts: Sequence[Draft]) -> AppendResult:
    """Append events with the bytes that they name. Erased bytes are not stored again; their digest remains."""
    unique = list({digest_of(blob.data): blob for blob in blobs}.values())
    while True:
        try:
            async with store.keep(unique) as evidence:
                return await store.append([*evidence, *drafts])
        except Gone:
            unique = await without_erased(store, unique)


async def without_erased(store: EventStore, blobs: Sequence[Blob]) -> list[Blob]:
    """Return the blobs without duplicates, and without those that were erased before: these may not be stored again."""
    by_digest = {digest_of(blob.data): blob for blob in blobs}
    digests = list(by_digest)
    for start in range(0, len(digests), ITEMS_MAX):
        subjects = [f"evidence/{digest}" for digest in digests[start : start + ITEMS_MAX]]
        for event in VOCABULARY.events(await store.streams(subjects, ("evidence.erased.v1",))):
            del by_digest[event.subject.partition("/")[2]]
    return list(by_digest.values())
