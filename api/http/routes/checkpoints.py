"""Routes of checkpoints: the newest signed one, the newest that a witness has cosigned, and proofs of an event."""

from starlette.responses import Response

from api.http.media_types import NOTE
from api.http.operation import HttpOperation, note_answer
from api.http.path_parameters import POSITION
from api.http.request import Call
from ledger.transparency.signed_note import SignedCheckpoint


@HttpOperation("GET", "/checkpoint", answers={200: note_answer("The newest checkpoint.")}, errors=(422, 507))
async def get_checkpoint(call: Call) -> Response:
    """Return the newest checkpoint: origin, size and root of the log, signed (C2SP tlog-checkpoint).

    It covers every event except some of the last second.
    """
    return _note(await call.ledger.proving.checkpoint())


@HttpOperation(
    "GET",
    "/checkpoint/witnessed",
    answers={200: note_answer("The checkpoint with the cosignatures.")},
    errors=(404, 422, 507),
)
async def get_witnessed(call: Call) -> Response:
    """Return the newest checkpoint that a witness has cosigned (C2SP tlog-cosignature)."""
    return _note(await call.ledger.proving.witnessed())


def _note(signed: SignedCheckpoint) -> Response:
    """Return a checkpoint. Caches may keep it for a second, after which a newer one may exist."""
    return Response(signed.note.encode(), headers={"content-type": NOTE, "cache-control": "max-age=1"})


@HttpOperation(
    "GET",
    "/events/{position}/receipt",
    path_parameters=(POSITION,),
    answers={200: note_answer("The event's line, its position, the inclusion proof and a checkpoint.")},
    errors=(404, 422, 507),
)
async def get_receipt(call: Call) -> Response:
    """Return the proof that an event is in the log, as a file that can be verified by itself (C2SP tlog-proof)."""
    receipt = await call.ledger.proving.receipt(call.path(POSITION))
    return Response(receipt.encode(), headers={"content-type": NOTE})
