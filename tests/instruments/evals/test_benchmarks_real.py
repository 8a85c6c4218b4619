"""Real labelled cases: they import and load, and what answers to them are worth is known beforehand."""

import json
from functools import cache
from pathlib import Path

import pytest

from instruments.evals.analysis import parse_analysis
from instruments.evals.benchmarks import Format, read_cases
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.scorer import ScenarioScore, score
from instruments.evals.suite.loader import load
from instruments.evals.suite.writer import write_scenario
from tests.instruments.evals.labels import (
    CASES,
    ITBENCH,
    LABELS,
    RCA,
    Json,
    case,
)
from tests.instruments.evals.replaying import (
    Answer,
    analysis,
    denial,
    first_path,
    object_of,
    second_path,
    spaced,
    wrong_cause,
    wrong_object,
)

pytestmark = pytest.mark.skipif(not RCA.is_dir(), reason="the labelled cases are not beside this checkout")

ROOT_CAUSE, HYPOTHESES, NEXT_STEPS = 0.4 / 0.7, 0.2 / 0.7, 0.1 / 0.7
"""The weights of what is expected, made to sum to 1: no label has a fix."""


@cache
def labels() -> tuple[Json, ...]:
    return tuple(json.loads(line) for line in LABELS.read_bytes().splitlines())


def imported(kind: Format, path: Path, into: Path) -> dict[str, Scenario]:
    """Every case as a scenario that was written and loaded, by the name of the case."""
    for number, one in enumerate(case(found) for found in read_cases(kind, path)):
        write_scenario(into / str(number), one.description, one.investigation, one.readme)
    return {scenario.about.name: scenario for scenario in load(into).scenarios}


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scenario]:
    return imported("opsbench", LABELS, tmp_path_factory.mktemp("labels"))


def scored(scenarios: dict[str, Scenario], answer: Answer) -> list[ScenarioScore]:
    return [score(scenarios[label["id"]], parse_analysis(answer(label))) for label in labels()]


@pytest.mark.slow
def test_all_labels_load_with_all_that_they_say(scenarios: dict[str, Scenario]) -> None:
    assert len(scenarios) == 328
    for label in labels():
        scenario = scenarios[label["id"]]
        assert (scenario.about.family, scenario.about.failure_type) == (label["category"], label["root_cause"])
        assert scenario.about.expected_outcomes.proposed_fix is None
        assert scenario.about.expected_outcomes.next_steps is not None


def test_no_agent_is_reported_the_truth(scenarios: dict[str, Scenario]) -> None:
    for label in labels():
        given = scenarios[label["id"]].investigation
        assert set(given["alert"]) == {"labels", "annotations"}
        text = json.dumps(given).lower()
        name = object_of(label) if object_of(label) != label["namespace"] else label["id"]
        reported = [label["root_cause"], spaced(label), label["fault_taxonomy"], label["id"], name, "getresources"]
        assert not [word for word in reported if word.lower() in text], label["id"]


@pytest.mark.parametrize("answer", [first_path, second_path])
def test_who_follows_either_golden_path_has_full_marks(scenarios: dict[str, Scenario], answer: Answer) -> None:
    assert {(one.total, one.passed) for one in scored(scenarios, answer)} == {(100.0, True)}


@pytest.mark.parametrize("empty", [{}, {"rca": {"root_cause": ""}, "hypotheses": [], "decision": {"next": [" "]}}])
def test_an_empty_answer_is_worth_exactly_nothing(scenarios: dict[str, Scenario], empty: Json) -> None:
    assert {(one.total, one.passed) for one in scored(scenarios, lambda label: empty)} == {(0.0, False)}


@pytest.mark.parametrize(
    ("answer", "points"),
    [
        (wrong_object(labels() if RCA.is_dir() else ()), 100 * (HYPOTHESES + NEXT_STEPS)),
        (wrong_cause(labels() if RCA.is_dir() else ()), 40 * HYPOTHESES + 100 * NEXT_STEPS),
        (denial, 100 * (HYPOTHESES + NEXT_STEPS)),
    ],
    ids=["another object", "another cause of the taxonomy", "a denial"],
)
def test_what_is_nearly_right_fails(scenarios: dict[str, Scenario], answer: Answer, points: float) -> None:
    found = scored(scenarios, answer)
    assert {(one.total, one.passed) for one in found} == {(round(points, 6), False)}


@pytest.mark.slow
def test_a_cause_is_never_taken_for_another(scenarios: dict[str, Scenario]) -> None:
    """Each label's object with each of all causes: the root cause has its points for the label's own alone."""
    causes = {spaced(label) for label in labels()}
    for label in {label["root_cause"]: label for label in labels()}.values():
        right = [
            cause
            for cause in sorted(causes)
            if score(scenarios[label["id"]], parse_analysis(analysis(cause, object_of(label), ()))).components[0].score
        ]
        assert right == [spaced(label)]


@pytest.mark.slow
def test_an_object_is_never_taken_for_another(scenarios: dict[str, Scenario]) -> None:
    objects = {object_of(label) for label in labels()}
    for label in {label["fault_object"]: label for label in labels()}.values():
        right = [
            name
            for name in sorted(objects)
            if score(scenarios[label["id"]], parse_analysis(analysis(spaced(label), name, ()))).components[0].score
        ]
        assert right == [object_of(label)]


def test_the_golden_cases_give_their_evidence_and_pass_by_either_path(tmp_path: Path) -> None:
    found = imported("case", CASES, tmp_path)
    assert len(found) == 2
    for name, scenario in found.items():
        metadata = json.loads((CASES / name / "metadata.json").read_bytes())
        label = metadata["result"] | {"process": metadata["process"]}
        for answer in (first_path, second_path):
            assert score(scenario, parse_analysis(answer(label))).total == 100.0
        assert score(scenario, parse_analysis({})).total == 0.0
        text = json.dumps(scenario.investigation)
        assert "Back-off pulling image" in text or "OOM-killed" in text
        assert not any(word in text for word in ("tool_name", "GetResources", label["fault_taxonomy"], "diagnostic"))


def test_the_ground_truth_expects_what_a_careful_evaluator_would(tmp_path: Path) -> None:
    (scenario,) = imported("itbench", ITBENCH, tmp_path).values()
    assert scenario.investigation["alert"]["labels"]["alertname"] == "HighRequestErrorRate"
    text = json.dumps(scenario.investigation)
    assert not any(word in text for word in ("flagd", "kafka", "fraud", "duplicate"))

    def worth(root_cause: str, fix: str, hypothesis: str = "the kafkaQueueProblems flag is on") -> float | None:
        answer = {
            "rca": {"root_cause": root_cause, "remediation": [fix] if fix else []},
            "hypotheses": [{"title": hypothesis, "confidence_0_100": 50}],
        }
        return score(scenario, parse_analysis(answer)).total

    right = "The flag kafkaQueueProblems is set in the ConfigMap flagd-config"
    fix = "Disable kafkaQueueProblems in flagd-config"
    root_cause, fixing, hypotheses = 0.4 / 0.9, 0.3 / 0.9, 0.2 / 0.9
    assert worth(right, fix) == 100.0
    assert worth(right, fix, "slow processing makes consumer lag") == 100.0
    assert worth(right, fix, "the database is full") == pytest.approx(100 * (root_cause + fixing) + 40 * hypotheses)
    assert worth(right, "Restart accounting") == pytest.approx(100 * (root_cause + hypotheses) + 30 * fixing)
    assert worth(right, "") == pytest.approx(100 * (root_cause + hypotheses))
    for wrong in (
        "The accounting service violates a constraint",
        "The flag cartFailure is set in the ConfigMap flagd-config",
        "kafkaQueueProblems of the broker",
        "It is not kafkaQueueProblems in flagd-config",
    ):
        assert worth(wrong, fix) == pytest.approx(100 * (fixing + hypotheses))
    assert score(scenario, parse_analysis({})).total == 0.0
