"""Draw scores of evaluations with their intervals: a suite's scoreboard, and a scenario by version."""

from collections.abc import Sequence

from api.reports.escape import one_line
from api.reports.format import points, rate
from api.reports.plots.figure_table import FigureTable
from api.reports.plots.interval_rows import IntervalRow, draw_rows_on, rows_height
from api.reports.plots.panel import (
    LEFT,
    LEGEND_BELOW,
    RIGHT,
    TOP,
    Panel,
    Scale,
    date_ticks,
    draw_left_out,
    draw_legend,
    even_values,
    height_with_legend,
    percent_ticks,
)
from api.reports.plots.svg import Heading, draw_figure, draw_position, draw_text
from api.reports.report import BASELINES
from api.reports.score_intervals import mean_text, rate_text
from api.text_format import pluralize
from events.evaluation import Baseline
from projections.evaluation.scenario_history import ScenarioAtVersion, ScenarioHistory
from projections.evaluation.view_types import ScoreboardRow, SuiteScoreboard

ROWS_MAX = 40
"""Most rows in a drawing: the first of a scoreboard, the latest versions of a scenario."""

BOARD_READING = (
    "Each point is the weighted mean over scenarios, with its 95% interval over scenarios. Where two intervals overlap "
    "much, the runs do not tell which is better. Hollow points are baselines: answers that need no agent."
)
SCENARIO_READING = (
    "Each point is the share of attempts at the scenario that passed, with Wilson's 95% interval. Hollow points are "
    "baselines."
)

TREND_BOTTOM = 420
NAMED_MAX, NAME_INSET = 8, 24
"""If there are more versions, only the first and the last are named; names are so far from the edges."""

NAME_CHARS, VERSION_CHARS = 24, 10

_TREND_LEGEND = (("curve", "pass rate of the version"), ("near", "its 95% interval"))
_LEGEND = (("dot", "an agent or a model"), ("open", "a baseline: an answer that needs no agent"))


def name_of(agent: str | None, version: str | None, baseline: Baseline | None, model: str | None = None) -> str:
    """Return what a row of scores is called."""
    if baseline is not None:
        return BASELINES[baseline]
    return " ".join(filter(None, (agent or model or "unnamed", version)))


def draw_scoreboard(board: SuiteScoreboard, position: int) -> str:
    """Draw the mean points of each row with its interval.

    Shapes: at most ROWS_MAX rows in the order of the board. Points, 0 to 100.
    """
    shown = board.rows[:ROWS_MAX]
    rows = [
        IntervalRow(
            _board_name(row),
            f"{points(row.mean)}, n={row.scenarios:,}",
            row.mean,
            row.mean_interval,
            row.baseline is None,
        )
        for row in shown
    ]
    ticks = [(value, f"{value:.0f}") for value in even_values(0.0, 100.0, 4)]
    heading = Heading(board.suite, f"Mean points on {pluralize(board.scenarios, 'scenario')}", "95% intervals")
    return _draw(rows, ticks, heading, BOARD_READING, ("mean points", len(board.rows) - len(shown), position))


def tabulate_scoreboard(board: SuiteScoreboard) -> FigureTable:
    """Return the numbers of the drawing of a scoreboard."""
    columns = ("row", "mean points", "pass rate", "scenarios")
    return FigureTable(
        columns,
        [
            (
                _board_name(row),
                mean_text(row.mean, row.mean_interval),
                rate_text(row.pass_rate, row.pass_interval),
                f"{row.scenarios:,}",
            )
            for row in board.rows[:ROWS_MAX]
        ],
    )


def draw_scenario(history: ScenarioHistory, position: int) -> str:
    """Draw the pass rate of each version with its interval.

    Shapes: if all versions are of one agent on one suite, a line over the times of their first runs; otherwise rows, at
    most ROWS_MAX. Shares of 1, labelled in per cent.
    """
    of_agents = [version for version in history.versions if version.baseline is None]
    if len(of_agents) > 1 and len({(version.suite, version.agent) for version in of_agents}) == 1:
        return _draw_trend(history, of_agents, position)
    shown = history.versions[:ROWS_MAX]
    rows = [
        IntervalRow(
            _version_name(version, history),
            f"{rate(version.pass_rate)}: {version.passed:,} of {version.attempts:,}",
            version.pass_rate,
            version.pass_interval,
            version.baseline is None,
        )
        for version in shown
    ]
    left_out = len(history.versions) - len(shown) + history.versions_left_out
    heading = Heading(history.scenario_id, "Pass rate by version, the oldest of each agent first", "95% intervals")
    return _draw(rows, percent_ticks(), heading, SCENARIO_READING, ("pass rate", left_out, position))


def _draw_trend(history: ScenarioHistory, versions: Sequence[ScenarioAtVersion], position: int) -> str:
    """Draw the pass rates of the versions of one agent as a line with a band."""
    first, last = versions[0].first_at, versions[-1].first_at
    seconds = Scale(0, max((last - first).total_seconds(), 1.0), LEFT, RIGHT)
    panel = Panel(seconds, Scale(0.0, 1.0, TREND_BOTTOM, TOP))
    points_of = [
        ((version.first_at - first).total_seconds(), version.pass_rate, version.pass_interval, version)
        for version in versions
        if version.pass_rate is not None and version.pass_interval is not None
    ]
    attempts = sum(version.attempts for version in versions)
    heading = Heading(
        history.scenario_id,
        f"Pass rate of {one_line(versions[0].agent or 'the agent', NAME_CHARS)} by version, n={attempts:,} attempts",
        "Each version at the time of its first run, 95% intervals",
    )
    height = height_with_legend(TREND_BOTTOM, len(_TREND_LEGEND))
    named = {points_of[0][3], points_of[-1][3]} if len(points_of) > NAMED_MAX else {each[3] for each in points_of}
    return draw_figure(
        height,
        f"{heading.subject}: {heading.result}",
        heading,
        SCENARIO_READING,
        [
            *panel.draw_grid(date_ticks(first, last), percent_ticks()),
            *panel.draw_titles("first run of the version", "pass rate"),
            panel.draw_band(
                "near", [(x, each.high) for x, _, each, _ in points_of], [(x, each.low) for x, _, each, _ in points_of]
            ),
            panel.draw_line("curve", ((x, share) for x, share, _, _ in points_of)),
            *(
                draw_text(
                    min(max(panel.x.at(x), LEFT + NAME_INSET), RIGHT - NAME_INSET),
                    panel.y.at(share) - 12,
                    one_line(version.agent_version or "unknown", VERSION_CHARS),
                    "ink",
                    "middle",
                )
                for x, share, _, version in points_of
                if version in named
            ),
            *draw_legend(TREND_BOTTOM + LEGEND_BELOW, _TREND_LEGEND),
            draw_position(position, height),
        ],
    )


def tabulate_scenario(history: ScenarioHistory) -> FigureTable:
    """Return the numbers of the drawing of a scenario."""
    columns = ("version", "first run", "pass rate", "passed", "attempts", "runs", "mean points")
    return FigureTable(
        columns,
        [
            (
                _version_name(each, history),
                f"{each.first_at:%Y-%m-%d}",
                rate_text(each.pass_rate, each.pass_interval),
                f"{each.passed:,}",
                f"{each.attempts:,}",
                f"{each.runs:,}",
                points(each.mean),
            )
            for each in history.versions
        ],
    )


def _draw(
    rows: Sequence[IntervalRow],
    ticks: Sequence[tuple[float, str]],
    heading: Heading,
    reading: str,
    foot: tuple[str, int, int],
) -> str:
    """Draw rows; `foot` is the title of the axis, the number of rows left out, and the position."""
    title, left_out, position = foot
    legend_top = TOP + rows_height(rows) + 34
    height = legend_top + 84
    return draw_figure(
        height,
        f"{heading.subject}: {heading.result}",
        heading,
        reading,
        [
            *draw_rows_on(rows, TOP, title, ticks),
            *draw_legend(legend_top, _LEGEND),
            *draw_left_out(left_out, "rows are not shown", legend_top),
            draw_position(position, height),
        ],
    )


def _board_name(row: ScoreboardRow) -> str:
    return name_of(row.agent, row.agent_version, row.baseline, row.model)


def _version_name(version: ScenarioAtVersion, history: ScenarioHistory) -> str:
    name = name_of(version.agent, version.agent_version, version.baseline)
    several = len({each.suite for each in history.versions}) > 1
    return f"{name}, {version.suite}" if several else name
