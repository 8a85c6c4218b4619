"""Recent drift: are the last 30 days worse than the 90 days before them (CSTP's checkDrift)?

An alert is raised if a score is worse by more than a threshold, and by more than chance explains. Brier score and
accuracy each have a one-sided permutation test at half of LEVEL, so an agent that did not change raises an alert in at
most LEVEL of checks. The windows do not overlap: [now - 30 days, now] and [now - 120 days, now - 30 days).
"""

from datetime import datetime, timedelta
from typing import Annotated, Final, Literal

import msgspec

from ledger.clock import microseconds
from projections.arrays import Floats
from projections.calibration.change_point import detect_drift
from projections.calibration.model_groups import ResolveModel
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.stats.permutation_test import permutation_p_value
from projections.time_range import TimeRange
from tallystick.shapes.history import Drift

RECENT = timedelta(days=30)
HISTORICAL = timedelta(days=90)

LEVEL = 0.05
"""The largest share of checks that raise an alert without a change."""

BRIER_RISE_MIN = 0.03
ACCURACY_DROP_MIN = 0.05
"""Smaller differences are ignored, even if they are large relative to the earlier value."""

BRIER_BASE_MIN: Final = 0.001
"""The smallest Brier score that a rise is divided by, so that a relative rise from 0 is finite."""

_TOLERANCE: Final = 1e-9

AlertType = Literal["brier_degradation", "accuracy_drop"]


class DriftWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one window. `until` is inside the recent window, and just after the historical one."""

    since: datetime
    until: datetime
    reviewed: int
    brier_score: float
    accuracy: float


class DriftAlert(msgspec.Struct, frozen=True, kw_only=True):
    """A score that is worse by more than its threshold. `change` is relative to `historical`, below 0 for a drop.

    `p` is the p value of the permutation test: how often a random split of all decisions gives a change as bad.
    """

    type: AlertType
    recent: float
    historical: float
    change: float
    p: float


class DriftLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The relative changes that raise an alert (0 or more), and the minimum number of reviews in each window."""

    brier_rise: Annotated[float, msgspec.Meta(ge=0.0)] = 0.20
    accuracy_drop: Annotated[float, msgspec.Meta(ge=0.0)] = 0.15
    min_decisions: Annotated[int, msgspec.Meta(ge=1)] = 5


class RecentDrift(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check. `found` counts the reviews in the recent and in the historical window.

    Both windows are None if one of them has too few reviews. `unsupported` has the changes beyond their threshold
    that may be chance. `drift` is the change-point detection over all 120 days.
    """

    found: tuple[int, int]
    recent: DriftWindow | None
    historical: DriftWindow | None
    alerts: list[DriftAlert]
    unsupported: list[DriftAlert]
    drift: Drift


def examined_range(now: datetime) -> TimeRange:
    """Return the range of time of both windows."""
    return TimeRange(now - RECENT - HISTORICAL, now)


def compare_windows(
    history: ReviewedDecisions, now: datetime, limits: DriftLimits, resolve: ResolveModel | None = None
) -> RecentDrift:
    """Compare the two windows in a history of decisions made within `examined_range(now)`.

    With `resolve`, the change point names the models of the decisions.
    """
    confidence, outcome_value = history.confidence, history.outcome_value
    loss = (confidence - outcome_value) ** 2
    recent = history.time_us >= microseconds(now - RECENT)
    reviewed = int(recent.sum()), int((~recent).sum())
    drift = detect_drift(history, resolve)
    if min(reviewed) < max(1, limits.min_decisions):
        return RecentDrift(found=reviewed, recent=None, historical=None, alerts=[], unsupported=[], drift=drift)
    windows = (
        _window(now - RECENT, now, loss[recent], outcome_value[recent]),
        _window(now - RECENT - HISTORICAL, now - RECENT, loss[~recent], outcome_value[~recent]),
    )
    worse = []
    rise, drop = _rise(*windows), _drop(*windows)
    if rise is not None and rise > limits.brier_rise + _TOLERANCE:
        p = permutation_p_value(loss[recent], loss[~recent])
        worse.append(_alert("brier_degradation", windows[0].brier_score, windows[1].brier_score, rise, p))
    if drop is not None and drop > limits.accuracy_drop + _TOLERANCE:
        p = permutation_p_value(-outcome_value[recent], -outcome_value[~recent])
        worse.append(_alert("accuracy_drop", windows[0].accuracy, windows[1].accuracy, -drop, p))
    return RecentDrift(
        found=reviewed,
        recent=windows[0],
        historical=windows[1],
        alerts=[alert for alert in worse if alert.p <= LEVEL / 2],
        unsupported=[alert for alert in worse if alert.p > LEVEL / 2],
        drift=drift,
    )


def _window(since: datetime, until: datetime, loss: Floats, outcome_value: Floats) -> DriftWindow:
    return DriftWindow(
        since=since,
        until=until,
        reviewed=len(loss),
        brier_score=float(loss.mean()),
        accuracy=float(outcome_value.mean()),
    )


def _alert(kind: AlertType, recent: float, historical: float, change: float, p: float) -> DriftAlert:
    return DriftAlert(type=kind, recent=recent, historical=historical, change=change, p=p)


def _rise(recent: DriftWindow, historical: DriftWindow) -> float | None:
    """Return the relative rise of the Brier score, or None if it is too small to matter."""
    rise = recent.brier_score - historical.brier_score
    return rise / max(historical.brier_score, BRIER_BASE_MIN) if rise >= BRIER_RISE_MIN - _TOLERANCE else None


def _drop(recent: DriftWindow, historical: DriftWindow) -> float | None:
    """Return the relative drop of the accuracy, or None if it is too small to matter."""
    drop = historical.accuracy - recent.accuracy
    return drop / historical.accuracy if drop >= ACCURACY_DROP_MIN - _TOLERANCE else None
