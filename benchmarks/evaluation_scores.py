"""Evaluation scores: the time to load a suite and score its captured analyses, and to cut off hostile patterns."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from benchmarks.measure import Measure, expect_at_most
from instruments.evals.analysis import parse_analysis
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.scorer import score
from instruments.evals.suite.loader import load

SUITE_S_MAX = 5.0
PATTERN_S_MAX = 1.0
ROUNDS = 3
HOSTILE = ("(a+)+$", "(a|aa)+$", r"(a+)+\1$", r"(?=(?:a|a)+$)")

WORDS = (
    "pod image registry answered memory limit container restart probe liveness latency node kubelet evicted throttled "
    "upstream gateway timeout connection refused rollout replica deployment namespace quota volume mount secret tag"
)
CAUSES = ("ImagePullBackOff: manifest unknown", "OOMKilled: over its memory limit", "CrashLoopBackOff: exit code 1")

EXPECTED: dict[str, Any] = {
    "root_cause": {
        "patterns": ["ImagePullBackOff", r"image.*(?:not found|denied)", r"manifest\s+unknown"],
        "match_type": "regex",
        "none_of": [{"patterns": [r"not\b[^.]*ImagePull"], "match_type": "regex"}],
    },
    "failure_mode": {"exact": "image_pull"},
    "proposed_fix": {
        "all_of": [{"patterns": ["correct the image", "image tag"], "match_type": "substring"}],
        "any_of": [{"patterns": ["pull secret"], "match_type": "substring"}],
    },
    "hypotheses": {"any_of": ["image pull"]},
    "next_steps": {"command_types": ["kubectl", "aws"], "must_include": ["describe"]},
}


def measure_evaluation_scores(folder: Path, scenarios: int) -> Iterator[Measure]:
    """Measure the median time of loading and scoring, and the longest time of a hostile pattern."""
    _write(folder / "suite", scenarios)
    times_s = []
    for _ in range(ROUNDS):
        started_s = time.perf_counter()
        for scenario in load(folder / "suite").scenarios:
            assert score(scenario, parse_analysis(scenario.captured)).total is not None
        times_s.append(time.perf_counter() - started_s)
    name = f"{scenarios} scenarios loaded and scored from captured analyses"
    yield expect_at_most(name, median(times_s), SUITE_S_MAX, "s", "the limit", 1.0)
    (scenario, *_) = load(folder / "suite").scenarios
    longest = max(_time_hostile(scenario, pattern) for pattern in HOSTILE)
    yield expect_at_most("a hostile pattern cut off", longest, PATTERN_S_MAX, "s", "the limit", 1.0)


def _time_hostile(scenario: Scenario, pattern: str) -> float:
    """Return the seconds for a score that depends on a hostile pattern, over many texts."""
    expected = {"root_cause": {"patterns": [pattern], "match_type": "regex"}}
    about = msgspec.convert({"name": "hostile", "expected_outcomes": expected}, type(scenario.about))
    text = "a" * 50_000 + "!"
    answer = parse_analysis({"rca": {"root_cause": text}, "decision": {"why": [text] * 20}})
    started_s = time.perf_counter()
    assert score(msgspec.structs.replace(scenario, about=about), answer).failure == "pattern"
    return time.perf_counter() - started_s


def _write(suite: Path, scenarios: int, *, seed: int = 7) -> None:
    rng = random.Random(seed)
    for number in range(scenarios):
        folder = suite / f"case-{number}"
        folder.mkdir(parents=True)
        about = {"name": f"Case {number}", "failure_type": "image_pull", "expected_outcomes": EXPECTED}
        (folder / "scenario.yaml").write_text(json.dumps(about, indent=2))  # JSON is valid YAML
        investigation = {"alert": {"labels": {"alertname": "KubePodNotReady"}}, "analysis": _analysis(rng)}
        (folder / "investigation.json").write_text(json.dumps(investigation))


def _analysis(rng: random.Random) -> dict[str, Any]:
    """Make an answer of about 45 KB; one in three is right."""

    def random_text(words: int) -> str:
        return " ".join(rng.choices(WORDS.split(), k=words))

    hypotheses = [
        {"title": random_text(10), "why": [random_text(150) for _ in range(4)], "confidence_0_100": 85}
        for _ in range(4)
    ]
    return {
        "rca": {
            "root_cause": f"{random_text(200)}. {rng.choice(CAUSES)}",
            "remediation": [random_text(100) for _ in range(5)],
        },
        "decision": {
            "why": [random_text(200) for _ in range(10)],
            "next": [f"kubectl describe {random_text(60)}" for _ in range(5)],
        },
        "hypotheses": hypotheses,
        "verdict": {"next_steps": [random_text(50) for _ in range(5)]},
    }
