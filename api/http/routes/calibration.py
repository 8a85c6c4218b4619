"""Routes of calibration and advice."""

from starlette.responses import Response

from api.http.operation import Operation, json_answer
from api.http.request import Call, json_response
from api.service.advice import advise
from api.service.calibration import compute_calibration
from api.service.calibration_params import (
    ADVICE_PARAMETERS,
    CALIBRATION_PARAMETERS,
    parse_calibration_query,
    parse_planned_decision,
)
from tallystick.shapes.advice import Advice
from tallystick.shapes.calibration import CalibrationAnswer


@Operation(
    method="GET",
    path="/calibration",
    heavy=True,
    query=CALIBRATION_PARAMETERS,
    answers={200: json_answer("The figures of the selected decisions.", CalibrationAnswer)},
)
async def get_calibration(call: Call) -> Response:
    """Compare stated confidence with outcomes: does the agent succeed as often as it expects?"""
    as_of = await call.as_of()
    query = parse_calibration_query(call.parameters, call.ledger.clock())
    return json_response(await compute_calibration(call.ledger, query, as_of))


@Operation(
    method="GET",
    path="/calibration/advice",
    query=ADVICE_PARAMETERS,
    answers={200: json_answer("The outcomes of similar decisions, with an interval.", Advice)},
)
async def get_advice(call: Call) -> Response:
    """Summarize the outcomes of decisions that are similar to a planned one, by default those of the caller."""
    as_of = await call.as_of()
    plan = parse_planned_decision(call.parameters, call.caller.agent)
    return json_response(await advise(call.ledger, plan, as_of))
