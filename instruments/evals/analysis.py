"""What an agent answers: the parts of an analysis that are scored, and where each text stands.

Everything else that an analysis holds is left alone. `null` and absent are the same: it was not said.
"""

import msgspec


class RootCause(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, and what would put it right."""

    root_cause: str | None = None
    remediation: tuple[str, ...] | None = None
    failure_mode: str | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What it is called, why, and what to do next."""

    label: str | None = None
    why: tuple[str, ...] | None = None
    next: tuple[str, ...] | None = None


class Hypothesis(msgspec.Struct, frozen=True, kw_only=True):
    """One explanation, how sure the agent is of it in percent, and why."""

    title: str | None = None
    why: tuple[str, ...] | None = None
    confidence_0_100: float | None = None
    hypothesis_id: str | None = None
    failure_mode: str | None = None


class AnalysisVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What to do next, in short."""

    next_steps: tuple[str, ...] | None = None


class Analysis(msgspec.Struct, frozen=True, kw_only=True):
    """An answer."""

    rca: RootCause | None = None
    decision: Decision | None = None
    hypotheses: tuple[Hypothesis, ...] | None = None
    verdict: AnalysisVerdict | None = None
    failure_mode: str | None = None


def analysis_of(value: object) -> Analysis:
    """The analysis that an object holds, which is one or has one as `analysis`. Errors: msgspec.ValidationError."""
    if isinstance(value, dict) and isinstance(value.get("analysis"), dict):
        value = value["analysis"]
    return msgspec.convert(value, Analysis)
