"""Figures in words, as every report writes them: points of 100 to one decimal, rates in percent, times in seconds."""

from datetime import datetime

from projections.stats.intervals import Interval

DASH = "-"


def points(value: float | None, sign: str = "") -> str:
    """Points to one decimal; a dash where there are none."""
    return DASH if value is None else f"{_rounded(value, 1):{sign}.1f}"


def against(value: float | None, mark: float | None) -> str:
    """Points that are told with what they were to reach: those below it never read as if they had reached it."""
    if value is None or mark is None or value >= mark:
        return points(value)
    return next((told for decimals in range(1, 7) if float(told := f"{value:.{decimals}f}") < mark), repr(value))


def between(interval: Interval | None, sign: str = "") -> str:
    """Both ends of an interval of points; nothing where there is none."""
    return "" if interval is None else f"{points(interval.low, sign)} to {points(interval.high, sign)}"


def rate(value: float | None) -> str:
    """A rate in whole percent. What is neither none nor all never reads as either."""
    if value is None:
        return DASH
    return "< 1%" if 0 < value < 0.005 else "> 99%" if 0.995 <= value < 1 else f"{value:.0%}"


def rates(interval: Interval | None) -> str:
    """Both ends of an interval of rates; nothing where there is none."""
    return "" if interval is None else f"{rate(interval.low)} to {rate(interval.high)}"


def bracketed(text: str) -> str:
    """` (text)`, or nothing."""
    return f" ({text})" if text else ""


def seconds(elapsed_ns: int | None) -> str:
    """A time that passed: milliseconds below a second, minutes from 100 seconds on."""
    if elapsed_ns is None:
        return DASH
    elapsed_s = elapsed_ns / 1e9
    if elapsed_s < 1:
        return f"{elapsed_s * 1000:.0f} ms"
    return f"{elapsed_s:.1f} s" if elapsed_s < 100 else f"{int(elapsed_s) // 60} min {int(elapsed_s) % 60} s"


def moment(when: datetime | None) -> str:
    """A time to the minute, UTC."""
    return DASH if when is None else f"{when:%Y-%m-%d %H:%M} UTC"


def counted(number: int, noun: str) -> str:
    """`1 scenario`, `2,000 scenarios`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _rounded(value: float, decimals: int) -> float:
    """Rounded, and never `-0`."""
    return round(value, decimals) + 0.0
