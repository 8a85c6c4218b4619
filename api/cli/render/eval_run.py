"""Print the result of `eval run`: scenarios, missed patterns, errors, and a summary."""

from collections.abc import Iterator, Sequence

import typer
from rich.text import Text

from api.cli.output import make_table, open_console
from api.cli.render.evaluations import STYLES, mean_component, retried_line
from api.reports.escape import one_line, visible
from api.reports.format import (
    bracketed,
    point_interval,
    points,
    points_below,
    rate,
    rate_interval,
    seconds,
)
from api.reports.report import (
    COMPONENTS,
    agent_name,
    failed_patterns,
    is_forbidden,
)
from api.reports.score_text import verdict_line
from api.reports.usage_text import has_costs, usage_lines
from api.text_format import pluralize
from events.evaluation import PatternFinding
from projections.evaluation.view_types import Evaluation, ScenarioResult

MISSED_MAX = 20
"""Scenarios whose missed patterns are listed. `eval show` lists all."""

FINDINGS_MAX = 8
PATTERN_CHARS = 100

ORDER = ("failing", "flaky", "stable", "skipped", "error")
WORDS = {"failing": "failed", "flaky": "flaky", "stable": "passed", "skipped": "skipped", "error": "error"}


def print_evaluation(evaluation: Evaluation) -> None:
    """Print a table of scenarios, failures first, then the patterns they missed, the errors, and a summary."""
    console = open_console()
    ordered = sorted(
        evaluation.results, key=lambda result: (ORDER.index(result.verdict), _points(result), result.scenario_id)
    )
    if ordered:
        columns = tuple(COMPONENTS.values())
        table = make_table(
            "scenario",
            *columns,
            "total",
            "threshold",
            "verdict",
            right=(*columns, "total", "threshold"),
            drop=(*columns[::-1], "threshold", "total"),
        )
        for result in ordered:
            table.add_row(
                result.scenario_id,
                *_figures(result),
                Text(_verdict(result), STYLES[result.verdict]),
            )
        console.print(table)
    missed = [result for result in ordered if result.verdict in {"failing", "flaky"}]
    for result in missed[:MISSED_MAX]:
        for line in _missed(result):
            typer.echo(line)
    if len(missed) > MISSED_MAX:
        typer.echo(
            f"\n{pluralize(len(missed) - MISSED_MAX, 'more scenario')} failed: tallystick eval show {evaluation.run_id}"
        )
    for line in _errors(evaluation.results):
        typer.echo(line)
    typer.echo()
    for line in summary_lines(evaluation):
        typer.echo(line)


def summary_lines(evaluation: Evaluation) -> Iterator[str]:
    """Yield the summary of a run: agent and suite, counts, and figures."""
    version = f" {evaluation.agent_version}" if evaluation.agent_version else ""
    yield one_line(f"{evaluation.suite}: {agent_name(evaluation)}{version}, run {evaluation.run_id}")
    counts = {"passed": evaluation.passed, "failed": evaluation.failed, "skipped": evaluation.skipped}
    words = [f"{number:,} {word}" for word, number in counts.items() if number or word != "skipped"]
    if evaluation.errors:
        words.append(pluralize(evaluation.errors, "error"))
    unscored = (evaluation.planned or 0) - sum(counts.values()) - evaluation.errors
    if unscored > 0 and not evaluation.ended:
        words.append(f"{unscored:,} not scored yet")
    duration = f"; {seconds(evaluation.elapsed_ns)}" if evaluation.elapsed_ns is not None else ""
    yield f"{pluralize(evaluation.scenarios, 'scenario')}: {', '.join(words)}{duration}."
    if evaluation.reason is not None:
        yield one_line(f"Ended early: {evaluation.reason}.")
    if (retried := retried_line(evaluation.retried_errors)) is not None:
        yield retried
    if evaluation.unmeasured:
        errors = pluralize(evaluation.unmeasured, "error")
        yield f"{errors} of what scores, which no figure counts: --retry-errors scores these answers again."
    if evaluation.mean is not None:
        errors = ""
        if evaluation.mean_scored is None:
            errors = " Nothing could be scored; the agent's errors count 0."
        elif evaluation.errors > evaluation.unmeasured:
            errors = f" The agent's errors count 0; without them the mean is {points(evaluation.mean_scored)}."
        yield (
            f"Mean {points(evaluation.mean)} of 100{bracketed(point_interval(evaluation.mean_interval))}, "
            f"pass rate {rate(evaluation.pass_rate)}{bracketed(rate_interval(evaluation.pass_interval))}.{errors}"
        )
    if has_costs([evaluation.usage]):
        yield from usage_lines(evaluation.usage)


def _points(result: ScenarioResult) -> float:
    return -1.0 if result.mean is None else result.mean


def _verdict(result: ScenarioResult) -> str:
    word = WORDS[result.verdict]
    return word if result.attempts < 2 else f"{word} {result.passed}/{result.measured}"


def _figures(result: ScenarioResult) -> list[str]:
    """Return the means of the components and of the totals over the scored attempts, and the threshold."""
    scored = [row for row in result.rows if row.state == "scored"]
    cells = [points(mean_component(result, name)) for name in COMPONENTS]
    return [*cells, points(result.mean_scored), points(scored[0].pass_threshold if scored else None)]


def _missed(result: ScenarioResult) -> Iterator[str]:
    """Yield the patterns that the worst answer to a scenario missed."""
    row = min((row for row in result.rows if row.passed is False), key=lambda row: row.total_score or 0.0, default=None)
    if row is None:  # its other attempts are errors, which `_errors` lists
        return
    attempt = f", attempt {row.attempt}" if result.attempts > 1 else ""
    total = points_below(row.total_score, row.pass_threshold)
    yield f"\n{result.scenario_id}{attempt}: {total} of the {points(row.pass_threshold)} to pass"
    for component in row.components:
        if component.verdict is not None and not component.verdict.passed:
            yield f"  {one_line(component.name)}: {verdict_line(component.verdict)[2:]}"
    findings = list(dict.fromkeys(_finding(finding) for finding in failed_patterns(row)))
    yield from findings[:FINDINGS_MAX]
    if len(findings) > FINDINGS_MAX:
        yield f"  and {len(findings) - FINDINGS_MAX} more"


def _finding(finding: PatternFinding) -> str:
    pattern = f"  {finding.expectation} {_quoted(finding.pattern)} ({finding.match_type})"
    if finding.note is not None and finding.match_type == "max_calls":
        return f"{pattern}, but {finding.note}"
    if not is_forbidden(finding):
        return f"{pattern} not found"
    return f"{pattern} found in {finding.where}: {_quoted(finding.text or '')}"


def _quoted(text: str) -> str:
    """Return a text in quotes. Backslashes of a regular expression are not escaped."""
    return f"'{one_line(text, PATTERN_CHARS)}'"


def _errors(results: Sequence[ScenarioResult]) -> Iterator[str]:
    """Yield every answer that could not be scored, with the last lines of the agent's output."""
    for result in results:
        same_errors: dict[tuple[str | None, ...], list[str]] = {}
        for row in result.rows:
            if row.state == "error":
                same_errors.setdefault((row.failure, row.detail, row.said), []).append(str(row.attempt))
        for (failure, detail, output), attempts in same_errors.items():
            attempt_names = f"attempt{'s' if len(attempts) > 1 else ''} {', '.join(attempts)}"
            yield f"\n{result.scenario_id}, {attempt_names}: {failure}, {one_line(detail or '')}"
            yield from (f"  | {line}" for line in visible(output or "").splitlines())
    skipped = [result for result in results if result.verdict == "skipped"]
    reasons = sorted({row.detail or "" for result in skipped for row in result.rows})
    if skipped:
        yield f"\n{pluralize(len(skipped), 'scenario')} skipped: {one_line('; '.join(reasons))}"
