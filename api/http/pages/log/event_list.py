"""The log: the newest events first, with filters."""

from collections.abc import Mapping
from urllib.parse import urlencode

from api.http.pages.content import Content, address_of
from api.http.pages.log.subject_address import subject_address
from api.http.pages.page import page
from api.http.request import Call
from api.parameters import SINCE, UNTIL
from api.service.event_params import BEFORE, CORRELATION_ID, SOURCE, SUBJECT, TYPE, parse_event_query
from api.service.event_search import newest_events
from events.registry import VOCABULARY

EVENTS_MAX = 50
"""Events on a page."""

FILTERS = (TYPE, SUBJECT, SOURCE, CORRELATION_ID, SINCE, UNTIL)


@page("log/events", query=(*FILTERS, BEFORE))
async def show_log(call: Call) -> Content:
    """Show the newest events that match the filters. The newest page follows the log."""
    found = await newest_events(call.ledger, parse_event_query(call.parameters), EVENTS_MAX)
    filters = {name: text for name, text in call.parameters.items() if name != BEFORE.name}
    variables = {
        "found": found,
        "filters": filters,
        "types": VOCABULARY.type_names,
        "subject_address": subject_address,
    }
    live = None if BEFORE.name in call.parameters else urlencode(filters)
    return Content("Log", variables, json=_json_address(call.parameters, found.older, full=found.full), live=live)


def _json_address(parameters: Mapping[str, str], older: int | None, *, full: bool) -> str:
    """Return the address of the same events as JSON, which searches no further than this page."""
    searched = None if full or older is None else older - 1
    return address_of("/events", parameters, order="desc", limit=EVENTS_MAX, after=searched)
