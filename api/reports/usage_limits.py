"""Check latency and cost of a candidate against limits.

A value that is above its limit whatever the missing values are, is above it. Otherwise a missing value leaves the
question open: no verdict without evidence.
"""

from typing import Protocol

from api.reports.format import usd
from api.text_format import pluralize
from projections.evaluation.usage_figures import Quantity, UsageFigures

_NS = 1e9

_ROUNDING = 1 + 1e-12
"""Sums and products of equal costs differ by less."""


class UsageLimits(Protocol):
    """The limits of `GateLimits` on latency, in seconds, and cost, in US dollars."""

    @property
    def latency_s(self) -> float | None: ...
    @property
    def latency_p95_s(self) -> float | None: ...
    @property
    def cost_per_attempt_usd(self) -> float | None: ...


def check_usage(usage: UsageFigures | None, limits: UsageLimits) -> tuple[list[str], list[str]]:
    """Return why latency and cost are above their limits, and which values are missing, as phrases."""
    over: list[str] = []
    unknown: list[str] = []
    latency = None if usage is None else usage.elapsed_ns
    known = usage is not None and latency is not None and latency.attempts == usage.attempts
    if (limits.latency_s, limits.latency_p95_s) != (None, None) and not known:
        unknown.append(
            _missing("latency", "attempt", 0 if latency is None else latency.attempts, usage.attempts if usage else 0)
        )
    elif latency is not None:
        over += _above("median latency", latency.median, limits.latency_s)
        over += _above("95th percentile of the latency", latency.p95, limits.latency_p95_s)
    if limits.cost_per_attempt_usd is not None:
        _check_cost(usage, None if usage is None else usage.cost_usd, limits.cost_per_attempt_usd, over, unknown)
    return over, unknown


def _check_cost(
    usage: UsageFigures | None, cost: Quantity | None, limit: float, over: list[str], unknown: list[str]
) -> None:
    """Add to `over` or `unknown`. A part of the cost that is above the limit suffices, because no cost is negative."""
    if usage is not None and cost is not None and usage.attempts and cost.total > limit * usage.attempts * _ROUNDING:
        over.append(f"a cost of {usd(cost.total / usage.attempts)} per attempt is above {usd(limit)}")
    elif usage is None or cost is None or cost.stated < usage.tries:
        unknown.append(_missing("cost", "answer", 0 if cost is None else cost.stated, usage.tries if usage else 0))


def _above(what: str, value_ns: float | None, limit_s: float | None) -> list[str]:
    if limit_s is None or value_ns is None or value_ns <= limit_s * _NS:
        return []
    return [f"a {what} of {value_ns / _NS:.4g} s is above {limit_s:g} s"]


def _missing(what: str, noun: str, stated: int, of: int) -> str:
    if not stated:
        return f"no {noun} of the candidate states its {what}"
    missing = of - stated
    return f"the {what} of {pluralize(missing, noun)} is not known"
