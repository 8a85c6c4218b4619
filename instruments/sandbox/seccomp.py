"""A filter of system calls: those on a list are allowed, all others fail. It is inherited and cannot be removed.

The program is classic BPF, as the kernel's seccomp takes it. Source: Documentation/userspace-api/seccomp_filter.rst.
"""

import ctypes
import errno

from instruments.sandbox.system_calls import AUDIT_ARCH, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, machine, number_of, prctl

CALCULATE = frozenset(
    {
        "read", "write", "readv", "writev", "close", "lseek", "fstat", "mmap", "munmap", "mremap", "mprotect", "brk",
        "madvise", "futex", "exit", "exit_group", "rt_sigreturn", "rt_sigaction", "rt_sigprocmask", "sigaltstack",
        "clock_gettime", "clock_getres", "gettimeofday", "time", "getrandom", "sched_yield", "getpid", "gettid",
        "restart_syscall", "rseq",
    }
)  # fmt: skip
"""Memory, clocks, and the descriptors that are open: no file can be opened, no process or thread started."""

THREADS = CALCULATE | frozenset(
    {
        "clone", "execveat", "nanosleep", "clock_nanosleep", "epoll_create1", "epoll_ctl", "epoll_pwait", "eventfd2",
        "pipe2", "fcntl", "sched_getaffinity", "arch_prctl", "set_tid_address", "set_robust_list", "getuid", "geteuid",
        "getgid", "getegid", "uname",
    }
)  # fmt: skip
"""For compiled programs: also threads (no processes), waiting, and the start of a program that is open already."""

FILES = THREADS | frozenset(
    {
        "execve", "openat", "open", "newfstatat", "stat", "lstat", "statx", "access", "faccessat", "faccessat2",
        "readlink", "readlinkat", "getcwd", "getdents64", "mkdir", "mkdirat", "unlink", "unlinkat", "rename",
        "renameat", "renameat2", "chmod", "fchmod", "fchmodat", "ftruncate", "fallocate", "pread64", "pwrite64", "dup",
        "dup3", "fsync", "msync", "fadvise64", "prlimit64", "getppid",
    }
)  # fmt: skip
"""For compilers: also files, of the sandbox's own root."""

ABSENT = frozenset({"open", "openat", "newfstatat", "stat", "lstat", "statx", "access", "faccessat", "readlink"})
"""Calls that fail as if the file did not exist, so that programs report what they would in an empty folder."""

_SECCOMP_MODE_FILTER = 2
_ALLOW, _FAIL, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCH, _FIRST_ARGUMENT = 0, 4, 16
_CLONE_THREAD = 0x00010000


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def allow_only(calls: frozenset[str]) -> None:
    """Let this process and its children make only these system calls from now on. Errors: OSError."""
    rows = _rows(calls)
    instructions = (_Instruction * len(rows))(*(_Instruction(*row) for row in rows))
    program = _Program(len(rows), instructions)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program))


def _rows(calls: frozenset[str]) -> list[tuple[int, int, int, int]]:
    """Return the filter's instructions. A call of another machine's numbers ends the process."""
    arch = AUDIT_ARCH[machine() or ""]
    rows = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)]
    for name in sorted(calls - {"clone"}):
        rows += _answer(number_of(name), _ALLOW)
    clone = number_of("clone")
    if "clone" in calls and clone is not None:
        rows += [(_EQUAL, 0, 4, clone), (_LOAD, 0, 0, _FIRST_ARGUMENT), (_ANY_BIT, 0, 1, _CLONE_THREAD)]
        rows += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | errno.EPERM)]
    for name in sorted(ABSENT - calls):
        rows += _answer(number_of(name), _FAIL | errno.ENOENT)
    rows += _answer(number_of("clone3"), _FAIL | errno.ENOSYS)  # its flags are in memory: libraries then use clone
    return [*rows, (_RETURN, 0, 0, _FAIL | errno.EPERM)]


def _answer(number: int | None, answer: int) -> list[tuple[int, int, int, int]]:
    return [] if number is None else [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer)]
