"""An evaluation as JUnit XML, as CI servers read it: a test case for each attempt at each scenario.

The shape is what the schemas of Surefire and of Jenkins have in common: `properties` before the cases, a type for every
failure and error, times in seconds.
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from api.reports.escape import line, visible
from api.reports.format import against, points
from api.reports.report import EvaluationReport, failures, scorer, unwanted, who
from api.reports.score_text import breakdown
from projections.evaluation.view_types import Evaluation, ScenarioResult, ScoreRow

MESSAGE_MAX = 500
"""Characters of a message; the text has it all."""


def junit(report: EvaluationReport) -> str:
    """The XML, well-formed whatever an answer holds."""
    run = report.evaluation
    counts = {
        "tests": str(run.passed + run.failed + run.errors + run.skipped),
        "failures": str(run.failed),
        "errors": str(run.errors),
        "skipped": str(run.skipped),
        "time": _seconds(_elapsed(run)),
    }
    name = line(run.suite)
    root = Element("testsuites", {key: value for key, value in counts.items() if key != "skipped"} | {"name": name})
    suite = SubElement(root, "testsuite", {"name": name, "timestamp": f"{run.started_at:%Y-%m-%dT%H:%M:%S}"} | counts)
    properties = SubElement(suite, "properties")
    for key, value in _properties(report):
        SubElement(properties, "property", name=line(key), value=line(value))
    for result in run.results:
        for row in result.rows:
            _case(suite, run, result, row)
    indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{tostring(root, encoding='unicode')}\n"


def _properties(report: EvaluationReport) -> Iterator[tuple[str, str]]:
    run = report.evaluation
    told = {
        "run": run.run_id,
        "agent": who(run),
        "agent_version": run.agent_version,
        "scorer": scorer(run),
        "suite_digest": run.suite_digest,
        "selection": run.selection,
        "mean": None if run.mean is None else points(run.mean),
        "baseline_run": report.contrast.baseline.run_id if report.contrast else None,
        "regressions": str(report.contrast.regressions) if report.contrast else None,
        "judgement": report.judgement.verdict if report.judgement else None,
        **{f"meta.{name}": text for name, text in (run.meta or {}).items()},
    }
    return ((key, value) for key, value in told.items() if value is not None)


def _elapsed(run: Evaluation) -> int:
    """The time of the run; where it does not say, that of its answers together."""
    if run.elapsed_ns is not None:
        return run.elapsed_ns
    return sum(row.elapsed_ns or 0 for result in run.results for row in result.rows)


def _seconds(elapsed_ns: int) -> str:
    return f"{elapsed_ns / 1e9:.3f}"


def _case(suite: Element, run: Evaluation, result: ScenarioResult, row: ScoreRow) -> None:
    several = len(result.rows) > 1
    name = line(result.scenario_id) + (f", attempt {row.attempt}" if several else "")
    seconds = _seconds(row.elapsed_ns or 0)
    case = SubElement(suite, "testcase", name=name, classname=line(run.suite), time=seconds)
    if row.state == "skipped":
        SubElement(case, "skipped", message=line(row.detail or "skipped", MESSAGE_MAX))
    elif row.state == "error":
        failure = row.failure or "error"
        said = [visible(text) for text in (row.detail, row.said) if text]
        error = SubElement(case, "error", type=failure, message=line(row.detail or failure, MESSAGE_MAX))
        error.text = "\n".join(said) or failure
    elif not row.passed:
        total = f"{against(row.total_score, row.pass_threshold)} points, {points(row.pass_threshold)} needed"
        failed = SubElement(case, "failure", type="score", message=line(_message(total, row), MESSAGE_MAX))
        failed.text = "\n".join([total, *breakdown(row)])


def _message(total: str, row: ScoreRow) -> str:
    missing = (f"{'said ' if unwanted(one) else 'not found: '}{one.pattern}" for one in failures(row))
    return "; ".join([total, *missing])
