"""Parameters and results of the operations on a discovery run."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from events.discovery import AttemptOutcome
from events.payload import Label, Meta, StreamId, TimeText
from instruments.discovery import ResponseAnalysis
from instruments.discovery.session import MAX_ATTEMPTS, MAX_ITERATIONS
from instruments.probes import PROBES

PROBE = "refactor-go"
"""The default probe of a run."""

RUN_LIMIT_MAX = 1_000
"""The highest accepted value of `max_attempts` and of `max_iterations`."""

PROBES_MAX = 12
"""The largest number of probes in one prompt."""

ProbeId = Annotated[Label, msgspec.Meta(extra_json_schema={"enum": list(dict.fromkeys(probe.id for probe in PROBES))})]
ProbeIds = Annotated[
    tuple[ProbeId, ...], msgspec.Meta(min_length=1, max_length=PROBES_MAX, extra_json_schema={"uniqueItems": True})
]
Limit = Annotated[int, msgspec.Meta(ge=1, le=RUN_LIMIT_MAX)]


class RunConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The probe of a run, or a battery of several (`probes`), and when it stops: with `keep_going` only at its limits.

    With `sensitive`, answers are stored only as evidence, which can be erased; no event contains their text.
    """

    run_id: StreamId | None = None
    probe_id: ProbeId = PROBE
    probes: ProbeIds | None = None
    max_iterations: Limit = MAX_ITERATIONS
    max_attempts: Limit = MAX_ATTEMPTS
    terminate_on_repeat: bool = True
    keep_going: bool = False
    sensitive: bool = False
    router: Label | None = None
    requested_model: Label | None = None


class NextPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt of the next attempt; for a run that has ended, `ending` and `reason` in place of a prompt."""

    run_id: str
    attempt: int | None
    prompt: str | None
    exclusion_prompt: str | None
    excluded: list[str]
    ending: str | None = None
    reason: str | None = None


class ResponseResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one response, the lines to show to people who watch the run, and the next prompt.

    `scores` has the score of each probe of a battery, `score` that of the first. `register` is the command that
    registers an accepted model that is not known.
    """

    run_id: str
    attempt: int
    outcome: AttemptOutcome
    iteration: int | None
    analysis: ResponseAnalysis | None
    score: float | None
    detail: str | None
    lines: list[str]
    next: NextPrompt
    scores: dict[str, float | None] | UnsetType = UNSET
    register: str | UnsetType = UNSET


class SignalDraft(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message to the people who watch a run."""

    event: Label
    agent: Label | None = None
    case_id: Label | None = None
    step: Label | None = None
    meta: Meta | None = None
    ts: TimeText | None = None


class SignalEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recorded signal: `time` is the time of its event, `ts` the time that its sender stated.

    The answer to a sender has the id in `unknown` if no run has it.
    """

    position: int
    time: str
    event: str
    agent: str | None = None
    case_id: str | None = None
    step: str | None = None
    meta: dict[str, str] | None = None
    ts: str | None = None
    unknown: list[str] | None = None


class SignalPage(msgspec.Struct, frozen=True, kw_only=True):
    """Signals in the order of the log; pass `next` as `since` to get later ones."""

    signals: list[SignalEntry]
    next: int


class StartResult(msgspec.Struct, frozen=True):
    """A run that began; `duplicate` if the call was a retry: an identical run with that id existed."""

    run_id: str
    duplicate: bool
