"""Discovery: ask a router which model answers, again and again, until a model repeats."""

from instruments.discovery.answer_analysis import ResponseAnalysis, analyze
from instruments.discovery.progress import render_events, render_summary
from instruments.discovery.prompts import PROMPT_VERSION, build_exclusion, build_prompt
from instruments.discovery.session import Prompt, Session

__all__ = [
    "PROMPT_VERSION",
    "Prompt",
    "ResponseAnalysis",
    "Session",
    "analyze",
    "build_exclusion",
    "build_prompt",
    "render_events",
    "render_summary",
]
