"""A score in plain lines: its parts, and what became of each pattern."""

from collections.abc import Iterator

from api.reports.escape import line
from api.reports.excerpt import Excerpt, excerpts
from api.reports.format import points
from api.reports.report import COMPONENTS, unwanted
from events.evaluation import Component, PatternFinding
from projections.evaluation.view_types import ScoreRow


def breakdown(row: ScoreRow) -> Iterator[str]:
    """A score part by part, each pattern with what matched where, a line each."""
    found = excerpts(row)
    for component in row.components:
        yield _component(component)
        for finding in component.findings:
            yield f"  {_finding(finding, found(finding))}"


def _component(component: Component) -> str:
    name = COMPONENTS[component.name]
    if not component.applicable:
        return f"{name}: nothing is expected of it"
    verdict = "" if component.passed is None else ", passed" if component.passed else ", not passed"
    weight = "" if component.weight is None else f", weight {component.weight:.2f}"
    mark = "" if component.mark is None else f", mark {points(component.mark)}"
    return f"{name}: {points(component.score)}{mark}{weight}{verdict}"


def _finding(finding: PatternFinding, found: Excerpt | None) -> str:
    bad = finding.matched == unwanted(finding)
    said = ("said, and must not be" if bad else "found") if finding.matched else ("not found" if bad else "not said")
    pattern = f"{said}: {line(finding.pattern)} ({finding.match_type}, {line(finding.expectation)})"
    where = f" in {line(finding.where)}" if finding.where else ""
    text = f": {line(''.join(found))}" if found is not None else ""
    note = f" [{line(finding.note)}]" if finding.note else ""
    return f"{'-' if bad else '+'} {pattern}{where}{text}{note}"


def lost(finding: PatternFinding) -> str:
    """A pattern that a scenario lost points by since, with what it matched."""
    said = "must not be said, and is now" if unwanted(finding) else "used to match"
    where = f" in {line(finding.where)}" if finding.where else ""
    text = f": {line(finding.text)}" if finding.text else ""
    return f"{said}: {line(finding.pattern)} ({finding.match_type}, {line(finding.expectation)}){where}{text}"
