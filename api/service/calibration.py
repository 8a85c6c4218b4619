"""Use cases of calibration: scores, advice and recent drift."""

from asyncio import to_thread
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Literal, NamedTuple, get_args

import msgspec
from msgspec import UNSET, UnsetType, structs

from api.service.as_of import AsOf
from api.service.ledger import LedgerService
from projections.calibration.advice import PastDecisions, PlannedDecision, summarize_past_decisions
from projections.calibration.agent_comparison import AgentComparison
from projections.calibration.calibration import (
    MIN_DECISIONS,
    Calibration,
    CalibrationFilter,
    CalibrationView,
    GroupBy,
    build_calibration_view,
    count_groups,
    score_categories,
)
from projections.calibration.change_point import Drift
from projections.calibration.counts import CountTable
from projections.calibration.history import CalibrationHistory, HistoryPart, build_history
from projections.calibration.reason_index import ReasonIndex
from projections.calibration.reason_stats import ReasonsView
from projections.calibration.recent_drift import DriftLimits, RecentDrift, compare_windows, examined_range
from projections.calibration.recommendations import CategoryScores
from projections.calibration.trend import TREND_DAYS, Trend

Detail = Literal["figures", "curves"]


DETAILS: tuple[Detail, ...] = get_args(Detail)


class CalibrationQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to score, and how.

    `detail` is what to compute: figures, or curves too. `include` names the parts of the history over time to add,
    `trend_days` is the length of the trend's windows.
    """

    filter: CalibrationFilter = CalibrationFilter()
    group_by: GroupBy = "confidence_bucket"
    min_decisions: int = MIN_DECISIONS
    detail: Detail = "figures"
    include: tuple[HistoryPart, ...] = ()
    trend_days: int = TREND_DAYS


class CalibrationAnswer(CalibrationView, frozen=True, kw_only=True):
    """Calibration scores, and the position they are as of; parts that `include` does not name are absent."""

    as_of: AsOf
    trend: Trend | UnsetType = UNSET
    drift: Drift | UnsetType = UNSET
    comparison: AgentComparison | UnsetType = UNSET


class Advice(PastDecisions, frozen=True, kw_only=True):
    """Outcomes of decisions like a planned one, and the position they are as of."""

    as_of: AsOf


class CalibrationByCategory(NamedTuple):
    """Calibration scores, and the two scores of every category as of the same position."""

    answer: CalibrationAnswer
    categories: list[CategoryScores]


QUICK_GROUPS_MAX = 20
"""Up to so many groups their figures take a few milliseconds, as long as the way to a thread and back under load."""


async def compute_calibration(
    ledger: LedgerService, question: CalibrationQuery, as_of: int | None = None
) -> CalibrationAnswer:
    """Compute the calibration of some decisions. Errors: InvalidQuery."""
    return (await compute_calibration_by_category(ledger, question, as_of)).answer


async def compute_calibration_by_category(
    ledger: LedgerService, question: CalibrationQuery, as_of: int | None = None
) -> CalibrationByCategory:
    """Compute the calibration of some decisions, and the scores of each category. Errors: InvalidQuery."""
    projection, position = await ledger.engine.at(Calibration, as_of)
    table = projection.table(question.filter)
    history = projection.history(question.filter) if question.include else None
    found = score_categories(table)
    view = await _calibrate(table, question, found)
    trends = (
        CalibrationHistory()
        if history is None
        else await to_thread(build_history, history, question.include, question.trend_days)
    )
    fields = {**structs.asdict(view), **structs.asdict(trends)}
    return CalibrationByCategory(CalibrationAnswer(**fields, as_of=await ledger.dated(position)), found)


async def detect_recent_drift(
    ledger: LedgerService, about: CalibrationFilter, now: datetime, limits: DriftLimits
) -> RecentDrift:
    """Compare the last 30 days of some decisions with the 90 before; the filter's range is set to these 120 days."""
    projection, _ = await ledger.engine.at(Calibration)
    history = projection.history(structs.replace(about, range=examined_range(now)))
    return await to_thread(compare_windows, history, now, limits)


async def advise(ledger: LedgerService, plan: PlannedDecision, as_of: int | None = None) -> Advice:
    """Compute how decisions like a planned one turned out. Errors: InvalidQuery."""
    projection, position = await ledger.engine.at(Calibration, as_of)
    found = summarize_past_decisions(projection.table(CalibrationFilter(agent=plan.agent)), plan)
    return Advice(**structs.asdict(found), as_of=await ledger.dated(position))


async def compute_reason_stats(ledger: LedgerService, selection: CalibrationFilter, min_reviewed: int) -> ReasonsView:
    """Compute how decisions turned out by kind of reason."""
    projection, _ = await ledger.engine.at(ReasonIndex)
    return projection.view(selection, min_reviewed)


async def _calibrate(table: CountTable, asked: CalibrationQuery, found: Sequence[CategoryScores]) -> CalibrationView:
    """Compute the scores, on a thread if they take long, so that the event loop can answer others meanwhile."""
    curves = asked.detail == "curves"
    ask = partial(build_calibration_view, table, asked.group_by, asked.min_decisions, curves=curves, warned=found)
    return await to_thread(ask) if curves or count_groups(table, asked.group_by) > QUICK_GROUPS_MAX else ask()
