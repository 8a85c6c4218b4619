"""Parameters as text, from a query string or a command line, to what operations take. Errors name the parameter."""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeVar

from events.limits import ITEMS_MAX
from ledger.errors import InvalidQuery
from projections.time_range import TimeRange

WINDOWS = {"30d": 30, "60d": 60, "90d": 90, "all": None}
"""Names of the windows that end now, with their days."""

POSITION_MAX = 2**63 - 2

_offset_lost = re.compile(r" (\d\d:\d\d)$")
_Choice = TypeVar("_Choice", bound=str)


def index_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The parameters of a query string by name. Errors: InvalidQuery, for one that is given twice: which counts?"""
    found: dict[str, str] = {}
    for name, text in pairs:
        if name in found:
            raise InvalidQuery(name, "is given more than once.", "Give it once; several values stand between commas.")
        found[name] = text
    return found


def split_list(name: str, text: str | None) -> tuple[str, ...]:
    """Values separated by commas; none where there is no such parameter. Errors: InvalidQuery."""
    values = tuple(text.split(",")) if text is not None else ()
    if len(values) > ITEMS_MAX:
        raise InvalidQuery(name, f"{len(values)} values are more than {ITEMS_MAX}.", "Ask in several requests.")
    return values


def check_names(given: Collection[str], allowed: Collection[str]) -> None:
    """Errors: InvalidQuery, for a parameter that is not one: a typing error must not look like an empty answer."""
    for name in given:
        if name not in allowed:
            raise InvalidQuery(name, "is not a parameter here.", f"Parameters: {', '.join(sorted(allowed))}.")


def parse_integer(name: str, text: str | None, default: int, low: int, high: int = POSITION_MAX) -> int:
    """A whole number in a range. Errors: InvalidQuery."""
    if text is None:
        return default
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text, re.ASCII) or not low <= int(text) <= high:
        raise InvalidQuery(name, f"{text!r} is not a whole number from {low} to {high}.", "Correct it.")
    return int(text)


def parse_probability(name: str, text: str | None) -> float | None:
    """A number from 0 to 1. Errors: InvalidQuery."""
    if text is None:
        return None
    if re.fullmatch(r"\d{0,20}\.?\d{1,20}(e-?\d{1,3})?", text, re.ASCII | re.IGNORECASE) is None or float(text) > 1:
        raise InvalidQuery(name, f"{text!r} is not a number from 0 to 1.", "Write 0.9 for nine in ten.")
    return float(text)


def parse_choice(name: str, text: str | None, choices: Collection[_Choice], default: _Choice) -> _Choice:
    """One of some words. Errors: InvalidQuery."""
    if text is None:
        return default
    for word in choices:
        if word == text:
            return word
    raise InvalidQuery(name, f"{text!r} is not one of them.", f"Choose of: {', '.join(choices)}.")


def parse_instant(name: str, text: str, *, end: bool = False) -> datetime:
    """An RFC 3339 instant, or a date, which is its first moment or, as an end, its last. No offset means UTC.

    Errors: InvalidQuery.
    """
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
            day = datetime.combine(date.fromisoformat(text), time(), UTC)
            return day + timedelta(days=1, microseconds=-1) if end else day
        moment = datetime.fromisoformat(_offset_lost.sub(r"+\1", text))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        advice = "Write 2026-02-05, or 2026-02-05T14:30:00Z."
        raise InvalidQuery(name, f"{text!r} is neither a date nor an RFC 3339 time.", advice) from None


def parse_time_range(parameters: Mapping[str, str], now: datetime) -> TimeRange:
    """`since` and `until`, or `window`, which counts back from now and beats `since`. Errors: InvalidQuery."""
    since, until = parameters.get("since"), parameters.get("until")
    begin = parse_instant("since", since) if since is not None else None
    end = parse_instant("until", until, end=True) if until is not None else None
    window = parameters.get("window")
    if window is not None:
        if window not in WINDOWS:
            raise InvalidQuery("window", f"{window!r} is not a window.", f"Windows: {', '.join(WINDOWS)}.")
        days = WINDOWS[window]
        begin = now - timedelta(days=days) if days is not None else None
    if begin is not None and end is not None and begin > end:
        if window is not None:
            raise InvalidQuery("window", "begins after until ends.", "It ends now: leave one of them out.")
        raise InvalidQuery("since", "begins after until ends.", "Exchange them.")
    return TimeRange(begin, end)
