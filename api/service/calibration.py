"""Use case of calibration: the scores of some decisions."""

from typing import NamedTuple

from msgspec import structs

from api.service.calibration_params import CalibrationParams
from api.service.calibration_plots import DrawnDecisions, find_plot_data
from api.service.calibration_query import compute_scores
from api.service.ledger import View
from api.service.model_names import MODEL_NAMES, find_model_names, model_resolver, names_of_model
from api.service.operation import operation
from api.service.unknown_names import find_unknown_filter_names
from api.service.view_queries import query_check
from ledger.threads import run_on_thread
from projections.calibration.calibration import Calibration
from projections.calibration.count_table import MODEL_FIELD
from projections.calibration.history_view import HistoryFields, HistoryParts, read_history
from projections.calibration.model_groups import groups_within, with_models
from projections.calibration.outcomes_by_day import outcomes_by_day
from projections.calibration.score_recommendations import CategoryScores
from tallystick.shapes.calibration import CalibrationAnswer, OutcomesByDay
from tallystick.shapes.parts import UnknownName


class CalibrationByCategory(NamedTuple):
    """Calibration scores, and the scores of every category as of the same position."""

    answer: CalibrationAnswer
    categories: list[CategoryScores]


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
