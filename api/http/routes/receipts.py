"""Route of receipts: the proof that an event is in the log."""

from starlette.responses import Response

from api.http.media_types import NOTE
from api.http.operation import Operation, note_answer
from api.http.path_parameters import POSITION
from api.http.request import Call


@Operation(
    method="GET",
    path="/events/{position}/receipt",
    path_parameters=(POSITION,),
    answers={200: note_answer("The event's line, its position, the inclusion proof and a checkpoint.")},
    errors=(404, 422, 507),
    resource="checkpoints",
)
async def get_receipt(call: Call) -> Response:
    """Return the proof that an event is in the log, as a file that can be verified by itself (C2SP tlog-proof)."""
    receipt = await call.ledger.proving.receipt(call.path(POSITION))
    return Response(receipt.encode(), headers={"content-type": NOTE})
