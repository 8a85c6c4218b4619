"""Use cases of the newest checkpoint: what it states, who signed it, and whether it continues an older one."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from api.service.ledger import LedgerService
from api.service.proofs import ConsistencyAnswer, consistency
from api.service.shared_fields import shared_fields
from api.service.status import checkpoint_status
from events.errors import TallystickError
from ledger.transparency.merkle import verify_consistency
from ledger.transparency.receipt import HEADER, Receipt
from ledger.transparency.signed_note import TIME_BYTES, SignedCheckpoint, SignedNote, Verifier

TIME_MAX_S = 253_402_300_799
"""The last second of the year 9999; a cosignature may state a later one."""


class Cosignature(msgspec.Struct, frozen=True, kw_only=True):
    """A signature line of a witness. `time` is when it says that it signed; nothing here has verified the line."""

    witness: str
    key_id: str
    time: datetime | None


class CheckpointSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The newest checkpoint of a log of `head` events.

    `signature` is its line by the log's key, `key` is the log's verifier key,
    None if it cannot be read; `signed_at` is when the checkpoint was stored. `witnessed_size` is the size of the newest
    cosigned checkpoint. `refusal` says why the last attempt to sign failed, or what is wrong with this checkpoint.
    """

    head: int
    origin: str
    size: int
    root: bytes
    signature: str | None
    key: str | None
    signed_at: datetime
    age_s: int
    refusal: str | None
    witnessed_size: int | None
    cosignatures: Sequence[Cosignature]
    witness_refusal: str | None


class CheckpointComparison(msgspec.Struct, frozen=True, kw_only=True):
    """An older checkpoint beside the newest one.

    `signed` says whether the log's key signed the older one, `consistent` whether the log still begins with it; None if
    that cannot be computed, because it is of more events or of another log. `proof` is what shows it. `faults` says in
    words what is wrong; none: the log has only grown since. `newer_note` is the newest checkpoint as it is published.
    """

    origin: str
    size: int
    root: bytes
    newer_size: int
    newer_root: bytes
    newer_note: str
    signed: bool
    consistent: bool | None
    proof: ConsistencyAnswer | None
    faults: Sequence[str]


async def summarize_checkpoint(ledger: LedgerService) -> CheckpointSummary:
    """Return the newest checkpoint. Errors: NotFound, Forked, BadNote, LedgerUnusable, if there is none to show."""
    signed = await ledger.proving.checkpoint()
    key = await _key(ledger)
    status = await checkpoint_status(ledger, signed)
    witnessed = witness_refusal = None
    try:
        witnessed = await ledger.proving.kept_witnessed()
    except TallystickError as error:
        witness_refusal = str(error)
    own = [] if key is None else [str(line) for line in signed.note.signatures if line[:2] == key[:2]]
    return CheckpointSummary(
        head=(await ledger.reader.head()).position,
        **shared_fields(status, CheckpointSummary),
        root=signed.checkpoint.root,
        signature=own[0] if own else None,
        key=None if key is None else str(key),
        refusal=status.reason or (None if ledger.proving.refusal is None else str(ledger.proving.refusal)),
        witnessed_size=None if witnessed is None else witnessed.size,
        cosignatures=[] if witnessed is None else _cosignatures(witnessed.note, key),
        witness_refusal=witness_refusal,
    )


async def compare_checkpoint(ledger: LedgerService, text: str) -> CheckpointComparison:
    """Compare an older checkpoint, or that of a receipt, with the newest one. Errors: BadNote, and of `checkpoint`."""
    older = _parse(text)
    head = (await ledger.reader.head()).position
    newer = await ledger.proving.checkpoint(min(older.size, head))
    key = await ledger.proving.verifier()
    faults: list[str] = []
    if older.checkpoint.origin != key.name:
        faults.append(f"It is a checkpoint of the log {older.checkpoint.origin}; this log is {key.name}.")
    signed = key.name == older.checkpoint.origin and key.verifies(older.note)
    if older.checkpoint.origin == key.name and not signed:
        faults.append("The key of this log has not signed it.")
    proof = consistent = None
    if older.checkpoint.origin == key.name and older.size > newer.size:
        faults.append(f"It has {older.size:,} events, and this log has {head:,}: later events were removed.")
    elif older.checkpoint.origin == key.name:
        proof = await consistency(ledger, older.size, newer.size)
        roots = older.checkpoint.root, newer.checkpoint.root
        consistent = verify_consistency(older.size, newer.size, proof.hashes, *roots)
        if not consistent:
            faults.append(f"The first {older.size:,} of its events have another root: its history was changed.")
    return CheckpointComparison(
        **older.checkpoint._asdict(),
        newer_size=newer.size,
        newer_root=newer.checkpoint.root,
        newer_note=newer.note.encode().decode(),
        signed=signed,
        consistent=consistent,
        proof=proof,
        faults=faults,
    )


def _parse(text: str) -> SignedCheckpoint:
    """Read a checkpoint, or the one in a receipt. A form sends CRLF, and may lose line feeds. Errors: BadNote."""
    encoded = (text.replace("\r\n", "\n").strip("\n") + "\n").encode(errors="replace")
    if encoded.startswith(HEADER.encode()):
        return Receipt.parse(encoded).signed
    return SignedCheckpoint.parse(encoded)


async def _key(ledger: LedgerService) -> Verifier | None:
    try:
        return await ledger.proving.verifier()
    except TallystickError:
        return None


def _cosignatures(note: SignedNote, key: Verifier | None) -> list[Cosignature]:
    """Return the signature lines that are not by the log's key."""
    return [
        Cosignature(witness=line.name, key_id=line.key_id.hex(), time=_stated_time(line.signature))
        for line in note.signatures
        if key is None or line[:2] != key[:2]
    ]


def _stated_time(signature: bytes) -> datetime | None:
    """Return the time in a cosignature; None if it has none that a calendar has."""
    seconds = int.from_bytes(signature[:TIME_BYTES])
    return datetime.fromtimestamp(seconds, UTC) if len(signature) > TIME_BYTES and seconds <= TIME_MAX_S else None
