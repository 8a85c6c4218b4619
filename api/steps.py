"""What the verbs of a live run are asked and what they answer, and the ledger they write in."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Protocol

import msgspec

from api.custody import Blob
from events.discovery import AttemptOutcome, Meta, TimeText
from events.envelope import Draft
from events.payload import Label, StreamId
from instruments.discovery import Analysis
from instruments.discovery.session import MAX_ATTEMPTS, MAX_ITERATIONS

PROBE = "refactor-go"
"""The probe of a run that names none."""

ATTEMPTS_MAX = 1_000
"""The most attempts, and the most models, that a run may be given."""

Limit = Annotated[int, msgspec.Meta(ge=1, le=ATTEMPTS_MAX)]


class Position(Protocol):
    """Where a batch stands."""

    @property
    def first(self) -> int:
        """The lowest position."""


class Book(Protocol):
    """A ledger that runs are written in: a house with who speaks, a file, or a server."""

    async def append(self, drafts: list[Draft]) -> Position:
        """Append a batch atomically. Errors: those of `House.record`."""

    def keep(self, blobs: Iterable[Blob]) -> AbstractAsyncContextManager[list[Draft]]:
        """Hold bytes for a batch; within, the drafts to append with it. Errors: those of `Custody.keep`."""

    async def streams(self, subjects: Sequence[str], types: Sequence[str] = ()) -> bytes:
        """The stored events of some streams, or of all, as NDJSON; those of some types where they are named."""


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run asks and when it stops. `keep_going` lets it go on to its limits, whatever is answered.

    `sensitive` keeps what is answered as evidence alone, which can be erased; no event has a word of it.
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


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What a run wants next: the prompt of the attempt that is due; where it has ended, why, and no prompt."""

    run_id: str
    attempt: int | None
    prompt: str | None
    exclusion_prompt: str | None
    excluded: list[str]
    ending: str | None = None
    reason: str | None = None


class Responded(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one response, what a person watching is told of it, and what the run wants next."""

    run_id: str
    attempt: int
    outcome: AttemptOutcome
    iteration: int | None
    analysis: Analysis | None
    score: float | None
    detail: str | None
    lines: list[str]
    next: Step


class SignalDraft(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that the people watching a run should know."""

    event: Label
    agent: Label | None = None
    case_id: Label | None = None
    step: Label | None = None
    meta: Meta | None = None
    ts: TimeText | None = None


class SignalEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A signal as it stands in the log: `time` is the event's, `ts` what its sender wrote."""

    position: int
    time: str
    event: str
    agent: str | None = None
    case_id: str | None = None
    step: str | None = None
    meta: dict[str, str] | None = None
    ts: str | None = None


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """Signals in the order of the log; `next` is what to give as `since` for those that come later."""

    signals: list[SignalEntry]
    next: int


class Begun(msgspec.Struct, frozen=True):
    """A run that began; `duplicate` when that was before, alike."""

    run_id: str
    duplicate: bool
