"""The gate: compare two evaluations and decide whether the change is acceptable."""

from typing import Literal

import msgspec

from api.reports.format import count_noun, points_below
from projections.evaluation.view_types import RunComparison

Verdict = Literal["passed", "worse", "unusable"]


class GateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for a candidate.

    `regressions` and `errors` are the largest allowed numbers: of scenarios that regressed, and of attempts in error.
    `score` is the lowest allowed mean, in points (0 to 100); an error has 0 points in it.
    """

    regressions: int = 0
    errors: int = 0
    score: float | None = None


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a candidate passed, the exit code, and the reasons as phrases.

    worse (1): more regressions than allowed, or a mean below the limit.
    unusable (2): no scenario was scored, no scenario is comparable with the baseline, or there are too many errors.
    """

    verdict: Verdict
    exit: int
    reasons: tuple[str, ...]
    limits: GateLimits


def judge(contrast: RunComparison, limits: GateLimits) -> GateResult:
    """Check a candidate against limits.

    A scenario regressed if fewer of its attempts pass than before, among the attempts that both runs have. A flaky
    scenario with as many passes in other attempts did not regress. A missing scenario did.
    """
    candidate = contrast.candidate
    if candidate.mean is None:
        return _result("unusable", limits, "no scenario of the candidate was scored")
    worse = []
    if contrast.regressions > limits.regressions:
        worse.append(_over_limit(contrast.regressions, "regression", limits.regressions))
    if limits.score is not None and candidate.mean < limits.score:
        worse.append(f"a mean of {points_below(candidate.mean, limits.score)} is below {limits.score:g}")
    if worse:
        return _result("worse", limits, *worse)
    unusable = []
    if not contrast.scenarios:
        unusable.append("no scenario is comparable with the baseline")
    if candidate.errors > limits.errors:
        unusable.append(_over_limit(candidate.errors, "error", limits.errors))
    return _result("unusable" if unusable else "passed", limits, *unusable)


def verdict_sentence(judgement: GateResult, contrast: RunComparison) -> str:
    """Return the verdict and its reasons in one line."""
    if judgement.reasons:
        return f"{judgement.verdict.capitalize()}: {', and '.join(judgement.reasons)}."
    compared = f"{count_noun(contrast.scenarios, 'scenario')} compared"
    allowed = f", {count_noun(contrast.regressions, 'regression')} allowed" if contrast.regressions else ", none worse"
    return f"Passed: {compared}{allowed}."


def _over_limit(number: int, noun: str, allowed: int) -> str:
    return f"{count_noun(number, noun)}, where {allowed or 'none'} {'is' if allowed < 2 else 'are'} allowed"


def _result(verdict: Verdict, limits: GateLimits, *reasons: str) -> GateResult:
    code = {"passed": 0, "worse": 1, "unusable": 2}[verdict]
    return GateResult(verdict=verdict, exit=code, reasons=reasons, limits=limits)
