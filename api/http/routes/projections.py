"""Routes of projections."""

from starlette.requests import Request
from starlette.responses import Response

from api.http.request import _given, _json, _reader
from api.service.projections import list_projections, show_projection


async def get_projections(request: Request) -> Response:
    """Every projection."""
    ledger = _reader(request)
    _given(request, ())
    return _json({"projections": await list_projections(ledger)})


async def get_projection(request: Request) -> Response:
    """One projection: its digest and its summary, now or as of a position or time."""
    ledger = _reader(request)
    parameters = _given(request, ("as_of",))
    as_of = await ledger.resolve(parameters.get("as_of"))
    return _json(await show_projection(ledger, request.path_params["name"], as_of))
