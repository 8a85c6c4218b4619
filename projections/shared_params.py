"""Parameters that several operations have: filters of decisions, periods, and pages of a list."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from events.limits import PAGE_EVENTS_MAX, STREAM_ID_CHARS_MAX
from events.payload import STORED_ID_PATTERN

Since = Annotated[datetime | None, Meta(description="From this time on, or from the first moment of this day, UTC.")]
Until = Annotated[
    datetime | None,
    Meta(description="Up to this time, or to the last moment of this day, UTC.", extra={"end": True}),
]
Window = Annotated[
    Literal["30d", "60d", "90d", "all"] | None,
    Meta(description="Days back from now, or from `as_of`. Overrides `since`."),
]
Agent = Annotated[str | None, Meta(description="One agent, by its name.")]
Category = Annotated[str | None, Meta(description="Decisions of one category.")]
StakesFilter = Annotated[
    Literal["low", "medium", "high", "critical"] | None, Meta(description="Decisions with these stakes.")
]
Suite = Annotated[str | None, Meta(description="One suite, by its name.")]
EvaluatedAgent = Annotated[str | None, Meta(description="One agent, by the name under which it is evaluated.")]
Prefix = Annotated[bool, Meta(description="Whether an id may be given by an unambiguous beginning of it.")]
DecisionModel = Annotated[str | None, Meta(description="Decisions by one model, by any of its names.")]
Limit = Annotated[int, Meta(ge=1, le=PAGE_EVENTS_MAX, description="The largest number of results.")]
After = Annotated[int, Meta(ge=0, description="Events after this position: the `next` of the previous page.")]
Offset = Annotated[int, Meta(ge=0, description="How many results to skip: the `next` of the previous page.")]


def stream_id(description: str) -> Meta:
    """Return how the id of a stream is declared, with its description."""
    schema = {"type": "string", "minLength": 1, "maxLength": STREAM_ID_CHARS_MAX, "pattern": STORED_ID_PATTERN}
    return Meta(description=description, extra_json_schema=schema)


class DecisionFilterParams(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions are meant."""

    agent: Agent = None
    category: Category = None
    stakes: StakesFilter = None
    project: Annotated[str | None, Meta(description="Decisions of one project.")] = None
    feature: Annotated[str | None, Meta(description="Decisions of one feature.")] = None

    def keys(self) -> dict[str, Any]:
        """Return the filters by name."""
        return {name: getattr(self, name) for name in DecisionFilterParams.__struct_fields__}


class NoParams(msgspec.Struct, frozen=True, kw_only=True):
    """An operation without parameters."""
