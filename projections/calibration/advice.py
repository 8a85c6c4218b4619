"""Advice before a decision: the outcomes of similar past decisions of the same agent.

Similar decisions have the same category and stakes, and about the same stated confidence. If fewer than REVIEWS_ENOUGH
of them are reviewed, the scope is widened, first to any stakes, then to any confidence in the category, and only then
to any category. The answer and its message say what was widened, and how many reviews each narrower scope has. What
decisions of any confidence came to does not answer for the planned one, so a curve through them does.

A correction compares outcomes with the mean confidence that the same decisions stated, not with the planned one. It
requires an e-value of overconfidence or of underconfidence of at least E_VALUE_SUPPORTED, so that a calibrated agent
that asks after every review ever gets one from a scope with a probability of at most 5%. As in calibration,
evidence and intervals allow for named clusters, and a correction holds whatever the missing outcomes plausibly are.
"""

from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from projections.arrays import Floats
from projections.calibration.cells import Cells
from projections.calibration.confidence_bins import ConfidenceBins, bin_counts
from projections.calibration.count_table import CountTable
from projections.calibration.counted_decisions import CountedDecisions
from projections.calibration.figure_text import format_rate
from projections.calibration.gap_evidence import GapEvidence, evidence_of_counts
from projections.calibration.map_families import EXTREME
from projections.calibration.named_clusters import ClusterPart
from projections.calibration.scores import TOLERANCE, missing_outcomes, one_look_intervals
from projections.stats.intervals import Z, wilson_interval
from projections.stats.logistic_regression import fit_logistic, inverse_logit, logit
from tallystick.shapes.advice import Correction, PastDecisions, PredictedRate, ScopeOutcomes, Widening
from tallystick.shapes.parts import Interval

CONFIDENCE_RADIUS = 0.05
"""Confidences within this distance are about the same."""

REVIEWS_ENOUGH = 20
"""The first scope with so many reviews is used."""

_DECIMALS = 9
"""Decimals of the range of confidence, so that it has no rounding errors."""

_CATEGORY, _STAKES = 1, 2
"""Indices of the fields in a `GroupKey`."""


class PlannedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A planned decision. Without a confidence, past decisions with any confidence are used."""

    agent: str
    category: str | None = None
    stakes: str | None = None
    confidence: float | None = None


class _Found(msgspec.Struct, frozen=True):
    """A scope: what it does not share with the plan, and its reviewed decisions; without any no gap and evidence."""

    widened: tuple[Widening, ...]
    bins: ConfidenceBins
    outcomes: ScopeOutcomes
    gap_interval: Interval | None = None
    evidence: GapEvidence | None = None


def summarize_past_decisions(
    table: CountTable, plan: PlannedDecision, decisions: CountedDecisions | None = None
) -> PastDecisions:
    """Summarize past decisions similar to the planned one, given the cells of its agent.

    `decisions` are the agent's, from which named clusters are read; without them each review is independent.
    """
    tried: list[_Found] = []
    for widened in _scopes(plan):
        tried.append(_find(table, plan, widened, decisions))
        if tried[-1].bins.reviewed >= REVIEWS_ENOUGH:
            break
    chosen = _choose(tried)
    bins, outcomes = chosen.bins, chosen.outcomes
    correction = _correct(chosen, plan)
    narrower = [found.outcomes for found in tried[: tried.index(chosen)]]
    past = PastDecisions(
        **structs.asdict(outcomes),
        message="",
        gap=_gap(bins),
        gap_interval=chosen.gap_interval,
        widened=chosen.widened,
        narrower=tuple(narrower),
        correction=correction,
        consider=None if correction is None else outcomes.success,
        predicted=_predict(chosen, plan),
    )
    unused = tried[-1].outcomes if tried[-1].bins.reviewed >= REVIEWS_ENOUGH and chosen is not tried[-1] else None
    return structs.replace(past, message=" ".join(_sentences(past, plan, unused)))


def has_category(table: CountTable, category: str) -> bool:
    """Tell whether any decision of any agent has a category."""
    return category in table.values[_CATEGORY].numbers


def _scopes(plan: PlannedDecision) -> Iterator[tuple[Widening, ...]]:
    """Yield what to widen: nothing first. The category is dropped only after the confidence within it."""
    planned: list[Widening] = []
    yield ()
    if plan.stakes is not None:
        planned.append("stakes")
        yield tuple(planned)
    if plan.confidence is not None and plan.category is not None:
        yield (*planned, "confidence")
    if plan.category is not None:
        yield (*planned, "category")
        planned.append("category")
    if plan.confidence is not None:
        yield (*planned, "confidence")


def _find(
    table: CountTable, plan: PlannedDecision, widened: tuple[Widening, ...], decisions: CountedDecisions | None
) -> _Found:
    """Find the reviewed decisions of a scope."""
    low, high = 0.0, 1.0
    if plan.confidence is not None and "confidence" not in widened:
        low, high = max(0.0, plan.confidence - CONFIDENCE_RADIUS), min(1.0, plan.confidence + CONFIDENCE_RADIUS)
    scope = ScopeOutcomes(
        agent=plan.agent,
        category=None if "category" in widened else plan.category,
        stakes=None if "stakes" in widened else plan.stakes,
        confidence=(round(low, _DECIMALS), round(high, _DECIMALS)),
        reviewed=0,
        stated=None,
        success=None,
        interval=None,
    )
    inside = _is_inside(table, scope)
    confidence, counts = table.confidence[inside], table.counts[inside]
    bins = bin_counts(confidence, counts)
    n = bins.reviewed
    if not n:
        return _Found(widened, bins, scope)
    named = None if decisions is None else _find_clusters(decisions, scope)
    evidence = evidence_of_counts(*bins.weighted_reviews(), named, missing_outcomes(confidence, counts))
    gap, rates = one_look_intervals(bins, evidence)
    found = structs.replace(
        scope,
        reviewed=n,
        stated=bins.mean_confidence,
        success=bins.outcome_total / n,
        interval=wilson_interval(bins.outcome_total, n) if evidence.interval is None else rates,
    )
    return _Found(widened, bins, found, gap, evidence)


def _is_inside(cells: CountTable | Cells, scope: ScopeOutcomes) -> npt.NDArray[np.bool_]:
    """Return a mask of the cells in a scope."""
    low, high = scope.confidence
    with np.errstate(invalid="ignore"):
        inside = (cells.confidence >= low - TOLERANCE) & (cells.confidence <= high + TOLERANCE)
    for field, value in ((_CATEGORY, scope.category), (_STAKES, scope.stakes)):
        if value is not None:
            inside &= _has_value(cells, field, value)
    return inside


def _find_clusters(decisions: CountedDecisions, scope: ScopeOutcomes) -> ClusterPart | None:
    """Return what the named clusters of a scope change; None if no reviewed decision in it names one."""
    if not decisions.clusters:
        return None
    cells = decisions.cells
    inside = _is_inside(cells, scope)
    within = np.zeros(len(cells.columns[0]), dtype=bool)
    within[cells.group[inside]] = True
    return decisions._replace(within=within).named().by_group(np.where(inside, 0, -1)).get(0)


def _has_value(cells: CountTable | Cells, field: int, value: str) -> npt.NDArray[np.bool_]:
    """Return a mask of the cells whose group has a value in a field."""
    number = cells.values[field].numbers.get(value)
    if number is None:
        return np.zeros(len(cells.group), dtype=bool)
    return np.asarray(cells.columns[field][cells.group] == number)


def _choose(tried: Sequence[_Found]) -> _Found:
    """Return the scope to use: the last one, which has enough reviews.

    If it is not limited to the planned category, and the reviews in that category contradict it, these are used,
    however few they are. If no scope has enough reviews, the one with most reviews in the planned category is used; if
    the category has none, the one with most in any category.
    """
    last = tried[-1]
    within = [found for found in tried if "category" not in found.widened]
    own = max(within, key=lambda found: found.bins.reviewed)  # the narrowest of equals
    if last.bins.reviewed >= REVIEWS_ENOUGH:
        return own if _contradicts(own, last) else last
    return own if own.bins.reviewed else max(tried, key=lambda found: found.bins.reviewed)


def _contradicts(own: _Found, wider: _Found) -> bool:
    """Tell whether the gap of a wider scope without the planned category is outside the interval of the own gap."""
    interval, gap = own.gap_interval, _gap(wider.bins)
    if "category" not in wider.widened or interval is None or gap is None:
        return False
    return not interval.low - TOLERANCE <= gap <= interval.high + TOLERANCE


def _gap(bins: ConfidenceBins) -> float | None:
    if not bins.reviewed:
        return None
    gap = bins.outcome_total / bins.reviewed - bins.mean_confidence
    return gap if abs(gap) > TOLERANCE else 0.0


def _correct(chosen: _Found, plan: PlannedDecision) -> Correction | None:
    """Return the correction of a planned confidence.

    It needs enough reviews in the planned category at about the planned confidence, a gap that is sure, and a planned
    confidence that is outside the interval of the success rate on the side to which the decisions are off.
    """
    gap, interval, evidence = chosen.gap_interval, chosen.outcomes.interval, chosen.evidence
    if plan.confidence is None or gap is None or interval is None or evidence is None:
        return None
    if {"category", "confidence"} & {*chosen.widened} or chosen.bins.reviewed < REVIEWS_ENOUGH:
        return None
    if evidence.supports("over") and gap.high < 0 and plan.confidence > interval.high + TOLERANCE:
        return "less"
    is_more = evidence.supports("under") and gap.low > 0 and plan.confidence < interval.low - TOLERANCE
    return "more" if is_more else None


def _predict(chosen: _Found, plan: PlannedDecision) -> PredictedRate | None:
    """Return what a curve through the decisions of a scope of any confidence gives at the planned one."""
    if plan.confidence is None or "confidence" not in chosen.widened or chosen.evidence is None:
        return None
    clusters = chosen.evidence.clusters
    share = 1.0 if clusters is None else clusters.effective_reviews / chosen.bins.reviewed
    return predict_rate(chosen.bins, plan.confidence, share)


def _sentences(past: PastDecisions, plan: PlannedDecision, unused: ScopeOutcomes | None) -> Iterator[str]:
    """Yield the sentences of the message. `unused` are the outcomes of a wider scope that the own ones contradict."""
    if past.success is None:
        yield f"No decision of {past.agent} with a stated confidence is reviewed yet."
        return
    stated = f"stated {_rate(past.stated)} on average and " if _is_any(past) else ""
    they = "They are"
    if past.predicted is not None:
        low, high = past.predicted.interval.low, past.predicted.interval.high
        yield (
            f"A logistic curve through the decisions of {_describe(past)} (n={past.reviewed:,}) gives a success rate "
            f"of {_rate(past.predicted.rate)} ({_rate(low)} to {_rate(high)}) at confidence {_rate(plan.confidence)}."
        )
        they = "These decisions are"
    else:
        yield f"Decisions of {_describe(past, with_mean=True)} {stated}came to {_result(past)}, n={past.reviewed:,}."
    if past.widened:
        any_of = " and ".join(f"any {name}" for name in past.widened)
        closer = "; ".join(_count(scope) for scope in past.narrower)
        yield (
            f"{they} of {any_of}, because fewer than {REVIEWS_ENOUGH} reviewed decisions are closer to the planned "
            f"one: {closer}."
        )
    if past.reviewed < REVIEWS_ENOUGH:
        yield f"Fewer than {REVIEWS_ENOUGH} reviews are too few to rely on."
    if unused is not None:
        yield (
            f"Decisions of any category came to {_result(unused)}, n={unused.reviewed:,}; those in {past.category} "
            "differ from them, so they are not used."
        )
    if past.correction is not None:
        yield f"Consider stating about {_rate(past.consider)}."


def _describe(scope: ScopeOutcomes, *, with_mean: bool = False) -> str:
    """Name the decisions of a scope: their agent, category, stakes and range of confidence."""
    parts = [
        scope.agent,
        f" in {scope.category}" if scope.category is not None else "",
        f" at {scope.stakes} stakes" if scope.stakes is not None else "",
    ]
    if not _is_any(scope):
        low, high = scope.confidence
        mean = f" ({_rate(scope.stated)} on average)" if with_mean else ""
        parts.append(f" stated at {_rate(low)} to {_rate(high)}{mean}")
    return "".join(parts)


def _count(scope: ScopeOutcomes) -> str:
    """Name the decisions of a scope, their number and result."""
    if not scope.reviewed:
        return f"none of {_describe(scope)}"
    return f"{scope.reviewed} of {_describe(scope)}, which came to {_result(scope)}"


def _result(scope: ScopeOutcomes) -> str:
    assert scope.interval is not None
    return f"{_rate(scope.success)} ({_rate(scope.interval.low)} to {_rate(scope.interval.high)})"


def _rate(value: float | None) -> str:
    return "-" if value is None else format_rate(value)


def _is_any(scope: ScopeOutcomes) -> bool:
    """Tell whether decisions of any confidence are in a scope."""
    return scope.confidence == (0.0, 1.0)


PRIOR_CONFIDENCES: Final = (0.25, 0.75)
PRIOR_DECISIONS: Final = 2.0


def predict_rate(bins: ConfidenceBins, at: float, share: float = 1.0) -> PredictedRate:
    """Return the mean outcome that a logistic curve through reviewed decisions predicts at a confidence, 0..1.

    It regresses the outcome on the logit of the stated confidence (Cox, "Two further applications of a model for binary
    regression", 1958). Few decisions at like confidences do not determine that, so there is a prior at "as stated",
    intercept 0 and slope 1: the likelihood of PRIOR_DECISIONS at each of PRIOR_CONFIDENCES that came to exactly these
    rates (Bedrick, Christensen and Johnson, "A new perspective on priors for generalized linear models", 1996).

    `share` is the effective number of reviews divided by their number; below 1 in clusters. A partial outcome counts
    as half a success. Confidences beyond EXTREME are treated as this far from 0 or 1.
    """
    prior = np.array(PRIOR_CONFIDENCES)
    x = _features(np.concatenate([bins.confidence, prior]))
    successes = np.concatenate([share * bins.outcome_sum, PRIOR_DECISIONS * prior])
    n = np.concatenate([share * bins.n, np.full(len(prior), PRIOR_DECISIONS)])
    free, as_stated = np.ones((1, 2), dtype=bool), np.array([0.0, 1.0])
    (found,) = fit_logistic(x, as_stated, np.zeros(len(x)), successes[None], (n - successes)[None], free)
    p = inverse_logit(x @ found)
    (planned,) = _features(np.array([at]))
    middle = float(planned @ found)
    half = Z * sqrt(float(planned @ np.linalg.solve((x.T * (n * p * (1 - p))) @ x, planned)))
    low, rate, high = inverse_logit(np.array([middle - half, middle, middle + half])).tolist()
    return PredictedRate(rate=rate, interval=Interval(low, high))


def _features(confidence: Floats) -> Floats:
    x = logit(np.clip(confidence, EXTREME, 1 - EXTREME))
    return np.stack([np.ones_like(x), x], axis=1)
