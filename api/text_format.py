"""Format counts, times, texts and JSON for several interfaces."""

import re
from datetime import datetime

import msgspec

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Controls of a terminal, and characters that change the direction of the text around them."""

_HIDDEN_IN_JSON = re.compile(b"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
"""The same in UTF-8, without those that JSON always escapes."""


def escape_controls(text: str) -> str:
    """Replace control characters but line feed and tab, and those that change direction, by their codes, as in JSON."""
    return _HIDDEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def escape_json(encoded: bytes) -> bytes:
    """Escape the same characters in the strings of some JSON, by JSON's own rule: its content does not change."""
    return _HIDDEN_IN_JSON.sub(lambda match: b"\\u%04x" % ord(match.group().decode()), encoded)


def to_json(value: object) -> bytes:
    """Encode a view as JSON; times are in RFC 3339."""
    return msgspec.json.encode(value)


def format_count(value: int) -> str:
    """Format a whole number with a comma after the thousands."""
    return f"{value:,}"


def pluralize(number: int, noun: str) -> str:
    """Format a number and its noun: `1 event`, `2,000 events`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_time(time: datetime | None) -> str:
    """Format a time in UTC, to the second; `-` for None."""
    return "-" if time is None else f"{time:%Y-%m-%d %H:%M:%S}"


def one_line(text: str | None) -> str:
    """Replace line feeds and control characters by spaces, since a terminal would execute them; `-` for no text."""
    return "".join(letter if letter.isprintable() else " " for letter in text or "-")
