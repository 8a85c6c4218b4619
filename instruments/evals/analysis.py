"""The analysis that an agent returns: the fields that are scored.

Other fields are ignored. `null` and an absent field mean the same.
"""

import msgspec


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
