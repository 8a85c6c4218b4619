"""Use case: one event whole: its bytes and digests, its neighbours in the stream, its causes, and its proof."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import msgspec

from api.service.ledger import LedgerService
from api.service.proofs import InclusionAnswer, inclusion
from events.errors import TallystickError
from ledger.transparency.merkle import leaf_hash

CAUSES_MAX = 10
"""Ids are unique within a source, so that several events may have the id that an event names as its cause."""


class EventProof(msgspec.Struct, frozen=True, kw_only=True):
    """The proof that an event is in the log. `signed`: whether the tree is that of the newest signed checkpoint."""

    inclusion: InclusionAnswer
    signed: bool


class EventRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One event.

    `attributes` are all attributes but the payload `data`, in the order of the line. `digest` is the SHA-256 of the
    line, in hex; `leaf` its leaf hash in the Merkle tree. `previous` and `next` are the positions of its neighbours in
    its stream. `causes` are the positions of the earlier events with the id that it names as its cause. `refusal` says
    why there is no proof.
    """

    position: int
    attributes: Mapping[str, object]
    data: object
    line: bytes
    digest: str
    leaf: bytes
    previous: int | None
    next: int | None
    causes: Sequence[int]
    proof: EventProof | None
    refusal: str | None


async def find_event(ledger: LedgerService, position: int) -> EventRecord:
    """Return the event at a position. Errors: NotFound."""
    line = await ledger.event(position)
    attributes = msgspec.json.decode(line)
    data = attributes.pop("data", None)
    version, cause = attributes["streamversion"], attributes.get("causationid")
    near = await ledger.reader.positions_in_stream(attributes["subject"], (version - 1, version + 1))
    found = await ledger.reader.positions_of_id(cause, CAUSES_MAX) if cause is not None else []
    proof, refusal = await _prove(ledger, position)
    return EventRecord(
        position=position,
        attributes=attributes,
        data=data,
        line=line,
        digest=sha256(line).hexdigest(),
        leaf=leaf_hash(line),
        previous=near.get(version - 1),
        next=near.get(version + 1),
        causes=[earlier for earlier in found if earlier < position],
        proof=proof,
        refusal=refusal,
    )


async def _prove(ledger: LedgerService, position: int) -> tuple[EventProof | None, str | None]:
    """Return the proof in the newest checkpoint or, until that covers the position, in the whole tree."""
    try:
        size = (await ledger.proving.checkpoint()).size
        signed = size >= position
        return EventProof(inclusion=await inclusion(ledger, position, size if signed else None), signed=signed), None
    except TallystickError as error:
        return None, str(error)
