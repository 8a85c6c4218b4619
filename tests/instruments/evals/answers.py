"""Scenarios and analyses of a few lines, as tests of the scorer need them."""

from pathlib import Path
from typing import Any

import msgspec

from events.evaluation import Component, PatternFinding
from instruments.evals.analysis import parse_analysis
from instruments.evals.scenario import Description, Scenario
from instruments.evals.scoring.scorer import ScenarioScore, score

DIGEST = "0" * 64

PULLED: dict[str, Any] = {
    "rca": {
        "root_cause": "ImagePullBackOff: the registry answers 403 for shop/web:1.4",
        "remediation": ["Correct the image tag", "Renew the pull secret"],
    },
    "decision": {
        "label": "image pull",
        "why": ["Events show ErrImagePull", "The registry answers 403"],
        "next": ["kubectl describe pod web-1", "aws ecr describe-images"],
    },
    "hypotheses": [{"title": "Image pull fails", "why": ["403 from the registry"], "confidence_0_100": 95}],
    "verdict": {"next_steps": ["Check the pull secret"]},
}
"""A good answer to a scenario of an image that cannot be pulled."""

PULL: dict[str, Any] = {
    "root_cause": {"patterns": ["ImagePullBackOff", "ErrImagePull"], "match_type": "substring"},
    "failure_mode": {"exact": "image_pull"},
    "proposed_fix": {
        "all_of": [{"patterns": ["image tag"], "match_type": "substring"}],
        "any_of": [{"patterns": ["pull secret"], "match_type": "substring"}],
    },
    "hypotheses": {"any_of": ["image pull"]},
    "next_steps": {"command_types": ["kubectl", "aws"], "must_include": ["describe"]},
}
"""What that scenario expects."""


def scenario(expected: dict[str, Any], **about: object) -> Scenario:
    """A scenario that expects this."""
    description = msgspec.convert({"name": "Image pull", "expected_outcomes": expected, **about}, Description)
    return Scenario(
        id="image-pull",
        title="image-pull",
        folder=Path("image-pull"),
        mode=None,
        about=description,
        investigation={},
        captured=None,
        fixture_digest=DIGEST,
        expectation_digest=DIGEST,
        investigation_digest=DIGEST,
    )


def scored(
    expected: dict[str, Any], answer: dict[str, Any], *, reads_language: bool = True, **about: object
) -> ScenarioScore:
    """What an answer is worth."""
    return score(scenario(expected, **about), parse_analysis(answer), reads_language=reads_language)


def part(name: str, result: ScenarioScore) -> Component:
    """One component of a score."""
    return next(component for component in result.components if component.name == name)


def points(name: str, expected: dict[str, Any], answer: dict[str, Any]) -> float | None:
    """The points of the one component that is expected."""
    key = {"root_cause": "root_cause", "fix_accuracy": "proposed_fix", "next_steps": "next_steps"}.get(name)
    component = part(name, scored({key: expected} if key else expected, answer))
    assert component.applicable
    assert component.weight == 1.0
    return component.score


def finding(path: str, result: ScenarioScore) -> PatternFinding:
    """Return the finding for the pattern at a path."""
    return next(one for component in result.components for one in component.findings if one.expectation == path)


def said_at(answer: dict[str, Any], where: str) -> str:
    """The text of a place in an answer: of a list its items, of a hypothesis title and reasons, by line feeds."""
    value: Any = answer
    for key in where.replace("[", ".[").split("."):
        value = value[int(key[1:-1])] if key.startswith("[") else value[key]
    if isinstance(value, dict):
        return "\n".join([value.get("title") or "", *(value.get("why") or ())])
    return value if isinstance(value, str) else "\n".join(value)
