"""The trend of calibration: scores of reviewed decisions in rolling windows of time."""

from datetime import UTC, datetime
from typing import Final

import numpy as np

from ledger.clock import microseconds, moment_of
from projections.arrays import Floats, Ints
from projections.calibration.change_point import gap_with_interval
from projections.calibration.words import TREND_DAYS
from tallystick.shapes.history import Trend, Window

WINDOWS_MAX = 120
"""Most windows in a trend. A longer history has larger steps."""

_DAY_US: Final = 86_400_000_000
_STEPS_PER_WINDOW: Final = 3
_LAST_US: Final = microseconds(datetime.max.replace(tzinfo=UTC))


def compute_trend(confidence: Floats, outcome: Floats, time_us: Ints, days: int = TREND_DAYS) -> Trend:
    """Compute the rolling windows of reviewed decisions, which are in order of time.

    The step is a third of a window, or larger if there would be more than WINDOWS_MAX windows. The first window begins
    at the first decision; no window begins after the one that first contains the last decision.
    Shapes: one entry per decision. Units: microseconds since 1970 UTC.
    """
    length, step = days * _DAY_US, days * _DAY_US // _STEPS_PER_WINDOW
    if not len(time_us):
        return Trend(days=days, step_days=step / _DAY_US, windows=())
    first, last = int(time_us[0]), int(time_us[-1])
    uncovered_us = max(0, last - first - length + 1)
    step = max(step, -(-uncovered_us // (WINDOWS_MAX - 1)))
    since = first + step * np.arange(-(-uncovered_us // step) + 1, dtype=np.int64)
    starts, ends = np.searchsorted(time_us, since), np.searchsorted(time_us, since + length)
    n = ends - starts
    loss = confidence - outcome
    np.square(loss, out=loss)
    sums = (_window_sums(values, starts, ends).tolist() for values in (outcome, confidence, loss))
    windows = tuple(
        _window(moment_of(begin), moment_of(min(begin + length, _LAST_US)), reviewed, *window_sums)
        for begin, reviewed, *window_sums in zip(since.tolist(), n.tolist(), *sums, strict=True)
    )
    return Trend(days=days, step_days=step / _DAY_US, windows=windows)


def _window_sums(values: Floats, starts: Ints, ends: Ints) -> Floats:
    """Return the sum of values[start:end] for each start and end."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums[ends] - sums[starts]


def _window(since: datetime, until: datetime, n: int, outcomes: float, confidences: float, losses: float) -> Window:
    """Return a window, given the sums of outcomes, of stated confidences and of losses of its `n` decisions."""
    if n == 0:
        return Window(since=since, until=until, reviewed=0)
    gap, interval = gap_with_interval(outcomes, confidences, n)
    return Window(
        since=since,
        until=until,
        reviewed=n,
        brier_score=losses / n,
        accuracy=outcomes / n,
        mean_confidence=confidences / n,
        gap=gap,
        gap_interval=interval,
    )
