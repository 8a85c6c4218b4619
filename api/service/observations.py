"""Use cases of CSTP's evidence: record observations, link them to a decision, and verify the log that holds them.

An observation is one event; its payload is evidence beside the log. `seq` is the event's position in the log. A head
hash is the root of the log's Merkle tree (RFC 6962) right after an observation or attestation: it covers every event up
to there, and a consistency proof compares it with any later checkpoint.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from api.principal import Principal
from api.service.decisions import find_decision_id
from api.service.evidence import Blob, digest_of
from api.service.ledger import LedgerService
from events.decision import Stakes
from events.envelope import Draft, Event
from events.limits import BATCH_EVENTS_MAX, ITEMS_MAX, PAGE_EVENTS_MAX
from events.observation import AttestationRecorded, ObservationRecorded
from events.payload import Label, TimeText
from events.registry import VOCABULARY
from ledger.errors import InvalidQuery, LedgerUnusable, NotFound
from ledger.log import Query
from ledger.transparency.merkle import HASH_BYTES, leaf_hashes
from ledger.transparency.signed_note import SignedCheckpoint
from ledger.transparency.tiles import WIDTH
from ledger.verify.merkle_rebuild import TreeRebuild
from tallystick.shapes.appended import AppendedEvent

OBSERVATIONS_MAX = BATCH_EVENTS_MAX // 2
"""Observations in one call: each may need a second event, for its payload."""

OBSERVATION_TYPES = VOCABULARY.names_of(ObservationRecorded, AttestationRecorded)

_PAGE_TILES = PAGE_EVENTS_MAX // WIDTH


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """An observation of another system; `payload` is any JSON object."""

    event_type: Label
    source: Label
    ts: TimeText | None = None
    payload: dict[str, Any] = {}


class IngestedObservations(msgspec.Struct, frozen=True, kw_only=True):
    """The observations of one call: how many, the position of the first and the last, and the head hash after them."""

    ingested: int
    first_seq: int
    head_seq: int
    head_hash: str


class LinkedObservations(msgspec.Struct, frozen=True, kw_only=True):
    """An attestation: how many observations it names, its position, and the head hash after it."""

    linked: int
    decision_id: str
    attested_seq: int
    head_hash: str


class VerifiedLog(msgspec.Struct, frozen=True, kw_only=True):
    """What verifying the lines of the log found.

    `broken_at_seq` is the first position whose line changed or is missing, 0 if a hash or signed checkpoint is of
    another history, null if nothing is wrong. `expected_hash` is what the lines were compared with: the given head
    hash, or the root of the last signed checkpoint. `tail_check` says whether there was one.
    """

    intact: bool
    broken_at_seq: int | None
    head_hash: str
    head_seq: int
    expected_hash: str | None
    tail_check: bool


async def ingest_observations(
    ledger: LedgerService, caller: Principal, observed: Sequence[Observed], key: str | None = None
) -> IngestedObservations:
    """Record observations: all or none. With a `key`, the same call again is a retry that writes nothing.

    Errors: InvalidQuery; those of `EvidenceService.keep` and `LedgerService.record`.
    """
    caller.require("append")
    if not 0 < len(observed) <= OBSERVATIONS_MAX:
        detail = f"must be a list of 1..{OBSERVATIONS_MAX} observations, got {len(observed)}."
        raise InvalidQuery("events", detail, "Send more in further calls.", written=False)
    payloads = [msgspec.json.encode(one.payload, order="sorted") for one in observed]
    now, drafts = ledger.clock(), list[Draft]()
    for index, (one, payload) in enumerate(zip(observed, payloads, strict=True)):
        data = ObservationRecorded(
            event_type=one.event_type,
            source=one.source,
            ts=one.ts,
            payload_digest=digest_of(payload),
            payload_bytes=len(payload),
        )
        drafts.append(VOCABULARY.draft_of(data, id=None if key is None else f"{key}/{index}", time=now))
    async with ledger.evidence.keep([Blob(payload, "application/json") for payload in payloads]) as stored:
        placed = (await ledger.record([*stored, *drafts], caller))[len(stored) :]
    last = placed[-1].position
    return IngestedObservations(
        ingested=len(placed), first_seq=placed[0].position, head_seq=last, head_hash=await head_hash(ledger, last)
    )


async def link_observations(
    ledger: LedgerService,
    caller: Principal,
    decision_id: str,
    positions: Sequence[int],
    *,
    stakes: Stakes | None = None,
    has_outcome: bool | None = None,
    key: str | None = None,
) -> LinkedObservations:
    """Attest that the observations at some positions are evidence of a decision, by its id or a unique beginning of it.

    Errors: InvalidQuery, naming wrong positions; NotFound, without the decision; those of `LedgerService.record`.
    """
    caller.require("append")
    if not 0 < len(positions) <= ITEMS_MAX:
        detail = f"must be a list of 1..{ITEMS_MAX} positions, got {len(positions)}."
        raise InvalidQuery("event_seqs", detail, "Link the rest in further calls.", written=False)
    if repeated := sorted({seq for seq in positions if positions.count(seq) > 1}):
        raise InvalidQuery("event_seqs", f"{_listed(repeated)} repeated.", "Name each once.", written=False)
    observations = await _observations_at(ledger, positions)
    decision_id = await find_decision_id(ledger, decision_id)
    data = AttestationRecorded(
        decision_id=decision_id, observations=tuple(observations), stakes=stakes, has_outcome=has_outcome
    )
    placed: AppendedEvent
    (placed,) = await ledger.record([VOCABULARY.draft_of(data, id=key, time=ledger.clock())], caller)
    return LinkedObservations(
        linked=len(observations),
        decision_id=decision_id,
        attested_seq=placed.position,
        head_hash=await head_hash(ledger, placed.position),
    )


async def head_hash(ledger: LedgerService, position: int) -> str:
    """Return the root of the log's tree right after a position, in hex."""
    return (await ledger.proving.tree.root(position)).hex()


async def verify_log(ledger: LedgerService, expected: str | None = None) -> VerifiedLog:
    """Recompute the log's tree from its lines, and compare it with what is known of it.

    Every line is compared with the hash that was stored when it was appended, and the whole with the given head hash,
    otherwise with the last signed checkpoint.
    """
    positions = await _positions(ledger)
    signed = await ledger.proving.stored()
    rebuild = TreeRebuild([*positions, *([signed.size] if signed is not None else [])])
    broken = await _grow(ledger, rebuild)
    heads = {rebuild.roots[at].lines.hex(): at for at in positions if at in rebuild.roots}
    head_seq = max(heads.values(), default=0)
    newest = next((root for root, at in heads.items() if at == head_seq), "")
    compared = expected if expected is not None else (signed.checkpoint.root.hex() if signed is not None else None)
    if broken is None and not await _agrees(ledger, rebuild, signed):
        broken = 0
    if broken is None and expected is not None and expected not in heads:
        broken = 0
    return VerifiedLog(
        intact=broken is None,
        broken_at_seq=broken,
        head_hash=newest,
        head_seq=head_seq,
        expected_hash=compared,
        tail_check=compared is not None,
    )


async def _observations_at(ledger: LedgerService, positions: Sequence[int]) -> list[str]:
    """Return the ids of the observations at some positions. Errors: InvalidQuery, naming the others."""
    found: dict[int, Event] = {}
    for position in positions:
        with suppress(NotFound):
            if position > 0:
                found[position] = VOCABULARY.event(await ledger.event(position))
    if missing := [seq for seq in positions if seq not in found]:
        raise InvalidQuery("event_seqs", f"{_listed(missing)} not in the log.", written=False)
    if other := [seq for seq in positions if not isinstance(found[seq].data, ObservationRecorded)]:
        detail = f"{_listed(other)} not an observation: only what ingestEvidence recorded can be linked."
        raise InvalidQuery("event_seqs", detail, written=False)
    return [found[seq].subject.removeprefix("observation/") for seq in positions]


def _listed(positions: Sequence[int]) -> str:
    return f"{', '.join(map(str, positions))} {'is' if len(positions) == 1 else 'are'}"


async def _positions(ledger: LedgerService) -> list[int]:
    """Return the positions of every observation and attestation."""
    query = Query(types=OBSERVATION_TYPES, limit=PAGE_EVENTS_MAX)
    return [position async for page in ledger.scan(query) for position in page.positions]


async def _grow(ledger: LedgerService, rebuild: TreeRebuild) -> int | None:
    """Grow a tree from every line; return the first position whose line is missing or differs from its stored hash."""
    head = await ledger.head_position()
    while (size := rebuild.edge.size) < head:
        page = await ledger.reader.read(Query(after=size, before=head + 1, limit=_PAGE_TILES * WIDTH))
        count = min(_PAGE_TILES * WIDTH, head - size)
        rebuild.grow(
            leaf_hashes(page.lines), (await _stored_hashes(ledger, size, count))[: len(page.lines) * HASH_BYTES]
        )
        if len(page.lines) < count:
            return rebuild.first or rebuild.edge.size + 1
    return rebuild.first


async def _stored_hashes(ledger: LedgerService, size: int, count: int) -> bytes:
    """Return the leaf hashes after the first `size` leaves as the ledger stored them, at most `count`."""
    number = size // WIDTH
    stored = b"".join(await ledger.reader.tiles(0, number, count // WIDTH)) if count >= WIDTH else b""
    whole = len(stored) // HASH_BYTES
    if ledger.log is not None and whole % WIDTH == 0 and count - whole < WIDTH:
        stored += b"".join(ledger.log.edge.partial(0, number + whole // WIDTH)[: count - whole])
    return stored


async def _agrees(ledger: LedgerService, rebuild: TreeRebuild, signed: SignedCheckpoint | None) -> bool:
    """Return whether the lines have the root that the log's key signed last; without a checkpoint they have."""
    if signed is None:
        return True
    with suppress(NotFound, LedgerUnusable):
        if not (await ledger.proving.verifier()).verifies(signed.note):
            return False
    known = rebuild.roots.get(signed.size)
    return known is not None and known.lines == signed.checkpoint.root
