"""Parse values that more than one importer reads from text: agents, ids, times, numbers."""

import re
from datetime import datetime

from api.parameters import parse_instant
from events.agent_name import is_valid_agent
from events.limits import STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN, STREAM_ID_SHAPE
from ledger.errors import InvalidQuery

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

_stream_id = re.compile(STREAM_ID_PATTERN)


class InvalidValue(Exception):
    """A value that its field cannot have. The text says what is allowed."""


def parse_agent(text: str) -> str:
    """Return a valid agent name. Errors: InvalidValue."""
    if not is_valid_agent(text):
        raise InvalidValue("1..64 letters, digits and ._:@/+-, beginning with a letter or digit")
    return text


def parse_stream_id(text: str) -> str:
    """Return a text that can be the id of a stream. Errors: InvalidValue."""
    if len(text) > STREAM_ID_CHARS_MAX or _stream_id.fullmatch(text) is None:
        raise InvalidValue(STREAM_ID_SHAPE)
    return text


def parse_time(text: str) -> datetime:
    """Parse a time; without an offset it is UTC, a date alone is midnight. Errors: InvalidValue."""
    try:
        return parse_instant("time", text)
    except InvalidQuery:
        raise InvalidValue("a date or an RFC 3339 time (2026-02-05, 2026-02-05T14:30:00Z)") from None


def check_unicode(text: str) -> str:
    """Return a text without lone surrogates, which UTF-8 cannot encode. Errors: InvalidValue."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidValue("Unicode text, without half of a surrogate pair") from None
    return text
