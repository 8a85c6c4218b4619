"""What came of evaluations, for people and for machines: the gate, and reports as pure functions."""

from api.judgement.files import Files
from api.judgement.gate import Judgement, Limits, judge, sentence
from api.judgement.junit import junit
from api.judgement.markdown import markdown
from api.judgement.page import page
from api.judgement.report import Report

__all__ = ["Files", "Judgement", "Limits", "Report", "judge", "junit", "markdown", "page", "sentence"]
