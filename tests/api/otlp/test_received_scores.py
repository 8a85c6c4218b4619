"""What a log record says about a score: points, verdict, run, scenario and errors, with known answers."""

from collections.abc import Mapping

import pytest

from api.service.otlp.received_scores import RejectedRecord, read_score
from api.service.otlp.telemetry_records import AttributeValue, TelemetryRecord
from tests.api.otlp.json_bodies import LABEL, NAME, NOON_NS, RESOURCE, SPAN, TRACE, VALUE

MAX, THRESHOLD, PASSED = "tallystick.score.max", "tallystick.pass_threshold", "tallystick.passed"
DAY_NS = 86_400 * 10**9


def record(said: Mapping[str, AttributeValue], **changed: object) -> TelemetryRecord:
    named = {NAME: "Relevance", **said}
    made = TelemetryRecord("gen_ai.evaluation.result", named, RESOURCE, TRACE, SPAN, NOON_NS)
    return made._replace(**changed)  # type: ignore[arg-type] # the fields of the record


@pytest.mark.parametrize(
    ("attributes", "points", "passed", "threshold"),
    [
        ({VALUE: 0.57, LABEL: "pass"}, 57.0, True, None),
        ({VALUE: 0.9, LABEL: "Fail"}, 90.0, False, None),
        ({VALUE: 0.9, LABEL: "great"}, 90.0, False, 100.0),
        ({VALUE: 0.999}, 99.9, False, 100.0),
        ({VALUE: 1}, 100.0, True, 100.0),
        ({VALUE: 0.7, THRESHOLD: 0.7}, 70.0, True, 70.0),
        ({VALUE: 3.5, MAX: 5, THRESHOLD: 4}, 70.0, False, 80.0),
        ({VALUE: 0.1, PASSED: True, LABEL: "fail"}, 10.0, True, None),
        ({LABEL: "relevant"}, 100.0, True, None),
        ({LABEL: "not_relevant"}, 0.0, False, None),
        ({VALUE: 0.1, "tallystick.points": 66.6}, 66.6, False, 100.0),
    ],
)
def test_points_and_verdict(
    attributes: Mapping[str, AttributeValue], points: float, passed: bool, threshold: float | None
) -> None:
    score = read_score(record(attributes)).score
    assert (score.state, score.total_score, score.passed, score.pass_threshold) == ("scored", points, passed, threshold)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({}, "neither gen_ai.evaluation.score.value nor a gen_ai.evaluation.score.label"),
        ({VALUE: 1.2}, "is not within 0..1, and no tallystick.score.max states another scale"),
        ({VALUE: 6, MAX: 5}, "is not within 0..5"),
        ({VALUE: float("nan")}, "is not within 0..1"),
        ({VALUE: 0.5, MAX: 0}, "tallystick.score.max is not over 0"),
        ({VALUE: 0.5, THRESHOLD: 50}, "tallystick.pass_threshold is not within 0..1"),
        ({VALUE: True}, "neither gen_ai.evaluation.score.value"),
        ({VALUE: 0.5, NAME: " "}, "no gen_ai.evaluation.name"),
        ({VALUE: 0.5, "tallystick.scenario_id": "a/b"}, "scenario_id"),
        ({VALUE: 0.5, "tallystick.attempt": 0}, "attempt"),
        ({VALUE: 0.5, "tallystick.baseline": "best"}, "baseline"),
        ({VALUE: 0.5, "tallystick.cost_usd": float("nan")}, "tallystick.cost_usd is not a finite number"),
        ({VALUE: 0.5, "tallystick.cost_usd": float("inf")}, "tallystick.cost_usd is not a finite number"),
        ({VALUE: 0.5, "tallystick.cost_usd": 1e300}, "cost_usd"),
        ({VALUE: 0.5, "tallystick.cost_usd": -1}, "cost_usd"),
        ({VALUE: 0.5, "tallystick.confidence": float("nan")}, "tallystick.confidence is not a finite number"),
        ({VALUE: 0.5, "gen_ai.evaluation.explanation": "x" * 70_000}, "bytes as an event"),
        ({VALUE: 0.5, "gen_ai.request.model": "x" * 300}, "model"),
    ],
)
def test_what_gives_no_score_is_rejected(attributes: Mapping[str, AttributeValue], reason: str) -> None:
    with pytest.raises(RejectedRecord, match=reason.replace(".", r"\.")):
        read_score(record(attributes))


def test_errors_and_skipped_attempts() -> None:
    explained = {"gen_ai.evaluation.explanation": "no answer"}
    ours = read_score(record({"error.type": "timeout", **explained})).score
    assert (ours.state, ours.failure, ours.detail, ours.total_score) == ("error", "timeout", "no answer", None)
    other = read_score(record({"error.type": "ValueError", **explained, VALUE: 1})).score
    assert (other.failure, other.detail) == (None, "ValueError: no answer")
    unnamed = read_score(record({"error.type": "_OTHER"})).score
    assert (unnamed.state, unnamed.failure, unnamed.detail) == ("error", None, None)
    assert read_score(record({"tallystick.state": "skipped"})).score.state == "skipped"


def test_the_run_is_of_suite_agent_version_scorer_and_day() -> None:
    first = read_score(record({VALUE: 1})).run_id
    replica = record({VALUE: 1}, resource={**RESOURCE, "service.instance.id": "b"}, span_id="1" * 16)
    assert read_score(replica).run_id == first
    others = {
        read_score(record({VALUE: 1}, time_ns=NOON_NS + DAY_NS)).run_id,
        read_score(record({VALUE: 1}, resource={**RESOURCE, "service.version": "3"})).run_id,
        read_score(record({VALUE: 1, NAME: "Faithfulness"})).run_id,
        read_score(record({VALUE: 1, "gen_ai.agent.name": "b"})).run_id,
        read_score(record({VALUE: 1, "tallystick.suite": "b"})).run_id,
        first,
    }
    assert len(others) == 6
    started = read_score(record({VALUE: 1})).started
    assert (started.suite, started.agent, started.imported_from) == ("shop: Relevance", "shop", "opentelemetry")


def test_an_answer_is_a_scenario_unless_the_record_names_one() -> None:
    of_span = read_score(record({VALUE: 1}))
    assert (of_span.score.scenario_id, of_span.score.attempt, of_span.numbered) == (f"{TRACE}-{SPAN}", 1, False)
    plain = read_score(record({VALUE: 1, "gen_ai.response.id": "chatcmpl-9.x_1"}, span_id=""))
    assert plain.score.scenario_id == "chatcmpl-9.x_1"
    long = read_score(record({VALUE: 1, "gen_ai.response.id": "resp/" + "é" * 70}, span_id=""))
    assert long.score.scenario_id.startswith("response-")
    assert read_score(record({VALUE: 1, "tallystick.scenario_id": "dns"})).numbered
    assert not read_score(record({VALUE: 1, "tallystick.scenario_id": "dns", "tallystick.attempt": 2})).numbered
    with pytest.raises(RejectedRecord, match="neither tallystick"):
        read_score(record({VALUE: 1}, trace_id="", span_id=""))
    named = record({VALUE: 1, "event.name": "gen_ai.evaluation.result"}, event_name="")
    assert read_score(named).score.total_score == 100.0
