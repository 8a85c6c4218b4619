"""The analysis that an agent returns: the fields that are scored.

Other fields are ignored. `null` and an absent field mean the same.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from instruments.evals.usage import Usage, parse_usage
from instruments.stored_text import label_of


class RootCause(msgspec.Struct, frozen=True, kw_only=True):
    """The root cause, and its remediation."""

    root_cause: str | None = None
    remediation: tuple[str, ...] | None = None
    failure_mode: str | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's decision: label, reasons and next steps."""

    label: str | None = None
    why: tuple[str, ...] | None = None
    next: tuple[str, ...] | None = None


class Hypothesis(msgspec.Struct, frozen=True, kw_only=True):
    """One hypothesis, the agent's confidence in percent, and the reasons."""

    title: str | None = None
    why: tuple[str, ...] | None = None
    confidence_0_100: float | None = None
    hypothesis_id: str | None = None
    failure_mode: str | None = None


class AnalysisVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The next steps, in short."""

    next_steps: tuple[str, ...] | None = None


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's analysis of an incident."""

    rca: RootCause | None = None
    decision: Decision | None = None
    hypotheses: tuple[Hypothesis, ...] | None = None
    verdict: AnalysisVerdict | None = None
    failure_mode: str | None = None


def parse_analysis(value: object) -> Analysis:
    """Convert an object that is an analysis, or has one under `analysis`. Errors: msgspec.ValidationError."""
    if isinstance(value, dict) and isinstance(value.get("analysis"), dict):
        value = value["analysis"]
    return msgspec.convert(value, Analysis)


class AnswerStatements(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer states about itself. A field is None where it states nothing.

    `reported_model` is the model that the endpoint named, `confidence` the probability that the answer is right, 0..1.
    `usage` has the tokens and the cost.
    """

    model: str | None = None
    reported_model: str | None = None
    confidence: float | None = None
    usage: Usage = Usage()


def parse_statements(answer: Mapping[str, Any]) -> AnswerStatements:
    """Return what an answer states beside its analysis, or inside it. A value of another kind states nothing."""
    inner = answer.get("analysis")
    sources = (answer, inner if isinstance(inner, dict) else {})

    def first(name: str, kinds: tuple[type, ...]) -> Any:  # noqa: ANN401 - a value of one of `kinds`
        return next((source[name] for source in sources if type(source.get(name)) in kinds), None)

    confidence = first("confidence", (int, float))
    return AnswerStatements(
        model=label_of(first("model", (str,))),
        reported_model=label_of(first("reported_model", (str,))),
        confidence=float(confidence) if confidence is not None and 0 <= confidence <= 1 else None,
        usage=parse_usage(answer),
    )
