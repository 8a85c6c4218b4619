"""The gate: compare two evaluations and decide whether the change is acceptable.

It decides by a test with an error rate: an unchanged agent is called worse in at most `alpha` of gates. Or it counts
regressions, if limits say so: then a flaky agent is called worse by chance.
"""

from typing import Literal

import msgspec

from api.reports.format import points_below
from api.reports.loss_test import ALPHA, DROP, GateTest, run_loss_test
from api.reports.usage_limits import check_usage
from api.text_format import pluralize
from projections.evaluation.sequential_plan import level_of
from projections.evaluation.view_types import RunComparison
from projections.stats.loss_power import Drop

Verdict = Literal["passed", "worse", "unusable"]
Rule = Literal["test", "count"]


class GateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for a candidate.

    If `strict`, `regressions` is the largest allowed number of scenarios that regressed. Otherwise the candidate is
    worse if fewer attempts pass by more than chance explains: with the probability `alpha`, 0 to 1, an unchanged agent
    is called worse. `errors` is the largest allowed number of attempts in error. `score` is the lowest allowed mean,
    in points (0 to 100); an error has 0 points in it. The gate states its power for a `drop` of the pass rate, 0 to
    1, in `drop_scenarios` of the scenarios (None: in all). The highest allowed latencies, of the median and of the 95th
    percentile, are in seconds, and over the last try of each attempt; `cost_per_attempt_usd` is the highest allowed
    cost of all tries, divided by the number of attempts. None: no limit.
    """

    regressions: int = 0
    errors: int = 0
    score: float | None = None
    strict: bool = False
    alpha: float = ALPHA
    drop: float = DROP
    drop_scenarios: int | None = None
    latency_s: float | None = None
    latency_p95_s: float | None = None
    cost_per_attempt_usd: float | None = None


class FlakyScenario(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario that some attempts passed, and others did not, under the same version of the agent, in all its runs.

    The version is that of the baseline.
    """

    scenario_id: str
    attempts: int
    passed: int


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a candidate passed, the exit code, and the reasons as phrases.

    worse (1): by the rule, because a scenario is missing, because the mean is below the limit, or because latency or
    cost is above it.
    unusable (2): no scenario was scored, no scenario is comparable with the baseline, there are too many errors,
    scenarios regressed and the test cannot find any loss with so few attempts, or the latency or cost of some attempt
    is not known, though it has a limit.

    `rule` is the one that decided: the test, or the count of regressions. `flaky` lists the flaky scenarios of the
    baseline's version.
    """

    verdict: Verdict
    exit: int
    reasons: tuple[str, ...]
    limits: GateLimits
    rule: Rule = "test"
    test: GateTest | None = None
    flaky: tuple[FlakyScenario, ...] = ()


def judge(contrast: RunComparison, limits: GateLimits) -> GateResult:
    """Check a candidate against limits.

    A scenario regressed if fewer of its attempts pass than before, among the attempts that both runs have. A flaky
    scenario with as many passes in other attempts did not regress. A missing scenario did.
    """
    candidate = contrast.candidate
    if candidate.mean is None:
        return _result("unusable", limits, None, "no scenario of the candidate was scored")
    level = level_of(candidate.meta, contrast.passes, limits.alpha)
    test = run_loss_test(contrast, limits.alpha, level, Drop(limits.drop, limits.drop_scenarios))
    worse = _too_many(contrast, limits) if limits.strict else _lost(contrast, test)
    if limits.score is not None and candidate.mean < limits.score:
        worse.append(f"a mean of {points_below(candidate.mean, limits.score)} is below {limits.score:g}")
    over, unknown = check_usage(candidate.usage, limits)
    worse += over
    if worse:
        return _result("worse", limits, test, *worse)
    unusable = unknown
    if test is None:
        unusable.append("no scenario is comparable with the baseline")
    if candidate.errors > limits.errors:
        unusable.append(_over_limit(candidate.errors, "error", limits.errors))
    if test is not None and test.blind and contrast.regressed and not limits.strict:
        unusable.append(f"{pluralize(contrast.regressions, 'regression')}, and too few attempts to test for chance")
    return _result("unusable" if unusable else "passed", limits, test, *unusable)


def verdict_sentence(judgement: GateResult, contrast: RunComparison) -> str:
    """Return the verdict and its reasons in one line."""
    if judgement.reasons:
        return f"{judgement.verdict.capitalize()}: {', and '.join(judgement.reasons)}."
    compared = f"{pluralize(contrast.scenarios, 'scenario')} compared"
    if not contrast.regressions:
        return f"Passed: {compared}, none worse."
    regressed = pluralize(contrast.regressions, "regression")
    if judgement.rule == "count" or judgement.test is None:
        return f"Passed: {compared}, {regressed} allowed."
    return f"Passed: {compared}, {regressed} within chance (p = {judgement.test.p:.3f})."


def _too_many(contrast: RunComparison, limits: GateLimits) -> list[str]:
    if contrast.regressions <= limits.regressions:
        return []
    return [_over_limit(contrast.regressions, "regression", limits.regressions)]


def _lost(contrast: RunComparison, test: GateTest | None) -> list[str]:
    worse = []
    if contrast.missing:
        worse.append(f"{pluralize(len(contrast.missing), 'scenario')} missing")
    if test is not None and test.lost:
        worse.append(f"fewer attempts pass than before, p {describe_p(test.p)}")
    return worse


def describe_p(p: float) -> str:
    """Return a p value for a sentence."""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _over_limit(number: int, noun: str, allowed: int) -> str:
    return f"{pluralize(number, noun)}, where {allowed or 'none'} {'is' if allowed < 2 else 'are'} allowed"


def _result(verdict: Verdict, limits: GateLimits, test: GateTest | None, *reasons: str) -> GateResult:
    code = {"passed": 0, "worse": 1, "unusable": 2}[verdict]
    rule: Rule = "count" if limits.strict else "test"
    return GateResult(verdict=verdict, exit=code, reasons=reasons, limits=limits, rule=rule, test=test)
