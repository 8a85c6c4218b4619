"""What a part of the pages shows: the answer of the use case, and the same figures as JSON."""

from collections.abc import Mapping
from typing import NamedTuple

from api.http.pages.calibration.parts import LIMIT, PARTS
from api.http.pages.page import address_of
from api.http.request import Call
from api.service.calibration_answers import find_calibration
from api.service.calibration_params import parse_calibration_query
from tallystick.shapes.calibration import CalibrationAnswer


class PartAnswer(NamedTuple):
    """An answer, the parameters of `GET /calibration` that ask for it, and that address."""

    answer: CalibrationAnswer
    parameters: Mapping[str, str]
    json: str


async def read_answer(call: Call, name: str) -> PartAnswer:
    """Return the answer for a part. Errors: InvalidQuery."""
    part = PARTS[name]
    now, given = call.ledger.clock(), call.parameters
    LIMIT.find(given)
    parse_calibration_query(given, now)  # a wrong value is an error, also of a parameter that the part does not use
    parameters = {**part.defaults, **part.used(given), **part.asked()}
    as_of = await call.as_of()
    query = parse_calibration_query(parameters, now)
    answer = await find_calibration(call.ledger, query, as_of)
    return PartAnswer(answer, parameters, address_of("/calibration", parameters))
