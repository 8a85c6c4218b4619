"""A client's connection, with limits on size and time.

uvicorn's protocol over httptools limits neither the size of a request's head nor the duration of a request.
`HttpConnection` limits the size of the head and the number of pipelined requests, and sets deadlines for the head, for
the body, and for a client that does not read the answer. A feed has no deadline while its client reads it. One task
checks the deadlines of all connections once a second, so that requests do not pay for timers.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum, auto
from secrets import token_hex
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from api.errors import (
    AddressTooLong,
    HeadTooLarge,
    ServerStops,
    StalledReader,
    TooManyConnections,
    TooSlow,
    problem_name,
)
from api.http.connection_table import ConnectionTable
from api.http.metrics import Metrics
from api.http.problems import problem_response
from api.http.refusals import RefusalLog
from api.http.security_headers import SecurityHeaders
from api.http.telemetry import NO_STORE
from api.principal import Unauthenticated
from api.service.ledger import LedgerService
from events.errors import MalformedInput, TallystickError
from events.limits import (
    BODY_BYTES_PER_S_MIN,
    BODY_S,
    HEAD_BYTES_MAX,
    HEAD_S,
    HEADERS_MAX,
    LINGER_S,
    PIPELINED_MAX,
    STALL_BYTES,
    STALL_S,
    URL_BYTES_MAX,
)


class AnswerWriter:
    """The transport of one answer: adds the security headers.

    It writes head and body in one call if the length is known. uvicorn validates each header of each answer, and writes
    the head in a call of its own. Without this class, appends of single events took 10% more CPU time (median of 30
    alternating runs).
    """

    def __init__(self, transport: asyncio.Transport, headers: SecurityHeaders) -> None:
        self._transport = transport
        self._headers = headers
        self._head = b""
        self._started = False

    def write(self, data: bytes) -> None:
        """Write a part of the answer: its head, or bytes of its body."""
        if self._started:
            head, self._head = self._head, b""
            self._transport.write(head + data)
        elif data.startswith(b"HTTP/1.1 1"):  # 100 Continue: the answer follows
            self._transport.write(data)
        else:
            self._started = True
            head = self._headers.add_to(data)
            if b"\r\ncontent-length: " in head:
                self._head = head
            else:
                self._transport.write(head)

    def flush(self) -> None:
        """Write a head that has no body."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        """Close the connection after the answer."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Return whether the connection is closed or about to close."""
        return self._transport.is_closing()


HEALTH_PATHS = frozenset({b"/healthz", b"/readyz", b"/health"})
"""The paths that a connection of the reserve may request."""

REFUSED_AFTER_S: Final = 1.0
"""Seconds after which a connection is refused for want of a place."""

SINGLE_HEADERS = frozenset(
    {b"authorization", b"content-encoding", b"content-type", b"host", b"last-event-id", b"origin"}
)
"""Headers with one value that routes read. Two readers of a request that has two of them could read different ones."""


class _Phase(Enum):
    """What a connection waits for: the first request, the rest of a head or of a body, or the next request."""

    NEW = auto()
    HEAD = auto()
    BODY = auto()
    IDLE = auto()


class _IgnoredTrailers(list[tuple[bytes, bytes]]):
    """Drops the headers after a body, since nothing reads them."""

    def append(self, header: tuple[bytes, bytes], /) -> None:
        pass


_TRAILERS = _IgnoredTrailers()


class HttpConnection(HttpToolsProtocol):
    """uvicorn's connection, with limits on size and time."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        *,
        ledger: LedgerService,
        metrics: Metrics,
        refusal_log: RefusalLog,
        headers: SecurityHeaders,
        table: ConnectionTable,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._ledger = ledger
        self._metrics = metrics
        self._refusal_log = refusal_log
        self._headers = headers
        self._table = table
        self._reserved = False  # whether only health is answered
        self._held = False  # whether the refusal of the running request is held
        self._fault: TallystickError | None = None
        self._phase = _Phase.NEW
        self._phase_s = self.loop.time()  # when the phase began
        self._answered_s = self._phase_s  # when the last answer was complete
        self._chunk = 0  # bytes of the last chunk received
        self._first_chunk = 0  # bytes of the chunk in which the head began
        self._unparsed = 0  # bytes received since the last part of a body, or since the end of a request
        self._body = 0  # bytes received of this request's body
        self._unsent: int | None = None  # bytes of the answer that were not yet sent at _unsent_s
        self._unsent_s = self._phase_s
        self._ignored_s: float | None = None  # when it was noticed that the body of an answered request still arrives
        self._closing_s: float | None = None  # when the connection began to wait for the client to close it
        self._refusal: asyncio.TimerHandle | None = None  # of a refusal that is answered later

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._table.add(self, self.loop.time())

    def connection_lost(self, exc: Exception | None) -> None:
        self._table.remove(self)
        if self._refusal is not None:
            self._refusal.cancel()
        super().connection_lost(exc)

    @property
    def address(self) -> str:
        """The client's address."""
        return self.client[0] if self.client else ""

    def idle_since(self) -> float | None:
        """Return when the connection became idle; None while a request runs. A held refusal is idle for longest."""
        if self._held:
            return float("-inf")
        if self._phase in (_Phase.NEW, _Phase.HEAD):
            return self._phase_s
        return self._answered_s if self.cycle.response_complete else None

    def abort(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def close_idle(self) -> None:
        """Close the connection, which is idle, for another one."""
        self.transport.close()

    def hold(self) -> None:
        """Note that the refusal of the running request is held."""
        self._held = True

    def authenticated(self) -> None:
        """Note that a request on the connection was authenticated."""
        self._table.authenticate(self)

    def end_revoked(self) -> None:
        """End the running request, because its token was revoked or has expired."""
        if self.transport.is_closing() or self._closing_s is not None:
            return
        if self.cycle.response_started:
            self.transport.abort()
        elif self._phase is _Phase.BODY:
            self._refuse(Unauthenticated("The token was revoked or has expired.", "Use another.", written=False))

    def end_stalled(self) -> None:
        """End what keeps a stopping server: a request that has not arrived, or an answer that is not read."""
        if self.transport.is_closing() or self._closing_s is not None:
            self.transport.abort()
        elif self._phase is _Phase.BODY:
            self._refuse(ServerStops("The server is stopping.", "Retry when it runs again."))
        elif self.flow.write_paused:
            self.transport.abort()

    def _too_many_connections(self) -> TooManyConnections:
        return TooManyConnections(
            self._table.refusal(self.address), "Retry later; reuse one connection for many requests."
        )

    def data_received(self, data: bytes) -> None:
        if self._closing_s is not None:
            return
        self._chunk = len(data)
        self._unparsed += self._chunk
        super().data_received(data)
        # what completes neither a head nor a part of a body: an endless head, chunk extension or trailer
        if self._unparsed > HEAD_BYTES_MAX and self._closing_s is None:
            self._refuse(_head_too_large())

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase = _Phase.HEAD
        self._phase_s = self.loop.time()
        self._unparsed = 0
        self._first_chunk = self._chunk

    def on_headers_complete(self) -> None:
        self._fault = self._find_fault_of_head()
        if self._fault is not None:
            raise self._fault  # an error of the parser for uvicorn, which then calls `send_400_response`
        self.scope["connection"] = self  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()
        if self._reserved:
            self.cycle.keep_alive = False
        # uvicorn appends trailers to this list, which without this is that of the request's own headers
        self.headers = _TRAILERS
        self._phase = _Phase.BODY
        self._body = 0
        self._ignored_s = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:  # noqa: ANN401 - uvicorn names its type in a private module
        self._writer = AnswerWriter(self.transport, self._headers)
        cycle.transport = self._writer  # type: ignore[assignment]
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        # before uvicorn starts the next pipelined request, which gets another writer
        self._writer.flush()
        self._answered_s = self.loop.time()
        self._held = False
        super().on_response_complete()

    def _find_fault_of_head(self) -> TallystickError | None:
        self._reserved = self._table.is_reserved(self, self.loop.time())
        if self._reserved and self.url.partition(b"?")[0] not in HEALTH_PATHS:
            return self._too_many_connections()
        if len(self.url) > URL_BYTES_MAX:
            return AddressTooLong(f"The address is over {URL_BYTES_MAX:,} bytes.", "Send several requests.")
        if len(self.headers) > HEADERS_MAX:
            return _head_too_large()
        # an upper bound, because a chunk may have more than the head: only then the sizes are added up
        if self._first_chunk + self._unparsed + self._chunk > HEAD_BYTES_MAX:
            size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            if size > HEAD_BYTES_MAX:
                return _head_too_large()
        if len(self.pipeline) >= PIPELINED_MAX:
            return MalformedInput(
                f"Over {PIPELINED_MAX} requests were sent before the first was answered.", "Wait for answers."
            )
        return find_header_fault(self.headers, self.parser.get_http_version)

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed = 0
        self._phase = _Phase.IDLE
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer data that is not HTTP, or the fault that the parser's callbacks raised."""
        fault, self._fault = self._fault, None
        if isinstance(fault, TooManyConnections):
            self._refuse_later(fault)
        else:
            self._refuse(fault or MalformedInput("This is not an HTTP/1.1 request.", "Use HTTP/1.1."))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unsent = None

    def check_deadlines(self, now_s: float) -> None:
        """End the request or the connection if a deadline has passed. Called about once a second."""
        if self._closing_s is not None or self.transport.is_closing():
            self._check_closing(now_s)
        elif self.flow.write_paused:
            self._check_answer(now_s)
        elif self._phase is _Phase.NEW:
            if now_s - self._phase_s > HEAD_S:
                self.transport.close()
        elif self._phase is _Phase.HEAD:
            if now_s - self._phase_s > HEAD_S:
                self._refuse(TooSlow(f"The head took over {HEAD_S} s.", "Send it without pauses."))
        elif self._phase is _Phase.BODY:
            self._check_body(now_s)
        elif self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self._phase, self._phase_s = _Phase.HEAD, now_s  # line feeds before a head do not start a request

    def _check_answer(self, now_s: float) -> None:
        unsent = self.transport.get_write_buffer_size()
        if self._unsent is None or self._unsent - unsent >= STALL_BYTES:
            self._unsent, self._unsent_s = unsent, now_s
        elif now_s - self._unsent_s > STALL_S:
            self._refuse(
                StalledReader(
                    f"The client read less than {STALL_BYTES:,} bytes of the answer in {STALL_S} s.",
                    "Read faster, or close the connection.",
                )
            )

    def _check_body(self, now_s: float) -> None:
        if self.flow.read_paused:  # the client waits for the server
            self._phase_s, self._body = now_s, 0
        elif self.cycle.response_complete:  # answered early: the client has LINGER_S to send the rest
            self._ignored_s = self._ignored_s or now_s
            if now_s - self._ignored_s > LINGER_S:
                self.transport.abort()
        elif now_s - self._phase_s > BODY_S + self._body / BODY_BYTES_PER_S_MIN:
            self._refuse(
                TooSlow(
                    f"The body arrived slower than {BODY_BYTES_PER_S_MIN:,} bytes a second.", "Send smaller requests."
                )
            )

    def _check_closing(self, now_s: float) -> None:
        if self._closing_s is None:
            self._closing_s = now_s
        elif now_s - self._closing_s > LINGER_S:
            self.transport.abort()

    def _refuse_later(self, error: TooManyConnections) -> None:
        """Refuse the connection after REFUSED_AFTER_S: its client may connect again at once, and again."""
        self._closing_s = self.loop.time() + REFUSED_AFTER_S
        self._table.refuse(self)
        self._refusal = self.loop.call_later(REFUSED_AFTER_S, self._refuse, error)

    def _refuse(self, error: TallystickError) -> None:
        """Answer an error, if no answer was started, and end the connection.

        The connection discards data for LINGER_S before it closes: closing at once would reset it, and the client might
        not receive the answer.
        """
        self._closing_s = self.loop.time()
        self._table.refuse(self)
        request_id = f"c-{token_hex(8)}"
        response = problem_response(error, request_id)
        self._log_refusal(error, response.status_code, request_id)
        cycle: RequestResponseCycle | None = self.cycle
        unanswered = cycle is not None and not cycle.response_complete
        if cycle is not None and unanswered:
            cycle.disconnected = True
            cycle.message_event.set()
        self.pipeline.clear()
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            return
        if cycle is not None and unanswered and cycle.response_started:
            self.transport.abort()
            return
        headers = [
            *self.server_state.default_headers, *response.raw_headers, NO_STORE,
            (b"x-request-id", request_id.encode()), (b"connection", b"close"),
        ]  # fmt: skip
        head = STATUS_LINE[response.status_code] + b"".join(b"%b: %b\r\n" % header for header in headers) + b"\r\n"
        self.transport.write(self._headers.add_to(head) + bytes(response.body))
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _log_refusal(self, error: TallystickError, status: int, request_id: str) -> None:
        reason = problem_name(type(error).__name__)
        self._metrics.refusals[reason] += 1
        request_fields: dict[str, object] = {}
        if self._phase is _Phase.BODY:
            authorization = dict(self.scope["headers"]).get(b"authorization", b"").decode("latin-1")
            agent = self._ledger.tokens.find_agent(authorization)
            request_fields = {"method": self.scope["method"], "agent": agent}
        client = self.client[0] if self.client else None
        self._refusal_log.write(reason, request_id=request_id, status=status, client=client, **request_fields)


def _head_too_large() -> HeadTooLarge:
    return HeadTooLarge(
        f"The head of a request is over {HEAD_BYTES_MAX:,} bytes or {HEADERS_MAX} headers.", "Send less in headers."
    )


def find_header_fault(headers: Sequence[tuple[bytes, bytes]], http_version: Callable[[], str]) -> MalformedInput | None:
    """Return why a request is refused because of the headers that it has; None if it is not."""
    names = {name for name, _ in headers}
    if len(names) < len(headers):
        for name, times in Counter(name for name, _ in headers).items():
            if times > 1 and (name in SINGLE_HEADERS or name.startswith(b"ce-")):
                detail = f"The request has {times} {name.decode('latin-1')} headers."
                return MalformedInput(detail, "Send it once.")
    if b"host" not in names and http_version() == "1.1":
        return MalformedInput("The request has no Host header.", "HTTP/1.1 requires one.")
    return None
