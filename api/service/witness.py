"""Request the cosignature of a witness for a checkpoint, by C2SP's tlog-witness protocol.

A witness cosigns a checkpoint only if it extends the one that the witness cosigned before: a log cannot show two
histories. The request contains the size of that earlier checkpoint, as stored here; if the witness knows another size,
it answers with that, and the request is repeated.
"""

from datetime import UTC, datetime, timedelta

import httpx
import msgspec

from api.errors import Unwitnessed
from api.service.ledger import LedgerService
from events.limits import NOTE_BYTES_MAX
from ledger.errors import BadNote, Forked, InvalidQuery
from ledger.transparency.signed_note import (
    COSIGNATURE,
    SignedCheckpoint,
    SignedNote,
    Verifier,
    encode_base64,
    parse_size,
)
from ledger.transparency.tree import LogTree

TIMEOUT_S = 60.0
"""The time limit of a request."""

CLOCK_DIFFERENCE_MAX = timedelta(minutes=5)
"""The largest accepted difference between the clock of a witness and the clock here."""

QUOTED_CHARS_MAX = 200
"""The longest answer that an error quotes."""

REQUESTS_MAX = 3
"""The most requests to a witness: it may know another size, and another client may change that meanwhile."""


class CosignResult(msgspec.Struct, frozen=True):
    """A cosigned checkpoint: the name of the witness, the log, its size, and the time that the witness states."""

    witness: str
    origin: str
    size: int
    time: datetime


async def request_cosignature(ledger: LedgerService, url: str, witness: Verifier) -> CosignResult:
    """Request a cosignature for the newest checkpoint, and store it with the cosignature.

    Errors: Unwitnessed; Forked, for a witness that has cosigned more events than the log has; InvalidQuery, for an
    address or a key that does not belong to a witness; and those of `CheckpointService.checkpoint`.
    """
    if witness.kind != COSIGNATURE:
        raise InvalidQuery(
            "key", f"The key of {witness.name} is not a witness key.", "A witness key is of the kind 0x04."
        )
    signed = await ledger.proving.checkpoint()
    try:
        previous = await ledger.proving.kept_witnessed()
    except (BadNote, Forked):
        previous = None  # the witness says what it has cosigned
    old_size = previous.size if previous is not None and witness.cosigned_at(previous.note) is not None else 0
    async with _open_client(url) as client:
        answer = await _request_signature_lines(client, ledger.proving.tree, signed, old_size, witness)
    cosigned = _verify_answer(signed, answer, witness)
    time = _cosigning_time(cosigned, witness, ledger.clock())
    await ledger.proving.keep_witnessed(SignedCheckpoint(signed.checkpoint, cosigned))
    return CosignResult(witness.name, signed.checkpoint.origin, signed.size, time)


async def _request_signature_lines(
    client: httpx.AsyncClient, tree: LogTree, signed: SignedCheckpoint, old_size: int, witness: Verifier
) -> bytes:
    """Request a cosignature, and return the signature lines of the answer. Errors: Unwitnessed, Forked."""
    requests = 0
    while True:
        if old_size > signed.size:
            raise Forked(
                f"{witness.name} has cosigned {old_size} events of this log, of which {signed.size} are signed."
            )
        hashes = "".join(f"{encode_base64(node)}\n" for node in await tree.consistency(old_size, signed.size))
        body = f"old {old_size}\n{hashes}\n".encode() + signed.note.encode()
        status, answer = await _post(client, body)
        requests += 1
        if status == httpx.codes.OK:
            return answer
        known_size = _parse_known_size(answer, witness) if status == httpx.codes.CONFLICT else old_size
        if known_size == old_size or requests == REQUESTS_MAX:
            raise _refusal_error(status, answer, witness, signed)
        old_size = known_size


async def _post(client: httpx.AsyncClient, body: bytes) -> tuple[int, bytes]:
    """Post a request; return the status and body, of which at most NOTE_BYTES_MAX are read. Errors: Unwitnessed."""
    answer = b""
    try:
        async with client.stream("POST", "add-checkpoint", content=body) as response:
            async for piece in response.aiter_raw():  # uncompressed, as requested
                answer += piece
                if len(answer) > NOTE_BYTES_MAX:
                    raise Unwitnessed(
                        f"{client.base_url} answers with more than {NOTE_BYTES_MAX:,} bytes.", "Is it a witness?"
                    )
            return response.status_code, answer
    except httpx.HTTPError as error:
        detail = f"{client.base_url} cannot be reached: {str(error) or type(error).__name__}."
        raise Unwitnessed(detail, "Check the address, or ask it again later.") from error


def _parse_known_size(answer: bytes, witness: Verifier) -> int:
    try:
        return parse_size(answer.decode("ascii", "replace").removesuffix("\n"))
    except BadNote as error:
        raise Unwitnessed(f"{witness.name} says 409, and names no size: {error.detail}", "Is it a witness?") from None


def _refusal_error(status: int, answer: bytes, witness: Verifier, signed: SignedCheckpoint) -> Unwitnessed:
    """Return the error for a refusal: the reason by its status, and the text of the answer if it is short."""
    text = answer.decode(errors="replace").strip()
    quoted = f" ({text})" if text.isprintable() and 0 < len(text) <= QUOTED_CHARS_MAX else ""
    reasons = {
        403: ("does not know the key of this log", "Give its operator the key: tallystick key show."),
        404: ("does not know this log", "Give its operator the key: tallystick key show."),
        409: ("has cosigned another history of this log", "Find out which of the two is right: tallystick verify."),
        422: ("has cosigned another history of this log", "Find out which of the two is right: tallystick verify."),
    }
    reason, advice = reasons.get(status, (f"answered {status}", "Is it a witness? Ask it again later."))
    return Unwitnessed(
        f"{witness.name} {reason}{quoted}; the checkpoint of {signed.checkpoint.origin} is unchanged.", advice
    )


def _verify_answer(signed: SignedCheckpoint, answer: bytes, witness: Verifier) -> SignedNote:
    """Verify the cosignature; return the note with it, without the rest of the answer. Errors: Unwitnessed."""
    try:
        received = SignedNote.parse(signed.note.text.encode() + b"\n" + answer)
    except BadNote as error:
        raise Unwitnessed(f"{witness.name} answers without a cosignature: {error.detail}", "Is it a witness?") from None
    cosignatures = tuple(line for line in received.signatures if line[:2] == (witness.name, witness.key_id))
    note = signed.note._replace(signatures=(*signed.note.signatures, *cosignatures))
    if witness.cosigned_at(note) is None:
        detail = f"{witness.name} answers without a cosignature that fits its key."
        raise Unwitnessed(detail, "Check --key with its operator.")
    return note


def _cosigning_time(note: SignedNote, witness: Verifier, now: datetime) -> datetime:
    """Return the time of a cosignature. Errors: Unwitnessed, if it differs too much from the clock here."""
    seconds = witness.cosigned_at(note)
    assert seconds is not None
    if abs(seconds - now.timestamp()) > CLOCK_DIFFERENCE_MAX.total_seconds():
        detail = f"{witness.name} has cosigned as of {seconds} s since 1970; it is {int(now.timestamp())} s here."
        raise Unwitnessed(detail, "One of the two clocks is wrong.")
    return datetime.fromtimestamp(seconds, UTC)


def _open_client(url: str) -> httpx.AsyncClient:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidQuery(
            "url", f"{url!r} is not an address: {error}.", "Write https://witness.example.com."
        ) from None
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise InvalidQuery("url", f"{url!r} is not the address of a witness.", "Write https://witness.example.com.")
    return httpx.AsyncClient(base_url=parsed, timeout=TIMEOUT_S, headers={"accept-encoding": "identity"})
