"""Format figures for all reports: points of 100 to one decimal, rates in percent, times in seconds."""

from datetime import datetime

from projections.stats.intervals import Interval

DASH = "-"


def points(value: float | None, sign: str = "") -> str:
    """Format points to one decimal; a dash for None."""
    return DASH if value is None else f"{_rounded(value, 1):{sign}.1f}"


def points_below(value: float | None, mark: float | None) -> str:
    """Format points beside their threshold, with enough decimals to show that they are below it."""
    if value is None or mark is None or value >= mark:
        return points(value)
    return next((text for decimals in range(1, 7) if float(text := f"{value:.{decimals}f}") < mark), repr(value))


def point_interval(interval: Interval | None, sign: str = "") -> str:
    """Format both ends of an interval of points; an empty text for None."""
    return "" if interval is None else f"{points(interval.low, sign)} to {points(interval.high, sign)}"


def rate(value: float | None) -> str:
    """Format a rate in whole percent; only 0 and 1 are shown as 0% and 100%."""
    if value is None:
        return DASH
    return "< 1%" if 0 < value < 0.005 else "> 99%" if 0.995 <= value < 1 else f"{value:.0%}"


def rate_interval(interval: Interval | None) -> str:
    """Format both ends of an interval of rates; an empty text for None."""
    return "" if interval is None else f"{rate(interval.low)} to {rate(interval.high)}"


def bracketed(text: str) -> str:
    """Return ` (text)`, or an empty text."""
    return f" ({text})" if text else ""


def seconds(elapsed_ns: int | None) -> str:
    """Format a duration: milliseconds below 1 s, minutes from 100 s on."""
    if elapsed_ns is None:
        return DASH
    elapsed_s = elapsed_ns / 1e9
    if elapsed_s < 1:
        return f"{elapsed_s * 1000:.0f} ms"
    return f"{elapsed_s:.1f} s" if elapsed_s < 100 else f"{int(elapsed_s) // 60} min {int(elapsed_s) % 60} s"


def minute_utc(when: datetime | None) -> str:
    """Format a time to the minute, UTC."""
    return DASH if when is None else f"{when:%Y-%m-%d %H:%M} UTC"


def count_noun(number: int, noun: str) -> str:
    """Return `1 scenario`, `2,000 scenarios`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _rounded(value: float, decimals: int) -> float:
    """Round, and never return `-0`."""
    return round(value, decimals) + 0.0
