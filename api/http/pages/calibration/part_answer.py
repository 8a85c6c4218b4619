"""What a part of the pages shows: the answer of the use case, and the same figures as JSON."""

from collections.abc import Mapping
from typing import NamedTuple

from api.http.pages.calibration.parts import LIMIT, PARTS
from api.http.pages.content import address_of
from api.http.request import Call
from api.parameters import parse_params
from api.service.calibration_answers import find_calibration
from api.service.calibration_params import CalibrationParams
from tallystick.shapes.calibration import CalibrationAnswer


class PartAnswer(NamedTuple):
    """An answer, the parameters of `GET /calibration` that ask for it, and that address."""

    answer: CalibrationAnswer
    parameters: Mapping[str, str]
    json: str


async def read_answer(call: Call, name: str) -> PartAnswer:
    """Return the answer for a part. Errors: InvalidQuery."""
    part = PARTS[name]
    given = call.parameters
    LIMIT.find(given)
    parse_params(CalibrationParams, given)  # a wrong value is an error, also of a parameter that the part does not use
    parameters = {**part.defaults, **part.used(given), **part.asked()}
    view = await call.view()
    answer = await find_calibration(view, parse_params(CalibrationParams, parameters))
    return PartAnswer(answer, parameters, address_of("/calibration", parameters))
