"""Texts that several interfaces print: counts, times, one line of a text, JSON."""

from datetime import datetime

import msgspec


def to_json(value: object) -> bytes:
    """JSON of a view: structs, dates as RFC 3339."""
    return msgspec.json.encode(value)


def count(value: int) -> str:
    """A whole number with its thousands separated."""
    return f"{value:,}"


def many(number: int, noun: str) -> str:
    """`1 event`, `2,000 events`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def moment(when: datetime | None) -> str:
    """A time to the second, UTC."""
    return "-" if when is None else f"{when:%Y-%m-%d %H:%M:%S}"


def one_line(text: str | None) -> str:
    """A text without its line feeds and control characters, which a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text or "-")
