"""Routes of calibration and advice."""

from starlette.requests import Request
from starlette.responses import Response

from api.http.request import _given, _json, _reader, _reading
from api.service.calibration import advise, compute_calibration
from api.service.query_params import (
    ADVICE_PARAMETERS,
    CALIBRATION_PARAMETERS,
    parse_calibration_query,
    parse_planned_decision,
)


async def get_calibration(request: Request) -> Response:
    """The figures: is it as good as it thinks it is?"""
    ledger = _reader(request)
    parameters = _given(request, CALIBRATION_PARAMETERS)
    as_of = await ledger.resolve(parameters.get("as_of"))
    now = ledger.clock()
    return _json(await compute_calibration(ledger, parse_calibration_query(parameters, now), as_of))


async def get_advice(request: Request) -> Response:
    """What decisions like the one planned came to; by default those of the agent who asks."""
    ledger, caller = _reading(request)
    parameters = _given(request, ADVICE_PARAMETERS)
    as_of = await ledger.resolve(parameters.get("as_of"))
    return _json(await advise(ledger, parse_planned_decision(parameters, caller.agent), as_of))
