"""Use case of calibration: the scores of some decisions."""

from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from msgspec import structs

from api.service.calibration_params import CalibrationParams
from api.service.ledger import View
from api.service.model_names import MODEL_NAMES, find_model_names, model_resolver, names_of_model
from api.service.operation import operation
from api.service.unknown_names import find_unknown_filter_names
from api.service.view_queries import query_check
from ledger.threads import run_on_thread
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.calibration_view import build_calibration_view, score_categories
from projections.calibration.cell_groups import GroupPage, count_groups, fields_of
from projections.calibration.count_table import MODEL_FIELD, CountSelection
from projections.calibration.counted_decisions import CountedDecisions
from projections.calibration.history_view import HistoryFields, HistoryParts, read_history
from projections.calibration.model_groups import groups_within, with_models
from projections.calibration.outcomes_by_day import outcomes_by_day
from projections.calibration.plot_data import SelectedReviews, build_plot_data
from projections.calibration.score_recommendations import CategoryScores
from projections.calibration.view_evidence import find_evidence
from projections.engine import Engine
from projections.query_check import Check, no_check
from tallystick.shapes.calibration import CalibrationAnswer, CalibrationView, OutcomesByDay
from tallystick.shapes.parts import UnknownName
from tallystick.shapes.plots import PlotData

ANSWERS_MAX = 32
"""Answers that are kept for each ledger: those that were asked for last. One has at most about 300 KB."""

PLOTS_MAX = 8
"""Data of drawings that are kept for each ledger: those that were asked for last. One has at most about 200 KB."""

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")

QUICK_GROUPS_MAX = 20
QUICK_CELLS_MAX = 100_000
"""Figures of this many groups and counts take a few milliseconds. A call on a thread takes longer under load."""

QUICK_ROWS_MAX = 500_000
"""Decisions that are counted as fast within a range of time."""


class DrawnDecisions(NamedTuple):
    """Which decisions are drawn: a filter, a model or None, and the position as of which they are.

    `left_out` is the number of events of the log that no view could use.
    """

    filter: CalibrationFilter
    model: str | None
    position: int
    left_out: int


_plots: WeakKeyDictionary[Engine, dict[DrawnDecisions, PlotData]] = WeakKeyDictionary()


async def find_plot_data(view: View, asked: DrawnDecisions, selected: SelectedReviews) -> PlotData:
    """Return what drawings of some decisions need, computed once. `selected` are these decisions."""
    kept = _plots.setdefault(view.engine, {})
    plots = kept.pop(asked, None)
    if plots is None:
        plots = await run_on_thread(build_plot_data, selected, query_check())
    _keep(kept, asked, plots, PLOTS_MAX)
    return plots


def _keep(kept: dict[_Question, _Answer], question: _Question, answer: _Answer, most: int) -> None:
    """Keep an answer as the one that was asked for last; of more than `most`, the oldest are dropped."""
    kept[question] = answer
    for oldest in list(kept)[:-most]:
        del kept[oldest]


class CalibrationByCategory(NamedTuple):
    """Calibration scores, and the scores of every category as of the same position."""

    answer: CalibrationAnswer
    categories: list[CategoryScores]


_answers: WeakKeyDictionary[Engine, dict[tuple[CalibrationParams, int], CalibrationAnswer]] = WeakKeyDictionary()


async def find_calibration(view: View, query: CalibrationParams) -> CalibrationAnswer:
    """Return the calibration of some decisions, computed once for each query and position. Errors: InvalidQuery.

    A page and its drawings ask the same question, and some take seconds to answer. An answer depends on the query and
    on the position alone: so a kept one is exact, and is used until the log grows.
    """
    kept = _answers.setdefault(view.engine, {})
    position = await view.head_position()
    answer = kept.pop((query, position), None)
    if answer is None:
        answer = (await compute_calibration(view, query)).answer
    _keep(kept, (query, answer.as_of.position), answer, ANSWERS_MAX)
    await view.dated(answer.as_of.position)
    return answer


@operation("/calibration", "calibration", heavy=True)
async def get_calibration(view: View, params: CalibrationParams) -> CalibrationAnswer:
    """Compare stated confidence with outcomes: does the agent succeed as often as it expects?"""
    return (await compute_calibration(view, params)).answer


async def compute_calibration(view: View, query: CalibrationParams) -> CalibrationByCategory:
    """Compute the calibration of some decisions, and the scores of each category. Errors: InvalidQuery."""
    by_model = query.group_by == "model" or "drift" in query.include or query.model is not None
    projection, position = await view.at(Calibration, also=MODEL_NAMES if by_model else ())
    filters = query.filter(view.clock())
    selection = projection.selection(filters)
    decisions = projection.decisions(filters)
    drawn = projection.drawn(filters, selection) if "plots" in query.include else None
    names = await find_model_names(view) if by_model else None
    resolve = None if names is None else model_resolver(names)
    unknown_model = None
    if names is not None and query.model is not None:
        within = groups_within(selection, names_of_model(names, query.model, selection.values[MODEL_FIELD].numbers))
        unknown_model = None if within.any() else query.model
        selection = structs.replace(selection, matching=selection.matching & within)
        decisions = decisions._replace(within=within)
        drawn = drawn and structs.replace(drawn, selection=selection, decisions=drawn.decisions._replace(within=within))
    if query.group_by == "model" and resolve is not None:
        selection = with_models(selection, resolve)
    scored, categories = await compute_scores(selection, query, decisions)
    history = HistoryFields()
    if query.include:
        parts = HistoryParts(query.include, query.trend_days, resolve, by_model=query.group_by == "model")
        history = await run_on_thread(read_history, decisions, parts, query_check())
    by_day: OutcomesByDay | None = None
    if query.detail == "curves" or "reviews_by_age" in query.include:
        by_day = await run_on_thread(outcomes_by_day, decisions, query_check())
    if drawn is not None:
        asked = DrawnDecisions(filters, query.model, position, len(view.engine.left_out))
        history["plots"] = await find_plot_data(view, asked, drawn)
    unknown: tuple[UnknownName, ...] = ()
    if not scored.coverage.total:
        unknown = tuple(find_unknown_filter_names(selection.groups, filters, unknown_model) or ())
    answer = CalibrationAnswer(
        **structs.asdict(scored),
        **history,
        by_day=by_day,
        as_of=await view.dated(position),
        unknown_names=unknown,
    )
    return CalibrationByCategory(answer, categories)


async def compute_scores(
    selection: CountSelection, query: CalibrationParams, decisions: CountedDecisions
) -> tuple[CalibrationView, list[CategoryScores]]:
    """Compute the scores; on a thread if they take long, so that they do not block the event loop.

    On the event loop nothing pauses: the short requests that a pause is for wait for it.
    """

    def compute(check: Check) -> tuple[CalibrationView, list[CategoryScores]]:
        table = selection.table_by(fields_of(query.group_by), check)
        check()
        found = find_evidence(selection, decisions, query.group_by, check)
        categories = score_categories(table, found.by("category"), check)
        check()
        view = build_calibration_view(
            table,
            query.group_by,
            query.min_decisions,
            curves=query.detail == "curves",
            threshold=query.threshold,
            warned=categories,
            page=GroupPage(query.limit, query.offset, query.group_sort),
            evidence=found,
            check=check,
        )
        return view, categories

    quick = query.detail == "figures" and len(selection.cells) <= QUICK_CELLS_MAX
    quick = quick and selection.rows_to_count <= QUICK_ROWS_MAX
    if quick and count_groups(selection, query.group_by) <= QUICK_GROUPS_MAX:
        return compute(no_check)
    return await run_on_thread(compute, query_check())
