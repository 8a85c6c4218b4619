"""Half a year of decisions, runs and evaluations, the same in every recording."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from tests.recorded.request import Json, event

START = datetime(2026, 11, 22, 12, tzinfo=UTC)
"""The time of the clock when a scene begins. The history ends shortly before."""

DAYS = 190
DECISIONS = 220

AGENTS = ("ada", "bob", "planner/one")
CATEGORIES = ("architecture", "process", "integration", "tooling", "security", None)
STAKES = ("low", "medium", "high", "critical", None)
PROJECTS = ("atlas", "borealis", None)
FEATURES = ("search", "billing", None)
SUBJECTS = ("cache", "queue", "index", "schema", "token", "retry", "café")
REASONS = ("analysis", "pattern", "empirical", "authority", "intuition")
CONFIDENCES = (0.3, 0.5, 0.55, 0.62, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, None)
OUTCOMES = ("success", "partial", "failure", "abandoned")

Choices = tuple[object, ...]


class Dice:
    """A generator of pseudo-random numbers that does not depend on the machine or the version of Python."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, end: int) -> int:
        """Draw a whole number from 0 to `end` - 1."""
        self._state = (self._state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
        return (self._state >> 33) % end

    def of(self, choices: Choices) -> object:
        """Draw one of some values."""
        return choices[self.below(len(choices))]

    def outcome(self, confidence: float | None) -> str:
        """Draw an outcome, worse on average than the confidence promises."""
        drawn = self.below(1000) / 1000
        success = 0.75 * (confidence if confidence is not None else 0.6)
        return "success" if drawn < success else OUTCOMES[1 + self.below(3)]


def decisions() -> list[Json]:
    """Return decisions of three agents with amendments, thoughts, questions and reviews, in the order of time."""
    dice = Dice(7)
    found: list[tuple[datetime, int, Json]] = []
    for number in range(DECISIONS):
        made = START - timedelta(days=DAYS) + timedelta(minutes=number * DAYS * 1440 // DECISIONS)
        for later, drafted in _decision(dice, number):
            moment = made + later
            if moment < START:
                found.append((moment, len(found), {**drafted, "time": _text(moment)}))
    return [drafted for _, _, drafted in sorted(found, key=lambda one: one[:2])]


def _decision(dice: Dice, number: int) -> Iterator[tuple[timedelta, Json]]:
    """Yield the events of one decision, each with its delay after the decision."""
    decision_id, agent = f"d{number:04x}", AGENTS[number % 3]
    source = f"/agents/{agent}"
    confidence = dice.of(CONFIDENCES)
    assert confidence is None or isinstance(confidence, float)
    subject = dice.of(SUBJECTS)
    data: Json = {
        "decision_id": decision_id, "decision": f"Change the {subject} in step {number}", "confidence": confidence,
        "category": dice.of(CATEGORIES), "stakes": dice.of(STAKES), "project": dice.of(PROJECTS),
        "feature": dice.of(FEATURES), "context": f"The {subject} is slow",
        "tags": [subject, "batch"][: dice.below(3)],
        "reasons": [
            {"type": dice.of(REASONS), "text": f"measured {place}", "strength": 0.5 + place / 4}
            for place in range(dice.below(3))
        ],
        "pattern": "Measure, then decide" if number % 9 == 0 else None,
        "pr": 100 + number if number % 7 == 0 else None,
        "bridge": {"structure": f"one {subject}", "function": "fewer waits"} if number % 11 == 0 else None,
        "review_by": _text(START - timedelta(days=3)) if number % 13 == 0 else None,
    }  # fmt: skip
    yield timedelta(), event("decision.recorded.v1", f"e{number}-r", _stated(data), source=source)
    if number % 8 == 3:
        amended = {"decision_id": decision_id, "confidence": 0.66, "tags": ["amended"]}
        yield timedelta(hours=1), event("decision.amended.v1", f"e{number}-m", amended, source=source)
    if number % 10 == 4:
        thought = {"decision_id": decision_id, "text": f"the {subject} again"}
        yield timedelta(hours=2), event("decision.thought.v1", f"e{number}-t", thought, source=source)
    if number % 2 == 0:
        asked = {"decision_id": decision_id, "question": f"q{number // 6}"}
        yield timedelta(hours=3), event("decision.asked.v1", f"e{number}-a", asked, source=source)
    if dice.below(10):
        reviewed = {"decision_id": decision_id, "outcome": dice.outcome(confidence)}
        if number % 5 == 0:
            reviewed |= {"actual_result": f"the {subject} holds", "lessons": "Batch it", "notes": "seen"}
        yield timedelta(days=2), event("decision.reviewed.v1", f"e{number}-v", reviewed, source=source)


def runs() -> list[Json]:
    """Return registered models, and two runs of discovery with their scores."""
    found = [
        event("model.registered.v1", "m1", {"key": "example-large", "provider": "Example", "name": "Example Large"}),
        event("model.aliased.v1", "m2", {"key": "example-large", "alias": "Example/XL:latest"}),
        event("model.registered.v1", "m3", {"key": "unseen-1", "note": "never answers"}),
    ]
    for run, router in (("run-a", "openai:http://127.0.0.1:4000/v1"), ("run-b", "command:ask")):
        found += _run(run, router)
    return found


def _run(run: str, router: str) -> Iterator[Json]:
    started = {
        "run_id": run, "probe_id": "refactor-go", "probe_version": "1", "prompt_version": "1", "max_iterations": 15,
        "max_attempts": 40, "terminate_on_repeat": True, "keep_going": False, "router": router,
        "requested_model": "auto" if run == "run-a" else "example-large",
    }  # fmt: skip
    yield event("discovery.started.v1", f"{run}-s", started)
    names = ("Example-Large", "Small-2 (2026-01-01)", "unknown", "Example/XL:latest")
    for attempt, name in enumerate(names, 1):
        text = f"func f{attempt}() {{}}"
        attempted = {
            "run_id": run, "attempt": attempt, "outcome": "repeat" if attempt == len(names) else "accepted",
            "claimed": {"model_name": name, "provider": "Example", "version": "2026", "wrapper": "an editor"},
            "reported_model": "example-large-2026-11-01" if attempt % 2 else None,
            "response": text, "response_digest": digest_of(text), "output": text, "output_digest": digest_of(text),
            "elapsed_ns": 1_250_000_000 + attempt, "tokens_used": 800 + attempt, "exclusion_prompt": "",
        }  # fmt: skip
        if attempt < len(names):
            attempted["iteration"] = attempt - 1
        yield event("discovery.attempted.v1", f"{run}-{attempt}", _stated(attempted))
        yield event("probe.scored.v1", f"{run}-p{attempt}", _score(run, attempt, name, digest_of(text)))
    signalled = {"run_id": run, "event": "BLUE", "agent": "watcher", "meta": {"begins": "I am café"}}
    yield event("discovery.signalled.v1", f"{run}-g", signalled)
    finished = {
        "run_id": run, "reason": "asked to stop", "ending": "repeat", "unique_models": [{"model_name": names[0]}]
    }  # fmt: skip
    yield event("discovery.finished.v1", f"{run}-f", finished)


def _score(run: str, attempt: int, name: str, digest: str) -> Json:
    share = round(0.2 * attempt + (0.05 if run == "run-b" else 0.0), 2)
    return {
        "score_id": f"{run}-{attempt}", "probe_id": "refactor-go", "probe_version": "1", "scorer_id": "refactor-go",
        "scorer_version": "2", "run_id": run, "attempt": attempt, "model_name": name, "output_digest": digest,
        "valid": attempt != 3, "counts": {"renames": attempt, "function_splits": 2},
        "total_score": share, "dimension_scores": {"naming": share, "decomposition": 0.5},
    }  # fmt: skip


def evaluations() -> list[Json]:
    """Return scenarios, and evaluations of three versions of agents and of two baselines."""
    found = [_scenario(number) for number in range(6)]
    revised = {**_scenario_data(5), "fixture_digest": digest_of("revised")}
    found.append(event("eval.scenario_revised.v1", "s5-again", revised))
    versions = (
        ("triage", "1.0.0", None), ("triage", "1.1.0", None), ("scout", "2.0", None),
        ("empty", None, "empty"), ("most_frequent", None, "most_frequent"),
    )  # fmt: skip
    for place, (agent, version, baseline) in enumerate(versions):
        found += _evaluation(f"eval-{place}", place, agent, version, baseline)
    return found


def _scenario(number: int) -> Json:
    return event("eval.scenario_captured.v1", f"s{number}", _scenario_data(number))


def _scenario_data(number: int) -> Json:
    return {
        "scenario_id": f"scenario-{number}", "name": f"Incident {number}", "family": "pod" if number % 2 else "node",
        "failure_type": "image_pull", "mode": "llm", "description": "A tag that was never pushed",
        "fixture_digest": digest_of(f"fixture {number}"), "expectation_digest": digest_of(f"expectation {number}"),
        "source": "alertmanager", "captured_at": "2026-02-18T10:05:00Z", "captured_by": "edith",
    }  # fmt: skip


def _evaluation(run: str, place: int, agent: str, version: str | None, baseline: str | None) -> Iterator[Json]:
    started = {
        "run_id": run, "suite": "incidents", "agent": agent, "agent_version": version, "baseline": baseline,
        "answers": "command", "scenarios": 6, "attempts": 2, "suite_digest": digest_of("suite"),
        "scorer_id": "rca", "scorer_version": "1", "meta": {"commit": f"c{place}"},
    }  # fmt: skip
    yield event("eval.started.v1", f"{run}-s", _stated(started))
    dice = Dice(100 + place)
    for number in range(6):
        for attempt in (1, 2):
            yield event("eval.scored.v1", f"{run}-{number}-{attempt}", _scored(dice, run, number, attempt))
    if place != 2:
        yield event("eval.finished.v1", f"{run}-f", {"run_id": run, "elapsed_ns": 90_000_000_000 + place})


def _scored(dice: Dice, run: str, number: int, attempt: int) -> Json:
    head: Json = {
        "run_id": run, "scenario_id": f"scenario-{number}", "attempt": attempt, "scorer_id": "rca",
        "scorer_version": "1", "fixture_digest": digest_of(f"fixture {number}"),
        "expectation_digest": digest_of(f"expectation {number}"), "elapsed_ns": 1_000_000 * (1 + dice.below(900)),
    }  # fmt: skip
    if dice.below(12) == 0:
        return {**head, "state": "error", "failure": "crash", "detail": "it ended with 3", "said": "last words"}
    points = float(dice.below(101))
    finding = {
        "expectation": "root_cause.patterns[0]", "pattern": "image.*not found", "match_type": "regex",
        "matched": points >= 70, "where": "decision.why[1]", "start": 4, "end": 23, "text": "image was not found",
    }  # fmt: skip
    component = {
        "name": "root_cause", "applicable": True, "score": points, "weight": 1.0, "mark": 70.0,
        "passed": points >= 70, "findings": [finding],
    }  # fmt: skip
    analysis = f'{{"root_cause":"image {points}"}}'
    return {
        **head, "state": "scored", "total_score": points, "pass_threshold": 70.0, "passed": points >= 70,
        "components": [component], "weight": 1.0 + number % 2, "analysis": analysis,
        "analysis_digest": digest_of(analysis),
    }  # fmt: skip


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text, in hex."""
    return sha256(text.encode()).hexdigest()


def _stated(data: Mapping[str, object]) -> Json:
    """Return data without its empty fields."""
    return {name: value for name, value in data.items() if value not in (None, [])}


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
