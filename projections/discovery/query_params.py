"""The parameters of questions about models."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from events.limits import PAGE_EVENTS_MAX
from projections.shared_params import Offset

ModelOrder = Literal["sightings", "last_seen", "name"]
Model = Annotated[str | None, Meta(description="One model, by any of its names.")]
Rows = Annotated[
    int | None,
    Meta(ge=1, le=PAGE_EVENTS_MAX, description="The largest number of rows in each list; without it, all."),
]


class InventoryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the inventory. `limit` and `offset` apply to each list but that of routers."""

    model: Model = None
    search: Annotated[str | None, Meta(description="Names that contain this text, whatever its case.")] = None
    known: Annotated[bool | None, Meta(description="Models that are registered, or that are not.")] = None
    router: Annotated[str | None, Meta(description="Only the attempts of one router count.")] = None
    sort: Annotated[
        ModelOrder, Meta(description="The order of models: the most sighted first, the last seen, or by name.")
    ] = "sightings"
    limit: Rows = None
    offset: Offset = 0


class ProbeScoreQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which scores to compare. `limit` and `offset` apply to the rows of each table."""

    probe: Annotated[str | None, Meta(description="One probe, ID or ID@VERSION.")] = None
    scorer: Annotated[str | None, Meta(description="Scores by one scorer, ID or ID@VERSION.")] = None
    model: Model = None
    limit: Rows = None
    offset: Offset = 0


class ProfileQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which models to profile."""

    model: Model = None
