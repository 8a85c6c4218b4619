"""Run a command in a network namespace, and tell which calls it and the processes that it started have made.

The calls are read from packets, so that they are known even if the command hides them. A thread reads the packets
while the command runs; the rest is read after the command has ended. Calls to the outside have a socket of their own:
whatever happens on the loopback interface, the first of them is kept.

The cost is one start of Python and a namespace: 40 ms of processor time for each command (median of 30 starts).
"""

import os
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Self

from instruments.sandbox.network_child import READY, has_ipv6
from instruments.sandbox.packet_filter import DNS_PORT, SNAP_BYTES, PacketFact, read_packet

Network = Literal["none", "loopback"]
"""`none`: no call, except between processes of the command; `loopback`: calls to 127.0.0.1 and ::1 do not count."""

CALLS_MAX = 100
"""Distinct calls that are kept."""

SHOWN_MAX = 5
"""Calls that a description names."""

PROBE_S = 60.0

_ROOT = Path(__file__).parents[2]
_PROGRAM = "import sys; sys.path.insert(0, {root!r}); from instruments.sandbox.network_child import main; main()"
_PROBE = (
    "import socket\n"
    "for family, address in ((socket.AF_INET, '192.0.2.1'), (socket.AF_INET6, '2001:db8::1')):\n"
    "    try: socket.socket(family, socket.SOCK_STREAM).connect((address, 9))\n"
    "    except OSError as error: print(error.errno)\n"
)
"""Calls two addresses that are nobody's. Source: RFC 5737, RFC 3849."""


class NetworkUnavailable(Exception):
    """There is no network namespace here: nothing was run. The text says why."""


class NetworkCall(NamedTuple):
    """A call: protocol, address, port (None where the protocol has none), and the name that a query asked for."""

    protocol: str
    address: str
    port: int | None
    name: str | None = None

    def __str__(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        place = host if self.port is None else f"{host}:{self.port}"
        return f"{place} ({self.protocol}{f', for the name {self.name}' if self.name else ''})"


class NetworkGuard:
    """The network namespace of one command. Use `words` and `descriptors` to start it, and `finish` when it has ended.

    As a context manager it closes what it has open.
    """

    def __init__(self, mode: Network, command: Sequence[str]) -> None:
        self._mode = mode
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._wake = os.eventfd(0)
        self._sockets: list[socket.socket] = []
        self._outside: dict[NetworkCall, None] = {}
        self._inside = _LoopbackCalls()
        self.problem: str | None = None
        """Why the command was not started, in words that may follow its name."""
        program = _PROGRAM.format(root=str(_ROOT))
        own = [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", program, str(self._theirs.fileno())]
        self.words = [*own, *command]
        self.descriptors = (self._theirs.fileno(),)
        self._thread = threading.Thread(target=self._read_until_woken, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()
        for each in (self._ours, self._theirs, *self._sockets):
            each.close()
        os.close(self._wake)

    def finish(self) -> tuple[NetworkCall, ...]:
        """Return the calls that count, in their order, those to the outside first. The command has ended."""
        self._stop()
        if not self._sockets and self.problem is None:
            self.problem = "ended before its network namespace was there"
        inside = self._inside.unanswered()
        if self._mode == "loopback":
            inside = [call for call in inside if call.port == DNS_PORT]
        return (*self._outside, *inside)

    def _stop(self) -> None:
        if self._thread.is_alive():
            os.eventfd_write(self._wake, 1)
            self._thread.join()

    def _read_until_woken(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._ours, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if self._ours in ready:
                    for each in self._receive():
                        selector.register(each, selectors.EVENT_READ)
                    if self.problem is not None:
                        selector.unregister(self._ours)
                for each in self._sockets:
                    self._drain(each)
                if self._wake in ready and self._ours not in ready:
                    return

    def _receive(self) -> list[socket.socket]:
        """Receive the packet sockets, or the reason why there are none."""
        said, descriptors, _, _ = socket.recv_fds(self._ours, 4096, 2)
        if said != READY:
            self.problem = said.decode(errors="replace")
            return []
        self._sockets = [socket.socket(fileno=descriptor) for descriptor in descriptors]
        for each in self._sockets:
            each.setblocking(False)
        return self._sockets

    def _drain(self, packets: socket.socket) -> None:
        while True:
            try:
                data = packets.recv(SNAP_BYTES)
            except BlockingIOError:
                return
            fact = read_packet(data)
            if fact is None:
                continue
            if packets is self._sockets[1]:
                self._inside.add(fact)
            elif fact.refused is None and not fact.is_answer and len(self._outside) < CALLS_MAX:
                self._outside.setdefault(_call(fact))


class _LoopbackCalls:
    """The calls to loopback addresses, and their answers."""

    def __init__(self) -> None:
        self._asked: dict[NetworkCall, None] = {}
        self._answered: set[tuple[str, int | None]] = set()
        self._refused: set[tuple[str, int | None]] = set()
        self._senders: set[tuple[str, int | None]] = set()

    def add(self, fact: PacketFact) -> None:
        if fact.refused is not None:
            self._refused.add(fact.refused)
        elif fact.is_answer:
            self._answered.add(fact.source)
        elif fact.protocol in ("tcp", "udp"):
            if fact.protocol == "udp":
                self._senders.add(fact.source)
            if len(self._asked) < CALLS_MAX:
                self._asked.setdefault(_call(fact))

    def unanswered(self) -> list[NetworkCall]:
        """Return the calls that reached no process: no listener of TCP accepted, and UDP was refused."""
        return [call for call in self._asked if self._is_unanswered(call)]

    def _is_unanswered(self, call: NetworkCall) -> bool:
        place = call.address, call.port
        if call.protocol == "tcp":
            return place not in self._answered
        return place in self._refused and place not in self._senders  # a late answer to a client that has gone


def _call(fact: PacketFact) -> NetworkCall:
    return NetworkCall(fact.protocol, *fact.target, fact.name)


def describe_calls(calls: Sequence[NetworkCall]) -> str:
    """Return calls in words."""
    more = len(calls) - SHOWN_MAX
    return f"{', '.join(map(str, calls[:SHOWN_MAX]))}{f' and {more} more' if more > 0 else ''}"


def check_network() -> None:
    """Try a namespace: calls in it must be seen. Errors: NetworkUnavailable."""
    if not sys.platform.startswith("linux"):
        raise NetworkUnavailable("network namespaces need Linux")
    with NetworkGuard("none", [sys.executable, "-I", "-S", "-c", _PROBE]) as guard:
        try:
            subprocess.run(  # noqa: S603 - our own child
                guard.words, pass_fds=guard.descriptors, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                timeout=PROBE_S,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            raise NetworkUnavailable(f"its process did not run: {error}") from None
        calls = guard.finish()
    if guard.problem is not None:
        raise NetworkUnavailable(guard.problem)
    called = {"192.0.2.1", "2001:db8::1"} if has_ipv6() else {"192.0.2.1"}
    missing = called - {call.address for call in calls}
    if missing:
        raise NetworkUnavailable(f"a call in it to {', '.join(sorted(missing))} was not seen")
