"""GET /checkpoint and /events/POSITION/receipt: what the log says of itself, and that an event is in it."""

from starlette.requests import Request
from starlette.responses import Response

from api.parameters import check_names, parse_integer
from api.service.ledger import LedgerService
from ledger import SignedCheckpoint

NOTE = "text/plain; charset=utf-8"
"""The type of signed notes, and of receipts."""

CACHE = {"cache-control": "max-age=1"}
"""A checkpoint is old when the next one may be signed."""


async def get_checkpoint(request: Request) -> Response:
    """The newest checkpoint, a signed note; it lacks at most the events of the last second."""
    return _note(await _asked(request).proving.checkpoint())


async def get_witnessed(request: Request) -> Response:
    """The newest checkpoint that a witness has cosigned."""
    return _note(await _asked(request).proving.witnessed())


async def get_receipt(request: Request) -> Response:
    """That the event at a position is in the log: a file that stands alone."""
    ledger = _asked(request)
    position = parse_integer("position", request.path_params["position"], 0, 1)
    return Response((await ledger.proving.receipt(position)).encode(), headers={"content-type": NOTE})


def _asked(request: Request) -> LedgerService:
    """The house, for who may read it. Errors: AccessRefused, InvalidQuery."""
    ledger: LedgerService = request.app.state.ledger
    ledger.tokens.identify(request.headers.get("authorization")).require("read")
    check_names(request.query_params.keys(), ())
    return ledger


def _note(signed: SignedCheckpoint) -> Response:
    return Response(signed.note.encode(), headers={"content-type": NOTE, **CACHE})
