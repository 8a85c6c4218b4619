"""Format counts, figures, times, texts and JSON for several interfaces."""

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tallystick.shapes.parts import Interval

SMALLEST_P = 0.001
"""P-values below this one are printed as `< 0.001`."""

FIGURE_DECIMALS_MAX = 9
"""A figure below 1 gets up to so many decimals, so that it does not look like 1."""


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


def format_rate(speed: float | None, unit: str) -> str:
    """Return a rate per second, or per minute if it is below one per second; nothing if it is unknown."""
    if not speed:
        return ""
    return f"{speed:,.0f} {unit}/s" if speed >= 1 else f"{speed * 60:,.1f} {unit}/min"


def format_figure(value: float | None, sign: str = "") -> str:
    """Return a number with three decimals, or a dash for None. A zero has no sign, and only 1 is 1.000."""
    if value is None:
        return "-"
    decimals = 3
    while decimals < FIGURE_DECIMALS_MAX and value < 1 - 10**-FIGURE_DECIMALS_MAX and round(value, decimals) >= 1:
        decimals += 1
    rounded = round(value, decimals)
    return f"{rounded:{sign}.{decimals}f}" if rounded else f"{0:.{decimals}f}"


def format_interval(interval: "Interval | None", sign: str = "") -> str:
    """Return both ends of an interval, or a dash for None."""
    return "-" if interval is None else f"{format_figure(interval.low, sign)} to {format_figure(interval.high, sign)}"


def format_odds(e_value: float) -> str:
    """Return an e-value as odds: `0.7 to 1`, `56 to 1`, or `more than a million to 1`."""
    if e_value >= 1e6:
        return "more than a million to 1"
    if e_value < 0.1:
        return "less than 0.1 to 1"
    return f"{e_value:,.0f} to 1" if e_value >= 9.95 else f"{e_value:.1f} to 1"


def format_p(p: float) -> str:
    """Return a p-value with its relation: `= 0.042` or `< 0.001`."""
    return f"< {SMALLEST_P:g}" if p < SMALLEST_P else f"= {format_figure(p)}"
