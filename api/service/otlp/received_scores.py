"""Scores in log records: what a record of the event `gen_ai.evaluation.result` says, as the score of an evaluation.

A record names no run, so it gets one: that of its suite, agent and version, scorer and day (UTC). The suite is the
service and the evaluation's name, because a suite has one scorer at a time. The scenario is the span that was
evaluated. Attributes `tallystick.*` state any of these instead. The ids are digests of what the record states, so that
the same record gives the same event.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from math import isfinite
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec

from api.service.otlp import attribute_names as names
from api.service.otlp.telemetry_records import Attributes, TelemetryRecord, count_of, number_of, text_of
from events.decode_error_messages import explain_decode_error
from events.errors import InvalidEvent
from events.evaluation import POINTS_MAX, EvalScored, EvalStarted, Failure
from events.limits import LINE_BYTES_MAX, STREAM_ID_CHARS_MAX
from events.payload import Payload
from events.registry import VOCABULARY
from ledger.clock import moment_of

SOURCE = "opentelemetry"
"""The value of `imported_from` of runs that log records began."""

ID_DIGITS = 16
"""Hex digits of the digests in ids that are made for runs and scenarios."""

POINTS_DIGITS = 9
"""Decimals of points that are computed from a value on another scale."""

PAYLOAD_BYTES_MAX = LINE_BYTES_MAX - 2_048
"""The largest payload: a line has the envelope too."""

_Checked = TypeVar("_Checked", bound=Payload)

TIME_MAX_NS = 253_402_300_800 * 10**9
"""The end of the year 9999, nanoseconds since 1970."""


class RejectedRecord(Exception):
    """A record or span that gives no event; the message says why, in a clause."""


class ReceivedScore(NamedTuple):
    """A score, the start of the run that it belongs to, and its event's id and time.

    Where the record states no attempt, `numbered` is true, and the attempt is the next one of its scenario in the run.
    `suite_stated` is whether the record names the suite.
    """

    started: EvalStarted
    score: EvalScored
    event_id: str
    time: datetime
    numbered: bool
    suite_stated: bool

    @property
    def run_id(self) -> str:
        return self.score.run_id


def read_score(record: TelemetryRecord) -> ReceivedScore:
    """Return the score in a log record. Errors: RejectedRecord."""
    attributes = record.attributes
    if names.EVALUATION_EVENT not in (record.event_name, attributes.get(names.EVENT_NAME)):
        raise RejectedRecord(f"not the event {names.EVALUATION_EVENT}")
    scorer = text_of(attributes, names.NAME)
    if scorer is None:
        raise RejectedRecord(f"no {names.NAME}")
    if not 0 < record.time_ns < TIME_MAX_NS:
        raise RejectedRecord("no time")
    time = moment_of(record.time_ns // 1000)
    started = _start(record, scorer, time)
    response_id = text_of(attributes, names.RESPONSE_ID)
    scenario_id = text_of(attributes, names.SCENARIO)
    attempt = count_of(attributes, names.ATTEMPT)
    made_scenario = scenario_id is None
    if scenario_id is None:
        scenario_id = _scenario_id(record, response_id)
        attempt = 1 if attempt is None else attempt
    score = EvalScored(
        run_id=started.run_id or "",
        scenario_id=scenario_id,
        attempt=1 if attempt is None else attempt,
        **_outcome(attributes),
        retry=count_of(attributes, names.RETRY),
        weight=finite_number_of(attributes, names.WEIGHT),
        scorer_id=scorer,
        scorer_version=text_of(attributes, names.SCORER_VERSION),
        agent=started.agent,
        agent_version=started.agent_version,
        model=text_of(attributes, names.REQUEST_MODEL),
        reported_model=text_of(attributes, names.RESPONSE_MODEL),
        confidence=finite_number_of(attributes, names.CONFIDENCE),
        fixture_digest=text_of(attributes, names.FIXTURE_DIGEST),
        expectation_digest=text_of(attributes, names.EXPECTATION_DIGEST),
        input_tokens=count_of(attributes, *names.INPUT_TOKENS),
        output_tokens=count_of(attributes, *names.OUTPUT_TOKENS),
        cost_usd=finite_number_of(attributes, names.COST_USD),
        elapsed_ns=count_of(attributes, names.ELAPSED_NS),
        trace_id=record.trace_id or None,
        span_id=record.span_id or None,
        response_id=response_id,
    )
    identity = (score.run_id, scenario_id, attempt, scorer, record.trace_id, record.span_id, response_id)
    return ReceivedScore(
        started=check_payload(started),
        score=check_payload(score),
        event_id=f"otel:{_digest(*identity, record.time_ns)}",
        time=time,
        numbered=attempt is None and not made_scenario,
        suite_stated=names.SUITE in attributes,
    )


def _start(record: TelemetryRecord, scorer: str, time: datetime) -> EvalStarted:
    """Return the start of the run of a record."""
    attributes, resource = record.attributes, record.resource
    service = text_of(resource, names.SERVICE)
    agent = text_of(attributes, names.AGENT) or service
    suite = text_of(attributes, names.SUITE)
    if suite is None and (owner := service or agent) is not None:
        suite = f"{owner}: {scorer}"
    if suite is None:
        raise RejectedRecord(f"neither {names.SUITE} nor {names.SERVICE}")
    version = text_of(attributes, names.AGENT_VERSION) or text_of(resource, names.SERVICE_VERSION)
    baseline: Any = text_of(attributes, names.BASELINE)
    run_id = text_of(attributes, names.RUN)
    if run_id is None:
        run_id = f"otel-{time.astimezone(UTC):%Y%m%d}-{_digest(suite, agent, version, baseline, scorer)[:ID_DIGITS]}"
    return EvalStarted(
        run_id=run_id,
        suite=suite,
        agent=agent,
        agent_version=version,
        baseline=baseline,
        scorer_id=scorer,
        scorer_version=text_of(attributes, names.SCORER_VERSION),
        imported_from=SOURCE,
    )


def _scenario_id(record: TelemetryRecord, response_id: str | None) -> str:
    """Return a scenario for the span or the response that was evaluated: each answer is one."""
    if record.trace_id and record.span_id:
        return f"{record.trace_id}-{record.span_id}"
    if response_id is None:
        raise RejectedRecord(f"neither {names.SCENARIO}, a span nor {names.RESPONSE_ID}")
    plain = response_id.isascii() and response_id.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if plain and len(response_id) <= STREAM_ID_CHARS_MAX:
        return response_id
    return f"response-{_digest(response_id)[:ID_DIGITS]}"


def _outcome(attributes: Attributes) -> dict[str, Any]:
    """Return state, points, verdict and reason of a score, as its attributes state them. Errors: RejectedRecord."""
    explanation = text_of(attributes, names.EXPLANATION)
    error = text_of(attributes, names.ERROR_TYPE)
    if error is not None:
        if error in get_args(Failure):
            return {"state": "error", "failure": error, "detail": explanation}
        named = None if error == names.OTHER_ERROR else error
        return {"state": "error", "detail": ": ".join(part for part in (named, explanation) if part) or None}
    if attributes.get(names.STATE) == "skipped":
        return {"state": "skipped", "detail": explanation}
    verdict, threshold = _stated_verdict(attributes), _threshold(attributes)
    points = _points(attributes)
    if points is None:
        if verdict is None:
            raise RejectedRecord(f"neither {names.VALUE} nor a {names.LABEL} that tells whether it passed")
        points = POINTS_MAX if verdict else 0.0
    elif verdict is None and threshold is None:
        threshold = POINTS_MAX
    if verdict is None:
        verdict = threshold is not None and points >= threshold
    return {
        "state": "scored", "total_score": points, "pass_threshold": threshold, "passed": verdict, "detail": explanation,
    }  # fmt: skip


def _stated_verdict(attributes: Attributes) -> bool | None:
    """Return whether the answer passed, as the record says by word; None if it says nothing."""
    stated = attributes.get(names.PASSED)
    if isinstance(stated, bool):
        return stated
    label = str(attributes.get(names.LABEL, "")).strip().lower()
    return True if label in names.PASS_LABELS else False if label in names.FAIL_LABELS else None


def _points(attributes: Attributes) -> float | None:
    """Return the points; None if the record states none. Errors: RejectedRecord."""
    points = number_of(attributes, names.POINTS)
    if points is not None:
        return _on_scale(points, POINTS_MAX, names.POINTS, float)
    value = number_of(attributes, names.VALUE)
    return None if value is None else _scaled(attributes, value, names.VALUE)


def _threshold(attributes: Attributes) -> float | None:
    value = number_of(attributes, names.THRESHOLD)
    return None if value is None else _scaled(attributes, value, names.THRESHOLD)


def _scaled(attributes: Attributes, value: float, name: str) -> float:
    """Return a value of the record's scale as points: of 0..1, or of 0 to the stated highest score."""
    stated = number_of(attributes, names.SCORE_MAX)
    highest = 1.0 if stated is None else float(stated)
    if not (isfinite(highest) and highest > 0):
        raise RejectedRecord(f"{names.SCORE_MAX} is not over 0")
    return _on_scale(value, highest, name, lambda number: round(number / highest * POINTS_MAX, POINTS_DIGITS))


def _on_scale(value: float, highest: float, name: str, convert: Callable[[float], float]) -> float:
    if not 0 <= value <= highest:
        advice = f", and no {names.SCORE_MAX} states another scale" if highest == 1 and name != names.POINTS else ""
        raise RejectedRecord(f"{name} is not within 0..{highest:g}{advice}")
    return convert(value)


def check_payload(payload: _Checked) -> _Checked:
    """Return a payload that was made in code, checked as one that is decoded. Errors: RejectedRecord."""
    try:
        encoded = msgspec.json.encode(payload)
        if len(encoded) > PAYLOAD_BYTES_MAX:
            raise RejectedRecord(f"over {PAYLOAD_BYTES_MAX:,} bytes as an event")
        checked = msgspec.json.decode(encoded, type=type(payload))
        for name in VOCABULARY.names_of(type(payload))[:1]:
            VOCABULARY.event_types[name].stream_id(checked)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise RejectedRecord(explain_decode_error(error, (), shape=type(payload)).detail.rstrip(".")) from None
    except InvalidEvent as error:
        raise RejectedRecord(error.detail.rstrip(".")) from None
    return checked


def finite_number_of(attributes: Attributes, name: str) -> float | None:
    """Return a number; None if the record does not state it. Errors: RejectedRecord, for NaN and the infinities."""
    value = number_of(attributes, name)
    if value is not None and not isfinite(value):
        raise RejectedRecord(f"{name} is not a finite number")
    return value


def _digest(*parts: object) -> str:
    return sha256(msgspec.json.encode([None if part is None else str(part) for part in parts])).hexdigest()[:32]
