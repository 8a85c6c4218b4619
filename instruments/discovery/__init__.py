"""Discovery: asking again and again who answers, until somebody does so twice."""

from instruments.discovery.parse import Analysis, analyze
from instruments.discovery.progress import complete, told
from instruments.discovery.prompts import PROMPT_VERSION, exclusion, prompt
from instruments.discovery.record import digest_of
from instruments.discovery.session import Prompt, Session

__all__ = [
    "PROMPT_VERSION",
    "Analysis",
    "Prompt",
    "Session",
    "analyze",
    "complete",
    "digest_of",
    "exclusion",
    "prompt",
    "told",
]
