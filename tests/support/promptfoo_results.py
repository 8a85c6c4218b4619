"""Results of promptfoo, made by hand in the shape that promptfoo 0.123.1 writes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]

PROMPTS = ("Name the capital: {{city}}", "In one sentence: what is {{city}} known for?")


def check(kind: str, score: float, value: object = None, *, passed: bool | None = None, **assertion: object) -> Json:
    """The result of one assertion."""
    is_pass = score > 0 if passed is None else passed
    stated = {"type": kind, **({} if value is None else {"value": value}), **assertion}
    reason = "Assertion passed" if is_pass else f"Expected output to meet {kind}"
    return {"pass": is_pass, "score": score, "reason": reason, "assertion": stated}


def graded(*checks: Json, threshold: float | None = None, **more: object) -> Json:
    """The grading of an answer: the weighted mean of its assertions, and whether all passed or the threshold is met."""
    weights = [each.get("assertion", {}).get("weight", 1) for each in checks]
    total = sum(weights)
    score = sum(each["score"] * weight for each, weight in zip(checks, weights, strict=True)) / total if total else 1
    passed = all(each["pass"] for each in checks) if threshold is None else score >= threshold
    named = {each["assertion"]["metric"]: each["score"] for each in checks if each.get("assertion", {}).get("metric")}
    return {
        "pass": passed,
        "score": score,
        "reason": "All assertions passed" if passed else "Not all assertions passed",
        "namedScores": named,
        "tokensUsed": {"total": 0, "prompt": 0, "completion": 0, "cached": 0},
        "componentResults": list(checks),
        **more,
    }


def result(
    test: int,
    prompt: int,
    variables: Mapping[str, object],
    grading: Json | None,
    *,
    provider: str = "careful",
    description: str | None = None,
    error: str | None = None,
    **more: object,
) -> Json:
    """One answer. Without a grading it ended in an error."""
    template = PROMPTS[prompt % len(PROMPTS)]
    tokens = {"prompt": 20, "completion": 10, "cached": 0, "total": 30, "numRequests": 1}
    made: Json = {
        "cost": 0.0012 if grading else 0,
        "gradingResult": grading,
        "id": f"57e26a63-0167-4a3d-998a-{test:06}{prompt:06}",
        "latencyMs": 18,
        "namedScores": grading["namedScores"] if grading else {},
        "prompt": {"raw": template, "label": template, "config": {}},
        "promptId": f"{prompt % len(PROMPTS):064x}",
        "promptIdx": prompt,
        "provider": {"id": "file://agent.cjs", "label": provider},
        "response": {"output": f"answer {test}", "cost": 0.0012, "cached": False} if grading else {"error": error},
        "score": grading["score"] if grading else 0,
        "success": bool(grading and grading["pass"]),
        "testCase": {
            **({"description": description} if description else {}),
            "vars": dict(variables),
            "assert": [each.get("assertion") for each in grading["componentResults"]] if grading else [],
            "options": {},
            "metadata": {},
        },
        "testIdx": test,
        "tokenUsage": {**(tokens if grading else dict.fromkeys(tokens, 0)), "assertions": {"total": 0}},
        "vars": dict(variables),
        "metadata": {"_promptfooFileMetadata": {}},
        "failureReason": 2 if grading is None else 0 if grading["pass"] else 1,
    }
    if grading is None or not grading["pass"]:
        made["error"] = error or "Not all assertions passed"
    return {**made, **more}


def column(results: Sequence[Json]) -> Json:
    """One prompt of one provider, with promptfoo's counts of its results."""
    counts = [each["failureReason"] for each in results]
    first = results[0]
    return {
        "raw": first["prompt"]["raw"],
        "label": first["prompt"]["label"],
        "id": first["promptId"],
        "provider": "of the results",
        "metrics": {
            "score": sum(each["score"] or 0 for each in results),
            "testPassCount": counts.count(0),
            "testFailCount": counts.count(1),
            "testErrorCount": counts.count(2),
            "namedScores": {name: 1 for each in results for name in each["namedScores"]},
        },
    }


def evaluation(results: Sequence[Json], **more: object) -> Json:
    """A whole file."""
    columns = [
        column([each for each in results if each["promptIdx"] == place])
        for place in sorted({each["promptIdx"] for each in results})
    ]
    counts = [each["failureReason"] for each in results]
    return {
        "evalId": "eval-vMy-2026-11-26T22:01:48",
        "results": {
            "version": 3,
            "timestamp": "2026-11-26T22:01:48.745Z",
            "prompts": columns,
            "results": list(results),
            "stats": {
                "successes": counts.count(0),
                "failures": counts.count(1),
                "errors": counts.count(2),
                "durationMs": 1724,
            },
        },
        "config": {"description": "Capitals", "tags": {}},
        "shareableUrl": None,
        "metadata": {"promptfooVersion": "0.123.1", "exportedAt": "2026-11-26T22:01:50.649Z"},
        **more,
    }


def capitals() -> Json:
    """Two prompts of one provider, three tests, each twice; the second test fails, the third ends in an error once."""
    results = []
    for prompt in (0, 1):
        for repeat in (0, 1):
            rome = graded(
                check("contains", 1, "Rome", weight=3, metric="naming"), check("equals", 0, "rome"), threshold=0.9
            )
            paris = graded(check("javascript", 1, "output.length < 100", metric="brevity"), check("is-json", 0.5))
            oslo = None if repeat else graded(check("contains", 1, "Oslo"))
            results += [
                result(repeat, prompt, {"city": "Paris"}, paris, description="Paris is named"),
                result(2 + repeat, prompt, {"city": "Rome"}, rome),
                result(4 + repeat, prompt, {"city": "Oslo"}, oslo, error="Error: reset\n    at Agent.callApi (a.cjs)"),
            ]
            for each in results[-3:]:
                if each["vars"]["city"] == "Rome":
                    each["testCase"]["threshold"] = 0.9
                if each["vars"]["city"] == "Oslo":
                    each["testCase"]["assert"] = [{"type": "contains", "value": "Oslo"}]
    return evaluation(results)


def written(folder: Path, content: object, name: str = "results.json") -> Path:
    """Write a file as promptfoo does."""
    path = folder / name
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")
    return path
