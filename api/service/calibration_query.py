"""The scores of some decisions, computed on a thread if they take long."""

from api.service.calibration_params import CalibrationParams
from api.service.view_queries import query_check
from ledger.threads import run_on_thread
from projections.calibration.calibration_view import build_calibration_view, score_categories
from projections.calibration.cell_groups import GroupPage, count_groups, fields_of
from projections.calibration.count_table import CountSelection
from projections.calibration.counted_decisions import CountedDecisions
from projections.calibration.score_recommendations import CategoryScores
from projections.calibration.view_evidence import find_evidence
from projections.query_check import Check, no_check
from tallystick.shapes.calibration import CalibrationView

QUICK_GROUPS_MAX = 20
QUICK_CELLS_MAX = 100_000
"""Figures of this many groups and counts take a few milliseconds. A call on a thread takes longer under load."""

QUICK_ROWS_MAX = 500_000
"""Decisions that are counted as fast within a range of time."""


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
