"""Query parameters of events, and those of every list: where to begin, how many, in which order, as of when."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from api.parameters import (
    CURSOR_SCHEMA,
    DATE_SCHEMA,
    SINCE,
    TIME_SCHEMA,
    UNTIL,
    Parameter,
    choice_list_parameter,
    choice_parameter,
    declare,
    integer_parameter,
    text_parameter,
)
from events.limits import PAGE_EVENTS_DEFAULT
from events.registry import VOCABULARY
from ledger.clock import microseconds
from ledger.errors import InvalidQuery
from ledger.log import Query
from projections.shared_params import After, Limit, Offset, Prefix

Parameters = tuple[Parameter[Any], ...]
Subjects = Annotated[tuple[str, ...], Meta(description="Events of these streams, separated by commas.")]
ORDERS: tuple[Literal["asc", "desc"], ...] = ("asc", "desc")
AFTER = declare("after", After, 0)
BEFORE = integer_parameter("before", "Events before this position.", 1)
LIMIT, OFFSET = declare("limit", Limit, PAGE_EVENTS_DEFAULT), declare("offset", Offset, 0)
ORDER_ASCENDING = choice_parameter("order", "Ascending or descending.", ORDERS, default="asc")
TYPE = choice_list_parameter("type", "Events of these types, separated by commas.", VOCABULARY.type_names)
SUBJECT = declare("subject", Subjects, ())
SOURCE = text_parameter("source", "Events of one agent: its name, or /agents/NAME.")
CORRELATION_ID = text_parameter("correlationid", "Events with this correlation id.")
AS_OF = text_parameter(
    "as_of",
    "Answer as of a position, a time, or the end of a day.",
    {"anyOf": [CURSOR_SCHEMA, TIME_SCHEMA, DATE_SCHEMA]},
)
PREFIX = declare("prefix", Prefix, False)
EVENT_PARAMETERS: Parameters = (
    AFTER,
    BEFORE,
    LIMIT,
    ORDER_ASCENDING,
    TYPE,
    SUBJECT,
    SOURCE,
    CORRELATION_ID,
    SINCE,
    UNTIL,
)


def parse_event_query(parameters: Mapping[str, str]) -> Query:
    """Return the query for events. `type` and `subject` may name several, separated by commas. Errors: InvalidQuery."""
    types = TYPE.read(parameters)
    source = SOURCE.find(parameters)
    if source is not None and not source.startswith("/"):
        source = f"/agents/{source}"
    return Query(
        after=AFTER.read(parameters),
        before=BEFORE.find(parameters),
        limit=LIMIT.read(parameters),
        order=ORDER_ASCENDING.read(parameters),
        types=types,
        subjects=SUBJECT.read(parameters),
        source=source,
        correlationid=CORRELATION_ID.find(parameters),
        since_us=_microseconds(SINCE.find(parameters)),
        until_us=_microseconds(UNTIL.find(parameters)),
    )


def check_followable(query: Query) -> None:
    """Refuse a query that a feed cannot answer. Errors: InvalidQuery."""
    if query.order != "asc" or query.before is not None:
        raise InvalidQuery("order", "a feed is in ascending order and does not end.", "Omit order and before.")


def _microseconds(moment: datetime | None) -> int | None:
    return None if moment is None else microseconds(moment)
