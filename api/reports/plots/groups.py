"""Draw the gap of each group with its interval: by category, model, agent, or what else the figures are grouped by."""

from api.reports.plots.figure_source import MORE_REVIEWS, FigureMissing, FigureSource
from api.reports.plots.interval_rows import IntervalRow, draw_rows, rows_height
from api.reports.plots.panel import TOP, draw_left_out, draw_legend
from api.reports.plots.svg import Heading, draw_figure, draw_position, format_gap
from tallystick.shapes.calibration import CalibrationGroup

READING = (
    "Each row is a group: its gap and the 95% interval for one look. Left of 0 it is overconfident, right of it "
    "underconfident. A filled dot is supported by the evidence, among all groups; a hollow one is not."
)
"""How to read the drawing."""

GROUPS_MAX = 60
"""Most groups in a drawing: the first of the answer."""


def draw_groups(source: FigureSource) -> str:
    """Draw the gap of each group and of all decisions. Errors: FigureMissing, if no group has enough reviews.

    Shapes: for each group its gap and the 95% interval for one look. A hollow dot and a question mark mean that the
            verdict is not supported among all groups.
    """
    scores = source.scores()
    groups = [group for group in source.answer.groups if group.gap is not None]
    if not groups:
        raise FigureMissing("no group has enough reviewed decisions.", MORE_REVIEWS)
    shown = groups[:GROUPS_MAX]
    rows = [_row(group) for group in shown]
    note, sure = f"n={scores.reviewed:,}: {source.verdict(scores)}", scores.supported or source.small_gap
    rows.append(IntervalRow("all", note, scores.gap, scores.gap_interval, sure=sure))
    left_out = (source.answer.groups_total or len(source.answer.groups)) - len(shown)
    legend_top = TOP + rows_height(rows) + 34
    height = legend_top + 84
    by = source.group_by.replace("_", " ")
    return draw_figure(
        height,
        f"Gap of {source.subject} by {by}",
        Heading(
            source.subject,
            f"{scores.reviewed:,} reviews by {by}: gap of all {format_gap(scores.gap)}",
            "95% intervals for one look",
        ),
        READING,
        [
            *draw_rows(rows, TOP, "gap: below 0 overconfident, above 0 underconfident"),
            *draw_legend(legend_top, (("dot", "the verdict is supported"), ("open", "not supported: question mark"))),
            *draw_left_out(left_out, "groups are not shown", legend_top),
            draw_position(source.position, height),
        ],
    )


def _row(group: CalibrationGroup) -> IntervalRow:
    sure, name = bool(group.supported), "(none)" if group.group is None else group.group
    verdict = "" if group.interpretation is None else f": {group.interpretation.replace('_', ' ')}{'' if sure else '?'}"
    return IntervalRow(name, f"n={group.reviewed:,}{verdict}", group.gap, group.gap_interval, sure=sure)
