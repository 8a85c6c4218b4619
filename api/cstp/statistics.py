"""cstp.getCalibration, getReasonStats and checkDrift: our statistics with CSTP's names, rounded as CSTP specifies."""

from collections.abc import Mapping
from typing import Any

from api.cstp.params_schema import ParamsSchema, decode_both, merge_filters, tolerate
from api.parameters import WINDOWS
from api.principal import Principal
from api.service.agent_calls import statistics
from api.service.agent_calls.answer_names import name_unknown, named, rounded, to_camel_json
from api.service.calibration_params import CalibrationParams
from api.service.ledger import LedgerService, View
from api.service.recent_drift import detect_recent_drift
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.reason_index import REVIEWED_MIN
from projections.calibration.window_comparison import DriftAlert, DriftLimits, DriftWindow, RecentDrift

_calibration: ParamsSchema[CalibrationParams] = ParamsSchema(
    CalibrationParams,
    without=("threshold",),
    defaults={"limit": statistics.GROUPS_DEFAULT},
    reads=True,
)


async def get_calibration(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """Return the calibration of some decisions. A filter in `filters` takes precedence over one beside it."""
    merged = merge_filters(params)
    if (window := merged.get("window")) != "all" and isinstance(window, str) and window in WINDOWS:
        for name in [name for name in ("since", "until") if merged.get(name)]:
            tolerate(name)
            del merged[name]
    return await statistics.get_calibration(view, _calibration.decode(merged))


_reasons: ParamsSchema[CalibrationParams] = ParamsSchema(
    CalibrationParams,
    only=("agent", "category", "stakes", "project", "feature", "since", "until", "min_decisions"),
    aliases={"min_decisions": ("minReviewed", "min_reviewed")},
    defaults={"min_decisions": REVIEWED_MIN},
    reads=True,
)


async def get_reason_stats(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """Return statistics of the reasons of the decisions that have reasons."""
    return await statistics.get_reason_stats(view, _reasons.decode(merge_filters(params)))


_ERROR_ABOVE: Mapping[str, float] = {"brier_degradation": 0.5, "accuracy_drop": 0.25}
"""Relative changes above which an alert is an error instead of a warning."""

_CHANGES: Mapping[str, str] = {"brier_degradation": "Brier score rose", "accuracy_drop": "Accuracy fell"}

_ADVICE: Mapping[str, tuple[str, str]] = {
    "brier_degradation": ("recalibrate", "Stated confidences fit the outcomes worse than before: state them lower."),
    "accuracy_drop": ("review_process", "Fewer decisions succeed than before: look at those of the last 30 days."),
}

_drift_filter: ParamsSchema[CalibrationFilter] = ParamsSchema(
    CalibrationFilter, only=("agent", "category", "project"), reads=True
)
_drift_limits: ParamsSchema[DriftLimits] = ParamsSchema(
    DriftLimits,
    aliases={
        "brier_rise": ("thresholdBrier", "threshold_brier", "brierThreshold", "brier_threshold"),
        "accuracy_drop": ("thresholdAccuracy", "threshold_accuracy", "accuracyThreshold", "accuracy_threshold"),
    },
)


async def check_drift(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Compare the decisions of the last 30 days with those of the 90 days before.

    `alerts` are changes above their threshold that are more than chance; those in `unsupported` may be chance. `change`
    is the result of the search for one change point within the 120 days. A decision exactly 30 days ago belongs to the
    recent window.
    """
    selection, limits = decode_both(_drift_filter, _drift_limits, params)
    now = ledger.clock()
    drift = await detect_recent_drift(ledger, selection, now, limits)
    is_empty = drift.recent is None and drift.historical is None
    return _drift_answer(drift, selection.category, limits) | (
        await name_unknown(ledger, selection) if is_empty else {}
    )


def _drift_answer(drift: RecentDrift, category: str | None, limits: DriftLimits) -> dict[str, object]:
    return {
        "driftDetected": bool(drift.alerts),
        "recent": None if drift.recent is None else _drift_window("30d", drift.recent),
        "historical": None if drift.historical is None else _drift_window("90d", drift.historical),
        "alerts": [_alert(alert, category) for alert in drift.alerts],
        "recommendations": _recommendations(drift, limits.min_decisions),
        "unsupported": [_alert(alert, category) for alert in drift.unsupported],
        "change": to_camel_json(drift.drift),
    }


def _drift_window(name: str, span: DriftWindow) -> dict[str, object]:
    return {
        "window": name,
        **named(span, ("brier_score", "accuracy", "reviewed", "since", "until"), {"reviewed": "decisions"}),
    }


def _alert(alert: DriftAlert, category: str | None) -> dict[str, object]:
    prefix = "" if category is None else f"{category}: "
    change = f"{abs(alert.change):.0%}"
    return {
        "type": alert.type,
        "category": category,
        "recentValue": rounded(alert.recent),
        "historicalValue": rounded(alert.historical),
        "changePct": rounded(100 * alert.change, 1),
        "severity": "error" if abs(alert.change) > _ERROR_ABOVE[alert.type] else "warning",
        "message": f"{prefix}{_CHANGES[alert.type]} by {change} ({alert.historical:.2f} to {alert.recent:.2f})",
        "p": alert.p,
    }


def _recommendations(drift: RecentDrift, required: int) -> list[dict[str, str]]:
    if drift.recent is None:
        recent, historical = drift.found
        count, window = (recent, "recent") if recent < required else (historical, "historical")
        message = f"Need at least {required} {window} decisions for drift detection (found {count})"
        return [{"type": "insufficient_data", "message": message, "severity": "info"}]
    advice = [_ADVICE[alert.type] for alert in drift.alerts]
    return [{"type": kind, "message": message, "severity": "info"} for kind, message in advice]
