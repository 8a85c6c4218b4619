"""Use case: name a random set of unreviewed decisions, whose reviews tell the gap of all decisions."""

import secrets
from collections.abc import Sequence
from datetime import datetime

import msgspec
import numpy as np
from msgspec import UNSET

from api.service.calibration_params import ReviewSampleParams
from api.service.decisions import decision_states
from api.service.ledger import View
from api.service.operation import Link, operation
from api.service.unknown_names import UnknownNames, find_unknown_filter_names
from ledger.errors import InvalidQuery
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.sampled_gap import ReviewPopulation, SampledGap, estimate_gap, expected_half_width
from projections.decisions.decision_state import DecisionState
from projections.outcome_codes import OUTCOME_NUMBERS, OUTCOME_VALUES, UNREVIEWED
from projections.stats.random_sample import draw_sample
from tallystick.shapes.decisions import Outcome
from tallystick.shapes.parts import AsOf

NEW_SEEDS = 10**6
"""A new seed is below this, so that it is short to type."""


class SampledDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision to review. `outcome` is None until it is reviewed; `retracted` ones need no review.

    `confidence` is the one stated when the sample was drawn. `command` reviews the decision, with OUTCOME to fill in.
    """

    decision_id: str
    agent: str
    recorded_at: datetime
    decision: str
    category: str | None
    confidence: float
    outcome: Outcome | None
    retracted: bool
    command: str


class ReviewSample(msgspec.Struct, frozen=True, kw_only=True):
    """A random set of unreviewed decisions with a stated confidence, in the order in which they were drawn.

    `seed`, `drawn_at` and the filter name the same set again. `total` decisions with a stated confidence passed the
    filter then, and `unreviewed` of them had no review. When the set is reviewed, the 95% interval of the gap of all
    decisions is at most about twice `half_width` wide. `reviewed` of the set have a review now; `result` is None until
    all have.
    """

    seed: int
    drawn_at: int
    total: int
    unreviewed: int
    half_width: float | None
    decisions: list[SampledDecision]
    reviewed: int
    result: SampledGap | None
    as_of: AsOf
    unknown_names: UnknownNames = UNSET


@operation(
    "/reviews/sample",
    "decisions",
    heavy=True,
    links={"decision": Link("get_decision", "decision_id", "$response.body#/decisions/0/decision_id")},
)
async def get_review_sample(view: View, params: ReviewSampleParams) -> ReviewSample:
    """Draw a random set of unreviewed decisions, whose reviews tell the gap of all decisions.

    The answer states `seed` and `drawn_at`, which draw the same set again.
    """
    # Uniformly, without replacement, as of `drawn_at`; the outcomes are those of the view.
    filters = CalibrationFilter(**params.keys())
    projection, position = await view.at(Calibration)
    drawn_at = position if params.drawn_at is None else params.drawn_at
    if drawn_at > position:
        detail = f"{drawn_at} is beyond {position}, the position of the answer."
        raise InvalidQuery("drawn_at", detail, "Name the position that the sample was drawn at.")
    if drawn_at < position:
        projection, _ = await view.engine.at(Calibration, drawn_at)
    rows = projection.cells.rows(filters.key_filter(), filters.range)
    stated = ~np.isnan(rows.confidence)
    number, confidence, outcome = rows.number[stated], rows.confidence[stated], rows.outcome[stated]
    waiting = np.flatnonzero(outcome == UNREVIEWED)
    seed = secrets.randbelow(NEW_SEEDS) if params.seed is None else params.seed
    drawn = waiting[draw_sample(len(waiting), params.size, seed)]
    recorded = projection.cells.numbers.positions(number[drawn])
    unknown = UNSET if len(rows.number) else find_unknown_filter_names(projection.selection(filters).groups, filters)
    population = ReviewPopulation(
        total=len(number),
        unreviewed=len(waiting),
        outcome_sum=float(OUTCOME_VALUES[outcome[outcome != UNREVIEWED]].sum()),
        mean_confidence=float(confidence.mean()) if len(number) else 0.0,
    )
    states = await decision_states(view, await view.engine.names.subjects(recorded), position)
    decisions = list(map(_sampled, states, confidence[drawn].tolist()))
    return ReviewSample(
        seed=seed,
        drawn_at=drawn_at,
        total=population.total,
        unreviewed=population.unreviewed,
        half_width=expected_half_width(population, len(drawn)),
        decisions=decisions,
        reviewed=sum(each.outcome is not None for each in decisions),
        result=estimate_gap(population, _outcomes(decisions)),
        as_of=await view.dated(position),
        unknown_names=unknown,
    )


def _sampled(state: DecisionState, confidence: float) -> SampledDecision:
    return SampledDecision(
        decision_id=state.decision_id,
        agent=state.agent,
        recorded_at=state.recorded_at,
        decision=state.decision.decision,
        category=state.decision.category,
        confidence=confidence,
        outcome=None if state.review is None else state.review.outcome,
        retracted=state.retracted is not None,
        command=f"tallystick review {state.decision_id} --outcome OUTCOME",
    )


def _outcomes(decisions: Sequence[SampledDecision]) -> list[float] | None:
    """Return the values of the outcomes of a sample without retracted decisions; None while one has no review."""
    kept = [each.outcome for each in decisions if not each.retracted]
    values = [float(OUTCOME_VALUES[OUTCOME_NUMBERS[outcome]]) for outcome in kept if outcome is not None]
    return values if len(values) == len(kept) else None
