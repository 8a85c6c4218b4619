"""Linux system calls that Python has no function for, and the numbers of those that a filter names."""

import ctypes
import os
import platform
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The machines whose numbers are known here, and their names in a filter. Source: linux/audit.h."""

_NUMBERS = {
    "access": (21, None), "arch_prctl": (158, None), "brk": (12, 214), "capset": (126, 91), "chmod": (90, None),
    "clock_getres": (229, 114), "clock_gettime": (228, 113), "clock_nanosleep": (230, 115), "clone": (56, 220),
    "clone3": (435, 435), "close": (3, 57), "dup": (32, 23), "dup3": (292, 24), "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21), "epoll_pwait": (281, 22), "eventfd2": (290, 19), "execve": (59, 221),
    "execveat": (322, 281), "exit": (60, 93), "exit_group": (231, 94), "faccessat": (269, 48),
    "faccessat2": (439, 439), "fadvise64": (221, 223), "fallocate": (285, 47), "fchmod": (91, 52),
    "fchmodat": (268, 53), "fcntl": (72, 25), "fstat": (5, 80), "fsync": (74, 82), "ftruncate": (77, 46),
    "futex": (202, 98), "getcwd": (79, 17), "getdents64": (217, 61), "getegid": (108, 177), "geteuid": (107, 175),
    "getgid": (104, 176), "getpid": (39, 172), "getppid": (110, 173), "getrandom": (318, 278), "gettid": (186, 178),
    "gettimeofday": (96, 169), "getuid": (102, 174), "lseek": (8, 62), "lstat": (6, None), "madvise": (28, 233),
    "mkdir": (83, None), "mkdirat": (258, 34), "mmap": (9, 222), "mprotect": (10, 226), "mremap": (25, 216),
    "msync": (26, 227), "munmap": (11, 215), "nanosleep": (35, 101), "newfstatat": (262, 79), "open": (2, None),
    "openat": (257, 56), "pipe2": (293, 59), "pivot_root": (155, 41), "pread64": (17, 67), "prlimit64": (302, 261),
    "pwrite64": (18, 68), "read": (0, 63), "readlink": (89, None), "readlinkat": (267, 78), "readv": (19, 65),
    "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "restart_syscall": (219, 128),
    "rseq": (334, 293), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sched_getaffinity": (204, 123), "sched_yield": (24, 124), "set_robust_list": (273, 99),
    "set_tid_address": (218, 96), "sigaltstack": (131, 132), "stat": (4, None), "statx": (332, 291),
    "time": (201, None), "uname": (63, 160), "unlink": (87, None), "unlinkat": (263, 35), "write": (1, 64),
    "writev": (20, 66),
}  # fmt: skip
"""The numbers on x86_64 and aarch64; None where the machine has no such call. Source: asm/unistd.h of both."""


def machine() -> str | None:
    """Return the machine's name if filters can be built for it; None for others, and for other systems than Linux."""
    name = platform.machine()
    return name if sys.platform == "linux" and name in AUDIT_ARCH and sys.byteorder == "little" else None


def number_of(name: str) -> int | None:
    """Return the number of a system call on this machine; None if it has no such call."""
    return _NUMBERS[name][0 if machine() == "x86_64" else 1]


def prctl(option: int, value: int, address: object = 0) -> None:
    """Change an attribute of this process. Errors: OSError."""
    _check(_libc().prctl(option, _word(value), address or _word(0), _word(0), _word(0)), "prctl")


def unshare(flags: int) -> None:
    """Move this process into new namespaces. Errors: OSError."""
    _check(_libc().unshare(flags), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system. Errors: OSError."""
    kind_bytes = None if kind is None else kind.encode()
    _check(
        _libc().mount(source.encode(), target.encode(), kind_bytes, ctypes.c_ulong(flags), options.encode()), "mount"
    )


def unmount_lazily(target: str) -> None:
    """Detach a file system; it ends when nothing uses it. Errors: OSError."""
    _check(_libc().umount2(target.encode(), 2), "umount2")


def pivot_root(new_root: str, old_root: str) -> None:
    """Make a mounted folder the root of this mount namespace. Errors: OSError."""
    _call("pivot_root", new_root.encode(), old_root.encode())


def drop_capabilities() -> None:
    """Give up every capability. Errors: OSError."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)())


def _call(name: str, *arguments: object) -> None:
    number = number_of(name)
    assert number is not None, f"{name} exists on every machine of the table"
    _check(_libc().syscall(_word(number), *arguments), name)


def _check(result: int, name: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _word(value: int) -> ctypes.c_ulong:
    return ctypes.c_ulong(value)
