"""Write an evaluation in Markdown for a comment on a pull request: short, regressions first, the rest folded.

Untrusted texts are in code spans or blocks, where no mention, link, reference or markup has an effect.
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
    minute_utc,
    point_interval,
    points,
    rate,
    rate_interval,
    seconds,
    verdict_counts,
)
from api.reports.gate import verdict_sentence
from api.reports.gate_text import gate_lines
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
from api.reports.usage_text import (
    SCENARIO_USAGE_COLUMNS,
    cost_total,
    has_costs,
    median_cost,
    median_latency,
    p95_latency,
    scenario_cells,
    token_total,
)
from api.text_format import pluralize
from events.evaluation import PatternFinding
from projections.evaluation.view_types import EvaluationSummary, RunComparison, ScenarioChange, ScenarioResult

TEXT_MAX = 200
"""The most characters of a pattern, a matched text or a reason."""

OUTPUT_MAX = 1_500
"""The most characters of the last output of an agent."""

NAME_MAX = 80
"""The most characters of the name of a suite, agent or scorer."""

SCENARIO_NAME_MAX = 60

FINDINGS_MAX = 10
"""The most patterns listed for one scenario; for the others, only their number."""

MARKS = {"passed": "\u2705", "worse": "\u274c", "unusable": "\u26a0\ufe0f"}


def markdown(report: EvaluationReport) -> str:
    """Return the comment, at most COMMENT_MAX characters."""
    comment, run, contrast = SizedMarkdown(), report.evaluation, report.contrast
    comment.add(f"### {_headline(report)}")
    comment.add(_summary(run, contrast))
    if report.judgement is not None:
        for text in gate_lines(report.judgement):
            comment.add(text)
    if contrast is not None:
        _add_regressed(comment, contrast)
    _add_errors(comment, run.results)
    if contrast is not None:
        _add_other_changes(comment, contrast)
    else:
        _add_failing(comment, by_urgency(report))
    _add_scenarios(comment, report)
    return comment.text()


def _headline(report: EvaluationReport) -> str:
    run, contrast, judgement = report.evaluation, report.contrast, report.judgement
    suite = code_span(run.suite, NAME_MAX)
    if contrast is not None and judgement is not None:
        return f"{MARKS[judgement.verdict]} {suite}: {verdict_sentence(judgement, contrast)}"
    if contrast is not None:
        return f"{suite}: {pluralize(contrast.regressions, 'regression')}"
    return f"{suite}: {run.stable} of {pluralize(run.scenarios, 'scenario')} passed"


def _summary(run: EvaluationSummary, contrast: RunComparison | None) -> str:
    """Return a table of figures, a column for each run."""
    runs = [contrast.baseline, run] if contrast is not None else [run]
    rows = {
        "run": [code_cell(head.run_id) for head in runs],
        "agent": [_agent(head) for head in runs],
        "ended": [minute_utc(head.finished_at) if head.ended else "not ended" for head in runs],
        "mean": [f"{points(head.mean)}{bracketed(point_interval(head.mean_interval))}" for head in runs],
        "pass rate": [f"{rate(head.pass_rate)}{bracketed(rate_interval(head.pass_interval))}" for head in runs],
        "scenarios": [verdict_counts(head) for head in runs],
        "errors": [f"{head.errors:,}" for head in runs],
        "took": [seconds(head.elapsed_ns) for head in runs],
        **_used(runs),
        "scorer": [code_cell(scorer_name(head) or DASH, NAME_MAX) for head in runs],
    }
    titles = "|||\n|-|-|" if contrast is None else "||baseline|candidate|\n|-|-|-|"
    table = "\n".join([titles, *(f"|{name}|{'|'.join(cells)}|" for name, cells in rows.items())])
    return table if contrast is None else f"{table}\n\n{_difference(contrast)}"


def _used(runs: Sequence[EvaluationSummary]) -> dict[str, list[str]]:
    """Return the rows of tokens, cost and latency that some run states."""
    figures = [head.usage for head in runs]
    costs = {
        "cost": [f"{cost_total(usage)}, {median_cost(usage)} at the median" for usage in figures],
        "tokens": [
            DASH if usage is None else f"{token_total(usage.input_tokens)} in, {token_total(usage.output_tokens)} out"
            for usage in figures
        ],
    }
    latency = [f"{median_latency(usage)} at the median, {p95_latency(usage)} at 95%" for usage in figures]
    timed = any(usage is not None and usage.elapsed_ns is not None for usage in figures)
    return (costs if has_costs(figures) else {}) | ({"latency": latency} if timed else {})


def _agent(head: EvaluationSummary) -> str:
    name = agent_name(head)
    cell = code_cell(name, NAME_MAX) if name == head.agent else name
    if head.agent_version is None:
        return cell
    return f"{cell} {code_cell(head.agent_version, NAME_MAX)}"


def _difference(contrast: RunComparison) -> str:
    if not contrast.scenarios:
        return "No scenario is comparable."
    pairs = f"{pluralize(contrast.pairs, 'pair')} of attempts"
    over = f"over {pluralize(contrast.scenarios, 'comparable scenario')}, {pairs}"
    test = contrast.mcnemar
    passes = f"{test.passed_to_failed} passed only before, {test.failed_to_passed} only now"
    p = "" if test.p is None else f" (exact test over scenarios, p = {test.p:.3f})"
    interval = bracketed(point_interval(contrast.difference_interval, "+"))
    return f"Points {points(contrast.difference, '+')}{interval} {over}; {passes}{p}."


def _add_regressed(comment: SizedMarkdown, contrast: RunComparison) -> None:
    """Add the regressions, and the patterns that used to match."""
    rows = [_change_row(change) for change in contrast.regressed]
    rows += [f"|{_name_cell(change)}|{points(change.before)}|missing|||" for change in contrast.missing]
    head = ("scenario", "before", "now", "change", "attempts passed")
    comment.table("Regressed", head, rows, "regressed scenario")
    for change in (*contrast.regressed, *contrast.missing):
        if patterns := lost_patterns(change):
            reason = f"Error: {code_span(change.reason, TEXT_MAX)}\n\n" if change.reason else ""
            title = f"{_title(change)}: patterns that used to match"
            comment.add(folded(title, reason + _list_findings(patterns, _describe_lost)), "breakdown")


def _change_row(change: ScenarioChange) -> str:
    passes = f"{change.passed_before} of {change.attempts}, now {change.passed_after}"
    figures = (points(change.before), points(change.after), points(change.difference, "+"), passes)
    return f"|{_name_cell(change)}|{'|'.join(figures)}|"


def _name_cell(scenario: ScenarioChange | ScenarioResult) -> str:
    cell = code_cell(scenario.scenario_id)
    if scenario.name is None or scenario.name == scenario.scenario_id:
        return cell
    return f"{cell} {code_cell(scenario.name, SCENARIO_NAME_MAX)}"


def _title(scenario: ScenarioChange | ScenarioResult) -> str:
    """Return the id of a scenario as HTML, for a title."""
    return f"<code>{escape_html(one_line(scenario.scenario_id))}</code>"


def _describe_lost(finding: PatternFinding) -> str:
    pattern = f"{code_span(finding.pattern, TEXT_MAX)} ({finding.match_type}, {code_span(finding.expectation)})"
    where = f" in {code_span(finding.where)}" if finding.where else ""
    text = f": {code_span(finding.text, TEXT_MAX)}" if finding.text else ""
    return f"{pattern} {'is forbidden, and found now' if is_forbidden(finding) else 'matched'}{where}{text}"


def _describe_missed(finding: PatternFinding) -> str:
    pattern = f"{code_span(finding.pattern, TEXT_MAX)} ({finding.match_type}, {code_span(finding.expectation)})"
    if not is_forbidden(finding):
        return f"{pattern} not found"
    return f"{pattern} is forbidden{f': {code_span(finding.text, TEXT_MAX)}' if finding.text else ''}"


def _list_findings(findings: Sequence[PatternFinding], describe: Callable[[PatternFinding], str]) -> str:
    rows = [f"- {describe(finding)}" for finding in findings[:FINDINGS_MAX]]
    if len(findings) > FINDINGS_MAX:
        rows.append(f"- and {pluralize(len(findings) - FINDINGS_MAX, 'pattern')} more")
    return "\n".join(rows)


def _add_errors(comment: SizedMarkdown, results: Iterable[ScenarioResult]) -> None:
    """Add the errors, with the last lines of output of each."""
    failed = [(result, row) for result in results for row in result.rows if row.state == "error"]
    rows = (
        f"|{_name_cell(result)}|{row.attempt}|{row.failure or 'error'}|{code_cell(row.detail or DASH, TEXT_MAX)}|"
        for result, row in failed
    )
    comment.table("Errors", ("scenario", "attempt", "what", "why"), rows, "error")
    for result, row in failed:
        if row.said:
            title = f"{_title(result)}, attempt {row.attempt}: last lines of output"
            comment.add(folded(title, code_block(row.said[-OUTPUT_MAX:])), "last message")


def _add_other_changes(comment: SizedMarkdown, contrast: RunComparison) -> None:
    """Add the scenarios that are not comparable, and the changes that are not regressions."""
    rows = [
        f"|{_name_cell(change)}|{code_cell(change.reason or DASH, TEXT_MAX)}|" for change in contrast.not_comparable
    ]
    comment.table("Not comparable", ("scenario", "because"), rows, "incomparable scenario")
    head = ("scenario", "before", "now", "change", "attempts passed")
    for title, changes in (("Fewer points, as many passes", contrast.lower), ("Improved", contrast.improved)):
        comment.table(f"{title} ({len(changes)})", head, map(_change_row, changes), "scenario", fold=True)
    rows = [f"|{_name_cell(change)}|{points(change.after)}|" for change in contrast.added]
    comment.table(f"New ({len(rows)})", ("scenario", "points"), rows, "new scenario", fold=True)


def _add_failing(comment: SizedMarkdown, results: Iterable[ScenarioResult]) -> None:
    """Add the failing scenarios, with the patterns that cost points."""
    for result in results:
        missed = [finding for row in result.rows if row.passed is False for finding in failed_patterns(row)]
        if missed:
            distinct = list({(finding.expectation, finding.pattern): finding for finding in missed}.values())
            title = f"{_title(result)}: {points(result.mean)} points, {result.passed} of {result.measured} passed"
            comment.add(folded(title, _list_findings(distinct, _describe_missed)), "breakdown")


def _add_scenarios(comment: SizedMarkdown, report: EvaluationReport) -> None:
    moved = changes_by_scenario(report.contrast)
    costs = has_costs(result.usage for result in report.evaluation.results)

    def row(result: ScenarioResult) -> str:
        change = moved.get(result.scenario_id)
        passes = f"{result.passed} of {result.measured}"
        cells = [result.verdict, points(result.mean), passes]
        if report.contrast is not None:
            cells.append(DASH if change is None else points(change.difference, "+"))
        if costs:
            model, *figures = scenario_cells(result)
            cells += [DASH if model == DASH else code_cell(model, NAME_MAX), *figures]
        return f"|{_name_cell(result)}|{'|'.join(cells)}|"

    head = ["scenario", "verdict", "points", "attempts passed"] + (["change"] if report.contrast is not None else [])
    head += SCENARIO_USAGE_COLUMNS if costs else ()
    rows = [row(result) for result in by_urgency(report)]
    comment.table(f"All scenarios ({len(rows)})", head, rows, "scenario", fold=True)
