"""Write an evaluation as JUnit XML for CI servers: a test case for each attempt at each scenario.

The shape is common to the schemas of Surefire and Jenkins: `properties` before the cases, a type for every failure and
error, times in seconds.
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from api.reports.escape import one_line, visible
from api.reports.format import points, points_below
from api.reports.gate import GateResult
from api.reports.report import (
    EvaluationReport,
    agent_name,
    failed_patterns,
    is_forbidden,
    scorer_name,
)
from api.reports.score_text import score_lines
from projections.evaluation.usage_figures import UsageFigures
from projections.evaluation.view_types import Evaluation, ScenarioResult, ScoreRow

MESSAGE_CHARS_MAX = 500
"""Characters of a message; the body contains the full text."""


def junit(report: EvaluationReport) -> str:
    """Return the XML. It is well-formed for any text in an answer."""
    run = report.evaluation
    counts = {
        "tests": str(run.passed + run.failed + run.errors + run.skipped),
        "failures": str(run.failed),
        "errors": str(run.errors),
        "skipped": str(run.skipped),
        "time": _seconds(_elapsed(run)),
    }
    name = one_line(run.suite)
    root = Element("testsuites", {key: value for key, value in counts.items() if key != "skipped"} | {"name": name})
    suite = SubElement(root, "testsuite", {"name": name, "timestamp": f"{run.started_at:%Y-%m-%dT%H:%M:%S}"} | counts)
    properties = SubElement(suite, "properties")
    for key, value in _properties(report):
        SubElement(properties, "property", name=one_line(key), value=one_line(value))
    for result in run.results:
        for row in result.rows:
            _case(suite, run, result, row)
    indent(root)
    return f"<?xml version='1.0' encoding='utf-8'?>\n{tostring(root, encoding='unicode')}\n"


def _properties(report: EvaluationReport) -> Iterator[tuple[str, str]]:
    run = report.evaluation
    properties = {
        "run": run.run_id,
        "agent": agent_name(run),
        "agent_version": run.agent_version,
        "scorer": scorer_name(run),
        "suite_digest": run.suite_digest,
        "selection": run.selection,
        "mean": None if run.mean is None else points(run.mean),
        "baseline_run": report.contrast.baseline.run_id if report.contrast else None,
        "regressions": str(report.contrast.regressions) if report.contrast else None,
        "judgement": report.judgement.verdict if report.judgement else None,
        **_usage_properties(run.usage),
        **_test_properties(report.judgement),
        **{f"meta.{name}": text for name, text in (run.meta or {}).items()},
    }
    return ((key, value) for key, value in properties.items() if value is not None)


def _usage_properties(usage: UsageFigures | None) -> dict[str, str]:
    """Return the totals of tokens and cost, and the latency in seconds, of those that are known."""
    if usage is None:
        return {}
    totals = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost_usd": usage.cost_usd}
    texts = {name: f"{quantity.total:.12g}" for name, quantity in totals.items() if quantity is not None}
    latency = usage.elapsed_ns
    if latency is not None and latency.median is not None and latency.p95 is not None:
        texts |= {"latency_median_s": f"{latency.median / 1e9:.3f}", "latency_p95_s": f"{latency.p95 / 1e9:.3f}"}
    return texts


def _test_properties(judgement: GateResult | None) -> dict[str, str]:
    if judgement is None or judgement.test is None:
        return {}
    test = judgement.test
    needed = f"more than {test.attempts_tried}" if test.attempts_needed is None else str(test.attempts_needed)
    figures = {"p": test.p, "alpha": test.alpha, "level": test.level, "power": test.power, "drop": test.drop}
    texts = {name: f"{value:.4g}" for name, value in figures.items()}
    return {"rule": judgement.rule, **texts, "attempts_needed": needed}


def _elapsed(run: Evaluation) -> int:
    """Return the elapsed time of the run, or the sum over its answers if the run has none."""
    if run.elapsed_ns is not None:
        return run.elapsed_ns
    return sum(row.elapsed_ns or 0 for result in run.results for row in result.rows)


def _seconds(elapsed_ns: int) -> str:
    return f"{elapsed_ns / 1e9:.3f}"


def _case(suite: Element, run: Evaluation, result: ScenarioResult, row: ScoreRow) -> None:
    several = len(result.rows) > 1
    name = one_line(result.scenario_id) + (f", attempt {row.attempt}" if several else "")
    seconds = _seconds(row.elapsed_ns or 0)
    case = SubElement(suite, "testcase", name=name, classname=one_line(run.suite), time=seconds)
    if row.state == "skipped":
        SubElement(case, "skipped", message=one_line(row.detail or "skipped", MESSAGE_CHARS_MAX))
    elif row.state == "error":
        failure = row.failure or "error"
        texts = [visible(text) for text in (row.detail, row.said) if text]
        error = SubElement(case, "error", type=failure, message=one_line(row.detail or failure, MESSAGE_CHARS_MAX))
        error.text = "\n".join(texts) or failure
    elif not row.passed:
        total = f"{points_below(row.total_score, row.pass_threshold)} points, {points(row.pass_threshold)} needed"
        failed = SubElement(case, "failure", type="score", message=one_line(_message(total, row), MESSAGE_CHARS_MAX))
        failed.text = "\n".join([total, *score_lines(row)])


def _message(total: str, row: ScoreRow) -> str:
    failed = (f"{'said ' if is_forbidden(each) else 'not found: '}{each.pattern}" for each in failed_patterns(row))
    return "; ".join([total, *failed])
