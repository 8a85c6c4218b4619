"""Routes of what the ledger signs: checkpoints and receipts."""

from starlette.responses import Response

from api.http.media import NOTE
from api.http.operation import TEXT, Answer, Operation
from api.http.path_parameters import POSITION
from api.http.request import Call
from ledger import SignedCheckpoint

_NOTE_TYPE = NOTE.partition(";")[0]


@Operation(
    method="GET",
    path="/checkpoint",
    answers={200: Answer("The newest checkpoint.", {_NOTE_TYPE: TEXT})},
    errors=(422, 507),
)
async def get_checkpoint(call: Call) -> Response:
    """Return the newest checkpoint: origin, size and root of the log, signed (C2SP tlog-checkpoint).

    It lacks at most the events of the last second.
    """
    return _note(await call.ledger.proving.checkpoint())


@Operation(
    method="GET",
    path="/checkpoint/witnessed",
    answers={200: Answer("The checkpoint with the cosignatures.", {_NOTE_TYPE: TEXT})},
    errors=(404, 422, 507),
)
async def get_witnessed(call: Call) -> Response:
    """Return the newest checkpoint that a witness has cosigned (C2SP tlog-cosignature)."""
    return _note(await call.ledger.proving.witnessed())


@Operation(
    method="GET",
    path="/events/{position}/receipt",
    path_parameters=(POSITION,),
    answers={200: Answer("The event's line, its position, the inclusion proof and a checkpoint.", {_NOTE_TYPE: TEXT})},
    errors=(404, 422, 507),
)
async def get_receipt(call: Call) -> Response:
    """Return the proof that an event is in the log, as a file that can be verified by itself (C2SP tlog-proof)."""
    receipt = await call.ledger.proving.receipt(call.path(POSITION))
    return Response(receipt.encode(), headers={"content-type": NOTE})


def _note(signed: SignedCheckpoint) -> Response:
    """Return a checkpoint; a newer one may be signed after a second."""
    return Response(signed.note.encode(), headers={"content-type": NOTE, "cache-control": "max-age=1"})
