"""The parameters of questions about one evaluation, the comparison of two, and the gate."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from events.limits import STREAM_ID_CHARS_MAX
from events.payload import STORED_ID_PATTERN
from projections.shared_params import Prefix, stream_id

LATEST = "latest"
"""Instead of the id of a run: the newest one that fits."""

SECONDS_MAX = 1e9
"""The highest limit of a latency, seconds."""

COST_LIMIT_USD_MAX = 1e6
POINTS_LIMIT_MAX = 100


class EvaluationParams(msgspec.Struct, frozen=True, kw_only=True):
    """Which evaluation to show."""

    run: Annotated[str, stream_id("The run's id.")]
    include: Annotated[
        tuple[Literal["analyses"], ...],
        Meta(
            description="Further parts of the answer. `analyses`: every answer of the agent, also those stored as "
            "evidence."
        ),
    ] = ()
    prefix: Prefix = False


class ComparisonParams(msgspec.Struct, frozen=True, kw_only=True):
    """Which two evaluations to compare."""

    baseline: Annotated[
        str,
        stream_id(
            f"The run to compare with. `{LATEST}`: the newest ended run before the candidate, of the same suite, agent "
            "and selection."
        ),
    ]
    candidate: Annotated[str, stream_id("The run to compare.")]
    prefix: Prefix = False


class LimitParams(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a gate."""

    max_regressions: Annotated[
        int | None, Meta(ge=0, description="How many scenarios may have regressed; without it, a test decides.")
    ] = None
    max_errors: Annotated[int, Meta(ge=0, description="How many errors the candidate may have.")] = 0
    min_score: Annotated[float | None, Meta(ge=0, le=POINTS_LIMIT_MAX, description="The lowest allowed mean.")] = None
    alpha: Annotated[
        float | None,
        Meta(ge=0.0001, le=0.5, description="How often an unchanged agent may be called worse; 0.05 if absent."),
    ] = None
    drop: Annotated[
        float | None,
        Meta(ge=0.01, le=1, description="The drop of the pass rate to tell the power for; 0.2 if absent."),
    ] = None
    drop_in: Annotated[
        int | None,
        Meta(
            ge=1, description="The drop is in so many of the compared scenarios; in all if absent or more than these."
        ),
    ] = None
    max_latency: Annotated[
        float | None, Meta(ge=0, le=SECONDS_MAX, description="The highest allowed median latency, seconds.")
    ] = None
    max_latency_p95: Annotated[
        float | None,
        Meta(ge=0, le=SECONDS_MAX, description="The highest allowed 95th percentile of the latency, seconds."),
    ] = None
    max_cost_per_attempt: Annotated[
        float | None,
        Meta(
            ge=0,
            le=COST_LIMIT_USD_MAX,
            description="The highest allowed cost of an attempt with all its tries, US dollars.",
        ),
    ] = None


class GateParams(LimitParams, frozen=True, kw_only=True):
    """The run to judge, the run to compare it with, and the limits."""

    run: Annotated[
        str,
        stream_id(
            f"The run to judge, by its id or a unique beginning of it. `{LATEST}`: the newest run that has ended."
        ),
    ] = LATEST
    baseline: Annotated[
        str,
        Meta(
            description="The run to compare with, by its id or a unique beginning of it. "
            f"`{LATEST}`: the newest ended run before the candidate, of the same suite and selection.",
            extra_json_schema={
                "type": "string",
                "minLength": 1,
                "maxLength": STREAM_ID_CHARS_MAX,
                "pattern": STORED_ID_PATTERN,
            },
            extra={"option": True},
        ),
    ]
    suite: Annotated[str | None, Meta(description="The suite of the latest run, by its name.")] = None
