"""Format a score as text lines: its parts, and the result of each pattern."""

from collections.abc import Iterator

from api.reports.escape import one_line
from api.reports.format import points
from api.reports.match_excerpt import Excerpt, excerpt_finder
from api.reports.report import component_title, is_forbidden
from events.evaluation import Component, PatternFinding
from events.judge import CriterionVerdict
from projections.evaluation.view_types import ScoreRow


def score_lines(row: ScoreRow) -> Iterator[str]:
    """Yield a line for each part of a score and for each pattern, with the text that it matched."""
    find_excerpt = excerpt_finder(row)
    for component in row.components:
        yield _component(component)
        if component.verdict is not None:
            yield f"  {verdict_line(component.verdict)}"
        for finding in component.findings:
            yield f"  {_finding(finding, find_excerpt(finding))}"


def verdict_line(verdict: CriterionVerdict) -> str:
    """Format the verdict of a judge: how sure it is, its votes, and the first reason with what it quotes."""
    votes = [vote for vote in verdict.votes if vote.passed is verdict.passed]
    counted = f", {len(votes)} of {len(verdict.votes)} votes" if len(verdict.votes) > 1 else ""
    result = f"{'+' if verdict.passed else '-'} judged {'met' if verdict.passed else 'not met'}"
    quote = f" ({one_line(votes[0].quote)!r})" if votes and votes[0].quote is not None else ""
    reason = f": {one_line(votes[0].reason)}{quote}" if votes else ""
    return f"{result} ({verdict.confidence:.0%} sure{counted}){reason}"


def _component(component: Component) -> str:
    name = component_title(component.name)
    if not component.applicable:
        return f"{name}: not scored, the scenario expects nothing here"
    verdict = {None: "", True: ", passed", False: ", not passed"}[component.passed]
    weight = "" if component.weight is None else f", weight {component.weight:.2f}"
    mark = "" if component.mark is None else f", mark {points(component.mark)}"
    return f"{name}: {points(component.score)}{mark}{weight}{verdict}"


def _finding(finding: PatternFinding, excerpt: Excerpt | None) -> str:
    bad = finding.matched == is_forbidden(finding)
    if is_forbidden(finding):
        result = "forbidden, but found" if finding.matched else "forbidden, and not found"
    else:
        result = "found" if finding.matched else "not found"
    pattern = f"{result}: {one_line(finding.pattern)} ({finding.match_type}, {one_line(finding.expectation)})"
    where = f" in {one_line(finding.where)}" if finding.where else ""
    text = f": {one_line(''.join(excerpt))}" if excerpt is not None else ""
    note = f" [{one_line(finding.note)}]" if finding.note else ""
    return f"{'-' if bad else '+'} {pattern}{where}{text}{note}"


def lost_pattern_line(finding: PatternFinding) -> str:
    """Format a pattern that costs a scenario points now but did not before, with the text that it matched."""
    result = "forbidden, but found now" if is_forbidden(finding) else "used to match"
    where = f" in {one_line(finding.where)}" if finding.where else ""
    text = f": {one_line(finding.text)}" if finding.text else ""
    return f"{result}: {one_line(finding.pattern)} ({finding.match_type}, {one_line(finding.expectation)}){where}{text}"
