"""The process that moves into a network namespace and then becomes the agent's command.

It is started by `network_guard.py` with the number of a socket and the command as its arguments. The namespace has the
loopback interface alone, and a route on which every address is a local one: a call to anywhere ends there, refused at
once unless a process of the namespace listens, and is a packet on that interface. Two packet sockets see such packets.
They are handed to the guard, which alone keeps them; the command gets no rights over the namespace.
"""

import os
import signal
import socket
import struct
import sys
from contextlib import suppress

from instruments.sandbox.isolation import enter_user_namespace
from instruments.sandbox.packet_filter import attach_filter
from instruments.sandbox.system_calls import PR_CAPBSET_DROP, prctl, unshare

READY = b"ready"
REFUSED = 70
"""The exit code where the namespace or the command could not be started."""

_NETWORK_NAMESPACE = 0x40000000
_RIGHTS = {"net_admin": 12, "net_raw": 13, "sys_module": 16, "sys_ptrace": 19, "sys_admin": 21}
"""What root would need to leave the namespace. Source: linux/capability.h."""

_NEW_LINK, _NEW_ROUTE = 16, 24
_REQUEST, _ACKNOWLEDGE, _CREATE = 0x1, 0x4, 0x400
_UP, _LOCAL_ROUTE, _MAIN_TABLE, _BOOT, _HOST_SCOPE, _INTERFACE = 0x1, 2, 254, 3, 254, 4
_ALL_PROTOCOLS = 0x0003
"""Numbers of rtnetlink and packet sockets. Source: linux/rtnetlink.h, linux/if_ether.h."""


def main() -> None:
    """Enter the namespace, hand over the packet sockets, and become the command; never returns."""
    guard = socket.socket(fileno=int(sys.argv[1]))
    guard.set_inheritable(False)
    words = sys.argv[2:]
    try:
        _enter()
        packets = [_packet_socket(loopback=loopback) for loopback in (False, True)]
        _drop_rights()
        socket.send_fds(guard, [READY], [one.fileno() for one in packets])
    except OSError as error:
        _refuse(guard, f"the kernel allows no network namespace here: {error.strerror or error}")
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the command would inherit that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(words[0], words, _environment())  # noqa: S606 - the user names the program to run; no shell
    except OSError as error:
        _refuse(guard, f"cannot be run: {error.strerror or error}")


def _enter() -> None:
    """Errors: OSError."""
    try:
        if os.geteuid() != 0:
            raise PermissionError
        unshare(_NETWORK_NAMESPACE)
    except PermissionError:  # a container's root without the right
        enter_user_namespace(_NETWORK_NAMESPACE)
    loopback = socket.if_nametoindex("lo")
    _ask_kernel(_NEW_LINK, 0, struct.pack("=BxHiII", 0, 0, loopback, _UP, _UP), "the loopback interface")
    _add_route(socket.AF_INET, _HOST_SCOPE, loopback)
    if has_ipv6():
        _add_route(socket.AF_INET6, 0, loopback)


def _add_route(family: int, scope: int, interface: int) -> None:
    route = struct.pack("=BBBBBBBBI", family, 0, 0, 0, _MAIN_TABLE, _BOOT, scope, _LOCAL_ROUTE, 0)
    attribute = struct.pack("=HHI", 8, _INTERFACE, interface)
    version = "IPv6" if family == socket.AF_INET6 else "IPv4"
    _ask_kernel(_NEW_ROUTE, _CREATE, route + attribute, f"the route of {version}")


def _ask_kernel(kind: int, flags: int, body: bytes, what: str) -> None:
    """Send a request to rtnetlink, and wait for its acknowledgement. Errors: OSError."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        head = struct.pack("=IHHII", 16 + len(body), kind, flags | _REQUEST | _ACKNOWLEDGE, 1, 0)
        kernel.send(head + body)
        (code,) = struct.unpack_from("=i", kernel.recv(65_536), 16)
    if code != 0:
        raise OSError(-code, f"{what}: {os.strerror(-code)}")


def has_ipv6() -> bool:
    """Tell whether the kernel has IPv6."""
    try:
        socket.socket(socket.AF_INET6, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True


def _packet_socket(*, loopback: bool) -> socket.socket:
    """Open a socket that sees calls to loopback addresses, or to all others. Errors: OSError."""
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)  # nothing arrives before bind
    attach_filter(packets, loopback=loopback)
    packets.bind(("lo", _ALL_PROTOCOLS))
    return packets


def _drop_rights() -> None:
    """Keep root's command from leaving the namespace. A user has no rights over it once the command has begun."""
    for right in _RIGHTS.values():
        with suppress(PermissionError):  # without the right to drop rights there are none
            prctl(PR_CAPBSET_DROP, right)


def _environment() -> dict[bytes, bytes]:
    """Return the environment that this process was started with: Python may have changed its own."""
    with open("/proc/self/environ", "rb") as stream:  # noqa: PTH123 - pathlib takes 10 ms to load
        pairs = (pair.partition(b"=") for pair in stream.read().split(b"\0") if b"=" in pair)
        return {name: value for name, _, value in pairs}


def _refuse(guard: socket.socket, reason: str) -> None:
    with suppress(OSError):
        guard.send(reason.encode(errors="replace")[:1000])
    os._exit(REFUSED)
