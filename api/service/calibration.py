"""Use cases of calibration: scores and recent drift."""

from datetime import datetime
from typing import Literal, NamedTuple, get_args

import msgspec
from msgspec import UNSET, UnsetType, structs

from api.service.as_of import AsOf
from api.service.ledger import LedgerService
from api.service.model_names import find_model_names, model_resolver
from api.service.unknown_names import UnknownNames, find_unknown_filter_names
from api.service.view_queries import query_check
from ledger.threads import run_on_thread
from projections.calibration.agent_comparison import AgentComparison
from projections.calibration.calibration import MIN_DECISIONS, Calibration, CalibrationFilter
from projections.calibration.calibration_view import CalibrationView, build_calibration_view, score_categories
from projections.calibration.cell_groups import EVERY_GROUP, GroupBy, GroupPage, count_groups
from projections.calibration.change_point import Drift
from projections.calibration.history_view import CalibrationHistory, HistoryPart, build_history
from projections.calibration.missing_reviews import ReviewsByAge, compare_ages
from projections.calibration.model_groups import decisions_by_model, with_models
from projections.calibration.outcome_counts import CountSelection
from projections.calibration.plot_data import PlotData, build_plot_data
from projections.calibration.score_recommendations import CategoryScores
from projections.calibration.trend import TREND_DAYS, Trend
from projections.calibration.view_evidence import EvidenceQuery
from projections.calibration.window_comparison import (
    DriftLimits,
    RecentDrift,
    compare_windows,
    examined_range,
)

Detail = Literal["figures", "curves"]
DETAILS: tuple[Detail, ...] = get_args(Detail)


class CalibrationQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to score, and how.

    `detail` selects figures alone, or curves too. `threshold` (0 to below 1) adds what acting only on decisions with at
    least that confidence would have come to. `include` names the parts of the history over time to add,
    `trend_days` is the length of the trend's windows. `page` selects groups.
    """

    filter: CalibrationFilter = CalibrationFilter()
    group_by: GroupBy = "confidence_bucket"
    min_decisions: int = MIN_DECISIONS
    detail: Detail = "figures"
    threshold: float | None = None
    include: tuple[HistoryPart, ...] = ()
    trend_days: int = TREND_DAYS
    page: GroupPage = EVERY_GROUP


class CalibrationAnswer(CalibrationView, frozen=True, kw_only=True):
    """Calibration scores as of a position. Parts that `include` does not name are absent."""

    as_of: AsOf
    trend: Trend | UnsetType = UNSET
    drift: Drift | UnsetType = UNSET
    comparison: AgentComparison | UnsetType = UNSET
    reviews_by_age: ReviewsByAge | UnsetType = UNSET
    plots: PlotData | UnsetType = UNSET
    unknown_names: UnknownNames = UNSET


class CalibrationByCategory(NamedTuple):
    """Calibration scores, and the scores of every category as of the same position."""

    answer: CalibrationAnswer
    categories: list[CategoryScores]


QUICK_GROUPS_MAX = 20
QUICK_CELLS_MAX = 5_000
"""Figures of this many groups and counts take a few milliseconds, as long as a call on a thread takes under load."""

QUICK_REVIEWS_MAX = 4_000
"""The evidence of this many reviews that were not yet counted takes a few milliseconds, too."""


async def compute_calibration(
    ledger: LedgerService, query: CalibrationQuery, as_of: int | None = None
) -> CalibrationAnswer:
    """Compute the calibration of some decisions. Errors: InvalidQuery."""
    return (await compute_calibration_by_category(ledger, query, as_of)).answer


async def compute_calibration_by_category(
    ledger: LedgerService, query: CalibrationQuery, as_of: int | None = None
) -> CalibrationByCategory:
    """Compute the calibration of some decisions, and the scores of each category. Errors: InvalidQuery."""
    projection, position = await ledger.engine.at(Calibration, as_of)
    selection = projection.selection(query.filter)
    examined = projection.history(query.filter) if query.include else None
    dated = projection.dated(query.filter) if "reviews_by_age" in query.include else None
    drawn = projection.drawn(query.filter, selection) if "plots" in query.include else None
    compared = resolve = None
    if query.group_by == "model" or "drift" in query.include:
        resolve = model_resolver(await find_model_names(ledger, as_of))
    if query.group_by == "model" and resolve is not None:
        selection = with_models(selection, resolve)
        compared = None if examined is None else decisions_by_model(examined, resolve)
    evidence = projection.evidence(query.filter, query.group_by, selection)
    view, categories = await _calibrate(selection, query, evidence)
    history = (
        CalibrationHistory()
        if examined is None
        else await run_on_thread(build_history, examined, query.include, query.trend_days, compared, resolve)
    )
    if dated is not None:
        history = structs.replace(history, reviews_by_age=await run_on_thread(compare_ages, dated, query_check()))
    if drawn is not None:
        history = structs.replace(history, plots=await run_on_thread(build_plot_data, drawn, query_check()))
    fields = {**structs.asdict(view), **structs.asdict(history)}
    unknown = UNSET if view.coverage.total else find_unknown_filter_names(selection.groups, query.filter)
    answer = CalibrationAnswer(**fields, as_of=await ledger.dated(position), unknown_names=unknown)
    return CalibrationByCategory(answer, categories)


async def detect_recent_drift(
    ledger: LedgerService, selection: CalibrationFilter, now: datetime, limits: DriftLimits
) -> RecentDrift:
    """Compare the last 30 days of some decisions with the 90 days before. The filter's own time range is not used."""
    projection, _ = await ledger.engine.at(Calibration)
    history = projection.history(structs.replace(selection, range=examined_range(now)))
    resolve = model_resolver(await find_model_names(ledger, None))
    return await run_on_thread(compare_windows, history, now, limits, resolve)


async def _calibrate(
    selection: CountSelection, query: CalibrationQuery, evidence: EvidenceQuery
) -> tuple[CalibrationView, list[CategoryScores]]:
    """Compute the scores; on a thread if they take long, so that they do not block the event loop."""
    check = query_check()

    def compute() -> tuple[CalibrationView, list[CategoryScores]]:
        table = selection.table(check)
        check()
        found = evidence.compute(check)
        categories = score_categories(table, found.by("category"), check)
        check()
        view = build_calibration_view(
            table,
            query.group_by,
            query.min_decisions,
            curves=query.detail == "curves",
            threshold=query.threshold,
            warned=categories,
            page=query.page,
            evidence=found,
            check=check,
        )
        return view, categories

    quick = query.detail == "figures" and len(selection.group) <= QUICK_CELLS_MAX
    quick = quick and evidence.new_reviews <= QUICK_REVIEWS_MAX
    if quick and count_groups(selection, query.group_by) <= QUICK_GROUPS_MAX:
        return compute()
    return await run_on_thread(compute)
