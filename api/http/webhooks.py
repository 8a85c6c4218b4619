"""The webhooks of a server: their task, their metrics, and their lines in the audit log."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from api.http.audit_log import AuditLog
from api.http.metrics import Metrics
from api.service.ledger import LedgerService
from api.service.webhooks.dispatcher import Dispatcher

if TYPE_CHECKING:
    from api.service.webhooks.delivery import DeliveryNote


def start_webhooks(service: LedgerService, metrics: Metrics, audit: AuditLog | None) -> Sequence[asyncio.Task[None]]:
    """Start to deliver events to the operator's endpoints, if the ledger is open for writing. Cancel it to stop."""
    if service.log is None:
        return []

    def note(made: "DeliveryNote") -> None:
        if audit is not None:
            audit.write_delivery(made.endpoint_id, made.message.id, made.message.position, made.status)

    dispatcher = Dispatcher(service, note)
    metrics.add_gauge(
        "tallystick_webhook_waiting_events",
        "Events that wait for their delivery, at all webhooks.",
        lambda: dispatcher.waiting,
    )
    metrics.add_gauge("tallystick_webhooks_failing", "Webhooks whose last attempt failed.", lambda: dispatcher.failing)
    return [asyncio.create_task(dispatcher.run(), name="webhooks")]
