"""The events of one correlation id: causes and effects as a tree, and every event in a list."""

from collections.abc import Sequence

from starlette.responses import Response

from api.http.pages.content import Content, address_of
from api.http.pages.log.subject_address import LOG, subject_address
from api.http.pages.page import page
from api.http.pages.page_figure import PageFigure, drawing_response
from api.http.request import Call
from api.parameters import text_parameter
from api.reports.plots.cause_tree import DRAWN_MAX, TreeEvent, draw_causes
from api.reports.plots.tables import tabulate
from api.service.event_params import AFTER, AS_OF
from api.service.event_search import SEARCH_S
from api.service.related_events import RelatedEvent, RelatedEvents, find_related
from api.text_format import format_count

EVENTS_MAX = 100
"""Events on a page."""

CORRELATION_ID = text_parameter("correlationid", "The correlation id.", {"type": "string", "minLength": 1})

QUERY = (CORRELATION_ID, AFTER, AS_OF)
FIGURE = f"{LOG}/related/figures/causes.svg"


@page("log/related", query=QUERY)
async def show_related(call: Call) -> Content:
    """Show what happened under a correlation id; without one, the form that asks for it."""
    found = await _find(call)
    if found is None:
        return Content("Correlation", {"found": None, "figure": None, "subject_address": subject_address})
    variables = {
        "found": found,
        "figure": _figure(found, address_of(FIGURE, call.parameters)) if found.events else None,
        "subject_address": subject_address,
    }
    live = None
    if found.next is None and AS_OF.name not in call.parameters:
        live = address_of("", {"correlationid": found.correlationid}).removeprefix("?")
    json = address_of("/related", call.parameters, limit=EVENTS_MAX)
    return Content(f"Correlation {found.correlationid}", variables, json=json, live=live)


@page(query=QUERY)
async def get_causes(call: Call) -> Response:
    """Return the drawing of causes and effects as a file."""
    found = await _find(call)
    return drawing_response(_draw(found) if found is not None else draw_causes("", [], 0))


async def _find(call: Call) -> RelatedEvents | None:
    correlationid = CORRELATION_ID.find(call.parameters)
    if correlationid is None:
        return None
    after, view = AFTER.read(call.parameters), await call.view()
    return await find_related(view, correlationid, after, EVENTS_MAX, search_s=SEARCH_S)


def _figure(found: RelatedEvents, address: str) -> PageFigure:
    table = tabulate(
        _drawn(found),
        ("Position", lambda event: format_count(event.position)),
        ("Type", lambda event: event.type),
        ("Stream", lambda event: event.subject),
        ("Position of the cause", lambda event: "" if event.cause is None else format_count(event.cause)),
    )
    cut = f" The first {DRAWN_MAX} events are drawn." if len(found.events) > DRAWN_MAX else ""
    description = f"Each event is below its cause, if it names one that is listed here.{cut}"
    return PageFigure("causes", "Causes and effects", description, _draw(found), address, table)


def _draw(found: RelatedEvents) -> str:
    events = [TreeEvent(event.position, event.cause, event.type, event.subject) for event in _drawn(found)]
    return draw_causes(found.correlationid, events, found.as_of.position)


def _drawn(found: RelatedEvents) -> Sequence[RelatedEvent]:
    return found.events[:DRAWN_MAX]
