"""The parameters of questions about evaluations and judges."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from events.limits import PAGE_EVENTS_DEFAULT
from projections.shared_params import EvaluatedAgent, Limit, Offset, Suite, stream_id

VERSIONS_SHOWN = 100
"""Default for the number of versions of an agent that have a row."""

VERSIONS_LISTED_MAX = 1_000
"""The most versions of an agent that a scoreboard shows."""

RowsOf = Literal["agent", "model"]


class ScoreboardQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows a scoreboard has.

    With `group_by` model, a row has all answers of a model, whichever agent gave them; it is compared with none.
    """

    suite: Suite = None
    agent: EvaluatedAgent = None
    versions: Annotated[
        int,
        Meta(
            ge=1,
            le=VERSIONS_LISTED_MAX,
            description="How many versions of each agent to list, newest first by their first run. The trend has all.",
        ),
    ] = VERSIONS_SHOWN
    group_by: Annotated[RowsOf, Meta(description="What a row is about: a version of an agent, or a model.")] = "agent"


class ScenarioQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs of a scenario to list: a page of them, the last begun first."""

    scenario_id: Annotated[str, stream_id("The scenario's id.")]
    suite: Suite = None
    agent: EvaluatedAgent = None
    limit: Limit = PAGE_EVENTS_DEFAULT
    offset: Offset = 0


class JudgeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which judges to report on, and for which answers."""

    judge: Annotated[str | None, Meta(description="One judge, by its name as an agent.")] = None
    suite: Annotated[str | None, Meta(description="Answers of one suite, by its name.")] = None


class QueueQuery(JudgeQuery, frozen=True, kw_only=True):
    """Which answers to label: a page of those that a judge scored and that lack a label."""

    limit: Limit = PAGE_EVENTS_DEFAULT
    offset: Offset = 0
