"""Observe alerts: those that Alertmanager sends when they begin and end, and those that fire when it is asked."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from api.importers.adopt.observations import Facts, SubjectObserved
from api.service.evaluation.alert_receiver import AlertmanagerWebhook, WebhookAlert
from events.limits import ITEMS_MAX, LABEL_CHARS_MAX
from instruments.evals.capture.alertmanager import FiringAlert
from ledger.errors import InvalidQuery
from projections.resolve.subject_rules import FIRED, HEARTBEAT, RESOLVED

ALERTMANAGER: Final = "alertmanager"

LISTS_MAX: Final = 30
"""Lists of names of one look."""


def observe_sent(webhook: AlertmanagerWebhook, now_s: int) -> list[SubjectObserved]:
    """Return what a webhook says: what fires when it comes, and until when other alerts fired."""
    return [_observe_one(alert, now_s) for alert in webhook.alerts]


def _observe_one(alert: WebhookAlert, now_s: int) -> SubjectObserved:
    name = alert.labels.get("alertname", "")
    facts: Facts = {"fingerprint": alert.fingerprint, "since": _seconds(alert.startsAt)}
    subject = f"alert:{name if _is_label(name) else alert.fingerprint}"
    if alert.status == "firing":
        return SubjectObserved(FIRED, subject, now_s, facts)
    ended_s = 0 if alert.endsAt is None else _seconds(alert.endsAt)
    return SubjectObserved(RESOLVED, subject, min(ended_s or now_s, now_s), facts)


def _seconds(time: datetime) -> int:
    return max(int(time.timestamp()), 0)


def _is_label(name: str) -> bool:
    return 0 < len(name) <= LABEL_CHARS_MAX - len("alert:") and not name.isspace()


def firing_facts(alerts: Sequence[FiringAlert]) -> tuple[Facts, str]:
    """Return what fires, by names and fingerprints; and that in words. Errors: InvalidQuery."""
    names = sorted({name for alert in alerts for name in (alert.name, alert.fingerprint) if _is_label(name)})
    lists = [tuple(names[start : start + ITEMS_MAX]) for start in range(0, len(names), ITEMS_MAX)]
    if len(lists) > LISTS_MAX:
        detail = f"{len(alerts):,} alerts fire, with {len(names):,} names: over {LISTS_MAX * ITEMS_MAX:,} in one look."
        raise InvalidQuery("alertmanager", detail, "Let it send them: POST /observe/alertmanager.", written=False)
    with_heartbeat = "with" if any(alert.name == HEARTBEAT for alert in alerts) else "without"
    facts: Facts = {f"firing_{number}" if number else "firing": some for number, some in enumerate(lists)}
    return facts, f"{len(alerts):,} firing, {with_heartbeat} {HEARTBEAT}"
