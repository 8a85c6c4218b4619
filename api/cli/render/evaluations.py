"""Evaluations as people read them: one, two compared, and the list of them."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

from api.cli.output import cut, out, say, table
from api.reports import EvaluationReport, sentence
from api.reports.escape import line, visible
from api.reports.format import against, between, bracketed, counted, points, rate, rates, seconds
from api.reports.report import COMPONENTS, costs, ordered, scorer, who
from api.reports.score_text import breakdown, lost
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
"""Columns of a terminal from which a list tells all it can."""

PARTS_WIDE = 70
"""Columns beside the ids of scenarios that verdict, points and the parts of these take."""


def print_list(page: EvaluationPage) -> None:
    """Evaluations, one a line."""
    console = out()
    wide = console.width >= WIDE
    numbers = ("mean", "pass rate", *(["scenarios"] if wide else []), "errors")
    shown = table("run", "begun (UTC)", "suite", "agent", "version", *numbers, "", right=numbers,
                  wrap=("suite", "agent", "version"))  # fmt: skip
    for head in page.evaluations:
        shown.add_row(
            head.run_id,
            moment(head.started_at) if wide else f"{head.started_at:%Y-%m-%d}",
            cut(line(head.suite)),
            cut(line(who(head))),
            cut(line(head.agent_version or "-")),
            points(head.mean),
            rate(head.pass_rate),
            *([count(head.scenarios)] if wide else []),
            count(head.errors),
            "" if head.ended else "not ended",
        )
    console.print(shown)
    more = f" The next: --offset {page.next}." if page.next is not None else ""
    say(f"{count(len(page.evaluations))} of {counted(page.total, 'evaluation')}.{more}")


def print_whole(run: Evaluation) -> None:
    """One evaluation: who, on what, each scenario, what went wrong, and what it comes to."""
    console = out()
    _print_facts(console, run)
    results = ordered(EvaluationReport(evaluation=run))
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
    console.print(f"{run.run_id}  {line(run.suite)}", style="bold", soft_wrap=True)
    told = {
        "agent": " ".join(filter(None, (who(run), run.agent_version))),
        "begun": f"{moment(run.started_at)} UTC",
        "ended": f"{moment(run.finished_at)} UTC" if run.ended else "not ended: it goes on, or was left",
        "because": run.reason,
        "took": None if run.elapsed_ns is None else seconds(run.elapsed_ns),
        "scorer": scorer(run),
        "chosen": run.selection,
        **(run.meta or {}),
    }
    facts = table("", "", wrap=("",))
    facts.show_header = False
    for name, value in told.items():
        if value is not None:
            facts.add_row(line(name), line(value))
    console.print(facts)


def _print_scenarios(console: Console, results: Sequence[ScenarioResult]) -> None:
    """A line each; the parts of its score where there is room for them beside its id."""
    room = console.width - max(len(result.scenario_id) for result in results)
    parts = COMPONENTS if room >= PARTS_WIDE else {}
    numbers = ("points", "passed", *parts.values())
    shown = table("scenario", "verdict", *numbers, right=numbers, wrap=("scenario",))
    for result in results:
        shown.add_row(
            cut(result.scenario_id),
            Text(result.verdict, STYLES[result.verdict]),
            points(result.mean),
            f"{result.passed} of {result.attempts}",
            *(points(part(result, name)) for name in parts),
        )
    console.print(shown)


def part(result: ScenarioResult, name: str) -> float | None:
    """The mean points of one part, over the attempts that were scored on it."""
    found = [one.score for row in result.rows for one in row.components if one.name == name and one.score is not None]
    return sum(found) / len(found) if found else None


def print_scenario(result: ScenarioResult, *, analyses: bool) -> None:
    """One scenario with every attempt, each part of its score, and what was looked for."""
    console = out()
    console.print(line(" ".join(filter(None, (result.scenario_id, result.name)))), style="bold", soft_wrap=True)
    for row in result.rows:
        _print_row(console, result, row)
        if analyses and row.analysis is not None:
            console.print(visible(msgspec.json.format(row.analysis)), soft_wrap=True)


def _print_row(console: Console, result: ScenarioResult, row: ScoreRow) -> None:
    """One attempt: its score in parts, or what went wrong."""
    if row.state == "error":
        _print_lines(console, _error(result.scenario_id, row), "magenta")
    else:
        _print_lines(console, _scored(result, row), "green" if row.passed else "dim" if row.passed is None else "red")
    console.print()


def _scored(result: ScenarioResult, row: ScoreRow) -> Iterator[str]:
    if row.state == "skipped":
        yield f"{result.scenario_id}, attempt {row.attempt}: skipped{bracketed(line(row.detail or ''))}"
        return
    needed = "" if row.pass_threshold is None else f" of {points(row.pass_threshold)} needed"
    yield f"{result.scenario_id}, attempt {row.attempt}: {against(row.total_score, row.pass_threshold)}{needed}"
    yield from (f"  {told}" for told in breakdown(row))


def _error(scenario_id: str, row: ScoreRow) -> list[str]:
    why = ": ".join(filter(None, (row.failure, row.detail))) or "no reason is said"
    said = [f"  | {told}" for told in visible(row.said or "").splitlines()]
    return [f"Error: {scenario_id}, attempt {row.attempt}: {line(why)}", *said]


def _print_lines(console: Console, told: Iterable[str], style: str) -> None:
    """A headline in colour and what belongs to it."""
    for number, text in enumerate(told):
        console.print(text, style="" if number else style, soft_wrap=True)


def print_comparison(report: EvaluationReport) -> None:
    """Two evaluations: what regressed first, the worst first; then the rest, the figures, and the judgement."""
    console, contrast = out(), report.contrast
    assert contrast is not None
    for style, told in _blocks(report, contrast):
        _print_lines(console, told, style)
        console.print()
    for text in _figures(contrast):
        console.print(text, soft_wrap=True)
    if report.judgement is not None:
        console.print(sentence(report.judgement, contrast), style=JUDGED[report.judgement.verdict], soft_wrap=True)


def _blocks(report: EvaluationReport, contrast: RunComparison) -> Iterator[tuple[str, Iterable[str]]]:
    """What changed, a block for each: its style, a headline, and what belongs to it."""
    for change in contrast.regressed:
        yield "red", _regressed(change)
    for result in report.evaluation.results:
        yield from (("magenta", _error(result.scenario_id, row)) for row in result.rows if row.state == "error")
    groups = {
        "Not comparable": [f"{one.scenario_id}: {line(one.reason or '')}" for one in contrast.not_comparable],
        "Missing": list(map(_missing, contrast.missing)),
        "Fewer points, as many passes": list(map(_moved, contrast.lower)),
        "New": [f"{one.scenario_id}: {points(one.after)}" for one in contrast.added],
        "Improved": list(map(_moved, contrast.improved)),
    }
    for title, told in groups.items():
        if told:
            yield "red" if title == "Missing" else "bold", [f"{title}:", *(f"  {one}" for one in told)]


def _regressed(change: ScenarioChange) -> Iterator[str]:
    named = f"{change.scenario_id}{f' ({line(change.name)})' if change.name else ''}"
    passes = f"{change.passed_before} of {counted(change.attempts, 'attempt')} passed, now {change.passed_after}"
    yield f"Regressed: {named}: {points(change.before)} before, {points(change.after)} now; {passes}"
    if change.reason:
        yield f"  error: {line(change.reason)}"
    yield from (f"  {lost(finding)}" for finding in costs(change))


def _missing(change: ScenarioChange) -> str:
    return f"{change.scenario_id}: {line(change.reason or '')}, {points(change.before)} before"


def _moved(change: ScenarioChange) -> str:
    return f"{change.scenario_id}: {points(change.before)} before, {points(change.after)} now"


def _figures(contrast: RunComparison) -> Iterator[str]:
    for title, head in (("Baseline", contrast.baseline), ("Candidate", contrast.candidate)):
        named = line(" ".join(filter(None, (who(head), head.agent_version))))
        chosen = f", scenarios that fit {line(head.selection)}" if head.selection is not None else ""
        left = "" if head.ended else ", not ended"
        figures = f"mean {_mean(head)}, pass rate {_rate(head)}"
        yield f"{title} {head.run_id}: {named} on {line(head.suite)}{chosen}{left}: {figures}."
    if contrast.scenarios:
        test = contrast.mcnemar
        p = "" if test.p is None else f" (exact McNemar, p = {test.p:.3f})"
        interval = bracketed(between(contrast.difference_interval, "+"))
        yield (
            f"Difference {points(contrast.difference, '+')}{interval} over "
            f"{counted(contrast.scenarios, 'scenario')}, {counted(contrast.pairs, 'pair')} of attempts: "
            f"{test.passed_to_failed} passed before alone, {test.failed_to_passed} now alone{p}."
        )


def _mean(head: EvaluationSummary) -> str:
    return f"{points(head.mean)}{bracketed(between(head.mean_interval))}"


def _rate(head: EvaluationSummary) -> str:
    return f"{rate(head.pass_rate)}{bracketed(rates(head.pass_interval))}"


def _verdicts(head: EvaluationSummary) -> str:
    counts = {"stable": head.stable, "flaky": head.flaky, "failing": head.failing, "in error": head.broken}
    told = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number) or "none scored"
    return f"of {counted(head.scenarios, 'scenario')} {told}"
