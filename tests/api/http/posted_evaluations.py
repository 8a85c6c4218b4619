"""Evaluations as another runner posts them: what is optional is left out unless it is named."""

from typing import Any
from uuid import uuid4

Json = dict[str, Any]

FIXTURE = "a" * 64
CHANGED = "b" * 64


def started(run: str, suite: str, **fields: object) -> Json:
    """A run begins."""
    return {"type": "eval.started.v1", "data": {"run_id": run, "suite": suite, **fields}}


def scored(run: str, scenario: str, points: float, attempt: int = 1, **fields: object) -> Json:
    """An answer with its score; it passes from 70 points."""
    data = {"run_id": run, "scenario_id": scenario, "attempt": attempt, "state": "scored", "total_score": points}
    return {"type": "eval.scored.v1", "data": {**data, "passed": points >= 70, **fields}}


def failed(run: str, scenario: str, attempt: int = 1, **fields: object) -> Json:
    """An error."""
    data = {"run_id": run, "scenario_id": scenario, "attempt": attempt, "state": "error"}
    return {"type": "eval.scored.v1", "data": {**data, **fields}}


def finished(run: str, **fields: object) -> Json:
    """A run ends."""
    return {"type": "eval.finished.v1", "data": {"run_id": run, **fields}}


def component(*findings: tuple[str, str, bool], name: str = "root_cause", score: float = 100.0) -> Json:
    """A part of a score; findings are expectation, pattern, and whether it matched."""
    reported = [
        {"expectation": where, "pattern": pattern, "match_type": "substring", "matched": matched}
        for where, pattern, matched in findings
    ]
    return {"name": name, "applicable": True, "score": score, "findings": reported}


def stating(event: Json, **fields: object) -> Json:
    """A score that states more, as its second version can."""
    return {"type": "eval.scored.v2", "data": {**event["data"], **fields}}


def fresh(kind: str = "run") -> str:
    """A name that no other test uses."""
    return f"{kind}-{uuid4().hex[:12]}"
