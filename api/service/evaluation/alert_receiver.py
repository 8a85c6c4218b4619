"""Receive Alertmanager's webhook: capture each alert that fires as a scenario, once for each incident.

An incident is a fingerprint and the time since when the alert fires. Both are in the scenario's id, so that
repetitions, and what several replicas send, write nothing more: the first capture stays, also if annotations differ.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from api.principal import Principal
from api.service.evaluation.scenario_recorder import (
    SCENARIOS_PER_BATCH,
    ScenarioInfo,
    build_scenario_info,
    record_new,
)
from api.service.evidence import digest_of
from api.service.ledger import LedgerService
from api.service.store import LocalStore
from events.decision import Instant
from events.envelope import ANONYMOUS, timestamp
from events.errors import InvalidEvent
from events.evaluation import EvalScenarioCaptured
from events.limits import LABEL_CHARS_MAX, STREAM_ID_CHARS_MAX
from events.payload import Count
from instruments.evals.capture.alertmanager import FiringAlert
from instruments.evals.capture.scenario_template import alert_description, alert_family, initial_investigation
from instruments.evals.scenario import Description, Expectations
from instruments.evals.suite.loader import fixture_digest, scenario_id
from instruments.evals.suite.writer import json_text
from ledger.threads import run_on_thread

TIME_WINDOW = "1h"
"""How far back to investigate, as `eval capture` has it by default."""

Fingerprint = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]


class WebhookAlert(msgspec.Struct, frozen=True, kw_only=True):
    """An alert in Alertmanager's webhook. Other fields are ignored."""

    status: Literal["firing", "resolved"]
    """Only what fires is captured."""
    labels: dict[str, str]
    """They identify the alert."""
    annotations: dict[str, str] = {}
    """Texts for people."""
    startsAt: Instant  # noqa: N815 - Alertmanager's word
    """Since when it fires."""
    endsAt: Instant | None = None  # noqa: N815 - Alertmanager's word
    """When it ended, if it is resolved."""
    generatorURL: str | None = None  # noqa: N815 - Alertmanager's word
    """The page of its rule."""
    fingerprint: Fingerprint
    """A digest of the labels, 16 hex digits."""


class AlertmanagerWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """Alertmanager's webhook, version 4. Other fields are ignored."""

    version: Literal["4"]
    """The version of the webhook."""
    alerts: list[WebhookAlert]
    """The alerts of a group."""
    truncatedAlerts: Count = 0  # noqa: N815 - Alertmanager's word
    """Alerts of the group that were left out, because of `max_alerts`."""


class ReceivedAlerts(msgspec.Struct, frozen=True, kw_only=True):
    """What was done with the alerts of a webhook."""

    captured: list[str]
    """The ids of the new scenarios."""
    known: int
    """Alerts whose incident was captured before."""
    resolved: int
    """Alerts that are resolved, which are not stored."""
    truncated: int
    """Alerts that Alertmanager left out."""


async def receive_alerts(ledger: LedgerService, caller: Principal, webhook: AlertmanagerWebhook) -> ReceivedAlerts:
    """Capture the alerts that fire, in batches of SCENARIOS_PER_BATCH, each whole or not at all.

    Errors: InvalidEvent: nothing was written; those of `LedgerService.record` and `EvidenceService.keep`, after which
    the same webhook can be sent again.
    """
    resolved = sum(alert.status == "resolved" for alert in webhook.alerts)
    captured_by = None if caller.agent == ANONYMOUS else caller.agent
    infos = await run_on_thread(_build_infos, webhook.alerts, captured_by, ledger.clock())
    store, captured = LocalStore(ledger, caller), list[str]()
    for start in range(0, len(infos), SCENARIOS_PER_BATCH):
        captured += await record_new(store, infos[start : start + SCENARIOS_PER_BATCH])
    return ReceivedAlerts(
        captured=captured,
        known=len(webhook.alerts) - resolved - len(captured),
        resolved=resolved,
        truncated=webhook.truncatedAlerts,
    )


def _build_infos(alerts: Sequence[WebhookAlert], captured_by: str | None, now: datetime) -> list[ScenarioInfo]:
    """Build the scenarios of firing alerts, one for each incident. Errors: InvalidEvent, BodyTooLarge."""
    infos: dict[str, ScenarioInfo] = {}
    for index, posted in enumerate(alerts):
        if posted.status == "firing":
            info = _build_info(_to_alert(posted, f"alerts[{index}]"), captured_by, now)
            infos.setdefault(info.title, info)
    return list(infos.values())


def _build_info(alert: FiringAlert, captured_by: str | None, now: datetime) -> ScenarioInfo:
    investigation = initial_investigation(alert, TIME_WINDOW, now)
    body = json_text(investigation).encode()
    incident = _incident_id(alert)
    event = EvalScenarioCaptured(
        scenario_id=incident,
        name=_label(alert.name),
        family=_label(alert_family(investigation)),
        description=alert_description(investigation),
        fixture_digest=fixture_digest(Description(name="", expected_outcomes=Expectations()), investigation),
        investigation_digest=digest_of(body),
        source="alertmanager",
        fingerprint=alert.fingerprint,
        captured_at=timestamp(now),
        captured_by=captured_by,
    )
    return build_scenario_info(incident, event, body)


def _to_alert(posted: WebhookAlert, field: str) -> FiringAlert:
    """Return an alert in the form that an investigation contains, without credentials. Errors: InvalidEvent."""
    try:
        starts_at = timestamp(posted.startsAt)
    except OverflowError:
        detail, advice = f"{field}.startsAt: it has no year in UTC.", "Write another time."
        raise InvalidEvent(detail, advice, field=f"{field}.startsAt") from None
    return FiringAlert(
        fingerprint=posted.fingerprint,
        labels=posted.labels,
        annotations=posted.annotations,
        starts_at=starts_at,
        ends_at=None,  # the webhook states it only of a resolved alert
        generator_url=posted.generatorURL,
        state="active",
    ).without_credentials()


def _incident_id(alert: FiringAlert) -> str:
    """Return the id of a scenario, such as `20261120T090000.123000Z-KubePodNotReady-c04b4d550f89c90e`.

    It begins with a digit, so that it is the name of a visible folder. The alert's name is only for people.
    """
    since = alert.starts_at.replace("-", "").replace(":", "")
    space = STREAM_ID_CHARS_MAX - len(since) - len(alert.fingerprint) - 2
    return scenario_id(f"{since}-{alert.name[:space]}-{alert.fingerprint}")


def _label(text: str | None) -> str | None:
    """Return a text that can be a label of an event; None for another one, which stays in the evidence alone."""
    return text if text and not text.isspace() and len(text) <= LABEL_CHARS_MAX else None
