"""Draw scores of evaluations with their intervals: a suite's scoreboard, and a scenario by version."""

from collections.abc import Sequence

from api.reports.escape import one_line
from api.reports.format import points, rate
from api.reports.plots.figure_source import FigureTable
from api.reports.plots.interval_rows import IntervalRow, chart_of_rows
from api.reports.plots.panel import LEFT, RIGHT, Panel, Tick, chart_with_legend, date_ticks, even_values, percent_ticks
from api.reports.plots.svg import Chart, Heading, draw_figure, draw_text
from api.reports.plots.tables import tabulate
from api.reports.report import BASELINES
from api.reports.score_intervals import mean_text, rate_text
from api.text_format import format_count, pluralize
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
    chart = _chart_of_scores(heading, rows, "mean points", ticks, len(board.rows) - len(shown))
    return draw_figure(chart, BOARD_READING, position)


def tabulate_scoreboard(board: SuiteScoreboard) -> FigureTable:
    """Return the numbers of the drawing of a scoreboard."""
    return tabulate(
        board.rows[:ROWS_MAX],
        ("row", _board_name),
        ("mean points", lambda row: mean_text(row.mean, row.mean_interval)),
        ("pass rate", lambda row: rate_text(row.pass_rate, row.pass_interval)),
        ("scenarios", lambda row: format_count(row.scenarios)),
    )


def draw_scenario(history: ScenarioHistory, position: int) -> str:
    """Draw the pass rate of each version with its interval.

    Shapes: if all versions are of one agent on one suite, a line over the times of their first runs; otherwise rows, at
    most ROWS_MAX. Shares of 1, labelled in per cent.
    """
    of_agents = [version for version in history.versions if version.baseline is None]
    if len(of_agents) > 1 and len({(version.suite, version.agent) for version in of_agents}) == 1:
        return draw_figure(_chart_trend(history, of_agents), SCENARIO_READING, position)
    shown = history.versions[:ROWS_MAX]
    rows = [
        IntervalRow(
            _version_name(version, history),
            f"{rate(version.pass_rate)}: {version.passed:,} of {version.measured:,}",
            version.pass_rate,
            version.pass_interval,
            version.baseline is None,
        )
        for version in shown
    ]
    left_out = len(history.versions) - len(shown) + history.versions_left_out
    heading = Heading(history.scenario_id, "Pass rate by version, the oldest of each agent first", "95% intervals")
    chart = _chart_of_scores(heading, rows, "pass rate", percent_ticks(), left_out)
    return draw_figure(chart, SCENARIO_READING, position)


def _chart_trend(history: ScenarioHistory, versions: Sequence[ScenarioAtVersion]) -> Chart:
    """Chart the pass rates of the versions of one agent as a line with a band."""
    first, last = versions[0].first_at, versions[-1].first_at
    panel = Panel.between(date_ticks(first, last), percent_ticks(), TREND_BOTTOM)
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
    named = {points_of[0][3], points_of[-1][3]} if len(points_of) > NAMED_MAX else {each[3] for each in points_of}
    return chart_with_legend(
        f"{heading.subject}: {heading.result}",
        heading,
        [
            *panel.draw_axes("first run of the version", "pass rate"),
            panel.draw_band("near", ((x, interval) for x, _, interval, _ in points_of)),
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
        ],
        TREND_BOTTOM,
        (("curve", "pass rate of the version"), ("near", "its 95% interval")),
    )


def tabulate_scenario(history: ScenarioHistory) -> FigureTable:
    """Return the numbers of the drawing of a scenario."""
    return tabulate(
        history.versions,
        ("version", lambda each: _version_name(each, history)),
        ("first run", lambda each: f"{each.first_at:%Y-%m-%d}"),
        ("pass rate", lambda each: rate_text(each.pass_rate, each.pass_interval)),
        ("passed", lambda each: format_count(each.passed)),
        ("attempts", lambda each: format_count(each.attempts)),
        ("runs", lambda each: format_count(each.runs)),
        ("mean points", lambda each: points(each.mean)),
    )


def _chart_of_scores(
    heading: Heading, rows: Sequence[IntervalRow], axis: str, ticks: Sequence[Tick], left_out: int
) -> Chart:
    return chart_of_rows(
        f"{heading.subject}: {heading.result}",
        heading,
        rows,
        axis,
        ticks=ticks,
        filled="an agent or a model",
        hollow="a baseline: an answer that needs no agent",
        left_out=left_out,
        left_out_are="rows are not shown",
    )


def _board_name(row: ScoreboardRow) -> str:
    return name_of(row.agent, row.agent_version, row.baseline, row.model)


def _version_name(version: ScenarioAtVersion, history: ScenarioHistory) -> str:
    name = name_of(version.agent, version.agent_version, version.baseline)
    several = len({each.suite for each in history.versions}) > 1
    return f"{name}, {version.suite}" if several else name
