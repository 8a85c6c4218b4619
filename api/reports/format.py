"""Format figures for all reports: points (0 to 100) with one decimal, rates in percent, durations and times."""

from collections.abc import Sequence
from datetime import datetime
from math import floor, log10

from projections.evaluation.view_types import EvaluationSummary, PassOfK
from tallystick.shapes.parts import Interval

DASH = "-"

_DECIMALS_MAX = 12


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


def pass_of(figures: Sequence[PassOfK]) -> str | None:
    """Format pass^k and pass@k of the largest k; None without any."""
    if not figures:
        return None
    last = figures[-1]
    return f"pass^{last.k} {rate(last.all)}, pass@{last.k} {rate(last.any)}"


def rate_interval(interval: Interval | None) -> str:
    """Format both ends of an interval of rates; an empty text for None."""
    return "" if interval is None else f"{rate(interval.low)} to {rate(interval.high)}"


def gap(value: float | None) -> str:
    """Format a gap with its sign and two decimals; 0 has no sign."""
    if value is None:
        return DASH
    rounded = round(value, 2)
    return f"{rounded:+.2f}" if rounded else "0.00"


def gap_interval(interval: Interval | None) -> str:
    """Format both ends of an interval of gaps; an empty text for None."""
    return "" if interval is None else f"{gap(interval.low)} to {gap(interval.high)}"


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


def verdict_counts(head: EvaluationSummary) -> str:
    """Return how many scenarios of a run are stable, flaky, failing and in error."""
    counts = {"stable": head.stable, "flaky": head.flaky, "failing": head.failing, "in error": head.broken}
    return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number) or "none scored"


def usd(value: float | None) -> str:
    """Format US dollars with three digits, and at least two decimals; a dash for None."""
    if value is None:
        return DASH
    decimals = 2 if value == 0 or value >= 1 else min(_DECIMALS_MAX, 2 - floor(log10(value)))
    whole, _, rest = f"{value:,.{decimals}f}".partition(".")
    return f"${whole}.{rest.rstrip('0').ljust(2, '0')}"


def whole_number(value: float | None) -> str:
    """Format a number of tokens, rounded to a whole number; a dash for None."""
    return DASH if value is None else f"{round(value):,}"


def minute_utc(when: datetime | None) -> str:
    """Format a time in UTC, to the minute; a dash for None."""
    return DASH if when is None else f"{when:%Y-%m-%d %H:%M} UTC"


def _rounded(value: float, decimals: int) -> float:
    """Round, and never return `-0`."""
    return round(value, decimals) + 0.0
