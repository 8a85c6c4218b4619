"""Take away from this process what a program in the sandbox must not have, and check that it is gone.

In order: limits; namespaces with an empty root, where the kernel allows them; the user's rights; the filter of system
calls. `lock` then tries what must fail.
"""

import os
import resource
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress

from instruments.sandbox import seccomp
from instruments.sandbox.system_calls import (
    PR_SET_DUMPABLE,
    PR_SET_PDEATHSIG,
    drop_capabilities,
    mount,
    pivot_root,
    prctl,
    unmount_lazily,
    unshare,
)

NAMESPACES = 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000
"""Mounts, processes, network, interprocess communication, host name. Source: linux/sched.h."""
USER_NAMESPACE = 0x10000000
PRIVATE, PLAIN = 0x44000, 0x6
"""MS_REC | MS_PRIVATE; MS_NOSUID | MS_NODEV. Source: linux/mount.h."""

NOBODY = 65_534
UNUSED_USERS = 1_000_000_000
"""As root, each run has a user of its own from here on, so that no other process is that user's."""


class NotLocked(Exception):
    """A protection does not work here; the text names it."""


def limit(limits: Mapping[str, int]) -> None:
    """Set resource limits by name (`CPU` in s, `AS`, `FSIZE`, `DATA` in bytes, `NOFILE`, `NPROC`, `CORE`).

    Errors: NotLocked.
    """
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(kind)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))
        if resource.getrlimit(kind) != (most, most):
            raise NotLocked(f"the limit {name} does not hold")


def end_with_parent() -> None:
    """Have the kernel kill this process when the one that started it ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def enter_namespaces(root_bytes: int, fill: Callable[[str], None]) -> None:
    """Move into new namespaces without network, with an empty root of at most `root_bytes`, which `fill` may fill.

    The next child is the first process of its namespace: when it ends, the kernel kills all others there.
    Errors: OSError.
    """
    if os.geteuid() == 0:
        unshare(NAMESPACES)
    else:
        enter_user_namespace(NAMESPACES)
    mount("none", "/", None, PRIVATE)
    mount("tmpfs", "/tmp", "tmpfs", PLAIN, f"size={root_bytes},mode=777")  # noqa: S108 - of this namespace alone
    os.chdir("/tmp")  # noqa: S108
    fill(".")
    pivot_root(".", ".")
    unmount_lazily(".")
    os.chdir("/")


def enter_user_namespace(flags: int) -> None:
    """Move into a new user namespace, as the same user and group, and into those of the flags. Errors: OSError."""
    user, group = os.geteuid(), os.getegid()
    unshare(flags | USER_NAMESPACE)
    for file, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{file}", "w", encoding="ascii") as stream:  # noqa: PTH123 - pathlib takes 10 ms to load
            stream.write(text)


def drop_rights(unused_user: int) -> None:
    """Become a user without files if this is root, and give up every capability. Errors: OSError."""
    if os.geteuid() == 0:
        os.setgroups([])
        user = UNUSED_USERS + unused_user
        try:
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        except OSError:  # a container maps few users
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
    drop_capabilities()
    prctl(PR_SET_DUMPABLE, 0)
    end_with_parent()  # the kernel forgets it when the user changes


def lock(calls: frozenset[str]) -> None:
    """Install the filter, and try what must fail: a file, a process, a signal, sockets. Errors: OSError, NotLocked."""
    seccomp.allow_only(calls)
    for what, attempt in _ATTEMPTS.items():
        try:
            attempt()
        except OSError:
            continue
        raise NotLocked(f"{what} is possible")
    if os.geteuid() == 0:
        raise NotLocked("the rights of root are still there")


def _open_file() -> None:
    os.close(os.open("/etc/passwd", os.O_RDONLY))


def _start_process() -> None:
    if os.fork() == 0:
        os._exit(0)


def _send_signal() -> None:
    os.kill(os.getpid(), 0)


def _open_internet_socket() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM):
        pass


def _open_unix_socket() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM):
        pass


_ATTEMPTS: dict[str, Callable[[], None]] = {
    "opening a file": _open_file,
    "starting a process": _start_process,
    "sending a signal": _send_signal,
    "opening a network socket": _open_internet_socket,
    "opening a local socket": _open_unix_socket,
}


def relay(child: int) -> int:
    """Wait for a child process; return its exit code, or 128 and more if a signal ended it."""
    with suppress(ChildProcessError):
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code
    return 1
