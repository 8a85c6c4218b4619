"""Draw the gap of each group with its interval: by category, model, agent, or what else the figures are grouped by."""

from api.reports.plots.figure_source import MORE_REVIEWS, Figure, FigureMissing, FigureSource
from api.reports.plots.interval_rows import IntervalRow, chart_of_rows
from api.reports.plots.svg import Chart, Heading
from api.reports.plots.tables import tabulate_groups
from api.text_format import format_figure
from tallystick.shapes.calibration import CalibrationGroup

GROUPS_MAX = 60
"""Most groups in a drawing: the first of the answer."""


def chart_groups(source: FigureSource) -> Chart:
    """Chart the gap of each group and of all decisions. Errors: FigureMissing, if no group has enough reviews.

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
    by = source.group_by.replace("_", " ")
    return chart_of_rows(
        f"Gap of {source.subject} by {by}",
        Heading(
            source.subject,
            f"{scores.reviewed:,} reviews by {by}: gap of all {format_figure(scores.gap, '+')}",
            "95% intervals for one look",
        ),
        rows,
        "gap: below 0 overconfident, above 0 underconfident",
        filled="the verdict is supported",
        hollow="not supported: question mark",
        left_out=left_out,
        left_out_are="groups are not shown",
    )


def _row(group: CalibrationGroup) -> IntervalRow:
    sure, name = bool(group.supported), "(none)" if group.group is None else group.group
    verdict = "" if group.interpretation is None else f": {group.interpretation.replace('_', ' ')}{'' if sure else '?'}"
    return IntervalRow(name, f"n={group.reviewed:,}{verdict}", group.gap, group.gap_interval, sure=sure)


FIGURE = Figure(
    "Groups side by side",
    "Each row is a group: its gap and the 95% interval for one look. Left of 0 it is overconfident, right of it "
    "underconfident. A filled dot is supported by the evidence, among all groups; a hollow one is not.",
    chart_groups,
    tabulate_groups,
)
