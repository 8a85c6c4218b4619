"""The parameters of lists of discovery runs, of evaluations, and of questions about suite versions."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from api.parameters import time_range
from events.limits import PAGE_EVENTS_DEFAULT
from projections.shared_params import (
    Agent,
    EvaluatedAgent,
    Limit,
    Offset,
    Prefix,
    Since,
    Suite,
    Until,
    Window,
    stream_id,
)
from projections.time_range import TimeRange

Version = Annotated[
    str,
    stream_id(
        "A run of the version, its suite digest or the digest of its list of files, or a unique beginning of one."
    ),
]


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs to list: a page of them, the most recently begun first."""

    agent: Agent = None
    router: Annotated[str | None, Meta(description="Runs that asked one router.")] = None
    probe: Annotated[str | None, Meta(description="Runs with one probe, by its id.")] = None
    since: Since = None
    until: Until = None
    window: Window = None
    limit: Limit = PAGE_EVENTS_DEFAULT
    offset: Offset = 0

    def range(self, now: datetime) -> TimeRange:
        """Return when the runs began. Errors: InvalidQuery."""
        return time_range(self.since, self.until, self.window, now)


class RunParams(msgspec.Struct, frozen=True, kw_only=True):
    """Which run to show."""

    run_id: Annotated[str, stream_id("The run's id.")]
    include: Annotated[
        tuple[Literal["attempts", "summary"], ...],
        Meta(
            description="Further parts of the report. `attempts`: all attempts and signals. `summary`: the run as the "
            "list of runs has it."
        ),
    ] = ()
    prefix: Prefix = False


class EvaluationQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which evaluations to list: a page of them, the most recently begun first."""

    suite: Suite = None
    agent: EvaluatedAgent = None
    since: Since = None
    until: Until = None
    window: Window = None
    limit: Limit = PAGE_EVENTS_DEFAULT
    offset: Offset = 0

    def range(self, now: datetime) -> TimeRange:
        """Return when the evaluations began. Errors: InvalidQuery."""
        return time_range(self.since, self.until, self.window, now)


class SuiteVersionsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which suite versions to list: a page of them, the last used first."""

    suite: Suite = None
    limit: Limit = PAGE_EVENTS_DEFAULT
    offset: Offset = 0


class SuiteVersionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which suite version to show, with a page of its scenarios."""

    version: Version
    limit: Limit = PAGE_EVENTS_DEFAULT
    offset: Offset = 0


class KeptScenarioQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which scenario of a suite version to show."""

    version: Version
    scenario_id: Annotated[str, stream_id("The scenario's id.")]


class KeptFileQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which file of a suite version to return."""

    version: Version
    path: Annotated[str, Meta(description="The path of the file, such as `job-image/scenario.yaml`.")]


class SuiteComparisonQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which two suite versions to compare."""

    baseline: Annotated[str, stream_id("The older version, named as `version` is.")]
    candidate: Annotated[str, stream_id("The newer version, named as `version` is.")]
