"""What an operator sees: a request id on every answer, Prometheus figures, one log line for what went wrong.

What the door refuses is a line `refused` that says who, where and why, and a count of its reason. It is a line and not
an event: nothing that somebody sends who may not may grow the ledger. No line holds a token: neither headers nor the
query of an address are ever logged.

A request that succeeds is counted and not logged, unless the level is debug: at ten thousand requests a second the log
would cost more than the ledger.
"""

import logging
import os
import re
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import accumulate

import msgspec
import structlog
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import InternalFault, refusal

log = structlog.get_logger()

NO_STORE = (b"cache-control", b"no-store")
"""What a GET answers is of who asked, and of now; a route that knows better says so."""

CLIENT_GONE = 499
"""What is counted for a request whose client left before it was whole; nobody is there to be answered."""

GUARDED = frozenset({401, 403, 408, 413, 414, 415, 421, 429, 431})
"""Statuses by which the door itself refuses, whatever was asked."""

PATH_CHARS_MAX = 256
"""Of a path so many characters are logged."""

_safe_id = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class _Level:
    """Whether requests that succeed are logged: asking structlog each time would build a logger to say no."""

    debug = False


_LEVEL = _Level()


class Lines:
    """Where log lines go, each in one write. One that cannot be written is let go: a full disk must stop no server."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._torn = False

    def msg(self, message: bytes) -> None:
        """Write a line, on a line of its own after one that found no room for its end."""
        line = (b"\n" if self._torn else b"") + message + b"\n"
        with suppress(OSError):
            self._torn = os.write(self._descriptor, line) < len(line)

    debug = info = warning = error = exception = critical = msg


class Relay(logging.Handler):
    """What libraries log, as lines like ours."""

    def emit(self, record: logging.LogRecord) -> None:
        log.log(record.levelno, "library", logger=record.name, message=record.getMessage(), exc_info=record.exc_info)


def configure_logging(level: str = "info") -> None:
    """JSON lines on standard error, from `level` up: debug, info, warning or error; of libraries, their warnings."""
    logging.basicConfig(level=logging.WARNING, handlers=[Relay()])
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # what it warns of is a refusal, and told as one
    _LEVEL.debug = level == "debug"
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(serializer=lambda value, **_: msgspec.json.encode(value, enc_hook=repr)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *_: Lines(sys.stderr.fileno()),
        cache_logger_on_first_use=True,
    )


class Metrics(Collector):
    """The figures of one process, under `/metrics`.

    Requests are counted in plain dictionaries, turned into Prometheus families when they are asked for: the library's
    own counters take locks for each request.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(self)
        self._answers: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()

    def gauge(self, name: str, text: str, read: Callable[[], float]) -> None:
        """A figure that is read when it is asked for."""
        Gauge(name, text, registry=self.registry).set_function(read)

    def record(self, endpoint: str, method: str, status: int, elapsed_s: float) -> None:
        """Count one answer."""
        self._answers[endpoint, method, status] += 1
        self._seconds[endpoint] += elapsed_s  # type: ignore[assignment]
        buckets = self._buckets.get(endpoint)
        if buckets is None:
            buckets = self._buckets[endpoint] = [0] * (len(_BUCKETS_S) + 1)
        buckets[bisect_left(_BUCKETS_S, elapsed_s)] += 1

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "tallystick_http_requests", "Requests answered.", labels=["endpoint", "method", "status"]
        )
        for (endpoint, method, status), count in self._answers.items():
            requests.add_metric([endpoint, method, str(status)], count)
        yield requests
        refusals = CounterMetricFamily("tallystick_http_refusals", "Requests refused.", labels=["reason"])
        for reason, count in self.refusals.items():
            refusals.add_metric([reason], count)
        yield refusals
        seconds = HistogramMetricFamily(
            "tallystick_http_request_seconds", "Time to the end of the answer.", labels=["endpoint"]
        )
        for endpoint, buckets in self._buckets.items():
            bounds = [*map(str, _BUCKETS_S), "+Inf"]
            counts = list(zip(bounds, accumulate(buckets), strict=True))
            seconds.add_metric([endpoint], counts, self._seconds[endpoint])
        yield seconds


class Telemetry:
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
            await refusal(scope, fault)(scope, receive, send_named)
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
