"""Format figures for all reports: points (0 to 100) with one decimal, rates in percent, durations and times."""

from datetime import datetime

from projections.stats.intervals import Interval

DASH = "-"


def points(value: float | None, sign: str = "") -> str:
    """Format points with one decimal; a dash for None."""
    return DASH if value is None else f"{_rounded(value, 1):{sign}.1f}"


def points_below(value: float | None, threshold: float | None) -> str:
    """Format points with so many decimals that points below a threshold are seen to be below it."""
    if value is None or threshold is None or value >= threshold:
        return points(value)
    return next((text for decimals in range(1, 7) if float(text := f"{value:.{decimals}f}") < threshold), repr(value))


def point_interval(interval: Interval | None, sign: str = "") -> str:
    """Format both ends of an interval of points; an empty text for None."""
    return "" if interval is None else f"{points(interval.low, sign)} to {points(interval.high, sign)}"


def rate(value: float | None) -> str:
    """Format a rate in whole percent; only 0 and 1 are shown as 0% and 100%."""
    if value is None:
        return DASH
    if 0 < value < 0.005:
        return "< 1%"
    return "> 99%" if 0.995 <= value < 1 else f"{value:.0%}"


def rate_interval(interval: Interval | None) -> str:
    """Format both ends of an interval of rates; an empty text for None."""
    return "" if interval is None else f"{rate(interval.low)} to {rate(interval.high)}"


def bracketed(text: str) -> str:
    """Return a text in brackets, after a space; an empty text stays empty."""
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
    """Format a time in UTC, to the minute; a dash for None."""
    return DASH if when is None else f"{when:%Y-%m-%d %H:%M} UTC"


def count_noun(number: int, noun: str) -> str:
    """Format a number with its noun, as in `1 scenario` and `2,000 scenarios`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _rounded(value: float, decimals: int) -> float:
    """Round, and never return `-0`."""
    return round(value, decimals) + 0.0
