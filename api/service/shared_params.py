"""Parameters that several operations have: filters of decisions, and pages of a list."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from api.parameters import Params
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX

Agent = Annotated[str | None, Meta(description="One agent, by its name.")]
Category = Annotated[str | None, Meta(description="Decisions of one category.")]
StakesFilter = Annotated[
    Literal["low", "medium", "high", "critical"] | None, Meta(description="Decisions with these stakes.")
]
DecisionModel = Annotated[str | None, Meta(description="Decisions by one model, by any of its names.")]
Limit = Annotated[int, Meta(ge=1, le=PAGE_EVENTS_MAX, description="The largest number of results.")]
Offset = Annotated[int, Meta(ge=0, description="How many results to skip: the `next` of the previous page.")]

LIMIT_DEFAULT = PAGE_EVENTS_DEFAULT


class DecisionFilterParams(Params, frozen=True, kw_only=True):
    """Which decisions are meant."""

    agent: Agent = None
    category: Category = None
    stakes: StakesFilter = None
    project: Annotated[str | None, Meta(description="Decisions of one project.")] = None
    feature: Annotated[str | None, Meta(description="Decisions of one feature.")] = None

    def keys(self) -> dict[str, Any]:
        """Return the filters by name."""
        return {name: getattr(self, name) for name in DecisionFilterParams.__struct_fields__}
