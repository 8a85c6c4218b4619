"""The wire format of run reports, and a run told in it: a pure function of its events.

An imported report is given back field for field: what it left out stays out, and its times stand as it wrote them.
What a run without a report of its own measured is told in the same fields.
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
    Meta,
    TimeText,
)
from events.envelope import EventFacts
from events.limits import ITEMS_MAX
from events.model import ModelIdentity
from events.payload import Count, Digest, Label, StreamName
from events.probe import Counts, ProbeScored, Whole

REPORTED_SCORER_ID = "reported"
"""The scorer of a score that a report states: it names none."""

TOTAL_KEY = "total_score"
"""The figure of a score that is no count."""

Share = Annotated[int, msgspec.Meta(ge=0, le=1)] | Annotated[float, msgspec.Meta(ge=0, le=1)]
ProbeScore = Annotated[dict[Label, Whole | float], msgspec.Meta(max_length=ITEMS_MAX)]
"""Counts by name, and `total_score`, 0..1."""


class _Wire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A piece of a report. `null` and absent are the same, and neither is written."""


class DiscoveryConfig(_Wire, frozen=True, kw_only=True):
    """What a run asks, and when it stops."""

    max_iterations: Count | None = None
    probe_id: Label | None = None
    terminate_on_repeat: bool | None = None


class ProbeResult(_Wire, frozen=True, kw_only=True):
    """An answer to a probe with its score.

    `output_digest` stands in place of an output that is not to be had, with `erased` where it was erased for good.
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
    """An accepted answer: who it claims to be from, and what it is worth."""

    iteration: Count
    model: ModelIdentity
    exclusion_prompt: str | None = None
    probe: ProbeResult
    timestamp: TimeText


class RunReport(_Wire, frozen=True, kw_only=True):
    """One run. One that goes on has neither `end_time` nor `termination_reason`."""

    run_id: StreamName | None = None
    start_time: TimeText
    end_time: TimeText | None = None
    config: DiscoveryConfig
    results: tuple[DiscoveryResult, ...] | None
    unique_models: tuple[ModelIdentity, ...] | None
    termination_reason: str | None = None


class AttemptScore(_Wire, frozen=True, kw_only=True):
    """One scorer's figures of an attempt, and where that event stands."""

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
    """One prompt and what came of it. Of a text that is kept as evidence the digest stands here; `erased`: no more."""

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
    """Something the people watching should know."""

    position: int
    ts: str
    event: str
    agent: str | None = None
    case_id: str | None = None
    step: str | None = None
    meta: Meta | None = None


class RunDetail(RunReport, frozen=True, kw_only=True):
    """The report; every attempt and signal of the run where they are asked for."""

    attempts: tuple[RunAttempt, ...] | UnsetType = UNSET
    signals: tuple[RunSignal, ...] | UnsetType = UNSET


class DiscoveryRun(msgspec.Struct, frozen=True, kw_only=True):
    """The events of one run in the order of the log, apart by what they are."""

    started: EventFacts
    attempts: Sequence[EventFacts]
    signals: Sequence[EventFacts]
    finished: EventFacts | None
    scores: Sequence[EventFacts]

    @classmethod
    def of(cls, events: Sequence[EventFacts], scores: Sequence[EventFacts]) -> "DiscoveryRun":
        """The run of a stream's events; `scores` are those that name it."""
        return cls(
            started=events[0],
            attempts=[event for event in events if isinstance(event.data, DiscoveryAttempted)],
            signals=[event for event in events if isinstance(event.data, DiscoverySignalled)],
            finished=events[-1] if isinstance(events[-1].data, DiscoveryFinished) else None,
            scores=scores,
        )

    @property
    def begun(self) -> DiscoveryStarted:
        assert isinstance(self.started.data, DiscoveryStarted)
        return self.started.data

    @property
    def imported(self) -> bool:
        """Whether it was taken in as a report, whose scores are then those that it states."""
        return self.begun.start_time is not None

    def digests(self) -> set[str]:
        """The digests of every text of its attempts."""
        told = (one for event in self.attempts if isinstance(one := event.data, DiscoveryAttempted))
        return {digest for one in told for digest in (one.response_digest, one.output_digest) if digest is not None}

    def evidence(self) -> set[str]:
        """The digests of outputs that do not stand in the events."""
        return {
            one.output_digest
            for one in (event.data for event in self.attempts)
            if isinstance(one, DiscoveryAttempted) and one.output_digest is not None and _output(one) is None
        }


def build_report(run: DiscoveryRun, texts: Mapping[str, str | None]) -> RunReport:
    """A run as its report says it. `texts` are outputs that stand beside the log by digest, None where erased."""
    begun, finished = run.begun, run.finished
    end = finished.data if finished is not None else None
    assert end is None or isinstance(end, DiscoveryFinished)
    scores = _stated(run)
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
    """The models of a report's results, those that `unique_models` names where it says no more."""
    return tuple(result.model for result in report.results or ())


def build_attempts(run: DiscoveryRun, texts: Mapping[str, str | None]) -> tuple[RunAttempt, ...]:
    """Every attempt with every score. `texts` holds None for each digest whose text was erased."""
    scored: dict[int | None, list[EventFacts]] = {}
    for event in run.scores:
        scored.setdefault(event.data.attempt, []).append(event)  # type: ignore[attr-defined]
    told = []
    for event in run.attempts:
        one = event.data
        assert isinstance(one, DiscoveryAttempted)
        gone = _missing(one) & {digest for digest, text in texts.items() if text is None}
        same = {name: getattr(one, name) for name in one.__struct_fields__ if name not in ("run_id", "timestamp")}
        scores = tuple(_score(score) for score in scored.get(one.attempt, ()))
        told.append(
            RunAttempt(
                **same,
                position=event.position,
                timestamp=one.timestamp or event.time,
                erased=True if gone else None,
                scores=scores,
            )
        )
    return tuple(told)


def build_signals(run: DiscoveryRun) -> tuple[RunSignal, ...]:
    """Every signal; one that states no time has that of its event, one that names no agent its source's."""
    told = []
    for event in run.signals:
        one = event.data
        assert isinstance(one, DiscoverySignalled)
        told.append(
            RunSignal(
                position=event.position,
                ts=one.ts or event.time,
                event=one.event,
                agent=one.agent or event.agent,
                case_id=one.case_id,
                step=one.step,
                meta=one.meta,
            )
        )
    return tuple(told)


def as_reported_number(value: float) -> int | float:
    """A number as reports write it: 1, not 1.0."""
    return int(value) if value == int(value) else value


def _score(event: EventFacts) -> AttemptScore:
    one = event.data
    assert isinstance(one, ProbeScored)
    return AttemptScore(
        position=event.position,
        score_id=one.score_id or "",
        agent=event.agent,
        probe_id=one.probe_id,
        probe_version=one.probe_version,
        scorer_id=one.scorer_id,
        scorer_version=one.scorer_version,
        output_digest=one.output_digest,
        valid=one.valid,
        counts=one.counts,
        total_score=None if one.total_score is None else as_reported_number(one.total_score),
        dimension_scores=_dimensions(one),
        apart=one.apart,
    )


def _stated(run: DiscoveryRun) -> dict[int, ProbeScored]:
    """The score of each attempt that its report states: the first by who told the attempt, on the run's terms.

    Of an imported run that is what the report says, else what the scorer of the run's probe said.
    """
    told_by = {event.data.attempt: event.source for event in run.attempts}  # type: ignore[attr-defined]
    found: dict[int, ProbeScored] = {}
    for event in run.scores:
        one = event.data
        assert isinstance(one, ProbeScored)
        attempt = one.attempt
        fits = one.scorer_id == REPORTED_SCORER_ID if run.imported else one.probe_id == run.begun.probe_id
        if attempt is not None and fits and told_by.get(attempt) == event.source:
            found.setdefault(attempt, one)
    return found


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
        score=None if scored is None else _figures(scored),
        dimension_scores=None if scored is None else _dimensions(scored),
        elapsed_ns=attempt.elapsed_ns,
        tokens_used=attempt.tokens_used,
        output_digest=digest if missing else None,
        erased=True if missing and digest in texts else None,
    )


def _output(attempt: DiscoveryAttempted) -> str | None:
    """What was scored, where it stands in the event."""
    if attempt.output is None and attempt.output_digest in (None, attempt.response_digest):
        return attempt.response
    return attempt.output


def _missing(attempt: DiscoveryAttempted) -> set[str]:
    """The digests of texts that do not stand in the event."""
    texts = ((attempt.response, attempt.response_digest), (_output(attempt), attempt.output_digest))
    return {digest for text, digest in texts if text is None and digest is not None}


def _figures(scored: ProbeScored) -> dict[str, int | float] | None:
    """The figures of a score; None where it states none."""
    if scored.counts is None and scored.total_score is None:
        return None
    figures: dict[str, int | float] = dict(scored.counts or {})
    if scored.total_score is not None:
        figures[TOTAL_KEY] = as_reported_number(scored.total_score)
    return figures


def _dimensions(scored: ProbeScored) -> dict[str, int | float] | None:
    if scored.dimension_scores is None:
        return None
    return {name: as_reported_number(value) for name, value in scored.dimension_scores.items()}
