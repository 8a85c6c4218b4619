"""The operations on an evaluation run: begin it, add scores, end it; in a ledger file or through a server.

The state of a run is in the log alone. Each append expects the version of the stream that was read, so that each
attempt is scored once, even if two processes continue the same run. If a server cannot be reached, the scores are kept
and the append is tried again; it leaves out scores that an earlier try wrote.
"""

import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import TypeVar

import msgspec
from msgspec import structs

from api.errors import RunEnded
from api.service.evaluation.recorded_tries import AttemptKey, LastTry, RecordedTries
from api.service.evidence import Blob
from api.service.retry import retry, while_unavailable
from api.service.run_checks import run_exists_error
from api.service.store import EventStore, append_with
from events.decode_error_messages import explain_decode_error
from events.envelope import Draft, Event
from events.evaluation import EvalFinished, EvalReopened, EvalScored, EvalStarted
from events.limits import EVENT_ID_CHARS_MAX, STREAM_ID_CHARS_MAX
from events.payload import STORED_ID_PATTERN, STREAM_ID_PATTERN, STREAM_ID_SHAPE, Payload
from events.registry import VOCABULARY
from ledger.errors import (
    AppendRefused,
    IdentityConflict,
    InvalidQuery,
    LifecycleViolation,
    NotFound,
    StreamConflict,
)

APPENDED_EVENTS_MAX = 500
"""Events in one append of scores."""

_Payload = TypeVar("_Payload", bound=Payload)
_id, _stored_id = re.compile(STREAM_ID_PATTERN), re.compile(STORED_ID_PATTERN)


class GradedAttempt(msgspec.Struct, frozen=True):
    """A score to add to a run, the bytes that it names by digest, and events to append together with it."""

    score: EvalScored
    blobs: tuple[Blob, ...] = ()
    drafts: tuple[Draft, ...] = ()
    lasting: bool = False
    """Whether a retry would end in the same error."""
    superseded: bool = False
    """Whether another process had recorded this try before: the answer is not in the log."""

    @property
    def key(self) -> AttemptKey:
        """The scenario and the attempt."""
        return self.score.scenario_id, self.score.attempt

    @property
    def retry(self) -> int:
        """The number of the retry; 0 for the first try."""
        return self.score.retry or 0

    def with_retry(self, number: int) -> "GradedAttempt":
        """Return the try with its number; 0 is the first one, which states none."""
        return structs.replace(self, score=structs.replace(self.score, retry=number)) if number else self


class EvalRun(msgspec.Struct, kw_only=True):
    """The state of a run after the last read or append.

    `version` is the number of events in the stream, `tries` has the tries of each attempt, `worked_ns` is the time that
    agents took to answer before this process began to work on the run.
    """

    started: EvalStarted
    version: int
    tries: RecordedTries
    finished: bool
    worked_ns: int

    @property
    def scored(self) -> dict[AttemptKey, LastTry]:
        """The attempts that have a score or an error, each with its last try."""
        return self.tries.last

    def lacks(self, graded: GradedAttempt) -> bool:
        """Tell whether a try, or a later one of the same attempt, is not recorded yet."""
        last = self.scored.get(graded.key)
        return last is None or last.retry < graded.retry

    def has_other(self, graded: GradedAttempt) -> bool:
        """Tell whether the last try of an attempt is another answer, which took another time."""
        last = self.scored[graded.key]
        return (last.retry, last.elapsed_ns) != (graded.retry, graded.score.elapsed_ns)

    @property
    def run_id(self) -> str:
        """The id of the run."""
        assert self.started.run_id is not None, "a run has an id once it has begun"
        return self.started.run_id

    @classmethod
    def of(cls, events: Sequence[Event]) -> "EvalRun":
        """Return the run of a stream's events; the first event is its start."""
        started, last = events[0].data, events[-1]
        assert isinstance(started, EvalStarted)
        tries = RecordedTries()
        tries.fold(events)
        return cls(
            started=started,
            version=last.streamversion,
            tries=tries,
            finished=isinstance(last.data, EvalFinished),
            worked_ns=_worked_ns(events),
        )


async def find_run(store: EventStore, run_id: str) -> EvalRun | None:
    """Return the current state of a run; None for an unknown id. Errors: those of reading."""
    if _stored_id.fullmatch(run_id) is None:
        return None
    events = VOCABULARY.events(await store.streams([f"evaluation/{run_id}"]))
    return EvalRun.of(events) if events else None


async def find_existing(store: EventStore, run_id: str) -> EvalRun:
    """Return a run. Errors: NotFound; those of reading."""
    run = await find_run(store, run_id)
    if run is None:
        raise NotFound(f"There is no evaluation {run_id}.", "See the evaluations: tallystick eval list.")
    return run


async def find_unfinished(store: EventStore, run_id: str) -> EvalRun:
    """Return a run that can be continued. Errors: NotFound, RunEnded; those of reading."""
    run = await find_existing(store, run_id)
    if run.finished:
        raise RunEnded(
            f"Evaluation {run_id} has ended.",
            "Start another; `tallystick eval show` shows it, and `--retry-errors` retries its errors.",
        )
    return run


def check_id(run_id: str) -> None:
    """Check an id of a run. Errors: InvalidQuery."""
    if _id.fullmatch(run_id) is None or len(run_id) > STREAM_ID_CHARS_MAX:
        detail = f"{run_id!r} is not {STREAM_ID_SHAPE}."
        raise InvalidQuery("run", detail, "Choose another id.")


async def require_unused_id(store: EventStore, run_id: str | None) -> None:
    """Refuse the id of an existing run. Errors: LifecycleViolation; those of reading."""
    if run_id is not None and await find_run(store, run_id) is not None:
        raise run_exists_error("evaluation", run_id)


async def begin_run(store: EventStore, started: EvalStarted) -> EvalRun:
    """Begin a run; a run without an id gets a random one.

    Errors: InvalidEvent; LifecycleViolation, if a run of that id exists; those of appending.
    """
    while True:
        start = validate_payload(structs.replace(started, run_id=started.run_id or secrets.token_hex(4)))
        run = EvalRun(started=start, version=1, tries=RecordedTries(), finished=False, worked_ns=0)
        try:
            await require_unused_id(store, run.run_id)
            await retry(partial(_start, store, run), while_unavailable)
        except (LifecycleViolation, StreamConflict, IdentityConflict):
            if started.run_id is None:
                continue
            raise run_exists_error("evaluation", run.run_id) from None
        return run


async def _start(store: EventStore, run: EvalRun, again: bool) -> None:
    draft = VOCABULARY.draft_of(run.started, id=f"eval:{run.run_id}:started", expectedversion=0)
    await store.append([draft])


async def add_scores(store: EventStore, run: EvalRun, graded: Sequence[GradedAttempt]) -> Sequence[GradedAttempt]:
    """Add scores to a run, in as few appends as possible; leave out those that it has already.

    Return the scores; those are `superseded` of which another process had added its own.
    Errors: InvalidEvent, RunEnded; those of appending, after waiting for a server that cannot be reached.
    """

    async def attempt(again: bool) -> None:
        if again:
            await _refresh(store, run)
        with_ids = True
        while unscored := _first_batch([each for each in graded if run.lacks(each)]):
            if run.finished:
                raise RunEnded(f"Evaluation {run.run_id} was ended meanwhile.", "Start another.")
            version = run.version
            try:
                await _append(store, _drafts(run, unscored, with_ids=with_ids), unscored)
            except AppendRefused as error:
                await _refresh(store, run)
                if run.version == version and not isinstance(error, IdentityConflict):
                    raise
                with_ids = with_ids and run.version != version
                continue
            run.version += len(unscored)
            run.tries.add(each.score for each in unscored)

    await retry(attempt, while_unavailable)
    return [structs.replace(each, superseded=run.has_other(each)) for each in graded]


def _first_batch(graded: Sequence[GradedAttempt]) -> Sequence[GradedAttempt]:
    """Return the first scores that fit into one append together with their events and bytes; at least one."""
    events = 0
    for at, each in enumerate(graded):
        events += 1 + len(each.drafts) + len(each.blobs)
        if events > APPENDED_EVENTS_MAX:
            return graded[: max(at, 1)]
    return graded


async def finish_run(store: EventStore, run: EvalRun, elapsed_ns: int | None = None, reason: str | None = None) -> None:
    """End a run; do nothing if another process has ended it. Errors: those of appending.

    `reason` says why it ends early.
    """
    await _change_state(store, run, EvalFinished(run_id=run.run_id, elapsed_ns=elapsed_ns, reason=reason))


async def reopen_run(store: EventStore, run: EvalRun, reason: str) -> None:
    """Reopen a run that has ended; do nothing if another process has reopened it. Errors: those of appending."""
    await _change_state(store, run, EvalReopened(run_id=run.run_id, reason=reason))


async def _change_state(store: EventStore, run: EvalRun, change: EvalFinished | EvalReopened) -> None:
    """End or reopen a run, unless it is so already."""
    finished = isinstance(change, EvalFinished)

    async def attempt(again: bool) -> None:
        if again:
            await _refresh(store, run)
        while run.finished is not finished:
            with suppress(StreamConflict, LifecycleViolation):
                await store.append([VOCABULARY.draft_of(change, expectedversion=run.version)])
            await _refresh(store, run)

    await retry(attempt, while_unavailable)


async def _refresh(store: EventStore, run: EvalRun) -> None:
    stored = await find_run(store, run.run_id)
    assert stored is not None, "a run that has begun is never removed"
    run.version, run.tries, run.finished = stored.version, stored.tries, stored.finished


def _drafts(run: EvalRun, graded: Sequence[GradedAttempt], *, with_ids: bool) -> list[Draft]:
    """Return scores as drafts, each at the next version; without event ids if another event has one of them."""
    return [
        VOCABULARY.draft_of(
            validate_payload(structs.replace(each.score, run_id=run.run_id)),
            id=score_event_id(run.run_id, each) if with_ids else None,
            expectedversion=run.version + number,
        )
        for number, each in enumerate(graded)
    ]


def validate_payload(payload: _Payload) -> _Payload:
    """Check a payload that was made in code, not decoded. Errors: InvalidEvent."""
    try:
        return msgspec.json.decode(msgspec.json.encode(payload), type=type(payload))
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise explain_decode_error(error, VOCABULARY.type_names, shape=type(payload)) from None


def score_event_id(run_id: str, graded: GradedAttempt) -> str:
    """Return the id of a try: the same in each process that continues the run."""
    event_id = f"eval:{run_id}:{graded.key[0]}:{graded.key[1]}{f':r{graded.retry}' if graded.retry else ''}"
    return event_id if len(event_id) <= EVENT_ID_CHARS_MAX else f"eval:{sha256(event_id.encode()).hexdigest()}"


async def _append(store: EventStore, drafts: list[Draft], graded: Sequence[GradedAttempt]) -> None:
    """Append scores with the bytes and the further events that belong to them."""
    blobs = [blob for each in graded for blob in each.blobs]
    await append_with(store, blobs, [*drafts, *(draft for each in graded for draft in each.drafts)])


def _worked_ns(events: Sequence[Event]) -> int:
    """Return how long agents took to answer; time in which several answered is added once.

    Gaps between the answers are interruptions, and are not added.
    """
    spans = []
    for event in events:
        if isinstance(event.data, EvalScored) and event.data.elapsed_ns is not None:
            end_ns = int(datetime.fromisoformat(event.recordedtime).timestamp() * 1e6) * 1_000
            spans.append((end_ns - event.data.elapsed_ns, end_ns))
    worked_ns, covered_until_ns = 0, 0
    for start_ns, end_ns in sorted(spans):
        worked_ns += max(0, end_ns - max(start_ns, covered_until_ns))
        covered_until_ns = max(covered_until_ns, end_ns)
    return worked_ns
