"""A sample of each event of alerts and webhooks."""

from events.alert import AlertCheckpointUnsigned, AlertDriftDetected, AlertGateJudged, AlertReviewOverdue
from events.payload import Payload
from events.webhook import WebhookAbandoned, WebhookDelivered, WebhookEnded, WebhookStarted

_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

ALERT_SAMPLES: dict[str, Payload] = {
    "alert.drift_detected.v1": AlertDriftDetected(
        alert_id="drift-0a1b2c",
        agent="claude",
        score="brier_degradation",
        recent=0.31,
        historical=0.18,
        change=0.7222,
        p=0.001,
        recent_reviews=40,
        historical_reviews=120,
        until="2026-11-16T00:00:00Z",
        level=0.002,
    ),
    "alert.gate_judged.v1": AlertGateJudged(
        alert_id="gate-0a1b2c",
        run_id="night-8",
        baseline_id="night-7",
        suite="examples",
        agent="triage",
        verdict="worse",
        reasons=("2 regressions, where none is allowed",),
        regressions=2,
        errors=1,
        mean=61.5,
        baseline_mean=75.25,
    ),
    "alert.review_overdue.v1": AlertReviewOverdue(
        alert_id="overdue-0a1b2c",
        decision_id="3f2a9c1e",
        agent="claude",
        review_by="2026-11-20T00:00:00.000000Z",
    ),
    "alert.checkpoint_unsigned.v1": AlertCheckpointUnsigned(
        alert_id="unsigned-0a1b2c", signed_events=41, head_position=60, reason="The key cannot be read."
    ),
    "webhook.started.v1": WebhookStarted(endpoint_id="7d3e0f21", after=40, kinds=("drift", "gate")),
    "webhook.delivered.v1": WebhookDelivered(
        endpoint_id="7d3e0f21", event_position=41, message_id=f"msg_{_DIGEST}", attempts=2, status=204
    ),
    "webhook.abandoned.v1": WebhookAbandoned(
        endpoint_id="7d3e0f21", event_position=43, message_id=f"msg_{_DIGEST}", attempts=9, reason="answered 500"
    ),
    "webhook.ended.v1": WebhookEnded(endpoint_id="7d3e0f21", reason="gone", last_position=60),
}
