"""cstp.checkDrift: compare the last 30 days with the 90 days before, and test whether a change is more than chance."""

from collections.abc import Mapping
from typing import Any

from api.cstp.answer_names import named, rounded, to_camel_json
from api.cstp.params_schema import ParamsSchema, decode_both
from api.cstp.unknown_names import name_unknown
from api.principal import Principal
from api.service.ledger import LedgerService
from api.service.recent_drift import detect_recent_drift
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.window_comparison import (
    DriftAlert,
    DriftLimits,
    DriftWindow,
    RecentDrift,
)

_ERROR_ABOVE: Mapping[str, float] = {"brier_degradation": 0.5, "accuracy_drop": 0.25}
"""Relative changes above which an alert is an error instead of a warning."""

_NAMES: Mapping[str, str] = {"brier_degradation": "Brier score rose", "accuracy_drop": "Accuracy fell"}

_ADVICE: Mapping[str, tuple[str, str]] = {
    "brier_degradation": ("recalibrate", "Stated confidences fit the outcomes worse than before: state them lower."),
    "accuracy_drop": ("review_process", "Fewer decisions succeed than before: look at those of the last 30 days."),
}

_filter: ParamsSchema[CalibrationFilter] = ParamsSchema(
    CalibrationFilter, only=("agent", "category", "project"), reads=True
)
_limits: ParamsSchema[DriftLimits] = ParamsSchema(
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
    selection, limits = decode_both(_filter, _limits, params)
    now = ledger.clock()
    drift = await detect_recent_drift(ledger, selection, now, limits)
    is_empty = drift.recent is None and drift.historical is None
    return _answer(drift, selection.category, limits) | (await name_unknown(ledger, selection) if is_empty else {})


def _answer(drift: RecentDrift, category: str | None, limits: DriftLimits) -> dict[str, object]:
    return {
        "driftDetected": bool(drift.alerts),
        "recent": None if drift.recent is None else _window("30d", drift.recent),
        "historical": None if drift.historical is None else _window("90d", drift.historical),
        "alerts": [_alert(alert, category) for alert in drift.alerts],
        "recommendations": _recommendations(drift, limits.min_decisions),
        "unsupported": [_alert(alert, category) for alert in drift.unsupported],
        "change": to_camel_json(drift.drift),
    }


def _window(name: str, span: DriftWindow) -> dict[str, object]:
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
        "message": f"{prefix}{_NAMES[alert.type]} by {change} ({alert.historical:.2f} to {alert.recent:.2f})",
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
