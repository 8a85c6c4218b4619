"""cstp.checkDrift: compare the last 30 days with the 90 before, and test whether a change is more than chance."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from api.auth import Principal
from api.cstp.get_calibration import rounded
from api.cstp.params import ParamsSchema, to_camel_json
from api.service.calibration import detect_recent_drift
from api.service.ledger import LedgerService
from projections.calibration.calibration import CalibrationFilter
from projections.calibration.recent_drift import DriftAlert, DriftLimits, DriftWindow, RecentDrift

_ERROR_BEYOND: Mapping[str, float] = {"brier_degradation": 0.5, "accuracy_drop": 0.25}
"""Relative changes above which an alert is an error instead of a warning."""

_NAMES: Mapping[str, str] = {"brier_degradation": "Brier score rose", "accuracy_drop": "Accuracy fell"}

_ADVICE: Mapping[str, tuple[str, str]] = {
    "brier_degradation": ("recalibrate", "Stated confidences fit the outcomes worse than before: state them lower."),
    "accuracy_drop": ("review_process", "Fewer decisions succeed than before: look at those of the last 30 days."),
}

Threshold = Annotated[float, msgspec.Meta(ge=0.0)]


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    agent: str | None = None
    category: str | None = None
    project: str | None = None
    threshold_brier: Threshold = 0.20
    threshold_accuracy: Threshold = 0.15
    min_decisions: Annotated[int, msgspec.Meta(ge=1)] = 5


_asked: ParamsSchema[_Asked] = ParamsSchema(
    _Asked,
    aliases={
        "threshold_brier": ("thresholdBrier", "brierThreshold", "brier_threshold"),
        "threshold_accuracy": ("thresholdAccuracy", "accuracyThreshold", "accuracy_threshold"),
    },
)


async def check_drift(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Compare the decisions of the last 30 days with those of the 90 days before.

    `alerts` are changes above their threshold that are more than chance; `unsupported` may be chance. `change` is the
    result of the search for one change point within the 120 days. The instant exactly 30 days ago belongs to the
    recent window.
    """
    asked = _asked.decode(params)
    now = ledger.clock()
    about = CalibrationFilter(agent=asked.agent or None, category=asked.category or None, project=asked.project or None)
    limits = DriftLimits(
        brier_rise=asked.threshold_brier,
        accuracy_drop=asked.threshold_accuracy,
        min_decisions=asked.min_decisions,
    )
    return _answer(await detect_recent_drift(ledger, about, now, limits), asked)


def _answer(found: RecentDrift, asked: _Asked) -> dict[str, object]:
    return {
        "driftDetected": bool(found.alerts),
        "recent": None if found.recent is None else _window("30d", found.recent),
        "historical": None if found.historical is None else _window("90d", found.historical),
        "alerts": [_alert(alert, asked.category or None) for alert in found.alerts],
        "recommendations": _recommendations(found, asked.min_decisions),
        "unsupported": [_alert(alert, asked.category or None) for alert in found.unsupported],
        "change": to_camel_json(found.drift),
    }


def _window(name: str, span: DriftWindow) -> dict[str, object]:
    return {
        "window": name,
        "brierScore": rounded(span.brier_score),
        "accuracy": rounded(span.accuracy),
        "decisions": span.reviewed,
        "since": span.since.isoformat(),
        "until": span.until.isoformat(),
    }


def _alert(alert: DriftAlert, category: str | None) -> dict[str, object]:
    about = "" if category is None else f"{category}: "
    part = f"{abs(alert.change):.0%}"
    return {
        "type": alert.type,
        "category": category,
        "recentValue": rounded(alert.recent),
        "historicalValue": rounded(alert.historical),
        "changePct": rounded(100 * alert.change, 1),
        "severity": "error" if abs(alert.change) > _ERROR_BEYOND[alert.type] else "warning",
        "message": f"{about}{_NAMES[alert.type]} by {part} ({alert.historical:.2f} to {alert.recent:.2f})",
        "p": alert.p,
    }


def _recommendations(found: RecentDrift, required: int) -> list[dict[str, str]]:
    if found.recent is None:
        count, which = (found.found[0], "recent") if found.found[0] < required else (found.found[1], "historical")
        message = f"Need at least {required} {which} decisions for drift detection (found {count})"
        return [{"type": "insufficient_data", "message": message, "severity": "info"}]
    advice = [_ADVICE[alert.type] for alert in found.alerts]
    return [{"type": kind, "message": message, "severity": "info"} for kind, message in advice]
