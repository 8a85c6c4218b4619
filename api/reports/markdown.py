"""An evaluation in Markdown, for a comment on a pull request: short, what got worse first, the rest folded.

Whatever is not ours stands in a span or block of code, where no mention, link, reference or markup of it counts.
"""

from collections.abc import Callable, Iterable, Sequence

from api.reports.escape import cell, code, fenced, line, markup
from api.reports.format import DASH, between, bracketed, counted, moment, points, rate, rates, seconds
from api.reports.gate import sentence
from api.reports.markdown_size import SizedMarkdown, folded
from api.reports.report import EvaluationReport, changes, costs, failures, ordered, scorer, unwanted, who
from events.evaluation import PatternFinding
from projections.evaluation.view_types import EvaluationSummary, RunComparison, ScenarioChange, ScenarioResult

TEXT_MAX = 200
SAID_MAX = 1_500

FINDINGS_MAX = 10
"""Patterns of one scenario that are told; of the others only their number is."""

MARKS = {"passed": "\u2705", "worse": "\u274c", "unusable": "\u26a0\ufe0f"}


def markdown(report: EvaluationReport) -> str:
    """The comment, of at most COMMENT_MAX characters."""
    comment, run, contrast = SizedMarkdown(), report.evaluation, report.contrast
    comment.add(f"### {_headline(report)}")
    comment.add(_summary(run, contrast))
    if contrast is not None:
        _regressed(comment, contrast)
    _errors(comment, run.results)
    if contrast is not None:
        _apart(comment, contrast)
    else:
        _failing(comment, ordered(report))
    _all(comment, report)
    return comment.text()


def _headline(report: EvaluationReport) -> str:
    run, contrast, judgement = report.evaluation, report.contrast, report.judgement
    suite = code(run.suite, 80)
    if contrast is not None and judgement is not None:
        return f"{MARKS[judgement.verdict]} {suite}: {sentence(judgement, contrast)}"
    if contrast is not None:
        return f"{suite}: {counted(contrast.regressions, 'regression')}"
    return f"{suite}: {run.stable} of {counted(run.scenarios, 'scenario')} passed"


def _summary(run: EvaluationSummary, contrast: RunComparison | None) -> str:
    """Figures, a column a run."""
    runs = [contrast.baseline, run] if contrast is not None else [run]
    rows = {
        "run": [cell(head.run_id) for head in runs],
        "agent": [_agent(head) for head in runs],
        "ended": [moment(head.finished_at) if head.ended else "not ended" for head in runs],
        "mean": [f"{points(head.mean)}{bracketed(between(head.mean_interval))}" for head in runs],
        "pass rate": [f"{rate(head.pass_rate)}{bracketed(rates(head.pass_interval))}" for head in runs],
        "scenarios": [_verdicts(head) for head in runs],
        "errors": [f"{head.errors:,}" for head in runs],
        "took": [seconds(head.elapsed_ns) for head in runs],
        "scorer": [cell(scorer(head) or DASH, 80) for head in runs],
    }
    titles = "|||\n|-|-|" if contrast is None else "||baseline|candidate|\n|-|-|-|"
    table = "\n".join([titles, *(f"|{name}|{'|'.join(cells)}|" for name, cells in rows.items())])
    return table if contrast is None else f"{table}\n\n{_difference(contrast)}"


def _agent(head: EvaluationSummary) -> str:
    named = who(head)
    shown = cell(named, 80) if named == head.agent else named
    return f"{shown} {cell(head.agent_version, 80)}" if head.agent_version is not None else shown


def _verdicts(head: EvaluationSummary) -> str:
    counts = {"stable": head.stable, "flaky": head.flaky, "failing": head.failing, "in error": head.broken}
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "none"


def _difference(contrast: RunComparison) -> str:
    if not contrast.scenarios:
        return "No scenario is comparable."
    over = f"over {counted(contrast.scenarios, 'comparable scenario')}, {counted(contrast.pairs, 'pair')} of attempts"
    test = contrast.mcnemar
    passes = f"{test.passed_to_failed} passed before alone, {test.failed_to_passed} now alone"
    p = "" if test.p is None else f" (exact McNemar, p = {test.p:.3f})"
    interval = bracketed(between(contrast.difference_interval, "+"))
    return f"Points {points(contrast.difference, '+')}{interval} {over}; {passes}{p}."


def _regressed(comment: SizedMarkdown, contrast: RunComparison) -> None:
    """What got worse, and what used to match."""
    rows = [_change(change) for change in contrast.regressed]
    rows += [f"|{_named(change)}|{points(change.before)}|missing|||" for change in contrast.missing]
    head = ("scenario", "before", "now", "change", "attempts passed")
    comment.table("Regressed", head, rows, "regressed scenario")
    for change in (*contrast.regressed, *contrast.missing):
        if told := costs(change):
            why = f"It ended in an error: {code(change.reason, TEXT_MAX)}\n\n" if change.reason else ""
            title = f"{_titled(change)}: what used to match"
            comment.add(folded(title, why + _listed(told, _lost)), "breakdown")


def _change(change: ScenarioChange) -> str:
    passes = f"{change.passed_before} of {change.attempts}, now {change.passed_after}"
    figures = (points(change.before), points(change.after), points(change.difference, "+"), passes)
    return f"|{_named(change)}|{'|'.join(figures)}|"


def _named(one: ScenarioChange | ScenarioResult) -> str:
    same = one.name is None or one.name == one.scenario_id
    return cell(one.scenario_id) if same else f"{cell(one.scenario_id)} {cell(one.name or '', 60)}"


def _titled(one: ScenarioChange | ScenarioResult) -> str:
    """The name of a scenario in HTML, which stands in a title."""
    return f"<code>{markup(line(one.scenario_id))}</code>"


def _lost(finding: PatternFinding) -> str:
    pattern = f"{code(finding.pattern, TEXT_MAX)} ({finding.match_type}, {code(finding.expectation)})"
    where = f" in {code(finding.where)}" if finding.where else ""
    text = f": {code(finding.text, TEXT_MAX)}" if finding.text else ""
    return f"{pattern} {'must not be said, and is now' if unwanted(finding) else 'matched'}{where}{text}"


def _missed(finding: PatternFinding) -> str:
    pattern = f"{code(finding.pattern, TEXT_MAX)} ({finding.match_type}, {code(finding.expectation)})"
    if not unwanted(finding):
        return f"{pattern} not found"
    return f"{pattern} must not be said{f': {code(finding.text, TEXT_MAX)}' if finding.text else ''}"


def _listed(findings: Sequence[PatternFinding], said: Callable[[PatternFinding], str]) -> str:
    rows = [f"- {said(finding)}" for finding in findings[:FINDINGS_MAX]]
    if len(findings) > FINDINGS_MAX:
        rows.append(f"- and {counted(len(findings) - FINDINGS_MAX, 'pattern')} more")
    return "\n".join(rows)


def _errors(comment: SizedMarkdown, results: Iterable[ScenarioResult]) -> None:
    """The errors, with the last lines of each."""
    wrong = [(result, row) for result in results for row in result.rows if row.state == "error"]
    rows = (
        f"|{_named(result)}|{row.attempt}|{row.failure or 'error'}|{cell(row.detail or DASH, TEXT_MAX)}|"
        for result, row in wrong
    )
    comment.table("Errors", ("scenario", "attempt", "what", "why"), rows, "error")
    for result, row in wrong:
        if row.said:
            title = f"{_titled(result)}, attempt {row.attempt}: its last lines"
            comment.add(folded(title, fenced(row.said[-SAID_MAX:])), "last message")


def _apart(comment: SizedMarkdown, contrast: RunComparison) -> None:
    """What is not comparable, and what moved without having regressed."""
    rows = [f"|{_named(change)}|{cell(change.reason or DASH, TEXT_MAX)}|" for change in contrast.not_comparable]
    comment.table("Not comparable", ("scenario", "because"), rows, "incomparable scenario")
    head = ("scenario", "before", "now", "change", "attempts passed")
    for title, changes_ in (("Fewer points, as many passes", contrast.lower), ("Improved", contrast.improved)):
        comment.table(f"{title} ({len(changes_)})", head, map(_change, changes_), "scenario", fold=True)
    rows = [f"|{_named(change)}|{points(change.after)}|" for change in contrast.added]
    comment.table(f"New ({len(rows)})", ("scenario", "points"), rows, "new scenario", fold=True)


def _failing(comment: SizedMarkdown, results: Iterable[ScenarioResult]) -> None:
    """What did not pass, and what was not found."""
    for result in results:
        missed = [finding for row in result.rows if row.passed is False for finding in failures(row)]
        if missed:
            different = list({(one.expectation, one.pattern): one for one in missed}.values())
            title = f"{_titled(result)}: {points(result.mean)} points, {result.passed} of {result.attempts} passed"
            comment.add(folded(title, _listed(different, _missed)), "breakdown")


def _all(comment: SizedMarkdown, report: EvaluationReport) -> None:
    moved = changes(report.contrast)

    def row(result: ScenarioResult) -> str:
        change = moved.get(result.scenario_id)
        passes = f"{result.passed} of {result.attempts}"
        cells = [result.verdict, points(result.mean), passes]
        if report.contrast is not None:
            cells.append(DASH if change is None else points(change.difference, "+"))
        return f"|{_named(result)}|{'|'.join(cells)}|"

    head = ["scenario", "verdict", "points", "attempts passed"] + (["change"] if report.contrast is not None else [])
    rows = [row(result) for result in ordered(report)]
    comment.table(f"All scenarios ({len(rows)})", head, rows, "scenario", fold=True)
