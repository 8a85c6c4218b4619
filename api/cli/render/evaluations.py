"""Print one evaluation in detail, a comparison of two, and a list of evaluations."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from api.cli.output import (
    make_facts,
    make_table,
    open_console,
    print_note,
)
from api.cli.render.usage import print_scenario_usage, print_usage_lines, print_usage_table
from api.reports import EvaluationReport, verdict_sentence
from api.reports.escape import one_line, visible
from api.reports.format import (
    bracketed,
    pass_of,
    point_interval,
    points,
    points_below,
    rate,
    rate_interval,
    seconds,
    verdict_counts,
)
from api.reports.gate_text import gate_lines
from api.reports.judge_text import label_lines
from api.reports.report import (
    COMPONENTS,
    agent_name,
    by_urgency,
    lost_patterns,
    scorer_name,
)
from api.reports.score_text import lost_pattern_line, score_lines
from api.reports.usage_text import cost_total, describe_try, has_costs, median_latency
from api.service.evaluation.queries import EvaluationPage
from api.text_format import format_count, format_time, pluralize
from projections.evaluation.view_types import (
    Evaluation,
    EvaluationSummary,
    RunComparison,
    ScenarioChange,
    ScenarioResult,
    ScoreRow,
)

STYLES = {"stable": "green", "flaky": "yellow", "failing": "red", "error": "magenta", "skipped": "dim"}
_LIST_DROPS = ("scenarios", "begun (UTC)", "version", "errors", "suite", "pass rate")
JUDGED = {"passed": "bold green", "worse": "bold red", "unusable": "bold magenta"}


def print_evaluation_list(page: EvaluationPage) -> None:
    """Print one line for each evaluation."""
    console = open_console()
    numbers = ("mean", "pass rate", "scenarios", "errors")
    by = ("recorded by",) if any(summary.recorded_by for summary in page.evaluations) else ()
    used = ("cost", "latency") if has_costs(summary.usage for summary in page.evaluations) else ()
    table = make_table(
        "run", "begun (UTC)", "suite", "agent", "version", *by, *numbers, *used, "", right=(*numbers, *used),
        wrap=("suite", "agent", "version", *by),
        drop=("latency", "cost", *_LIST_DROPS, *by, "agent", "mean"),
    )  # fmt: skip
    for summary in page.evaluations:
        table.add_row(
            summary.run_id,
            format_time(summary.started_at),
            one_line(summary.suite),
            one_line(agent_name(summary)),
            one_line(summary.agent_version or "-"),
            *([one_line(", ".join(summary.recorded_by) or "-")] if by else []),
            points(summary.mean),
            rate(summary.pass_rate),
            format_count(summary.scenarios),
            format_count(summary.errors),
            *((cost_total(summary.usage), median_latency(summary.usage)) if used else ()),
            "" if summary.ended else "not ended",
        )
    console.print(table)
    more = f" Next page: --offset {page.next}" if page.next is not None else ""
    print_note(f"{format_count(len(page.evaluations))} of {pluralize(page.total, 'evaluation')}.{more}")


def print_evaluation_detail(run: Evaluation) -> None:
    """Print one evaluation: its properties, each scenario, failures, and figures."""
    console = open_console()
    _print_facts(console, run)
    results = by_urgency(EvaluationReport(evaluation=run))
    if results:
        console.print()
        _print_scenarios(console, results)
    console.print()
    print_scenario_usage(console, results)
    for result in results:
        for row in result.rows:
            if row.state == "error" or row.passed is False:
                _print_row(console, result, row)
    if (retried := retried_line(run.retried_errors)) is not None:
        console.print(retried, soft_wrap=True)
    several = f"; {described}" if (described := pass_of(run.pass_of)) is not None else ""
    verdicts = f"of {pluralize(run.scenarios, 'scenario')} {verdict_counts(run)}"
    console.print(f"Mean {_mean(run)}; pass rate {_rate(run)}{several}; {verdicts}.", soft_wrap=True)
    print_usage_lines(console, run.usage)


def retried_line(errors: int) -> str | None:
    """Say how many errors were retried; None if none was."""
    if not errors:
        return None
    were = "was" if errors == 1 else "were"
    return f"{pluralize(errors, 'error')} {were} retried; the last try of an attempt counts."


def _print_facts(console: Console, run: Evaluation) -> None:
    console.print(f"{run.run_id}  {one_line(run.suite)}", style="bold", soft_wrap=True)
    facts = {
        "agent": " ".join(filter(None, (agent_name(run), run.agent_version))),
        "recorded by": ", ".join(run.recorded_by) or None,
        "begun": f"{format_time(run.started_at)} UTC",
        "ended": f"{format_time(run.finished_at)} UTC" if run.ended else "not ended: still running, or abandoned",
        "because": run.reason,
        "took": None if run.elapsed_ns is None else seconds(run.elapsed_ns),
        "scorer": scorer_name(run),
        "chosen": run.selection,
        **(run.meta or {}),
    }
    table = make_facts()
    for name, value in facts.items():
        if value is not None:
            table.add_row(one_line(name), one_line(value))
    console.print(table)


def _print_scenarios(console: Console, results: Sequence[ScenarioResult]) -> None:
    """Print one line for each scenario."""
    parts = tuple(COMPONENTS.values())
    numbers = ("points", "passed", *parts)
    drop = (*parts[::-1], "passed", "points")
    table = make_table("scenario", "verdict", *numbers, right=numbers, drop=drop)
    for result in results:
        table.add_row(
            result.scenario_id,
            Text(result.verdict, STYLES[result.verdict]),
            points(result.mean),
            f"{result.passed} of {result.measured}",
            *(points(mean_component(result, name)) for name in COMPONENTS),
        )
    console.print(table)


def mean_component(result: ScenarioResult, name: str) -> float | None:
    """Return the mean points of one component over the attempts that have it."""
    scores = [
        component.score
        for row in result.rows
        for component in row.components
        if component.name == name and component.score is not None
    ]
    return sum(scores) / len(scores) if scores else None


def print_scenario(result: ScenarioResult, *, analyses: bool) -> None:
    """Print one scenario with every attempt, its components, and the expected patterns."""
    console = open_console()
    console.print(one_line(" ".join(filter(None, (result.scenario_id, result.name)))), style="bold", soft_wrap=True)
    for row in result.rows:
        _print_row(console, result, row)
        if analyses and row.analysis is not None:
            console.print(visible(msgspec.json.format(row.analysis)), soft_wrap=True)


def _print_row(console: Console, result: ScenarioResult, row: ScoreRow) -> None:
    """Print one attempt: its components, or its error."""
    if row.state == "error":
        _print_lines(console, _error(result.scenario_id, row), "magenta")
    else:
        _print_lines(console, _scored(result, row), {True: "green", False: "red", None: "dim"}[row.passed])
    console.print()


def _scored(result: ScenarioResult, row: ScoreRow) -> Iterator[str]:
    if row.state == "skipped":
        yield f"{result.scenario_id}, attempt {row.attempt}: skipped{bracketed(one_line(row.detail or ''))}"
        return
    needed = "" if row.pass_threshold is None else f" of {points(row.pass_threshold)} needed"
    yield f"{result.scenario_id}, attempt {row.attempt}: {points_below(row.total_score, row.pass_threshold)}{needed}"
    yield from _used(row)
    yield from (f"  {text}" for text in score_lines(row))
    yield from (f"  {text}" for text in label_lines(row))


def _error(scenario_id: str, row: ScoreRow) -> list[str]:
    reason = ": ".join(filter(None, (row.failure, row.detail))) or "no reason given"
    output = [f"  | {text}" for text in visible(row.said or "").splitlines()]
    return [f"Error: {scenario_id}, attempt {row.attempt}: {one_line(reason)}", *_used(row), *output]


def _used(row: ScoreRow) -> list[str]:
    """Return the model, tokens and cost of an answer, and its latency if it states one of these."""
    if not (stated := describe_try(row)):
        return []
    took = "" if row.elapsed_ns is None else f", {seconds(row.elapsed_ns)}"
    return [f"  {one_line(stated)}{took}"]


def _print_lines(console: Console, texts: Iterable[str], style: str) -> None:
    """Print the first line in a style, and the others without."""
    for number, text in enumerate(texts):
        console.print(text, style="" if number else style, soft_wrap=True)


def print_comparison(report: EvaluationReport) -> None:
    """Print a comparison: regressed scenarios, the worst first, then the others, the figures, and the verdict."""
    console, contrast = open_console(), report.contrast
    assert contrast is not None
    for style, texts in _blocks(report, contrast):
        _print_lines(console, texts, style)
        console.print()
    for text in _figures(contrast):
        console.print(text, soft_wrap=True)
    runs = (("baseline", contrast.baseline), ("candidate", contrast.candidate))
    print_usage_table(console, ("run",), [((name,), summary.usage) for name, summary in runs])
    if report.judgement is not None:
        for text in gate_lines(report.judgement):
            console.print(one_line(text), soft_wrap=True)
        console.print(
            verdict_sentence(report.judgement, contrast), style=JUDGED[report.judgement.verdict], soft_wrap=True
        )


def _blocks(report: EvaluationReport, contrast: RunComparison) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield a block for each kind of change: its style, and its lines."""
    for change in contrast.regressed:
        yield "red", _regressed(change)
    for result in report.evaluation.results:
        yield from (("magenta", _error(result.scenario_id, row)) for row in result.rows if row.state == "error")
    groups = {
        "Not comparable": list(map(_not_comparable, contrast.not_comparable)),
        "Missing": list(map(_missing, contrast.missing)),
        "Fewer points, as many passes": list(map(_moved, contrast.lower)),
        "New": [f"{added.scenario_id}: {points(added.after)}" for added in contrast.added],
        "Improved": list(map(_moved, contrast.improved)),
    }
    for title, lines in groups.items():
        if lines:
            yield "red" if title == "Missing" else "bold", [f"{title}:", *(f"  {line}" for line in lines)]


def _regressed(change: ScenarioChange) -> Iterator[str]:
    scenario = f"{change.scenario_id}{f' ({one_line(change.name)})' if change.name else ''}"
    passed = f"{change.passed_before} of {pluralize(change.attempts, 'attempt')} passed, now {change.passed_after}"
    yield f"Regressed: {scenario}: {points(change.before)} before, {points(change.after)} now; {passed}"
    if change.reason:
        yield f"  error: {one_line(change.reason)}"
    yield from (f"  {lost_pattern_line(finding)}" for finding in lost_patterns(change))


def _not_comparable(change: ScenarioChange) -> str:
    return f"{change.scenario_id}: {one_line(change.reason or '')}"


def _missing(change: ScenarioChange) -> str:
    return f"{change.scenario_id}: {one_line(change.reason or '')}, {points(change.before)} before"


def _moved(change: ScenarioChange) -> str:
    return f"{change.scenario_id}: {points(change.before)} before, {points(change.after)} now"


def _figures(contrast: RunComparison) -> Iterator[str]:
    for title, summary in (("Baseline", contrast.baseline), ("Candidate", contrast.candidate)):
        agent = one_line(" ".join(filter(None, (agent_name(summary), summary.agent_version))))
        selection = f", scenarios matching {one_line(summary.selection)}" if summary.selection is not None else ""
        state = "" if summary.ended else ", not ended"
        figures = f"mean {_mean(summary)}, pass rate {_rate(summary)}"
        yield f"{title} {summary.run_id}: {agent} on {one_line(summary.suite)}{selection}{state}: {figures}."
    if contrast.scenarios:
        test = contrast.mcnemar
        p = "" if test.p is None else f" (exact test over scenarios, p = {test.p:.3f})"
        interval = bracketed(point_interval(contrast.difference_interval, "+"))
        yield (
            f"Difference {points(contrast.difference, '+')}{interval} over "
            f"{pluralize(contrast.scenarios, 'scenario')}, {pluralize(contrast.pairs, 'pair')} of attempts: "
            f"{test.passed_to_failed} passed only before, {test.failed_to_passed} only now{p}."
        )


def _mean(summary: EvaluationSummary) -> str:
    return f"{points(summary.mean)}{bracketed(point_interval(summary.mean_interval))}"


def _rate(summary: EvaluationSummary) -> str:
    return f"{rate(summary.pass_rate)}{bracketed(rate_interval(summary.pass_interval))}"
