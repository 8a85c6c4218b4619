"""Answers on calibration that are kept: a page and its drawings ask the same question, and some take seconds to answer.

An answer depends on the query and on the position alone. So a kept one is exact, and is used until the log grows.
"""

from weakref import WeakKeyDictionary

from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.ledger import View
from projections.engine import Engine
from tallystick.shapes.calibration import CalibrationAnswer

ANSWERS_MAX = 32
"""Answers that are kept for each ledger: those that were asked for last. One has at most about 300 KB."""

_Question = tuple[CalibrationParams, int]

_kept: WeakKeyDictionary[Engine, dict[_Question, CalibrationAnswer]] = WeakKeyDictionary()


async def find_calibration(view: View, query: CalibrationParams) -> CalibrationAnswer:
    """Return the calibration of some decisions, computed once for each query and position. Errors: InvalidQuery."""
    kept = _kept.setdefault(view.engine, {})
    position = await view.head_position()
    answer = kept.pop((query, position), None)
    if answer is None:
        answer = (await compute_calibration(view, query)).answer
    kept[query, answer.as_of.position] = answer
    for oldest in list(kept)[:-ANSWERS_MAX]:
        del kept[oldest]
    await view.dated(answer.as_of.position)
    return answer
