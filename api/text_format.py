"""Format counts, times, texts and JSON for several interfaces."""

from datetime import datetime

import msgspec


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
