"""Discovery: ask a router which model answers, again and again, until a model repeats."""

from instruments.discovery.answer_analysis import NameRules, ResponseAnalysis, analyze
from instruments.discovery.battery import BATTERY_PROMPT_VERSION, make_battery
from instruments.discovery.progress import render_events, render_summary
from instruments.discovery.prompts import PROMPT_VERSION, build_exclusion, build_prompt
from instruments.discovery.session import Prompt, Session

__all__ = [
    "BATTERY_PROMPT_VERSION",
    "PROMPT_VERSION",
    "NameRules",
    "Prompt",
    "ResponseAnalysis",
    "Session",
    "analyze",
    "build_exclusion",
    "build_prompt",
    "make_battery",
    "render_events",
    "render_summary",
]
