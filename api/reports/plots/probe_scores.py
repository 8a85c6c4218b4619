"""Draw the mean score of each model on one probe, with its interval."""

from api.reports.escape import one_line
from api.reports.plots.interval_rows import IntervalRow, chart_of_rows
from api.reports.plots.panel import even_values
from api.reports.plots.svg import Heading, draw_figure
from projections.discovery.probe_score_tables import ModelScores, ProbeScores

MODELS_DRAWN = 25
"""The models of a drawing, the best first."""

NAME_CHARS_MAX = 30

TICKS = [(value, f"{value:.1f}") for value in even_values(0.0, 1.0, 5)]
"""The scale of mean scores."""


def probe_name(scores: ProbeScores) -> str:
    """Return the name of a table's probe, with its version if it has one."""
    return _versioned(scores.probe_id, scores.probe_version)


def scorer_name(scores: ProbeScores) -> str:
    """Return the name of a table's scorer, with its version if it has one."""
    return _versioned(scores.scorer_id, scores.scorer_version)


def row_name(row: ModelScores) -> str:
    """Return the name of a row: that of the model, or what answered without one."""
    if row.kind == "model":
        return row.model or ""
    name = row.model or "(empty)"
    return {"wrapper": f"{name} (host)", "unresolved": f"{name} (no model)", "unnamed": "(unnamed)"}[row.kind]


def can_draw(scores: ProbeScores) -> bool:
    """Return whether a table has a mean to draw."""
    return any(row.counted_mean is not None for row in scores.models)


def draw_probe_scores(scores: ProbeScores, position: int) -> str:
    """Draw the rows of a table that have a mean; the table has at least one such row.

    Shapes: for each model a dot at its mean score with the 95% interval. A hollow dot has no interval, because there is
            one score, or because all are equal.
    """
    found = [row for row in scores.models if row.counted_mean is not None]
    rows = [_row(row) for row in found[:MODELS_DRAWN]]
    summary = f"{scores.discrimination.scores:,} total scores by {one_line(scorer_name(scores), NAME_CHARS_MAX)}"
    listed = len(scores.models) if not scores.rows else scores.rows
    chart = chart_of_rows(
        f"Scores of {probe_name(scores)} by {scorer_name(scores)}: {len(rows):,} of {listed:,} models",
        Heading(probe_name(scores), summary, "Mean score of each model, from 0 to 1"),
        rows,
        "mean score, an invalid answer as 0",
        ticks=TICKS,
        filled="mean with its 95% interval",
        hollow="no interval: one score, or all equal",
        left_out=listed - len(rows),
        left_out_are="rows are not drawn",
    )
    reading = "Each dot is the mean of a model's scores, the line through it the 95% interval."
    return draw_figure(chart, reading, position)


def _row(row: ModelScores) -> IntervalRow:
    within = row.counted_interval
    interval = "" if within is None else f" ({within.low:.2f} to {within.high:.2f})"
    note = f"n={row.counted:,}: {row.counted_mean:.2f}{interval}"
    return IntervalRow(one_line(row_name(row), NAME_CHARS_MAX), note, row.counted_mean, within, sure=within is not None)


def _versioned(name: str, version: str | None) -> str:
    return name if version is None else f"{name}@{version}"
