"""Print evaluations: one in detail, two compared, and a list."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from api.cli.output import (
    make_table,
    open_console,
    print_note,
    truncate,
)
from api.reports import EvaluationReport, verdict_sentence
from api.reports.escape import one_line, visible
from api.reports.format import (
    bracketed,
    count_noun,
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
    by_urgency,
    lost_patterns,
    scorer_name,
)
from api.reports.score_text import lost_pattern_line, score_lines
from api.service.evaluation.queries import EvaluationPage
from api.text import count, moment
from projections.evaluation.view_types import (
    Evaluation,
    EvaluationSummary,
    RunComparison,
    ScenarioChange,
    ScenarioResult,
    ScoreRow,
)

STYLES = {"stable": "green", "flaky": "yellow", "failing": "red", "error": "magenta", "skipped": "dim"}
JUDGED = {"passed": "bold green", "worse": "bold red", "unusable": "bold magenta"}


WIDE = 100
"""Columns of a terminal from which a list shows everything."""

PARTS_WIDE = 70
"""Columns needed for verdict, points and components beside the id of a scenario."""


def print_evaluation_list(page: EvaluationPage) -> None:
    """Print one line for each evaluation."""
    console = open_console()
    wide = console.width >= WIDE
    numbers = ("mean", "pass rate", *(["scenarios"] if wide else []), "errors")
    shown = make_table("run", "begun (UTC)", "suite", "agent", "version", *numbers, "", right=numbers,
                  wrap=("suite", "agent", "version"))  # fmt: skip
    for head in page.evaluations:
        shown.add_row(
            head.run_id,
            moment(head.started_at) if wide else f"{head.started_at:%Y-%m-%d}",
            truncate(one_line(head.suite)),
            truncate(one_line(agent_name(head))),
            truncate(one_line(head.agent_version or "-")),
            points(head.mean),
            rate(head.pass_rate),
            *([count(head.scenarios)] if wide else []),
            count(head.errors),
            "" if head.ended else "not ended",
        )
    console.print(shown)
    more = f" Next page: --offset {page.next}" if page.next is not None else ""
    print_note(f"{count(len(page.evaluations))} of {count_noun(page.total, 'evaluation')}.{more}")


def print_evaluation_detail(run: Evaluation) -> None:
    """Print one evaluation: its facts, each scenario, failures, and figures."""
    console = open_console()
    _print_facts(console, run)
    results = by_urgency(EvaluationReport(evaluation=run))
    if results:
        console.print()
        _print_scenarios(console, results)
    console.print()
    for result in results:
        for row in result.rows:
            if row.state == "error" or row.passed is False:
                _print_row(console, result, row)
    console.print(f"Mean {_mean(run)}; pass rate {_rate(run)}; {_verdicts(run)}.", soft_wrap=True)


def _print_facts(console: Console, run: Evaluation) -> None:
    console.print(f"{run.run_id}  {one_line(run.suite)}", style="bold", soft_wrap=True)
    facts = {
        "agent": " ".join(filter(None, (agent_name(run), run.agent_version))),
        "begun": f"{moment(run.started_at)} UTC",
        "ended": f"{moment(run.finished_at)} UTC" if run.ended else "not ended: still running, or abandoned",
        "because": run.reason,
        "took": None if run.elapsed_ns is None else seconds(run.elapsed_ns),
        "scorer": scorer_name(run),
        "chosen": run.selection,
        **(run.meta or {}),
    }
    shown = make_table("", "", wrap=("",))
    shown.show_header = False
    for name, value in facts.items():
        if value is not None:
            shown.add_row(one_line(name), one_line(value))
    console.print(shown)


def _print_scenarios(console: Console, results: Sequence[ScenarioResult]) -> None:
    """Print one line for each scenario, with its components if the terminal is wide enough."""
    free = console.width - max(len(result.scenario_id) for result in results)
    parts = COMPONENTS if free >= PARTS_WIDE else {}
    numbers = ("points", "passed", *parts.values())
    shown = make_table("scenario", "verdict", *numbers, right=numbers, wrap=("scenario",))
    for result in results:
        shown.add_row(
            truncate(result.scenario_id),
            Text(result.verdict, STYLES[result.verdict]),
            points(result.mean),
            f"{result.passed} of {result.attempts}",
            *(points(mean_component(result, name)) for name in parts),
        )
    console.print(shown)


def mean_component(result: ScenarioResult, name: str) -> float | None:
    """Return the mean points of one component over the attempts that have it."""
    found = [one.score for row in result.rows for one in row.components if one.name == name and one.score is not None]
    return sum(found) / len(found) if found else None


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
        _print_lines(console, _scored(result, row), "green" if row.passed else "dim" if row.passed is None else "red")
    console.print()


def _scored(result: ScenarioResult, row: ScoreRow) -> Iterator[str]:
    if row.state == "skipped":
        yield f"{result.scenario_id}, attempt {row.attempt}: skipped{bracketed(one_line(row.detail or ''))}"
        return
    needed = "" if row.pass_threshold is None else f" of {points(row.pass_threshold)} needed"
    yield f"{result.scenario_id}, attempt {row.attempt}: {points_below(row.total_score, row.pass_threshold)}{needed}"
    yield from (f"  {text}" for text in score_lines(row))


def _error(scenario_id: str, row: ScoreRow) -> list[str]:
    reason = ": ".join(filter(None, (row.failure, row.detail))) or "no reason given"
    output = [f"  | {text}" for text in visible(row.said or "").splitlines()]
    return [f"Error: {scenario_id}, attempt {row.attempt}: {one_line(reason)}", *output]


def _print_lines(console: Console, texts: Iterable[str], style: str) -> None:
    """Print the first line in colour, and the others without."""
    for number, text in enumerate(texts):
        console.print(text, style="" if number else style, soft_wrap=True)


def print_comparison(report: EvaluationReport) -> None:
    """Print two evaluations compared: regressed scenarios, the worst first; the others, figures, and verdict."""
    console, contrast = open_console(), report.contrast
    assert contrast is not None
    for style, texts in _blocks(report, contrast):
        _print_lines(console, texts, style)
        console.print()
    for text in _figures(contrast):
        console.print(text, soft_wrap=True)
    if report.judgement is not None:
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
        "Not comparable": [f"{one.scenario_id}: {one_line(one.reason or '')}" for one in contrast.not_comparable],
        "Missing": list(map(_missing, contrast.missing)),
        "Fewer points, as many passes": list(map(_moved, contrast.lower)),
        "New": [f"{one.scenario_id}: {points(one.after)}" for one in contrast.added],
        "Improved": list(map(_moved, contrast.improved)),
    }
    for title, texts in groups.items():
        if texts:
            yield "red" if title == "Missing" else "bold", [f"{title}:", *(f"  {one}" for one in texts)]


def _regressed(change: ScenarioChange) -> Iterator[str]:
    named = f"{change.scenario_id}{f' ({one_line(change.name)})' if change.name else ''}"
    passes = f"{change.passed_before} of {count_noun(change.attempts, 'attempt')} passed, now {change.passed_after}"
    yield f"Regressed: {named}: {points(change.before)} before, {points(change.after)} now; {passes}"
    if change.reason:
        yield f"  error: {one_line(change.reason)}"
    yield from (f"  {lost_pattern_line(finding)}" for finding in lost_patterns(change))


def _missing(change: ScenarioChange) -> str:
    return f"{change.scenario_id}: {one_line(change.reason or '')}, {points(change.before)} before"


def _moved(change: ScenarioChange) -> str:
    return f"{change.scenario_id}: {points(change.before)} before, {points(change.after)} now"


def _figures(contrast: RunComparison) -> Iterator[str]:
    for title, head in (("Baseline", contrast.baseline), ("Candidate", contrast.candidate)):
        named = one_line(" ".join(filter(None, (agent_name(head), head.agent_version))))
        chosen = f", scenarios matching {one_line(head.selection)}" if head.selection is not None else ""
        left = "" if head.ended else ", not ended"
        figures = f"mean {_mean(head)}, pass rate {_rate(head)}"
        yield f"{title} {head.run_id}: {named} on {one_line(head.suite)}{chosen}{left}: {figures}."
    if contrast.scenarios:
        test = contrast.mcnemar
        p = "" if test.p is None else f" (exact McNemar, p = {test.p:.3f})"
        interval = bracketed(point_interval(contrast.difference_interval, "+"))
        yield (
            f"Difference {points(contrast.difference, '+')}{interval} over "
            f"{count_noun(contrast.scenarios, 'scenario')}, {count_noun(contrast.pairs, 'pair')} of attempts: "
            f"{test.passed_to_failed} passed only before, {test.failed_to_passed} only now{p}."
        )


def _mean(head: EvaluationSummary) -> str:
    return f"{points(head.mean)}{bracketed(point_interval(head.mean_interval))}"


def _rate(head: EvaluationSummary) -> str:
    return f"{rate(head.pass_rate)}{bracketed(rate_interval(head.pass_interval))}"


def _verdicts(head: EvaluationSummary) -> str:
    counts = {"stable": head.stable, "flaky": head.flaky, "failing": head.failing, "in error": head.broken}
    verdicts = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number) or "none scored"
    return f"of {count_noun(head.scenarios, 'scenario')} {verdicts}"
