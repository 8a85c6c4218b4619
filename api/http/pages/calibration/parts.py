"""The parts of the calibration pages: the figures that each shows, what it asks of the use case, and the answer."""

from collections.abc import Mapping
from typing import NamedTuple

from api.http.pages.content import address_of
from api.http.request import Call
from api.parameters import choice_parameter, declared, integer_parameter, parse_params
from api.reports.plots.figures import FIGURES
from api.reports.plots.groups import GROUPS_MAX
from api.service.calibration import find_calibration
from api.service.calibration_params import CalibrationParams
from api.service.event_params import AS_OF, Parameters
from projections.calibration.words import HISTORY_PARTS
from tallystick.shapes.calibration import CalibrationAnswer

PAGE = "/ui/calibration"
COMPARE = f"{PAGE}/compare"


class CalibrationPart(NamedTuple):
    """A part of the pages: its label, its figures, and further parts of the answer that it shows."""

    label: str
    figures: tuple[str, ...]
    include: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {}

    def used(self, parameters: Mapping[str, str]) -> dict[str, str]:
        """Return those of some parameters that the part uses: rows are selected only where they are shown."""
        has_rows = "group_by" in self.defaults
        return {name: text for name, text in parameters.items() if name != "part" and (has_rows or name not in ROWS)}

    def asked(self) -> dict[str, str]:
        """Return the detail and the inclusions that the part asks for, as parameters of `GET /calibration`."""
        wanted = {part for name in self.figures for part in FIGURES[name].include} | set(self.include)
        asked = {"detail": "curves"} if any(FIGURES[name].curves for name in self.figures) else {}
        include = ",".join(part for part in HISTORY_PARTS if part in wanted)
        return asked | ({"include": include} if include else {})


GROUPS_SHOWN = 50
"""Groups on a page; at most GROUPS_MAX, as in a drawing."""

ROWS = ("group_by", "limit", "offset")
"""Parameters that select rows: only the parts with rows use them."""

PARTS: Mapping[str, CalibrationPart] = {
    "summary": CalibrationPart("Summary", ("curve",)),
    "groups": CalibrationPart("Groups", ("groups",), defaults={"group_by": "category", "limit": str(GROUPS_SHOWN)}),
    "time": CalibrationPart("Over time", ("trend", "evidence")),
    "drift": CalibrationPart("Drift", ("drift",)),
    "threshold": CalibrationPart("Thresholds", ("threshold", "murphy")),
    "recalibration": CalibrationPart("Recalibration", ("recalibration",)),
    "missing": CalibrationPart("Missing reviews", ("missing",), include=("reviews_by_age",)),
    "compare": CalibrationPart("Compare", ("comparison",), defaults={"group_by": "agent", "limit": str(GROUPS_SHOWN)}),
}

PART = choice_parameter("part", "What to show.", [name for name in PARTS if name != "compare"], default="summary")
FIGURE_PART = choice_parameter("part", "The part of the pages that shows the figure.", list(PARTS))

LIMIT = integer_parameter("limit", "The largest number of groups.", 1, GROUPS_MAX, default=GROUPS_SHOWN)

COMPARED = choice_parameter("group_by", "What to compare.", ("agent", "model"), default="agent")

QUERY: Parameters = (
    *(each for each in declared(CalibrationParams) if each.name not in ("detail", "include", "limit")),
    LIMIT,
    AS_OF,
)
"""The parameters of `GET /calibration` but for those that follow from the part; a page shows fewer groups."""


def address_of_part(name: str, parameters: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """Return the path of a part and its parameters: what selects decisions stays, what selects rows goes."""
    kept = {key: value for key, value in parameters.items() if key not in ("part", *ROWS)}
    if name == "compare":
        return COMPARE, kept
    return PAGE, kept if name == "summary" else {"part": name, **kept}


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
