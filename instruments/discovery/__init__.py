"""Discovery: asking again and again who answers, until somebody does so twice."""

from instruments.discovery.analyze import ResponseAnalysis, analyze
from instruments.discovery.attempt_events import digest_of
from instruments.discovery.progress import complete, told
from instruments.discovery.prompts import PROMPT_VERSION, exclusion, prompt
from instruments.discovery.session import Prompt, Session

__all__ = [
    "PROMPT_VERSION",
    "Prompt",
    "ResponseAnalysis",
    "Session",
    "analyze",
    "complete",
    "digest_of",
    "exclusion",
    "prompt",
    "told",
]
