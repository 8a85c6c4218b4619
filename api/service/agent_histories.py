"""Use case: how the calibration of agents changed over time. The trend of each, and when the gap of one changed."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
from msgspec import structs

from api.service.kept_answers import Found, KeptAnswers
from api.service.ledger import LedgerService
from api.service.model_names import MODEL_NAMES, find_model_names, model_resolver
from api.service.view_queries import query_check
from events.envelope import source_of
from ledger.threads import run_on_thread
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.change_point import REVIEWS_MIN, detect_drift
from projections.calibration.counted_decisions import CountedDecisions
from projections.calibration.model_groups import ResolveModel
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.calibration.trend import compute_trend
from projections.query_check import Check
from projections.time_range import TimeRange
from tallystick.shapes.history import Drift, Trend
from tallystick.shapes.parts import AsOf

SINGLE_REVIEWS_MAX = 100_000
"""With more reviews in all, drift is looked for in all decisions, and not in those of each agent: it takes long."""


class AgentHistoryQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Of which decisions, of which agents, and with windows of how many days the trends are."""

    filter: CalibrationFilter = CalibrationFilter()
    agents: tuple[str, ...] = ()
    trend_days: int = 30


class AgentHistories(msgspec.Struct, frozen=True, kw_only=True):
    """The drift of all selected decisions, and the trend and the drift of each agent, as of a position.

    Each figure is that of `compute_calibration` for the agent. `drift_by_agent` has the agents with enough reviews for
    a look; it is None if there are more than SINGLE_REVIEWS_MAX reviews. `range` is that of the decisions.
    """

    drift: Drift
    trends: Mapping[str, Trend]
    drift_by_agent: Mapping[str, Drift] | None
    range: TimeRange
    as_of: AsOf


async def find_agent_histories(
    ledger: LedgerService, kept: KeptAnswers, query: AgentHistoryQuery, period: str, wait_s: float
) -> Found[AgentHistories]:
    """Return the histories of some agents, after at most `wait_s`.

    `period` tells the question from others. The range of the filter may move: a period ends now.
    """
    position = await ledger.engine.catch_up()
    key = period, query.agents, query.trend_days
    return await kept.find(key, (position, query.filter), lambda: _read_histories(ledger, query), wait_s)


async def _read_histories(ledger: LedgerService, query: AgentHistoryQuery) -> AgentHistories:
    projection, position = await ledger.at(Calibration, also=MODEL_NAMES)
    decisions = projection.decisions(query.filter)
    resolve = model_resolver(await find_model_names(ledger))
    found = await run_on_thread(_examine, decisions, query, resolve, query_check())
    return structs.replace(found, as_of=await ledger.dated(position))


def _examine(
    decisions: CountedDecisions, query: AgentHistoryQuery, resolve: ResolveModel, check: Check
) -> AgentHistories:
    history = decisions.history(check)
    check()
    single = len(history.time_us) <= SINGLE_REVIEWS_MAX
    trends: dict[str, Trend] = {}
    drifts: dict[str, Drift] = {}
    for agent, own in _by_agent(history, query.agents):
        check()
        trends[agent] = compute_trend(own.confidence, own.outcome_value, own.time_us, query.trend_days)
        if single and len(own.time_us) >= REVIEWS_MIN:
            drifts[agent] = detect_drift(own, resolve)
    check()
    return AgentHistories(
        drift=detect_drift(history, resolve),
        trends=trends,
        drift_by_agent=drifts if single else None,
        range=query.filter.range,
        as_of=AsOf(0, None),
    )


def _by_agent(history: ReviewedDecisions, agents: Sequence[str]) -> Iterator[tuple[str, ReviewedDecisions]]:
    """Yield each agent with its part of a history."""
    numbers = {source_of(agent): number for number, agent in enumerate(agents, 1)}
    of_group = np.array([numbers.get(source or "", 0) for source, *_ in history.groups], dtype=np.uint16)
    of_row = of_group[history.group] if len(history.group) else np.zeros(0, dtype=np.uint16)
    for number, agent in enumerate(agents, 1):
        yield agent, history.take(np.flatnonzero(of_row == number))
