"""The page that a stream is about."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

LOG = "/ui/log"

ABOUT: Mapping[str, str] = {
    "decision": "/ui/decisions/",
    "discovery": "/ui/models/runs/",
    "evaluation": "/ui/evaluations/",
    "scenario": "/ui/evaluations/scenarios/",
}
"""The beginning of the address of the page about a stream, by the stream's kind."""


def subject_address(subject: str) -> str:
    """Return the address of the page that a stream is about; without one, of the stream's events in the log."""
    kind, _, name = subject.partition("/")
    return ABOUT[kind] + quote(name, safe="") if kind in ABOUT else stream_address(subject)


def stream_address(subject: str) -> str:
    """Return the address of the events of a stream in the log."""
    return f"{LOG}?{urlencode({'subject': subject})}"
