"""Compile Go in the sandbox: the compiler and the linker alone, without the go command, cgo, assembly or a cache.

The go command runs outside the sandbox and only on Go's own packages: it compiles them once into its usual cache.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from instruments.sandbox.process import (
    MIB,
    PROGRAM_LIMITS,
    TOOL_LIMITS,
    SandboxResult,
    SandboxUnavailable,
    anonymous_file,
    run_in_sandbox,
)

PACKAGES = (
    "bufio", "bytes", "cmp", "context", "encoding/json", "errors", "fmt", "io", "iter", "log", "maps", "math",
    "math/bits", "math/cmplx", "math/rand", "os", "reflect", "regexp", "slices", "sort", "strconv", "strings",
    "sync", "sync/atomic", "testing", "text/tabwriter", "text/template", "time", "unicode", "unicode/utf16",
    "unicode/utf8",
)  # fmt: skip
"""Packages that a program may import: they calculate, or can do nothing in the sandbox."""

LIST_S = 600
"""The longest time for compiling Go's own packages, which takes about 20 s, once on each machine."""

BUILD_BYTES = 512 * MIB


class GoToolchain(NamedTuple):
    """Paths of the compiler and the linker, and of the compiled packages by import path."""

    compiler: str
    linker: str
    packages: Mapping[str, str]


def find_go() -> GoToolchain:
    """Return the toolchain of the `go` on PATH. Errors: SandboxUnavailable, if there is none or it does not work."""
    program = shutil.which("go")
    if program is None:
        raise SandboxUnavailable("there is no Go toolchain: `go` is not on PATH")
    return _load(program)


@lru_cache
def _load(program: str) -> GoToolchain:
    template = "{{if .Export}}{{.ImportPath}}={{.Export}}{{end}}"
    tools = _ask(program, "env", "GOTOOLDIR").strip()
    lines = _ask(program, "list", "-export", "-deps", "-f", template, *PACKAGES).split()
    packages = dict(line.split("=", 1) for line in lines)
    toolchain = GoToolchain(f"{tools}/compile", f"{tools}/link", packages)
    missing = [path for path in (toolchain.compiler, toolchain.linker, *packages.values()) if not Path(path).is_file()]
    if missing or not set(PACKAGES) <= packages.keys():
        raise SandboxUnavailable(f"the Go toolchain {program} has no {next(iter(missing), 'compiled packages')}")
    return toolchain


def _ask(program: str, *arguments: str) -> str:
    """Run the go command in an empty folder, without a network."""
    fixed = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": "", "GO111MODULE": "off"}
    try:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(  # noqa: S603 - the go command, with our arguments
                [program, *arguments], cwd=folder, env={**os.environ, **fixed}, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=LIST_S, check=True,
            )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(f"the Go toolchain {program} does not work: {error}"[:300]) from error
    return done.stdout


def build_go(answer: Mapping[str, str], main: str) -> bytes | None:
    """Compile the package `answer`, given as texts by file name, and a main program that imports it.

    Return the program; None if it does not compile. Errors: SandboxUnavailable.
    """
    toolchain = find_go()
    files = {"compile": toolchain.compiler, "link": toolchain.linker}
    archives = {path: f"{number}.a" for number, path in enumerate(sorted(toolchain.packages))}
    files |= {name: toolchain.packages[path] for path, name in archives.items()}
    every = "".join(f"packagefile {path}=/{name}\n" for path, name in archives.items())
    public = "".join(f"packagefile {path}=/{archives[path]}\n" for path in PACKAGES)
    compile_ = ["/compile", "-complete", "-pack", "-c", "1"]
    commands = [
        [*compile_, "-p", "answer", "-importcfg", "/public", "-o", "/answer.a", *(f"/{name}" for name in answer)],
        [*compile_, "-p", "main", "-importcfg", "/every", "-o", "/main.a", "/main.go"],
        ["/link", "-s", "-w", "-importcfg", "/every", "-buildmode", "exe", "-o", "/program", "/main.a"],
    ]
    texts = {**answer, "main.go": main, "public": public, "every": f"{every}packagefile answer=/answer.a\n"}
    request = {
        "job": "tools", "files": files, "texts": texts, "commands": commands, "output": "/program",
        "root_bytes": BUILD_BYTES, "needs_namespaces": True, "limits": TOOL_LIMITS,
    }  # fmt: skip
    return run_in_sandbox(request).data or None


def run_go(program: bytes, given: object) -> SandboxResult:
    """Run a compiled program with a value as JSON on its input; return what it writes to descriptor 3.

    Errors: SandboxUnavailable.
    """
    with anonymous_file(program) as executable, anonymous_file(msgspec.json.encode(given)) as standard_input:
        request = {
            "job": "program", "program": executable, "input": standard_input, "root_bytes": MIB,
            "needs_namespaces": True, "limits": PROGRAM_LIMITS,
        }  # fmt: skip
        return run_in_sandbox(request, (executable, standard_input))
