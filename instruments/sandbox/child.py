"""The process that runs a program in the sandbox: it locks itself in, and then runs the program.

It is started by `process.py` with an empty environment and three anonymous files: a request as JSON on standard input,
the result on standard output, and on standard error the word `started` or the reason why the program was not started.
The program has no descriptor of the last. Three processes: this one waits for the first of the new namespaces, which
waits for the one that runs the program.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from instruments.sandbox import isolation, seccomp
from instruments.sandbox.python_program import load_modules, run_calls

STARTED = b"started"

COPY_BYTES = 1 << 30

REFUSED = 70
"""The exit code of a process that a protection failed."""

GO = {"GODEBUG": "asyncpreemptoff=1", "GOTRACEBACK": "none"}
"""Settings of Go's runtime: no signals to its own threads, which the filter refuses."""

Request = Mapping[str, Any]


class Descriptors(NamedTuple):
    """Open files that the program's process keeps: the result, the status, and /dev/null."""

    result: int
    status: int
    null: int


def main() -> NoReturn:
    """Run the program of the request on standard input."""
    request: Request = json.load(sys.stdin)
    isolation.end_with_parent()
    os.setpriority(os.PRIO_PROCESS, 0, 10)
    files = Descriptors(os.dup(1), os.dup(2), os.open("/dev/null", os.O_RDWR))
    if request["job"] == "python":
        load_modules(request["sources"])
    sources = {name: os.open(path, os.O_RDONLY) for name, path in request.get("files", {}).items()}
    launcher = os.getpid()
    try:
        isolation.enter_namespaces(request["root_bytes"], lambda folder: _fill(folder, sources))
    except OSError as error:
        if request["needs_namespaces"]:
            _refuse(files, f"the kernel allows no namespaces: {error}")
    _in_child(lambda: _in_child(lambda: _work(request, files, launcher)))


def _in_child(work: Callable[[], object]) -> NoReturn:
    """Do the work in a child process that ends with this one, and end as it ends."""
    child = os.fork()
    if child == 0:
        isolation.end_with_parent()
        work()
        os._exit(0)
    os._exit(isolation.relay(child))


def _fill(folder: str, sources: Mapping[str, int]) -> None:
    """Copy open files into the new root, by their names there, and close them."""
    for name, source in sources.items():
        target = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755)
        while os.sendfile(target, source, None, COPY_BYTES):
            pass
        os.close(target)
        os.close(source)


def _refuse(files: Descriptors, reason: str) -> NoReturn:
    os.write(files.status, reason.encode(errors="replace")[:1000])
    os._exit(REFUSED)


def _work(request: Request, files: Descriptors, launcher: int) -> None:
    """Lock this process and run the program. It ends here with a reason if a protection does not work."""
    try:
        isolation.drop_rights(launcher)
        JOBS[request["job"]](request, files)
    except (OSError, isolation.NotLocked) as error:
        _refuse(files, f"{error}")


def _run_python(request: Request, files: Descriptors) -> None:
    for standard in (0, 1, 2):
        os.dup2(files.null, standard)
    isolation.limit(request["limits"])
    isolation.lock(seccomp.CALCULATE)
    _start(files)
    run_calls(request["sources"], request["entry"], request["calls"], files.result)


def _run_program(request: Request, files: Descriptors) -> None:
    """Start a compiled program: its input is descriptor 0, its result descriptor 3."""
    program = os.dup(request["program"])
    os.dup2(request["input"], 0)
    for standard in (1, 2):
        os.dup2(files.null, standard)
    if files.result != 3:
        os.dup2(files.result, 3)
    os.set_inheritable(3, True)
    isolation.limit(request["limits"])
    isolation.lock(seccomp.THREADS)
    _start(files)
    os.execve(program, ["program"], {"GOMAXPROCS": "1", **GO})  # noqa: S606 - inside the sandbox


def _run_tools(request: Request, files: Descriptors) -> None:
    """Run commands one after the other until one fails; then copy the file `output` to the result if none did."""
    for name, text in request["texts"].items():
        Path("/", name).write_text(text, encoding="utf-8", errors="replace")
    for command in request["commands"]:
        child = os.fork()
        if child == 0:
            isolation.end_with_parent()
            _run_tool(command, request["limits"], files)
        code = isolation.relay(child)
        if code != 0:
            os.write(files.status, STARTED if code != REFUSED else b"")
            return
    os.write(files.status, STARTED)
    data = memoryview(Path("/", request["output"]).read_bytes())
    while data:
        data = data[os.write(files.result, data) :]


def _run_tool(command: list[str], limits: Mapping[str, int], files: Descriptors) -> NoReturn:
    try:
        os.dup2(files.null, 0)
        for standard in (1, 2):
            os.dup2(files.null, standard)
        isolation.limit(limits)
        isolation.lock(seccomp.FILES)
        os.execve(command[0], command, {"GOMAXPROCS": "2", **GO})  # noqa: S606 - inside the sandbox
    except (OSError, isolation.NotLocked) as error:
        _refuse(files, f"{error}")


def _start(files: Descriptors) -> None:
    """Say that the program starts, and close the descriptor that says so."""
    os.write(files.status, STARTED)
    os.close(files.status)


JOBS: Mapping[str, Callable[[Request, Descriptors], None]] = {
    "python": _run_python,
    "program": _run_program,
    "tools": _run_tools,
}
