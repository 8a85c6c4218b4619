"""The operations on a discovery run: begin, read the prompt, record an answer, end. Signals are in `run_signals.py`.

The state of a run is in the log alone. Each operation reads the stream of the run, lets `instruments.discovery.Session`
decide, and appends the result at the version that it read. If two operations run at the same time, the log accepts one;
the other reads and decides again. An answer is durable before the caller gets its result.
"""

import re
import secrets
from asyncio import to_thread
from collections.abc import Sequence
from hashlib import sha256

import msgspec
from msgspec import UNSET, structs

from api.errors import AttemptTaken
from api.service.discovery.run_stream import (
    PROBE_IDS,
    START_AND_END,
    LiveRun,
    check_running,
    load_run,
    read_events,
    read_stored,
)
from api.service.discovery.run_types import (
    PROBE,
    RUN_LIMIT_MAX,
    NextPrompt,
    ResponseResult,
    RunConfig,
    StartResult,
)
from api.service.evidence import Blob
from api.service.model_registry import find_registration
from api.service.shared_fields import shared_fields
from api.service.store import EventStore, without_erased
from api.service.stored_model_names import load_model_names
from events.discovery import BatteryProbe, DiscoveryAttempted, DiscoveryFinished, DiscoveryStarted, Ending
from events.envelope import Draft
from events.errors import InvalidEvent
from events.limits import ANSWER_BYTES_MAX, PAYLOAD_BYTES_MAX
from events.payload import Payload
from events.probe import ProbeScored, ProbeScoredV1
from events.registry import VOCABULARY
from instruments.answer import RouterAnswer
from instruments.discovery import (
    BATTERY_PROMPT_VERSION,
    PROMPT_VERSION,
    Session,
    analyze,
    render_events,
)
from instruments.probes import Probe, find_probe
from ledger.errors import Gone, LifecycleViolation, LineTooLong, StreamConflict
from projections.discovery.model_names import ModelNames

_secret = re.compile(r"//[^/\s]*@")
_json = msgspec.json.encode


async def start(store: EventStore, config: RunConfig) -> StartResult:
    """Begin a run. With an id, the call is a retry if an identical run with that id exists.

    Errors: InvalidEvent, naming the field; LifecycleViolation, for the id of another run; those of appending.
    """
    probes = _find_probes(_check_config(config))
    probe, is_battery = probes[0], len(probes) > 1
    battery = tuple(BatteryProbe(probe_id=one.id, probe_version=one.version) for one in probes)
    settings = structs.replace(
        DiscoveryStarted(**shared_fields(config, DiscoveryStarted)),
        probe_id=probe.id,
        probe_version=probe.version,
        prompt_version=BATTERY_PROMPT_VERSION if is_battery else PROMPT_VERSION,
        terminate_on_repeat=config.terminate_on_repeat and not config.keep_going,
        sensitive=config.sensitive or None,
        battery=battery if is_battery else None,
    )
    while True:
        started = structs.replace(settings, run_id=config.run_id or secrets.token_hex(4))
        assert started.run_id is not None
        try:
            await store.append([_draft(started, 0)])
        except StreamConflict:
            stored = await read_stored(store, started.run_id, START_AND_END)
            if config.run_id is None or not stored:
                continue
            if stored[0].data != started:
                raise _run_id_taken_error(started.run_id) from None
            return StartResult(started.run_id, duplicate=True)
        return StartResult(started.run_id, duplicate=False)


async def prompt(store: EventStore, run_id: str) -> NextPrompt:
    """Return the next prompt of a run, or why the run ended. Errors: NotFound, LifecycleViolation."""
    run = await load_run(store, run_id)
    return _next_prompt(run.session, None if run.session.finished is not None else run.probe)


async def respond(store: EventStore, run_id: str, answer: RouterAnswer, attempt: int | None = None) -> ResponseResult:
    """Record an answer; return its analysis and the next prompt.

    With `attempt`, the answer is for that attempt only: if the same answer is recorded, return its result again; if
    another answer is, raise AttemptTaken. Without it, the answer is for the attempt that is next when it is written.
    Errors: NotFound, RunEnded, AttemptTaken, LineTooLong, LifecycleViolation; those of appending.
    """
    _check_size(answer)
    while True:
        run = await load_run(store, run_id)
        due = run.session.attempts + 1
        if attempt is not None and (found := run.recorded(attempt)) is not None:
            position, recorded = found
            if not _is_recorded_answer(recorded, answer):
                raise _attempt_taken_error(run_id, recorded)
            before, names = run.before(attempt), await load_model_names(store, position)
            payloads = await to_thread(before.decide, answer, run.probe, names)
            return await _build_result(run, before, answer, payloads, names)
        check_running(run.events)
        if attempt is not None and attempt != due:
            raise AttemptTaken(
                f"attempt {attempt} of run {run_id} is not due: attempt {due} is.",
                "Read the prompt again, and answer the attempt it names.",
            )
        names = await load_model_names(store)
        payloads = await to_thread(run.session.decide, answer, run.probe, names)
        drafts, blobs = _fit_to_lines(payloads, sensitive=run.session.started.sensitive is True)
        drafts[0].expectedversion = run.version
        try:
            await _append(store, drafts, blobs)
        except StreamConflict:
            continue
        return await _build_result(run, run.session, answer, payloads, names)


async def finish(store: EventStore, run_id: str, reason: str | None = None, ending: Ending = "requested") -> None:
    """End a run; do nothing if it has ended in the same way. Errors: NotFound, RunEnded; those of appending."""
    reason_text = reason if reason is not None else "requested"
    while True:
        events = await read_events(store, run_id)
        end = events[-1].data
        if isinstance(end, DiscoveryFinished) and (end.ending, end.reason) == (ending, reason_text):
            return
        check_running(events)
        try:
            await store.append([_draft(Session.of(events).finish(ending, reason_text), events[-1].streamversion)])
        except StreamConflict:
            continue
        return


async def _build_result(
    run: LiveRun, before: Session, answer: RouterAnswer, payloads: Sequence[Payload], names: ModelNames
) -> ResponseResult:
    """Return the result of an answer. A retry gets the same: it depends on the answer and on what was before it."""
    attempted = payloads[0]
    assert isinstance(attempted, DiscoveryAttempted)
    scores = {payload.probe_id: payload.total_score for payload in payloads if isinstance(payload, ProbeScored)}
    analysis = None
    if answer.failure is None:
        analysis = await to_thread(analyze, answer.text, run.probe, names)
    register = None
    if attempted.outcome == "accepted" and attempted.claimed is not None:
        register = find_registration(attempted.claimed, names)
    return ResponseResult(
        **shared_fields(attempted, ResponseResult),
        analysis=analysis,
        score=next(iter(scores.values()), None),
        lines=render_events(payloads),
        next=_next_prompt(before.then(payloads), run.probe),
        scores=scores if len(scores) > 1 else UNSET,
        register=register or UNSET,
    )


def _next_prompt(session: Session, probe: Probe | None) -> NextPrompt:
    finished = session.finished
    next_prompt = session.prompt(probe) if finished is None and probe is not None else None
    return NextPrompt(
        run_id=session.run_id,
        attempt=None if next_prompt is None else next_prompt.attempt,
        prompt=None if next_prompt is None else next_prompt.text,
        exclusion_prompt=None if next_prompt is None else next_prompt.exclusion,
        excluded=[identity.model_name for identity in session.excluded],
        ending=session.ending,
        reason=None if finished is None else finished.reason,
    )


def _draft(payload: Payload, expectedversion: int | None = None) -> Draft:
    return VOCABULARY.draft_of(payload, expectedversion=expectedversion)


async def _append(store: EventStore, drafts: list[Draft], blobs: list[Blob]) -> None:
    """Append a batch with the bytes that it names by digest. Erased bytes are not stored again; their digest remains.

    Leave out a score whose id another client used before, so that no client can prevent the recording of an answer.
    """
    while True:
        try:
            async with store.keep(blobs) as stored:
                batch = [*stored, *drafts]
                try:
                    await store.append(batch)
                    return
                except LifecycleViolation as error:
                    refused = batch[error.index]
                    if not isinstance(refused.data, ProbeScoredV1):
                        raise
                    drafts.remove(refused)
        except Gone:
            blobs = await without_erased(store, blobs)


def _fit_to_lines(payloads: Sequence[Payload], *, sensitive: bool) -> tuple[list[Draft], list[Blob]]:
    """Return the drafts of an attempt, and the texts to store as evidence; the event has only their digests.

    A text becomes evidence if the line would be too long. In a sensitive run, all texts of the answer do.
    """
    attempt, *rest = payloads
    assert isinstance(attempt, DiscoveryAttempted)
    blobs: list[Blob] = []
    for name in ("response", "output", "exclusion_prompt"):
        text = getattr(attempt, name)
        is_answer = name != "exclusion_prompt"
        if text is None or not ((sensitive and is_answer) or len(_json(attempt)) > PAYLOAD_BYTES_MAX):
            continue
        attempt = structs.replace(attempt, **{name: None})
        if is_answer:
            blobs.append(Blob(text.encode(), "text/plain; charset=utf-8"))
    return [_draft(attempt), *map(_draft, rest)], blobs


def _is_recorded_answer(recorded: DiscoveryAttempted, answer: RouterAnswer) -> bool:
    """Return whether an answer equals the recorded one, in its text or its failure."""
    if answer.failure is not None:
        return recorded.outcome == answer.failure
    digest = sha256(answer.text.encode(errors="replace")).hexdigest() if answer.text else None
    return recorded.outcome not in {"timeout", "failed"} and recorded.response_digest == digest


def _check_config(config: RunConfig) -> RunConfig:
    """Check a configuration that was made in code, not decoded. Errors: InvalidEvent."""
    for name in ("max_iterations", "max_attempts"):
        if not 1 <= getattr(config, name) <= RUN_LIMIT_MAX:
            detail = f"{name} {getattr(config, name)} is not a whole number from 1 to {RUN_LIMIT_MAX:,}."
            raise InvalidEvent(detail, "Correct it.", field=name)
    if config.router is not None and _secret.search(config.router):
        raise InvalidEvent(
            "router holds a user or a password.", "Leave them out: the log keeps it.",
            field="router",
        )  # fmt: skip
    return config


def _check_size(answer: RouterAnswer) -> None:
    size_bytes = len((answer.text or "").encode(errors="replace"))
    if size_bytes > ANSWER_BYTES_MAX:
        raise LineTooLong(
            f"The response is {size_bytes:,} bytes; the limit is {ANSWER_BYTES_MAX:,}.",
            "Report it as a failure, or shorten it.",
            field="response",
        )


def _attempt_taken_error(run_id: str, recorded: DiscoveryAttempted) -> AttemptTaken:
    outcome = f"outcome {recorded.outcome}"
    if recorded.response_digest is not None:
        outcome += f", response {recorded.response_digest}"
    return AttemptTaken(
        f"attempt {recorded.attempt} of run {run_id} was answered already: {outcome}.",
        "The recorded answer stays. Read the prompt, and answer the attempt it names.",
    )


def _find_probes(config: RunConfig) -> list[Probe]:
    """Return the newest version of each probe of a run. Errors: InvalidEvent."""
    if config.probes is None:
        return [_find_probe(config.probe_id, "probe_id")]
    detail = None
    if len(set(config.probes)) < len(config.probes):
        detail = f"probes names one twice: {', '.join(config.probes)}."
    elif config.probe_id not in (PROBE, config.probes[0]):
        detail = f"probe_id {config.probe_id!r} is not the first of probes, {config.probes[0]!r}."
    if detail is not None:
        raise InvalidEvent(detail, "Name each probe once, in probes only.", field="probes")
    return [_find_probe(probe_id, "probes") for probe_id in config.probes]


def _find_probe(probe_id: str, field: str) -> Probe:
    """Return the newest version of a probe that a field names. Errors: InvalidEvent."""
    probe = find_probe(probe_id)
    if probe is None:
        raise InvalidEvent(f"{field} {probe_id!r} is not a probe.", f"Probes: {PROBE_IDS}.", field=field)
    return probe


def _run_id_taken_error(run_id: str) -> LifecycleViolation:
    return LifecycleViolation(
        f"run_id {run_id} belongs to another run, with other settings.",
        "Use another, or leave it out to get a random one.",
        subject=f"discovery/{run_id}",
        index=0,
    )
