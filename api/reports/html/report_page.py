"""Render an evaluation as one self-contained HTML page, without scripts or external fonts, styles and images.

The page's content security policy allows its own style sheet and nothing else. Templates escape every text (Jinja2
autoescape), after `visible` has replaced control and format characters with visible codes.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING

from api.reports import format as formats
from api.reports.escape import cut, one_line, visible
from api.reports.gate import verdict_sentence
from api.reports.gate_text import gate_lines
from api.reports.html.trend_chart import draw_versions
from api.reports.match_excerpt import excerpt_finder, scored_texts
from api.reports.report import (
    EvaluationReport,
    agent_name,
    by_urgency,
    changes_by_scenario,
    component_title,
    is_forbidden,
    lost_patterns,
    scorer_name,
    versions_of,
)
from api.reports.score_text import verdict_line
from api.reports.usage_text import (
    SCENARIO_USAGE_COLUMNS,
    USAGE_COLUMNS,
    cost_total,
    describe_try,
    has_costs,
    known_columns,
    median_cost,
    median_latency,
    models_of,
    p95_latency,
    scenario_cells,
    token_total,
    usage_cells,
    usage_lines,
)
from api.text_format import format_figure, format_interval, format_time, pluralize
from projections.evaluation.view_types import Evaluation, EvaluationSummary, ScenarioResult, ScoreRow

if TYPE_CHECKING:
    from jinja2 import Environment

VERDICT_CHARS_MAX = 400
"""Characters of the verdict of a judge, with its reason and quotation."""

OPENED_MAX = 5
"""How many scenarios that did not pass are open when the page is loaded."""

ANSWER_CHARS_MAX = 1_000
"""Characters shown of each text of an answer that did not pass."""

_Error = tuple[str | None, str | None, str | None]

FILTERS = (
    formats.bracketed, formats.gap, formats.gap_interval, formats.minute_utc, formats.pass_of, formats.point_interval,
    formats.points, formats.points_below, formats.rate, formats.rate_interval, formats.seconds,
    cut, format_figure, format_interval, format_time, one_line, pluralize,
)  # fmt: skip
"""The filters of templates, of the report and of the web pages."""


def html_page(report: EvaluationReport) -> str:
    """Render the report as HTML."""
    run, contrast = report.evaluation, report.contrast
    trend = versions_of(report)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            run=run,
            contrast=contrast,
            policy=_policy(),
            style=_style(),
            banner=banner(report),
            decided=list(gate_lines(report.judgement)) if report.judgement is not None else [],
            errors=group_errors(run),
            trend=trend,
            chart=draw_versions(trend, run.agent_version) if trend else None,
            results=by_urgency(report),
            changes=changes_by_scenario(contrast),
        )
    )


def banner(report: EvaluationReport) -> tuple[str, str]:
    """Return the banner's CSS class and text: the gate's verdict, or a summary if there was no gate."""
    run, contrast = report.evaluation, report.contrast
    if report.judgement is not None and contrast is not None:
        return report.judgement.verdict, verdict_sentence(report.judgement, contrast)
    if contrast is not None and contrast.regressions:
        return "worse", f"{pluralize(contrast.regressions, 'regression')} against the baseline."
    if not run.scored:
        return "unusable", "Nothing was scored."
    if not (run.failed or run.errors):
        return "passed", f"Passed: every attempt at {pluralize(run.scenarios, 'scenario')}."
    counts = {"flaky": run.flaky, "failing": run.failing, "in error": run.broken}
    rest = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
    passed = f"{run.stable:,} of {pluralize(run.scenarios, 'scenario')} passed every attempt"
    return ("worse" if run.failed else "unusable"), f"Not all passed: {passed}; {rest}."


def group_errors(run: Evaluation) -> list[tuple[_Error, list[tuple[ScenarioResult, ScoreRow]]]]:
    """Group the attempts that ended in an error by failure, detail and output."""
    groups: dict[_Error, list[tuple[ScenarioResult, ScoreRow]]] = {}
    for result in run.results:
        for row in result.rows:
            if row.state == "error":
                groups.setdefault((row.failure, row.detail, row.said), []).append((result, row))
    return list(groups.items())


def verdict_counts(run: EvaluationSummary) -> list[tuple[str, int]]:
    """Return how many scenarios have each verdict, without those that none has."""
    counts = {"stable": run.stable, "flaky": run.flaky, "failing": run.failing, "error": run.broken}
    return [(verdict, number) for verdict, number in counts.items() if number]


def _policy() -> str:
    digest = b64encode(sha256(_style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _style() -> str:
    files = resources.files(__package__)
    return "".join(files.joinpath(name).read_text("utf-8") for name in ("base.css", "style.css"))


TEMPLATE_NAMES: Mapping[str, object] = {
    "ANSWER_CHARS_MAX": ANSWER_CHARS_MAX,
    "OPENED_MAX": OPENED_MAX,
    "SCENARIO_USAGE_COLUMNS": SCENARIO_USAGE_COLUMNS,
    "USAGE_COLUMNS": USAGE_COLUMNS,
    "VERDICT_CHARS_MAX": VERDICT_CHARS_MAX,
    **{
        function.__name__: function
        for function in (
            scored_texts, lost_patterns, excerpt_finder, scorer_name, is_forbidden, agent_name, verdict_counts,
            component_title, verdict_line, cost_total, describe_try, has_costs, median_cost, median_latency, models_of,
            p95_latency, scenario_cells, token_total, usage_cells, usage_lines, known_columns, formats.whole_number,
        )
    },
}  # fmt: skip
"""The constants and functions that the templates use; those of the web pages use them, too."""


@cache
def _environment() -> "Environment":
    return make_environment(((__package__, ""),), TEMPLATE_NAMES)


def make_environment(folders: Iterable[tuple[str, str]], names: Mapping[str, object]) -> "Environment":
    """Make the environment of templates in folders of packages, which use the filters and further names.

    Jinja2 takes 50 ms to import, so only the rendering of a page loads it.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, folder) for package, folder in folders]),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {function.__name__: function for function in FILTERS} | {"trusted": Markup}
    environment.globals |= names
    return environment


def _finalize(value: object) -> object:
    """Make all characters of a printed text visible; leave output of templates unchanged."""
    return visible(value) if type(value) is str else value
