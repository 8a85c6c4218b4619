"""Scores as OpenTelemetry events: the log records of an evaluation in OTLP/JSON, which `received_scores.py` reads back.

Each try is a record, in the order of the log. The parts of a score, its findings and its judge are left out: the event
has no attribute for them.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from api.service.otlp import attribute_names as names
from events.envelope import Event
from events.evaluation import POINTS_MAX, EvalScored, EvalStarted
from ledger.clock import microseconds
from projections.evaluation.score_context import attribute_score
from projections.evaluation.view_types import Evaluation, ScoreRow

RECORDS_PER_REQUEST = 500
"""Log records in one request, about as many as the OpenTelemetry SDKs send by default."""

_Key = tuple[str, int]
_Json = dict[str, object]


def export_requests(evaluation: Evaluation, events: Sequence[Event]) -> Iterator[bytes]:
    """Yield requests of OTLP/JSON with the scores of an evaluation, given its view and the events of its stream.

    Tokens, cost, latency and model are those of the view, which has them from the calls where the score states none.
    """
    started = events[0].data
    assert isinstance(started, EvalStarted)
    rows = {(result.scenario_id, row.attempt): row for result in evaluation.results for row in result.rows}
    scored = [(event, event.data) for event in events if isinstance(event.data, EvalScored)]
    for start in range(0, len(scored), RECORDS_PER_REQUEST):
        groups: dict[tuple[str | None, str | None], list[_Json]] = {}
        for event, score in scored[start : start + RECORDS_PER_REQUEST]:
            by = attribute_score(started, score)
            record = _record(started, event, score, rows)
            groups.setdefault((by.agent, by.agent_version), []).append(record)
        yield msgspec.json.encode({"resourceLogs": [_group(*by, records) for by, records in groups.items()]})


def _group(agent: str | None, version: str | None, records: list[_Json]) -> _Json:
    resource = {names.SERVICE: agent, names.SERVICE_VERSION: version, "telemetry.sdk.name": "tallystick"}
    return {
        "resource": {"attributes": _pairs(resource)},
        "scopeLogs": [{"scope": {"name": "tallystick"}, "logRecords": records}],
    }


def _record(started: EvalStarted, event: Event, score: EvalScored, rows: Mapping[_Key, ScoreRow]) -> _Json:
    time_ns = str(microseconds(event.moment) * 1000)
    record: _Json = {
        "timeUnixNano": time_ns,
        "observedTimeUnixNano": time_ns,
        "eventName": names.EVALUATION_EVENT,
        "attributes": _pairs({**_outcome(score), **_context(started, score), **_usage(score, rows)}),
    }
    if score.trace_id is not None:
        record["traceId"] = score.trace_id
        record["spanId"] = score.span_id or ""
    return record


def _outcome(score: EvalScored) -> Mapping[str, object]:
    points, threshold = score.total_score, score.pass_threshold
    return {
        names.VALUE: None if points is None else points / POINTS_MAX,
        names.LABEL: None if score.passed is None else "pass" if score.passed else "fail",
        names.EXPLANATION: score.detail,
        names.ERROR_TYPE: (score.failure or names.OTHER_ERROR) if score.state == "error" else None,
        names.STATE: score.state if score.state == "skipped" else None,
        names.POINTS: points,
        names.THRESHOLD: None if threshold is None else threshold / POINTS_MAX,
    }


def _context(started: EvalStarted, score: EvalScored) -> Mapping[str, object]:
    by = attribute_score(started, score)
    return {
        names.NAME: by.scorer_id or by.suite,
        names.SCORER_VERSION: by.scorer_version,
        names.RUN: score.run_id,
        names.SUITE: by.suite,
        names.SCENARIO: score.scenario_id,
        names.ATTEMPT: score.attempt,
        names.RETRY: score.retry,
        names.WEIGHT: None if score.weight is None else float(score.weight),
        names.BASELINE: by.baseline,
        names.FIXTURE_DIGEST: score.fixture_digest,
        names.EXPECTATION_DIGEST: score.expectation_digest,
        names.RESPONSE_ID: score.response_id,
        names.CONFIDENCE: None if score.confidence is None else float(score.confidence),
    }


def _usage(score: EvalScored, rows: Mapping[_Key, ScoreRow]) -> Mapping[str, object]:
    """Return what the try used: as the view says for the last one, as the score states for earlier ones."""
    row = rows.get((score.scenario_id, score.attempt))
    source: ScoreRow | EvalScored = row if row is not None and row.retry == score.retry else score
    return {
        names.REQUEST_MODEL: source.model,
        names.RESPONSE_MODEL: source.reported_model,
        names.INPUT_TOKENS[0]: source.input_tokens,
        names.OUTPUT_TOKENS[0]: source.output_tokens,
        names.COST_USD: None if source.cost_usd is None else float(source.cost_usd),
        names.ELAPSED_NS: source.elapsed_ns,
    }


def _pairs(attributes: Mapping[str, object]) -> list[_Json]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items() if value is not None]


def _value(value: object) -> _Json:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}
