"""The gate of an evaluation, and its reports as HTML, Markdown and JUnit XML. Only `files` reads and writes files."""

from api.reports.gate import (
    FlakyScenario,
    GateLimits,
    GateResult,
    judge,
    verdict_sentence,
)
from api.reports.html.report_page import html_page
from api.reports.junit import junit
from api.reports.markdown import markdown
from api.reports.report import EvaluationReport
from api.reports.report_files import ReportFiles

__all__ = [
    "EvaluationReport",
    "FlakyScenario",
    "GateLimits",
    "GateResult",
    "ReportFiles",
    "html_page",
    "judge",
    "junit",
    "markdown",
    "verdict_sentence",
]
