"""Whether a change may go through: two evaluations compared, and held to limits."""

from typing import Literal

import msgspec

from api.reports.format import against, counted
from projections.evaluation.view_types import RunComparison

Verdict = Literal["passed", "worse", "unusable"]


class GateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a candidate is allowed.

    `regressions` counts scenarios, each once, whatever its attempts. `score` is the least mean, in points of 100;
    errors count 0 in it.
    """

    regressions: int = 0
    errors: int = 0
    score: float | None = None


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a candidate passed; `exit` is the exit code. Every reason is a phrase.

    worse (1): more regressions than allowed, or a mean below the least.
    unusable (2): it was scored on no scenario, shares nothing comparable with the baseline, or has too many errors.
    """

    verdict: Verdict
    exit: int
    reasons: tuple[str, ...]
    limits: GateLimits


def judge(contrast: RunComparison, limits: GateLimits) -> GateResult:
    """Hold a candidate to limits.

    A scenario regressed where fewer of its attempts pass than did, of those that both runs have and could compare, so
    that a flaky one whose passes only moved from one attempt to another did not. One that is missing did, too.
    """
    candidate = contrast.candidate
    if candidate.mean is None:
        return _judged("unusable", limits, "the candidate was scored on no scenario")
    worse = []
    if contrast.regressions > limits.regressions:
        worse.append(_more(contrast.regressions, "regression", limits.regressions))
    if limits.score is not None and candidate.mean < limits.score:
        worse.append(f"a mean of {against(candidate.mean, limits.score)} is below {limits.score:g}")
    if worse:
        return _judged("worse", limits, *worse)
    unusable = []
    if not contrast.scenarios:
        unusable.append("no scenario is comparable with the baseline")
    if candidate.errors > limits.errors:
        unusable.append(_more(candidate.errors, "error", limits.errors))
    return _judged("unusable" if unusable else "passed", limits, *unusable)


def sentence(judgement: GateResult, contrast: RunComparison) -> str:
    """The judgement in one line."""
    if judgement.reasons:
        said = "Worse" if judgement.verdict == "worse" else "Unusable"
        return f"{said}: {', and '.join(judgement.reasons)}."
    compared = f"{counted(contrast.scenarios, 'scenario')} compared"
    allowed = f", {counted(contrast.regressions, 'regression')} allowed" if contrast.regressions else ", none worse"
    return f"Passed: {compared}{allowed}."


def _more(found: int, noun: str, allowed: int) -> str:
    return f"{counted(found, noun)}, where {allowed or 'none'} {'is' if allowed < 2 else 'are'} allowed"


def _judged(verdict: Verdict, limits: GateLimits, *reasons: str) -> GateResult:
    code = {"passed": 0, "worse": 1, "unusable": 2}[verdict]
    return GateResult(verdict=verdict, exit=code, reasons=reasons, limits=limits)
