"""The page that a stream is about."""

import re
from collections.abc import Mapping
from functools import cache
from urllib.parse import quote, urlencode

from api.http.pages.page_table import PAGES

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
    beginning = ABOUT.get(kind)
    if beginning is None or not _has_page(beginning):
        return stream_address(subject)
    return beginning + quote(name, safe="")


def stream_address(subject: str) -> str:
    """Return the address of the events of a stream in the log."""
    return f"{LOG}?{urlencode({'subject': subject})}"


@cache
def _has_page(beginning: str) -> bool:
    """Return whether there are pages whose address is a beginning and one parameter."""
    pattern = re.compile(rf"{re.escape(beginning)}\{{\w+(:path)?\}}")
    return any(row.method == "GET" and pattern.fullmatch(row.path) for row in PAGES)
