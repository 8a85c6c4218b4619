"""One connection of a client, bounded in what it may send before it is answered, and in how long it may take.

uvicorn's protocol over httptools parses and answers; it bounds neither head nor time. What it leaves open is closed
here: a head without end, thousands of requests sent at once, a head or a body that trickles, an answer that nobody
takes. Times are looked at once a second for all connections together, so that a request pays for none of it. A feed
may last for ever: only what a client owes has an end.
"""

import asyncio
from enum import Enum, auto
from secrets import token_hex
from typing import Any

import structlog
import uvicorn
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from api.errors import AddressTooLong, HeadTooLarge, StalledReader, TooManyConnections, TooSlow, slug
from api.http.metrics import Metrics
from api.http.middleware import NO_STORE
from api.http.outlet_tmp import Outlet
from api.http.problems import problem_response
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

log = structlog.get_logger()


class _Phase(Enum):
    """What a connection waits for: its first request, the rest of a head or a body, or the next request."""

    NEW = auto()
    HEAD = auto()
    BODY = auto()
    IDLE = auto()


class _Trailers(list[tuple[bytes, bytes]]):
    """Headers after a body, which nothing here reads: a list that keeps none."""

    def append(self, header: tuple[bytes, bytes], /) -> None:
        pass


_TRAILERS = _Trailers()


class HttpConnection(HttpToolsProtocol):
    """uvicorn's connection within the limits of the house."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        ledger: LedgerService,
        metrics: Metrics,
        headers: bytes,
        connections_max: int,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._ledger = ledger
        self._metrics = metrics
        self._headers = headers
        self._connections_max = connections_max
        self._fault: TallystickError | None = None
        self._phase = _Phase.NEW
        self._phase_s = self.loop.time()
        self._piece = 0  # bytes that were received last
        self._loose = 0  # bytes received since the last piece of a body or end of a request
        self._taken = 0  # bytes of this request's body
        self._unsent: int | None = None  # bytes of an answer that waited to be taken at _stalled_s
        self._stalled_s = self._phase_s
        self._refused_s: float | None = None  # since when a body comes that is answered already
        self._leaving_s: float | None = None  # since when it is only waited for the client to go

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._connections_max:
            self._refuse(
                TooManyConnections(
                    f"{self._connections_max:,} connections are open, and no more are taken; nothing was read.",
                    "Retry later; keep one connection and use it again.",
                )
            )

    def data_received(self, data: bytes) -> None:
        if self._leaving_s is not None:
            return
        self._piece = len(data)
        self._loose += self._piece
        super().data_received(data)
        if self._loose > HEAD_BYTES_MAX and self._leaving_s is None:
            self._refuse(_head_too_large())

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase = _Phase.HEAD
        self._phase_s = self.loop.time()
        self._loose = 0

    def on_headers_complete(self) -> None:
        self._fault = self._fault_of_head()
        if self._fault is not None:
            raise self._fault
        super().on_headers_complete()
        self.headers = _TRAILERS
        self._phase = _Phase.BODY
        self._taken = 0
        self._refused_s = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._outlet = Outlet(self.transport, self._headers)
        cycle.transport = self._outlet  # type: ignore[assignment]
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        self._outlet.end()
        super().on_response_complete()

    def _fault_of_head(self) -> TallystickError | None:
        if len(self.url) > URL_BYTES_MAX:
            return AddressTooLong(
                f"The address is over {URL_BYTES_MAX:,} bytes; nothing was done.", "Ask for less at a time."
            )
        if len(self.headers) > HEADERS_MAX:
            return _head_too_large()
        if self._loose + self._piece > HEAD_BYTES_MAX:
            size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            if size > HEAD_BYTES_MAX:
                return _head_too_large()
        if len(self.pipeline) >= PIPELINED_MAX:
            return MalformedInput(
                f"Over {PIPELINED_MAX} requests were sent before the first was answered.", "Wait for the answers."
            )
        return None

    def on_body(self, body: bytes) -> None:
        self._loose = 0
        self._taken += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._loose = 0
        self._phase = _Phase.IDLE
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, or was found at fault while it was parsed."""
        fault, self._fault = self._fault, None
        self._refuse(fault or MalformedInput("This is no HTTP/1.1 request.", "Speak HTTP/1.1."))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unsent = None

    def look(self, now_s: float) -> None:
        """End what takes too long. Called about once a second."""
        if self._leaving_s is not None or self.transport.is_closing():
            self._leave(now_s)
        elif self.flow.write_paused:
            self._look_at_answer(now_s)
        elif self._phase is _Phase.NEW:
            if now_s - self._phase_s > HEAD_S:
                self.transport.close()
        elif self._phase is _Phase.HEAD:
            if now_s - self._phase_s > HEAD_S:
                self._refuse(TooSlow(f"The head took over {HEAD_S} s; nothing was done.", "Send it at once."))
        elif self._phase is _Phase.BODY:
            self._look_at_body(now_s)
        elif self.cycle.response_complete and self.timeout_keep_alive_task is None:
            self._phase, self._phase_s = _Phase.HEAD, now_s  # line feeds before a head are no request yet

    def _look_at_answer(self, now_s: float) -> None:
        unsent = self.transport.get_write_buffer_size()
        if self._unsent is None or self._unsent - unsent >= STALL_BYTES:
            self._unsent, self._stalled_s = unsent, now_s
        elif now_s - self._stalled_s > STALL_S:
            self._refuse(
                StalledReader(
                    f"Less than {STALL_BYTES:,} bytes of the answer were taken in {STALL_S} s.", "Read, or go."
                )
            )

    def _look_at_body(self, now_s: float) -> None:
        if self.flow.read_paused:  # it is waited for us
            self._phase_s, self._taken = now_s, 0
        elif self.cycle.response_complete:  # refused before it was read; the client is given a moment to send the rest
            self._refused_s = self._refused_s or now_s
            if now_s - self._refused_s > LINGER_S:
                self.transport.abort()
        elif now_s - self._phase_s > BODY_S + self._taken / BODY_BYTES_PER_S_MIN:
            self._refuse(
                TooSlow(
                    f"The body came slower than {BODY_BYTES_PER_S_MIN:,} bytes a second; nothing was done.",
                    "Send less at a time.",
                )
            )

    def _leave(self, now_s: float) -> None:
        if self._leaving_s is None:
            self._leaving_s = now_s
        elif now_s - self._leaving_s > LINGER_S:
            self.transport.abort()

    def _refuse(self, error: TallystickError) -> None:
        """Answer an error where nothing was answered yet, and end the connection.

        What the client still sends is thrown away for a moment: closing at once would reset the connection, and the
        answer would be lost with it.
        """
        self._leaving_s = self.loop.time()
        request_id = f"c-{token_hex(8)}"
        response = problem_response(error, request_id)
        self._tell(error, response.status_code, request_id)
        cycle: RequestResponseCycle | None = self.cycle
        under_way = cycle is not None and not cycle.response_complete
        if cycle is not None and under_way:
            cycle.disconnected = True
            cycle.message_event.set()
        self.pipeline.clear()
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            return
        if cycle is not None and under_way and cycle.response_started:
            self.transport.abort()
            return
        headers = [
            *self.server_state.default_headers, *response.raw_headers, NO_STORE,
            (b"x-request-id", request_id.encode()), (b"connection", b"close"),
        ]  # fmt: skip
        head = b"".join(b"%b: %b\r\n" % header for header in headers)
        status = STATUS_LINE[response.status_code]
        self.transport.write(b"%b%b%b\r\n%b" % (status, self._headers, head, bytes(response.body)))
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _tell(self, error: TallystickError, status: int, request_id: str) -> None:
        reason = slug(type(error).__name__)
        self._metrics.refusals[reason] += 1
        about: dict[str, object] = {}
        if self._phase is _Phase.BODY:
            authorization = dict(self.scope["headers"]).get(b"authorization", b"").decode("latin-1")
            about = {"method": self.scope["method"], "agent": self._ledger.tokens.agent_of(authorization)}
        client = self.client[0] if self.client else None
        log.info("refused", request_id=request_id, status=status, reason=reason, client=client, **about)


def _head_too_large() -> HeadTooLarge:
    return HeadTooLarge(
        f"The head of a request is over {HEAD_BYTES_MAX:,} bytes or {HEADERS_MAX} headers; nothing was done.",
        "Send less in headers.",
    )
