"""Parameters and results of the operations on live runs."""

from typing import Annotated

import msgspec

from events.discovery import AttemptOutcome
from events.payload import Label, Meta, StreamId, TimeText
from instruments.discovery import ResponseAnalysis
from instruments.discovery.session import MAX_ATTEMPTS, MAX_ITERATIONS

PROBE = "refactor-go"
"""The default probe of a run."""

ATTEMPTS_MAX = 1_000
"""The highest limit of attempts, and of models, that a run may have."""

Limit = Annotated[int, msgspec.Meta(ge=1, le=ATTEMPTS_MAX)]


class RunConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run asks and when it stops. `keep_going` lets it continue to its limits, whatever the answers are.

    `sensitive` keeps answers only as evidence, which can be erased; no event contains their text.
    """

    run_id: StreamId | None = None
    probe_id: Label = PROBE
    max_iterations: Limit = MAX_ITERATIONS
    max_attempts: Limit = MAX_ATTEMPTS
    terminate_on_repeat: bool = True
    keep_going: bool = False
    sensitive: bool = False
    router: Label | None = None
    requested_model: Label | None = None


class NextPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt of the attempt that is due; of a run that has ended, no prompt, and why it ended."""

    run_id: str
    attempt: int | None
    prompt: str | None
    exclusion_prompt: str | None
    excluded: list[str]
    ending: str | None = None
    reason: str | None = None


class ResponseResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one response, the lines to show to people who watch the run, and the next prompt."""

    run_id: str
    attempt: int
    outcome: AttemptOutcome
    iteration: int | None
    analysis: ResponseAnalysis | None
    score: float | None
    detail: str | None
    lines: list[str]
    next: NextPrompt


class SignalDraft(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that the people watching a run should know."""

    event: Label
    agent: Label | None = None
    case_id: Label | None = None
    step: Label | None = None
    meta: Meta | None = None
    ts: TimeText | None = None


class SignalEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A signal in the log: `time` is the time of the event, `ts` the time that its sender wrote."""

    position: int
    time: str
    event: str
    agent: str | None = None
    case_id: str | None = None
    step: str | None = None
    meta: dict[str, str] | None = None
    ts: str | None = None


class SignalPage(msgspec.Struct, frozen=True, kw_only=True):
    """Signals in the order of the log; pass `next` as `since` to get later ones."""

    signals: list[SignalEntry]
    next: int


class StartResult(msgspec.Struct, frozen=True):
    """A run that began; `duplicate` if an identical run of that id began before."""

    run_id: str
    duplicate: bool
