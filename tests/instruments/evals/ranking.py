"""The hand-written analyses in `ranked/`, and how many of their pairs the scorer ranks right.

Each scenario has one analysis of each kind. A pair is a better and a worse kind of a scenario; equal scores are wrong.
The rules about language were written with the scenarios of RULES_SEEN at hand, and without those of HELD_OUT.
"""

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from instruments.evals.analysis import parse_analysis
from instruments.evals.scoring.scorer import score
from tests.instruments.evals.answers import scenario

FOLDER = Path(__file__).parent / "ranked"
RULES_SEEN = ("certificate", "disk-pressure", "image-tag", "memory-limit", "network-policy", "secret-key")
HELD_OUT = ("cpu-throttling", "db-connections", "job-access", "liveness-port", "quota", "selector")

GOOD = ("correct", "paraphrased")
BAD = ("wrong", "stuffed", "hedged", "negated")
KINDS = (*GOOD, "partial", *BAD)
PAIRS = tuple((better, "partial") for better in GOOD) + tuple(
    (better, worse) for better in (*GOOD, "partial") for worse in BAD
)


class Ranked(NamedTuple):
    """One pair: scenario, both kinds, and both totals."""

    scenario: str
    better: str
    worse: str
    better_total: float
    worse_total: float

    @property
    def right(self) -> bool:
        return self.better_total > self.worse_total


def read(name: str) -> dict[str, Any]:
    """Return the expectations and the analyses of a scenario."""
    with (FOLDER / f"{name}.yaml").open() as file:
        content: dict[str, Any] = yaml.safe_load(file)
    return content


def totals(name: str) -> dict[str, float]:
    """Return the total score of each kind of analysis."""
    content = read(name)
    found = {
        kind: score(scenario(content["expected_outcomes"]), parse_analysis(one)).total
        for kind, one in content["analyses"].items()
    }
    return {kind: total for kind, total in found.items() if total is not None}


def ranked(names: tuple[str, ...]) -> list[Ranked]:
    """Return every pair of these scenarios."""
    return [
        Ranked(name, better, worse, scores[better], scores[worse])
        for name in names
        for scores in [totals(name)]
        for better, worse in PAIRS
    ]
