"""Test runs of DeepEval, made by hand in the shape that DeepEval 4.3.1 writes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def metric(
    name: str, score: float | None, threshold: float | None = 0.5, *, error: str | None = None, **more: object
) -> Json:
    """The result of one metric for one test case; passes at the threshold."""
    made: Json = {"name": name, "threshold": threshold, "success": False, "strictMode": False, "flaky": False}
    if score is not None:
        made |= {"score": score, "success": score >= (threshold or 0), "reason": f"{score} of 1"}
    if error:
        made["error"] = error
    return {**made, **more}


def case(name: str, metrics: Sequence[Json], *, question: str | None = None, **more: object) -> Json:
    """One test case."""
    return {
        "name": name,
        "input": question or f"What is {name}?",
        "actualOutput": f"answer of {name}",
        "expectedOutput": f"target of {name}",
        "flaky": False,
        "success": all(each["success"] for each in metrics),
        "metricsData": list(metrics),
        "runDuration": 0.04,
        "order": 0,
        **more,
    }


def talk(name: str, metrics: Sequence[Json]) -> Json:
    """A conversation."""
    return {
        "name": name,
        "success": all(each["success"] for each in metrics),
        "metricsData": list(metrics),
        "runDuration": 0.02,
        "turns": [
            {"role": "user", "content": "please", "order": 0},
            {"role": "assistant", "content": "no", "order": 1},
        ],
        "scenario": "asks",
        "expectedOutcome": "gets",
        "flaky": False,
    }


def run(cases: Sequence[Json], talks: Sequence[Json] = (), **more: object) -> Json:
    """A test run, with the counts that DeepEval makes."""
    counts: dict[str, Json] = {}
    for each in (found for case_ in (*cases, *talks) for found in case_["metricsData"]):
        count = counts.setdefault(each["name"], {"scores": [], "passes": 0, "fails": 0, "errors": 0})
        if each.get("score") is None:
            count["errors"] += 1
        else:
            count["scores"].append(each["score"])
            count["passes" if each["success"] else "fails"] += 1
    return {
        "testCases": list(cases),
        "conversationalTestCases": list(talks),
        "metricsScores": [{"metric": name, **count} for name, count in counts.items()],
        "identifier": "nightly",
        "hyperparameters": {"model": "tiny-1", "temperature": 0.5},
        "prompts": [],
        "testPassed": sum(each["success"] for each in (*cases, *talks)),
        "testFailed": sum(not each["success"] for each in (*cases, *talks)),
        "runDuration": 0.27,
        "official": False,
        **more,
    }


def capitals() -> Json:
    """Three test cases with two metrics; one of them fails at the second."""
    words: Json = {"evaluationModel": "gpt-x", "evaluationCost": 0.002}
    facts: Json = {"tokenCost": 0.003, "completionTime": 1.25, "inputTokenCount": 20, "outputTokenCount": 10}
    return run(
        [
            case("paris", [metric("Exact Match", 1.0, 1.0), metric("Words", 0.75, **words)], **facts, tags=["a"]),
            case("rome", [metric("Exact Match", 0.0, 1.0), metric("Words", 0.25, **words)], context=["b", "c"]),
            case("oslo", [metric("Exact Match", 1.0, 1.0), metric("Words", None, error="ValueError: boom", **words)]),
        ]
    )


def written(folder: Path, content: object, name: str = "test_run_20261126_220312.json") -> Path:
    """Write a file as DeepEval does."""
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
