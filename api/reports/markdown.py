"""Write an evaluation in Markdown for a comment on a pull request: short, regressions first, the rest folded.

Texts of others are in code spans or blocks, where no mention, link, reference or markup has an effect.
"""

from collections.abc import Callable, Iterable, Sequence

from api.reports.escape import (
    code_block,
    code_cell,
    code_span,
    escape_html,
    one_line,
)
from api.reports.format import (
    DASH,
    bracketed,
    count_noun,
    minute_utc,
    point_interval,
    points,
    rate,
    rate_interval,
    seconds,
)
from api.reports.gate import verdict_sentence
from api.reports.markdown_size import SizedMarkdown, folded
from api.reports.report import (
    EvaluationReport,
    agent_name,
    by_urgency,
    changes_by_scenario,
    failed_patterns,
    is_forbidden,
    lost_patterns,
    scorer_name,
)
from events.evaluation import PatternFinding
from projections.evaluation.view_types import EvaluationSummary, RunComparison, ScenarioChange, ScenarioResult

TEXT_MAX = 200
SAID_MAX = 1_500

FINDINGS_MAX = 10
"""Patterns listed for one scenario; the others are only counted."""

MARKS = {"passed": "\u2705", "worse": "\u274c", "unusable": "\u26a0\ufe0f"}


def markdown(report: EvaluationReport) -> str:
    """Return the comment, at most COMMENT_MAX characters."""
    comment, run, contrast = SizedMarkdown(), report.evaluation, report.contrast
    comment.add(f"### {_headline(report)}")
    comment.add(_summary(run, contrast))
    if contrast is not None:
        _regressed(comment, contrast)
    _errors(comment, run.results)
    if contrast is not None:
        _apart(comment, contrast)
    else:
        _failing(comment, by_urgency(report))
    _all(comment, report)
    return comment.text()


def _headline(report: EvaluationReport) -> str:
    run, contrast, judgement = report.evaluation, report.contrast, report.judgement
    suite = code_span(run.suite, 80)
    if contrast is not None and judgement is not None:
        return f"{MARKS[judgement.verdict]} {suite}: {verdict_sentence(judgement, contrast)}"
    if contrast is not None:
        return f"{suite}: {count_noun(contrast.regressions, 'regression')}"
    return f"{suite}: {run.stable} of {count_noun(run.scenarios, 'scenario')} passed"


def _summary(run: EvaluationSummary, contrast: RunComparison | None) -> str:
    """Return a table of figures, a column for each run."""
    runs = [contrast.baseline, run] if contrast is not None else [run]
    rows = {
        "run": [code_cell(head.run_id) for head in runs],
        "agent": [_agent(head) for head in runs],
        "ended": [minute_utc(head.finished_at) if head.ended else "not ended" for head in runs],
        "mean": [f"{points(head.mean)}{bracketed(point_interval(head.mean_interval))}" for head in runs],
        "pass rate": [f"{rate(head.pass_rate)}{bracketed(rate_interval(head.pass_interval))}" for head in runs],
        "scenarios": [_verdicts(head) for head in runs],
        "errors": [f"{head.errors:,}" for head in runs],
        "took": [seconds(head.elapsed_ns) for head in runs],
        "scorer": [code_cell(scorer_name(head) or DASH, 80) for head in runs],
    }
    titles = "|||\n|-|-|" if contrast is None else "||baseline|candidate|\n|-|-|-|"
    table = "\n".join([titles, *(f"|{name}|{'|'.join(cells)}|" for name, cells in rows.items())])
    return table if contrast is None else f"{table}\n\n{_difference(contrast)}"


def _agent(head: EvaluationSummary) -> str:
    named = agent_name(head)
    shown = code_cell(named, 80) if named == head.agent else named
    return f"{shown} {code_cell(head.agent_version, 80)}" if head.agent_version is not None else shown


def _verdicts(head: EvaluationSummary) -> str:
    counts = {"stable": head.stable, "flaky": head.flaky, "failing": head.failing, "in error": head.broken}
    return ", ".join(f"{number} {name}" for name, number in counts.items() if number) or "none"


def _difference(contrast: RunComparison) -> str:
    if not contrast.scenarios:
        return "No scenario is comparable."
    pairs = f"{count_noun(contrast.pairs, 'pair')} of attempts"
    over = f"over {count_noun(contrast.scenarios, 'comparable scenario')}, {pairs}"
    test = contrast.mcnemar
    passes = f"{test.passed_to_failed} passed only before, {test.failed_to_passed} only now"
    p = "" if test.p is None else f" (exact McNemar, p = {test.p:.3f})"
    interval = bracketed(point_interval(contrast.difference_interval, "+"))
    return f"Points {points(contrast.difference, '+')}{interval} {over}; {passes}{p}."


def _regressed(comment: SizedMarkdown, contrast: RunComparison) -> None:
    """Add the regressions, and the patterns that used to match."""
    rows = [_change(change) for change in contrast.regressed]
    rows += [f"|{_named(change)}|{points(change.before)}|missing|||" for change in contrast.missing]
    head = ("scenario", "before", "now", "change", "attempts passed")
    comment.table("Regressed", head, rows, "regressed scenario")
    for change in (*contrast.regressed, *contrast.missing):
        if patterns := lost_patterns(change):
            why = f"Error: {code_span(change.reason, TEXT_MAX)}\n\n" if change.reason else ""
            title = f"{_titled(change)}: patterns that used to match"
            comment.add(folded(title, why + _listed(patterns, _lost)), "breakdown")


def _change(change: ScenarioChange) -> str:
    passes = f"{change.passed_before} of {change.attempts}, now {change.passed_after}"
    figures = (points(change.before), points(change.after), points(change.difference, "+"), passes)
    return f"|{_named(change)}|{'|'.join(figures)}|"


def _named(one: ScenarioChange | ScenarioResult) -> str:
    same = one.name is None or one.name == one.scenario_id
    return code_cell(one.scenario_id) if same else f"{code_cell(one.scenario_id)} {code_cell(one.name or '', 60)}"


def _titled(one: ScenarioChange | ScenarioResult) -> str:
    """Return the id of a scenario as HTML, for a title."""
    return f"<code>{escape_html(one_line(one.scenario_id))}</code>"


def _lost(finding: PatternFinding) -> str:
    pattern = f"{code_span(finding.pattern, TEXT_MAX)} ({finding.match_type}, {code_span(finding.expectation)})"
    where = f" in {code_span(finding.where)}" if finding.where else ""
    text = f": {code_span(finding.text, TEXT_MAX)}" if finding.text else ""
    return f"{pattern} {'is forbidden, and found now' if is_forbidden(finding) else 'matched'}{where}{text}"


def _missed(finding: PatternFinding) -> str:
    pattern = f"{code_span(finding.pattern, TEXT_MAX)} ({finding.match_type}, {code_span(finding.expectation)})"
    if not is_forbidden(finding):
        return f"{pattern} not found"
    return f"{pattern} is forbidden{f': {code_span(finding.text, TEXT_MAX)}' if finding.text else ''}"


def _listed(findings: Sequence[PatternFinding], said: Callable[[PatternFinding], str]) -> str:
    rows = [f"- {said(finding)}" for finding in findings[:FINDINGS_MAX]]
    if len(findings) > FINDINGS_MAX:
        rows.append(f"- and {count_noun(len(findings) - FINDINGS_MAX, 'pattern')} more")
    return "\n".join(rows)


def _errors(comment: SizedMarkdown, results: Iterable[ScenarioResult]) -> None:
    """Add the errors, with the last lines of output of each."""
    wrong = [(result, row) for result in results for row in result.rows if row.state == "error"]
    rows = (
        f"|{_named(result)}|{row.attempt}|{row.failure or 'error'}|{code_cell(row.detail or DASH, TEXT_MAX)}|"
        for result, row in wrong
    )
    comment.table("Errors", ("scenario", "attempt", "what", "why"), rows, "error")
    for result, row in wrong:
        if row.said:
            title = f"{_titled(result)}, attempt {row.attempt}: last lines of output"
            comment.add(folded(title, code_block(row.said[-SAID_MAX:])), "last message")


def _apart(comment: SizedMarkdown, contrast: RunComparison) -> None:
    """Add the scenarios that are not comparable, and the changes that are not regressions."""
    rows = [f"|{_named(change)}|{code_cell(change.reason or DASH, TEXT_MAX)}|" for change in contrast.not_comparable]
    comment.table("Not comparable", ("scenario", "because"), rows, "incomparable scenario")
    head = ("scenario", "before", "now", "change", "attempts passed")
    for title, changes_ in (("Fewer points, as many passes", contrast.lower), ("Improved", contrast.improved)):
        comment.table(f"{title} ({len(changes_)})", head, map(_change, changes_), "scenario", fold=True)
    rows = [f"|{_named(change)}|{points(change.after)}|" for change in contrast.added]
    comment.table(f"New ({len(rows)})", ("scenario", "points"), rows, "new scenario", fold=True)


def _failing(comment: SizedMarkdown, results: Iterable[ScenarioResult]) -> None:
    """Add the failing scenarios, with the patterns that cost points."""
    for result in results:
        missed = [finding for row in result.rows if row.passed is False for finding in failed_patterns(row)]
        if missed:
            different = list({(one.expectation, one.pattern): one for one in missed}.values())
            title = f"{_titled(result)}: {points(result.mean)} points, {result.passed} of {result.attempts} passed"
            comment.add(folded(title, _listed(different, _missed)), "breakdown")


def _all(comment: SizedMarkdown, report: EvaluationReport) -> None:
    moved = changes_by_scenario(report.contrast)

    def row(result: ScenarioResult) -> str:
        change = moved.get(result.scenario_id)
        passes = f"{result.passed} of {result.attempts}"
        cells = [result.verdict, points(result.mean), passes]
        if report.contrast is not None:
            cells.append(DASH if change is None else points(change.difference, "+"))
        return f"|{_named(result)}|{'|'.join(cells)}|"

    head = ["scenario", "verdict", "points", "attempts passed"] + (["change"] if report.contrast is not None else [])
    rows = [row(result) for result in by_urgency(report)]
    comment.table(f"All scenarios ({len(rows)})", head, rows, "scenario", fold=True)
