"""The outermost middleware: request ids, metrics and log lines."""

import logging
import re
import time
from collections.abc import Callable

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import InternalFault
from api.http.logging import _LEVEL, log
from api.http.metrics import Metrics
from api.http.problems import problem_answer

NO_STORE = (b"cache-control", b"no-store")
"""What a GET answers is of who asked, and of now; a route that knows better says so."""


CLIENT_GONE = 499
"""What is counted for a request whose client left before it was whole; nobody is there to be answered."""


GUARDED = frozenset({401, 403, 408, 413, 414, 415, 421, 429, 431})
"""Statuses by which the door itself refuses, whatever was asked."""


PATH_CHARS_MAX = 256
"""Of a path so many characters are logged."""


_safe_id = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")


class TelemetryMiddleware:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics, agent_of: Callable[[str | None], str | None]) -> None:
        self.app = app
        self.metrics = metrics
        self._agent_of = agent_of
        self._serial = 0
        self._run = f"{time.time_ns():x}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        headers = scope["named_headers"] = dict(scope["headers"])
        request_id = self._request_id(headers.get(b"x-request-id"))
        scope["request_id"] = request_id
        private = scope["method"] == "GET"
        status = 0

        async def send_named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", request_id))
                if private and not any(name == b"cache-control" for name, _ in message["headers"]):
                    message["headers"].append(NO_STORE)
            await send(message)

        try:
            await self.app(scope, receive, send_named)
        except ClientDisconnect:
            status = CLIENT_GONE
        except Exception:
            log.exception("fault", request_id=request_id.decode(), method=scope["method"], path=scope["path"])
            if status:
                raise
            fault = InternalFault("Something went wrong on our side.", "Report the request id; the log says more.")
            await problem_answer(scope, fault)(scope, receive, send_named)
        finally:
            self._record(scope, status, time.perf_counter() - began)

    def _record(self, scope: Scope, status: int, elapsed_s: float) -> None:
        endpoint = getattr(scope.get("endpoint"), "__name__", "none")
        method = scope["method"] if endpoint != "none" else "any"
        self.metrics.record(endpoint, method, status, elapsed_s)
        if status < 400 and not _LEVEL.debug:
            return
        said = {
            "request_id": scope["request_id"].decode(),
            "method": scope["method"],
            "path": scope["path"][:PATH_CHARS_MAX],
            "status": status,
            "elapsed_ms": round(elapsed_s * 1000, 3),
        }
        reason = scope.get("refusal")
        if reason is not None:
            self.metrics.refusals[reason] += 1
        if status not in GUARDED:
            level = logging.ERROR if status >= 500 else logging.INFO if status >= 400 else logging.DEBUG
            log.log(level, "request", **said)
            return
        authorization = scope["named_headers"].get(b"authorization", b"").decode("latin-1")
        client = scope["client"][0] if scope["client"] else None
        log.info("refused", **said, route=endpoint, reason=reason, client=client, agent=self._agent_of(authorization))

    def _request_id(self, wanted: bytes | None) -> bytes:
        """The client's, where it sends a decent one; else one that is unique to this process and its start."""
        if wanted is not None and _safe_id.fullmatch(wanted):
            return bytes(wanted)
        self._serial += 1
        return f"{self._run}-{self._serial:x}".encode()
