"""Run reports: their wire format, and pure functions that build a report from a run's events.

An imported report is exported again field for field: missing fields stay missing, and times keep their notation. The
report of a run that was not imported has the same fields.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from events.discovery import (
    AttemptOutcome,
    DiscoveryAttempted,
    DiscoveryFinished,
    DiscoverySignalled,
    DiscoveryStarted,
)
from events.envelope import EventFacts
from events.limits import ITEMS_MAX
from events.model import ModelIdentity
from events.payload import Count, Digest, Label, Meta, StreamName, TimeText
from events.probe import Counts, ProbeScored, Whole
from projections.discovery.run_index import RunEntry

REPORTED_SCORER_ID = "reported"
"""The scorer of scores from an imported report, which names none."""

TOTAL_KEY = "total_score"
"""The key of the total in a `ProbeScore`; all other keys are counts."""

Share = Annotated[int, msgspec.Meta(ge=0, le=1)] | Annotated[float, msgspec.Meta(ge=0, le=1)]
ProbeScore = Annotated[dict[Label, Whole | float], msgspec.Meta(max_length=ITEMS_MAX)]
"""The score of an answer: counts by name, and `total_score` in 0..1."""


class _Wire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a report. `null` and absent mean the same, and are not encoded."""


class DiscoveryConfig(_Wire, frozen=True, kw_only=True):
    """The settings of a run: its probe, and when it stops."""

    max_iterations: Count | None = None
    probe_id: Label | None = None
    terminate_on_repeat: bool | None = None


class ProbeResult(_Wire, frozen=True, kw_only=True):
    """An answer to a probe with its score.

    `output_digest` is present if the output is not available; `erased` tells that it was erased.
    """

    probe_id: Label | None = None
    raw_output: str | None = None
    score: ProbeScore | None = None
    dimension_scores: Annotated[dict[Label, Share], msgspec.Meta(max_length=ITEMS_MAX)] | None = None
    elapsed_ns: Count | None = None
    tokens_used: Count | None = None
    output_digest: Digest | None = None
    erased: bool | None = None


class DiscoveryResult(_Wire, frozen=True, kw_only=True):
    """An accepted answer: the identity that it claims, and its probe result."""

    iteration: Count
    model: ModelIdentity
    exclusion_prompt: str | None = None
    probe: ProbeResult
    timestamp: TimeText


class RunReport(_Wire, frozen=True, kw_only=True):
    """The report of a run. A run that has not ended has neither `end_time` nor `termination_reason`."""

    run_id: StreamName | None = None
    start_time: TimeText
    end_time: TimeText | None = None
    config: DiscoveryConfig
    results: tuple[DiscoveryResult, ...] | None
    unique_models: tuple[ModelIdentity, ...] | None
    termination_reason: str | None = None


class AttemptScore(_Wire, frozen=True, kw_only=True):
    """One scorer's score of an attempt, and the position of its event."""

    position: int
    score_id: str
    agent: str
    probe_id: str
    probe_version: str | None = None
    scorer_id: str
    scorer_version: str | None = None
    output_digest: str | None = None
    valid: bool | None = None
    counts: Counts | None = None
    total_score: int | float | None = None
    dimension_scores: dict[str, int | float] | None = None
    apart: Counts | None = None


class RunAttempt(_Wire, frozen=True, kw_only=True):
    """One attempt: prompt, answer and outcome.

    Instead of a text that is stored as evidence, its digest is given; `erased` tells that such a text was erased.
    """

    position: int
    attempt: int
    outcome: AttemptOutcome
    timestamp: str
    iteration: int | None = None
    claimed: ModelIdentity | None = None
    reported_model: str | None = None
    exclusion_prompt: str | None = None
    response: str | None = None
    response_digest: str | None = None
    output: str | None = None
    output_digest: str | None = None
    erased: bool | None = None
    elapsed_ns: int | None = None
    tokens_used: int | None = None
    detail: str | None = None
    scores: tuple[AttemptScore, ...]


class RunSignal(_Wire, frozen=True, kw_only=True):
    """A signal of a run to the people who watch it."""

    position: int
    ts: str
    event: str
    agent: str | None = None
    case_id: str | None = None
    step: str | None = None
    meta: Meta | None = None


class RunDetail(RunReport, frozen=True, kw_only=True):
    """A run report, with all attempts and signals, and the summary of the run, if they were requested."""

    attempts: tuple[RunAttempt, ...] | UnsetType = UNSET
    signals: tuple[RunSignal, ...] | UnsetType = UNSET
    summary: RunEntry | UnsetType = UNSET


class DiscoveryRun(msgspec.Struct, frozen=True, kw_only=True):
    """The events of one run by kind, each in the order of the log."""

    started: EventFacts
    attempts: Sequence[EventFacts]
    signals: Sequence[EventFacts]
    finished: EventFacts | None
    scores: Sequence[EventFacts]

    @classmethod
    def of(cls, events: Sequence[EventFacts], scores: Sequence[EventFacts]) -> "DiscoveryRun":
        """Make a run from the events of its stream and of its late signals; `scores` are the scores that name it."""
        return cls(
            started=events[0],
            attempts=[event for event in events if isinstance(event.data, DiscoveryAttempted)],
            signals=[event for event in events if isinstance(event.data, DiscoverySignalled)],
            finished=next((event for event in events if isinstance(event.data, DiscoveryFinished)), None),
            scores=scores,
        )

    @property
    def begun(self) -> DiscoveryStarted:
        assert isinstance(self.started.data, DiscoveryStarted)
        return self.started.data

    @property
    def imported(self) -> bool:
        """Whether the run was imported from a report. Its scores are then the ones that the report states."""
        return self.begun.start_time is not None

    def digests(self) -> set[str]:
        """Return the digests of all texts of the attempts."""
        attempts = (data for event in self.attempts if isinstance(data := event.data, DiscoveryAttempted))
        pairs = ((attempt.response_digest, attempt.output_digest) for attempt in attempts)
        return {digest for pair in pairs for digest in pair if digest is not None}

    def evidence(self) -> set[str]:
        """Return the digests of outputs that are stored as evidence, not in the events."""
        return {
            data.output_digest
            for data in (event.data for event in self.attempts)
            if isinstance(data, DiscoveryAttempted) and data.output_digest is not None and _output(data) is None
        }

    def evidence_of_answers(self) -> set[str]:
        """Return the digests of all texts that are stored as evidence, not in the events."""
        attempts = (data for event in self.attempts if isinstance(data := event.data, DiscoveryAttempted))
        return set().union(*map(_evidence_digests, attempts))


def build_report(run: DiscoveryRun, texts: Mapping[str, str | None]) -> RunReport:
    """Build the report of a run. `texts` has the stored outputs by digest; None if erased."""
    begun, finished = run.begun, run.finished
    end = finished.data if finished is not None else None
    assert end is None or isinstance(end, DiscoveryFinished)
    scores = _report_scores(run)
    results: list[DiscoveryResult] = []
    for event in run.attempts:
        attempt = event.data
        assert isinstance(attempt, DiscoveryAttempted)
        if attempt.outcome == "accepted" and attempt.claimed is not None:
            probe = _probe(attempt, scores.get(attempt.attempt), begun.probe_id, texts)
            results.append(
                DiscoveryResult(
                    iteration=len(results) if attempt.iteration is None else attempt.iteration,
                    model=attempt.claimed,
                    exclusion_prompt=attempt.exclusion_prompt,
                    probe=probe,
                    timestamp=attempt.timestamp or event.time,
                )
            )
    unique = end.unique_models if end is not None else None
    return RunReport(
        run_id=begun.run_id,
        start_time=begun.start_time or run.started.time,
        end_time=(end.end_time or finished.time) if end is not None and finished is not None else None,
        config=DiscoveryConfig(
            max_iterations=begun.max_iterations,
            probe_id=begun.probe_id,
            terminate_on_repeat=begun.terminate_on_repeat,
        ),
        results=tuple(results),
        unique_models=tuple(result.model for result in results) if unique is None else unique,
        termination_reason=end.reason if end is not None else None,
    )


def report_models(report: RunReport) -> tuple[ModelIdentity, ...]:
    """Return the models of a report's results, which is the default of `unique_models`."""
    return tuple(result.model for result in report.results or ())


def build_attempts(run: DiscoveryRun, texts: Mapping[str, str | None]) -> tuple[RunAttempt, ...]:
    """Build the list of attempts with all their scores. `texts` has None for each digest whose text was erased."""
    scored: dict[int | None, list[EventFacts]] = {}
    for event in run.scores:
        scored.setdefault(event.data.attempt, []).append(event)  # type: ignore[attr-defined]
    attempts = []
    for event in run.attempts:
        attempt = event.data
        assert isinstance(attempt, DiscoveryAttempted)
        erased = any(texts.get(digest, "") is None for digest in _evidence_digests(attempt))
        copied = {
            name: getattr(attempt, name) for name in attempt.__struct_fields__ if name not in ("run_id", "timestamp")
        }
        scores = tuple(_score(score) for score in scored.get(attempt.attempt, ()))
        attempts.append(
            RunAttempt(
                **copied,
                position=event.position,
                timestamp=attempt.timestamp or event.time,
                erased=True if erased else None,
                scores=scores,
            )
        )
    return tuple(attempts)


def build_signals(run: DiscoveryRun) -> tuple[RunSignal, ...]:
    """Build the list of signals. A signal that states no time or agent has those of its event."""
    signals = []
    for event in run.signals:
        signal = event.data
        assert isinstance(signal, DiscoverySignalled)
        signals.append(
            RunSignal(
                position=event.position,
                ts=signal.ts or event.time,
                event=signal.event,
                agent=signal.agent or event.agent,
                case_id=signal.case_id,
                step=signal.step,
                meta=signal.meta,
            )
        )
    return tuple(signals)


def integer_if_whole(value: float) -> int | float:
    """Return a number as reports write it: 1, not 1.0."""
    return int(value) if value == int(value) else value


def _score(event: EventFacts) -> AttemptScore:
    scored = event.data
    assert isinstance(scored, ProbeScored)
    return AttemptScore(
        position=event.position,
        score_id=scored.score_id or "",
        agent=event.agent,
        probe_id=scored.probe_id,
        probe_version=scored.probe_version,
        scorer_id=scored.scorer_id,
        scorer_version=scored.scorer_version,
        output_digest=scored.output_digest,
        valid=scored.valid,
        counts=scored.counts,
        total_score=None if scored.total_score is None else integer_if_whole(scored.total_score),
        dimension_scores=_dimensions(scored),
        apart=scored.apart,
    )


def _report_scores(run: DiscoveryRun) -> dict[int, ProbeScored]:
    """Return the score of each attempt for the report: the first by the source that recorded the attempt.

    For an imported run it is the score that its report states, otherwise a score of the run's probe.
    """
    sources = {event.data.attempt: event.source for event in run.attempts}  # type: ignore[attr-defined]
    first_scores: dict[int, ProbeScored] = {}
    for event in run.scores:
        scored = event.data
        assert isinstance(scored, ProbeScored)
        attempt = scored.attempt
        fits = scored.scorer_id == REPORTED_SCORER_ID if run.imported else scored.probe_id == run.begun.probe_id
        if attempt is not None and fits and sources.get(attempt) == event.source:
            first_scores.setdefault(attempt, scored)
    return first_scores


def _probe(
    attempt: DiscoveryAttempted, scored: ProbeScored | None, probe_id: str | None, texts: Mapping[str, str | None]
) -> ProbeResult:
    output, digest = _output(attempt), attempt.output_digest
    if output is None and digest is not None:
        output = texts.get(digest)
    missing = output is None and digest is not None
    return ProbeResult(
        probe_id=probe_id if scored is None else scored.probe_id,
        raw_output=output,
        score=None if scored is None else _probe_score(scored),
        dimension_scores=None if scored is None else _dimensions(scored),
        elapsed_ns=attempt.elapsed_ns,
        tokens_used=attempt.tokens_used,
        output_digest=digest if missing else None,
        erased=True if missing and digest in texts else None,
    )


def _output(attempt: DiscoveryAttempted) -> str | None:
    """Return the text to be scored, or None if it is not in the event."""
    if attempt.output is None and attempt.output_digest in (None, attempt.response_digest):
        return attempt.response
    return attempt.output


def _evidence_digests(attempt: DiscoveryAttempted) -> set[str]:
    """Return the digests of texts that are not in the event."""
    texts = ((attempt.response, attempt.response_digest), (_output(attempt), attempt.output_digest))
    return {digest for text, digest in texts if text is None and digest is not None}


def _probe_score(scored: ProbeScored) -> dict[str, int | float] | None:
    """Return the counts and the total of a score; None if it states neither."""
    if scored.counts is None and scored.total_score is None:
        return None
    values: dict[str, int | float] = dict(scored.counts or {})
    if scored.total_score is not None:
        values[TOTAL_KEY] = integer_if_whole(scored.total_score)
    return values


def _dimensions(scored: ProbeScored) -> dict[str, int | float] | None:
    if scored.dimension_scores is None:
        return None
    return {name: integer_if_whole(value) for name, value in scored.dimension_scores.items()}
