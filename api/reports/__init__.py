"""What came of evaluations, for people and for machines: the gate, and reports as pure functions."""

from api.reports.files import ReportFiles
from api.reports.gate import GateLimits, GateResult, judge, sentence
from api.reports.html.report_page import page
from api.reports.junit import junit
from api.reports.markdown import markdown
from api.reports.report import EvaluationReport

__all__ = [
    "EvaluationReport",
    "GateLimits",
    "GateResult",
    "ReportFiles",
    "judge",
    "junit",
    "markdown",
    "page",
    "sentence",
]
