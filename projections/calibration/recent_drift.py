"""Decline: whether the last 30 days are worse than the 90 before them (CSTP's checkDrift).

A figure has to be worse by more than a threshold, and by more than chance: a permutation test for each of the two, in
the direction of worse, at half of LEVEL, so that an agent that goes on as it did is alarmed in at most LEVEL of checks.
The two windows share no instant: [now - 30 days, now] and [now - 120 days, now - 30 days).
"""

from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

from ledger import microseconds
from projections.arrays import Floats
from projections.calibration.change_point import Drift, detect_change
from projections.calibration.counts import ReviewHistory
from projections.stats.permutation_test import permutation_p_value
from projections.time_range import TimeRange

RECENT = timedelta(days=30)
HISTORICAL = timedelta(days=90)

LEVEL = 0.05
"""The share of checks that alarm where nothing changed, at most."""

BRIER_RISE_MIN = 0.03
ACCURACY_DROP_MIN = 0.05
"""Differences below these are too small to matter, whatever part they are of what was."""

BRIER_BASE_MIN: Final = 0.001
"""A rise is told as a part of this at least, so that one from nothing is a number."""

_TOLERANCE: Final = 1e-9

AlertType = Literal["brier_degradation", "accuracy_drop"]


class DriftWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one window; `until` is within it in the recent one alone."""

    since: datetime
    until: datetime
    reviewed: int
    brier_score: float
    accuracy: float


class DriftAlert(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that is worse by more than its threshold: `change` is the part of what it was, below 0 for a drop.

    `p` is the chance of a change as bad were the decisions of both windows dealt out anew.
    """

    type: AlertType
    recent: float
    historical: float
    change: float
    p: float


class DriftLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of what was that a figure must be worse by, 0 or more; and the reviews each window must have."""

    brier_rise: float = 0.20
    accuracy_drop: float = 0.15
    min_decisions: int = 5


class RecentDrift(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. Both windows are None where one has too few reviews, which `found` counts, the recent first.

    `unsupported` holds changes beyond their threshold that chance may account for. `drift` looks for one change within
    all of the 120 days.
    """

    found: tuple[int, int]
    recent: DriftWindow | None
    historical: DriftWindow | None
    alerts: list[DriftAlert]
    unsupported: list[DriftAlert]
    drift: Drift


def examined_range(now: datetime) -> TimeRange:
    """Both windows."""
    return TimeRange(now - RECENT - HISTORICAL, now)


def compare_windows(history: ReviewHistory, now: datetime, limits: DriftLimits) -> RecentDrift:
    """Compare the windows of decisions made within `examined(now)`."""
    confidence, worth = history.confidence, history.worth
    loss = (confidence - worth) ** 2
    recent = history.time_us >= microseconds(now - RECENT)
    found = int(recent.sum()), int((~recent).sum())
    drift = detect_change(confidence, worth, history.time_us)
    if min(found) < max(1, limits.min_decisions):
        return RecentDrift(found=found, recent=None, historical=None, alerts=[], unsupported=[], drift=drift)
    windows = (
        _span(now - RECENT, now, loss[recent], worth[recent]),
        _span(now - RECENT - HISTORICAL, now - RECENT, loss[~recent], worth[~recent]),
    )
    beyond = []
    rise, drop = _rise(*windows), _drop(*windows)
    if rise is not None and rise > limits.brier_rise + _TOLERANCE:
        p = permutation_p_value(loss[recent], loss[~recent])
        beyond.append(_alert("brier_degradation", windows[0].brier_score, windows[1].brier_score, rise, p))
    if drop is not None and drop > limits.accuracy_drop + _TOLERANCE:
        p = permutation_p_value(-worth[recent], -worth[~recent])
        beyond.append(_alert("accuracy_drop", windows[0].accuracy, windows[1].accuracy, -drop, p))
    return RecentDrift(
        found=found,
        recent=windows[0],
        historical=windows[1],
        alerts=[alert for alert in beyond if alert.p <= LEVEL / 2],
        unsupported=[alert for alert in beyond if alert.p > LEVEL / 2],
        drift=drift,
    )


def _span(since: datetime, until: datetime, loss: Floats, worth: Floats) -> DriftWindow:
    return DriftWindow(
        since=since,
        until=until,
        reviewed=len(loss),
        brier_score=float(loss.mean()),
        accuracy=float(worth.mean()),
    )


def _alert(kind: AlertType, recent: float, historical: float, change: float, p: float) -> DriftAlert:
    return DriftAlert(type=kind, recent=recent, historical=historical, change=change, p=p)


def _rise(recent: DriftWindow, historical: DriftWindow) -> float | None:
    """How much of what it was the Brier score rose by; None where that is too little to matter."""
    rise = recent.brier_score - historical.brier_score
    return rise / max(historical.brier_score, BRIER_BASE_MIN) if rise >= BRIER_RISE_MIN - _TOLERANCE else None


def _drop(recent: DriftWindow, historical: DriftWindow) -> float | None:
    """How much of what it was the accuracy fell by; None where that is too little to matter."""
    drop = historical.accuracy - recent.accuracy
    return drop / historical.accuracy if drop >= ACCURACY_DROP_MIN - _TOLERANCE else None
