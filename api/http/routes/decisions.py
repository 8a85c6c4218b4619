"""Routes of decisions."""

from starlette.requests import Request
from starlette.responses import Response

from api.http.request import _given, _json, _reader
from api.service.decisions import find_decision, select_decisions
from api.service.query_params import DECISIONS_PARAMETERS, parse_decision_query


async def get_decisions(request: Request) -> Response:
    """Decisions as they stand, the newest first."""
    ledger = _reader(request)
    parameters = _given(request, DECISIONS_PARAMETERS)
    query = parse_decision_query(parameters, ledger.clock())
    return _json(await select_decisions(ledger, query, await ledger.resolve(parameters.get("as_of"))))


async def get_decision(request: Request) -> Response:
    """One decision with its history."""
    ledger = _reader(request)
    parameters = _given(request, ("as_of",))
    as_of = await ledger.resolve(parameters.get("as_of"))
    return _json(await find_decision(ledger, request.path_params["decision_id"], as_of))
