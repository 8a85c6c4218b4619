"""The outermost middleware: gives each request an id, measures it, and logs it."""

import logging
import re
import time
from collections.abc import Callable

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import InternalFault
from api.http.json_log import RequestLogging, log
from api.http.metrics import Metrics
from api.http.problems import answer_error

NO_STORE = (b"cache-control", b"no-store")
"""The header of answers to GET, which depend on caller and time. A route may set another cache-control."""

CLIENT_GONE = 499
"""The status in metrics and log of a request whose client disconnected before the request was complete."""

REFUSED_STATUSES = frozenset({401, 403, 408, 413, 414, 415, 421, 429, 431})
"""Statuses of refusals that do not depend on the content of the ledger; their log lines name client and agent."""

PATH_CHARS_MAX = 256
"""Characters of a path in the log."""

_safe_id = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")


class TelemetryMiddleware:
    """Gives each request an id, measures it, and logs it. `find_agent` takes an Authorization header."""

    def __init__(self, app: ASGIApp, metrics: Metrics, find_agent: Callable[[str | None], str | None]) -> None:
        self.app = app
        self.metrics = metrics
        self._find_agent = find_agent
        self._requests = 0
        self._start_id = f"{time.time_ns():x}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start_s = time.perf_counter()
        headers = scope["named_headers"] = dict(scope["headers"])
        request_id = self._request_id(headers.get(b"x-request-id"))
        scope["request_id"] = request_id
        is_get = scope["method"] == "GET"
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
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
            self._record(scope, status, time.perf_counter() - start_s)

    def _record(self, scope: Scope, status: int, elapsed_s: float) -> None:
        endpoint = getattr(scope.get("endpoint"), "__name__", "none")
        method = scope["method"] if endpoint != "none" else "any"
        self.metrics.record(endpoint, method, status, elapsed_s)
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
            self.metrics.refusals[reason] += 1
        if status not in REFUSED_STATUSES:
            log.log(_log_level(status), "request", **fields)
            return
        authorization = scope["named_headers"].get(b"authorization", b"").decode("latin-1")
        client = scope["client"][0] if scope["client"] else None
        agent = self._find_agent(authorization)
        log.info("refused", **fields, route=endpoint, reason=reason, client=client, agent=agent)

    def _request_id(self, client_id: bytes | None) -> bytes:
        """Return the client's id if it is well-formed; otherwise a new id, unique across restarts of the server."""
        if client_id is not None and _safe_id.fullmatch(client_id):
            return bytes(client_id)
        self._requests += 1
        return f"{self._start_id}-{self._requests:x}".encode()


def _log_level(status: int) -> int:
    if status >= 500:
        return logging.ERROR
    return logging.INFO if status >= 400 else logging.DEBUG
