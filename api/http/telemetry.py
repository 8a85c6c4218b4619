"""The outermost middleware: gives each request an id, measures it, and logs it."""

import asyncio
import logging
import re
import time
from contextlib import suppress
from typing import NamedTuple

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import InternalFault
from api.http.audit_log import AuditLog
from api.http.json_log import RequestLogging
from api.http.limits import RunningRequests, ServedConnection
from api.http.memory_trim import LONG_S, MemoryTrim
from api.http.metrics import Metrics
from api.http.problems import answer_error
from api.http.refusals import RefusalLog
from api.service.position_notes import PositionNotes, begin_notes
from api.service.server_log import log

NO_STORE = (b"cache-control", b"no-store")
"""The header of answers to GET, which depend on caller and time. A route may set another cache-control."""

CLIENT_GONE = 499
"""The status in metrics and log of a request whose client disconnected before the request was complete."""

REFUSED_STATUSES = frozenset({401, 403, 408, 413, 414, 415, 421, 429, 431})
"""Statuses of refusals that do not depend on the content of the ledger; their log lines name client and agent."""

PATH_CHARS_MAX = 256
"""Characters of a path in the log."""

_safe_id = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")


class Telemetry(NamedTuple):
    """Where requests are counted and logged."""

    metrics: Metrics
    requests: RunningRequests
    refusal_log: RefusalLog
    audit: AuditLog | None


class TelemetryMiddleware:
    """Gives each request an id, measures it, counts it against the limits, and logs it."""

    def __init__(self, app: ASGIApp, telemetry: Telemetry) -> None:
        self.app = app
        self._telemetry = telemetry
        self._requests = telemetry.requests
        self._trim = MemoryTrim()
        self._count = 0
        self._start_id = f"{time.time_ns():x}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start_s = scope["start_s"] = time.perf_counter()
        headers = scope["named_headers"] = dict(scope["headers"])
        request_id = self._request_id(headers.get(b"x-request-id"))
        scope["request_id"] = request_id
        is_get = scope["method"] == "GET"
        status = 0
        notes = None if self._telemetry.audit is None else begin_notes()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if "hold_s" in scope:
                    await _hold(scope)
                message["headers"].append((b"x-request-id", request_id))
                if is_get and not any(name == b"cache-control" for name, _ in message["headers"]):
                    message["headers"].append(NO_STORE)
            await send(message)

        try:
            await self.app(scope, receive, send_with_id)
        except ClientDisconnect:
            status = CLIENT_GONE
        except Exception:
            log.exception("fault", request_id=request_id.decode(), method=scope["method"], path=scope["path"])
            if status:
                raise
            fault = InternalFault("The server has a fault.", "Report the request id; the log has the traceback.")
            await answer_error(scope, fault)(scope, receive, send_with_id)
        finally:
            elapsed_s = time.perf_counter() - start_s
            self._release(scope, elapsed_s)
            self._record(scope, status, elapsed_s)
            if notes is not None and "caller" in scope:
                self._audit(scope, status, notes)

    def _release(self, scope: Scope, elapsed_s: float) -> None:
        """Release what a request holds."""
        self._requests.leave(scope)
        scope.pop("connection", None)
        if "body_bytes" in scope or elapsed_s >= LONG_S:
            self._trim.request()

    def _record(self, scope: Scope, status: int, elapsed_s: float) -> None:
        endpoint = getattr(scope.get("endpoint"), "__name__", "none")
        method = scope["method"] if endpoint != "none" else "any"
        metrics = self._telemetry.metrics
        metrics.record(endpoint, method, status, elapsed_s)
        if status < 400 and not RequestLogging.enabled:
            return
        fields = {
            "request_id": scope["request_id"].decode(),
            "method": scope["method"],
            "path": scope["path"][:PATH_CHARS_MAX],
            "status": status,
            "elapsed_ms": round(elapsed_s * 1000, 3),
        }
        reason = scope.get("refusal")
        if reason is not None:
            metrics.refusals[reason] += 1
        if status not in REFUSED_STATUSES:
            log.log(_log_level(status), "request", **fields)
            return
        client = scope["client"][0] if scope["client"] else None
        agent = self._requests.find_agent(scope)
        self._telemetry.refusal_log.write(str(reason), **fields, route=endpoint, client=client, agent=agent)

    def _audit(self, scope: Scope, status: int, notes: PositionNotes) -> None:
        audit = self._telemetry.audit
        if audit is not None:
            audit.write(scope, getattr(scope.get("endpoint"), "__name__", "none"), status, notes)

    def _request_id(self, client_id: bytes | None) -> bytes:
        """Return the client's id if it is well-formed; otherwise a new id, unique across restarts of the server."""
        if client_id is not None and _safe_id.fullmatch(client_id):
            return bytes(client_id)
        self._count += 1
        return f"{self._start_id}-{self._count:x}".encode()


async def _hold(scope: Scope) -> None:
    """Wait before a refusal is answered of a client that causes too many, unless the server stops."""
    connection: ServedConnection | None = scope.get("connection")
    if connection is not None:
        connection.hold()
    stopping: asyncio.Event = scope["app"].state.stopping
    with suppress(TimeoutError):
        async with asyncio.timeout(scope["hold_s"]):
            await stopping.wait()


def _log_level(status: int) -> int:
    if status >= 500:
        return logging.ERROR
    return logging.INFO if status >= 400 else logging.DEBUG
