"""The whole view of one evaluation: a pure function of its events and of stored evidence."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import msgspec
import numpy as np
from msgspec import structs

from events.decode_error_messages import DECODE_ERRORS
from events.envelope import EventFacts
from events.evaluation import Component, EvalFinished, EvalScored, EvalStarted
from ledger.clock import microseconds
from projections.evaluation.aggregation import (
    ScenarioLabels,
    pool_scores,
    scenario_results,
    scenario_weights,
    tally_scores,
)
from projections.evaluation.judge_index import WHOLE, LabelKey
from projections.evaluation.score_context import (
    RunEnd,
    RunSpan,
    attribute_score,
    run_fields,
    score_outcome,
)
from projections.evaluation.usage_figures import UsageColumns, UsageFigures, measure_usage, usage_values
from projections.evaluation.view_types import Evaluation, PersonLabel, ScoreRow

EvidenceTexts = Mapping[str, bytes | None]
"""Stored evidence by digest; None if it was erased."""

NO_LABELS: Mapping[LabelKey, bool] = {}

_STATED = [name for name in ScoreRow.__struct_fields__ if name in EvalScored.__struct_fields__]
_NAN = float("nan")
_breakdown = msgspec.json.Decoder(tuple[Component, ...])


def build_evaluation(
    events: Sequence[EventFacts],
    labels: Mapping[str, ScenarioLabels],
    texts: EvidenceTexts,
    *,
    analyses: bool = False,
    marks: Mapping[LabelKey, bool] = NO_LABELS,
) -> Evaluation:
    """Build the view of an evaluation from the events of its stream; `analyses` includes the answers.

    `labels` are those of scenarios, `marks` those that people gave answers.

    Of several scores of one attempt, the last is used.
    """
    started, finished = events[0].data, events[-1].data
    assert isinstance(started, EvalStarted)
    latest: dict[tuple[str, int], tuple[int, EvalScored]] = {}
    earlier: dict[str, list[EvalScored]] = {}
    retried_errors = 0
    for event in events:
        data = event.data
        if isinstance(data, EvalScored):
            replaced = latest.pop((data.scenario_id, data.attempt), None)
            earlier.setdefault(data.scenario_id, []).extend([] if replaced is None else [replaced[1]])
            retried_errors += replaced is not None and replaced[1].state == "error"
            latest[data.scenario_id, data.attempt] = event.position, data
    scored = [data for _, data in latest.values()]
    numbers: dict[str, int] = {}
    scenario = np.array([numbers.setdefault(data.scenario_id, len(numbers)) for data in scored], dtype=np.int64)
    outcome = np.array([score_outcome(data) for data in scored], dtype=np.uint8)
    points = np.array([_number(data.total_score) for data in scored], dtype=np.float64)
    stated = np.array([_number(data.weight) for data in scored], dtype=np.float64)
    weights = scenario_weights(scenario, stated, len(numbers))
    tally = tally_scores(scenario, outcome, points, len(numbers))
    last: dict[str, list[EvalScored]] = {}
    rows: dict[str, list[ScoreRow]] = {}
    for position, data in latest.values():
        last.setdefault(data.scenario_id, []).append(data)
        row = _row(started, data, position, texts, analyses=analyses)
        rows.setdefault(data.scenario_id, []).append(structs.replace(row, labels=_answer_labels(data, row, marks)))
    end = (
        RunEnd(microseconds(events[-1].moment), finished.reason, finished.elapsed_ns)
        if isinstance(finished, EvalFinished)
        else None
    )
    recorders = {event.agent for event in events if isinstance(event.data, EvalStarted | EvalScored)}
    run = RunSpan(started.run_id or "", started, microseconds(events[0].moment), end, recorders)
    return Evaluation(
        **pool_scores(tally, weights),
        usage=_usage(scored, chain.from_iterable(earlier.values())),
        **run_fields(run, {attribute_score(started, data) for data in scored}),
        results=tuple(
            structs.replace(
                result,
                rows=tuple(sorted(rows[result.scenario_id], key=lambda row: row.attempt)),
                usage=_usage(last[result.scenario_id], earlier[result.scenario_id]),
            )
            for result in scenario_results(tally, weights, list(numbers), labels)
        ),
        retried_errors=retried_errors,
    )


def _usage(last: Iterable[EvalScored], earlier: Iterable[EvalScored]) -> UsageFigures | None:
    """Return what the last tries of attempts and their earlier tries used."""
    tries = ([usage_values(data) for data in scores if data.state != "skipped"] for scores in (last, earlier))
    return measure_usage(*map(UsageColumns.of, tries))


def evidence_digests(events: Sequence[EventFacts], *, analyses: bool = False) -> set[str]:
    """Return the digests of the evidence that the view of an evaluation needs."""
    scored = [event.data for event in events if isinstance(event.data, EvalScored)]
    breakdowns = {data.breakdown_digest for data in scored}
    answers = {data.analysis_digest for data in scored if data.analysis is None} if analyses else set()
    return {digest for digest in breakdowns | answers if digest is not None}


def _row(started: EvalStarted, data: EvalScored, position: int, texts: EvidenceTexts, *, analyses: bool) -> ScoreRow:
    by = attribute_score(started, data)
    analysis = data.analysis
    if analyses and analysis is None and (stored := texts.get(data.analysis_digest or "")) is not None:
        analysis = stored.decode(errors="replace")
    digests = (data.breakdown_digest, data.analysis_digest if data.analysis is None else None)
    return structs.replace(
        score_row(data, position),
        components=_components(data, texts),
        scorer_id=by.scorer_id,
        scorer_version=by.scorer_version,
        analysis=analysis if analyses else None,
        erased=True if any(digest in texts and texts[digest] is None for digest in digests if digest) else None,
    )


def score_row(data: EvalScored, position: int) -> ScoreRow:
    """Return a score as a row, with what its event states."""
    return ScoreRow(position=position, **{name: getattr(data, name) for name in _STATED})


def _answer_labels(data: EvalScored, row: ScoreRow, marks: Mapping[LabelKey, bool]) -> tuple[PersonLabel, ...]:
    """Return the labels of an answer: as a whole, and on each component."""
    if data.analysis_digest is None or not marks:
        return ()
    names = (WHOLE, *(component.name for component in row.components))
    keys = ((name, (data.scenario_id, data.analysis_digest, name)) for name in names)
    return tuple(PersonLabel(criterion=name or None, passed=marks[key]) for name, key in keys if key in marks)


def _components(data: EvalScored, texts: EvidenceTexts) -> tuple[Component, ...]:
    """Return the components of a score: those of its stored breakdown if it is readable, or those in the event."""
    stored = texts.get(data.breakdown_digest or "")
    if stored is None:
        return data.components
    try:
        return _breakdown.decode(stored)
    except DECODE_ERRORS:
        return data.components


def _number(value: float | None) -> float:
    return _NAN if value is None else value
