"""Running a page: its blocks one after the other, as a reader would paste them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.documents.page import DOCS, Block, Need, parts
from tests.documents.python_session import PythonSession
from tests.support.paths import ROOT, SHARED
from tests.support.postgres import postgres_server
from tests.support.postgres_programs import postgres_folder
from tests.support.server import Served, served

ADDRESS = "http://127.0.0.1:8321"
DATABASE = "db.example.com"
"""The host of the databases that the pages name."""

_varying = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"\bTIME  \d{4}-\d\d-\d\d\b"), "TIME  DAY"),
    (re.compile(r'("(?:\w*_at|\w*time)": ?)"\d{4}-\d\d-\d\dT[0-9:.]+Z"'), r'\1"TIME"'),
    (re.compile(r'"request_id": ?"[0-9a-f-]+"'), "REQUEST"),
    (re.compile(r"[\d.,]+ s, [\d.,]+ \w+/s"), "RATE"),
    (re.compile(r" *\b\d[\d.,]* ?m?s\b"), " SPAN"),
    (re.compile(r"tallystick/[0-9a-f]{16}"), "ORIGIN"),
)


@dataclass(frozen=True)
class Shown:
    """A `text` block, and what the block before it printed."""

    block: Block
    printed: str

    @property
    def true(self) -> bool:
        """Whether the page shows what was printed, but for what differs from run to run."""
        return alike(self.block.text) == alike(self.printed)


def alike(text: str) -> str:
    """Remove what differs from run to run."""
    for pattern, name in _varying:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def run(page: str, folder: Path) -> Iterator[Shown]:
    """Run a page in a folder; yield each block that shows what was printed.

    Errors: AssertionError where a block fails, with its output.
    """
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    with ExitStack() as stack:
        real = {ADDRESS: ADDRESS}
        printed = ""
        python: PythonSession | None = None
        ran = False
        for part in parts(page):
            if isinstance(part, Need) and part.kind == "server":
                assert real[ADDRESS] == ADDRESS, "one server a page"
                words = [_replace(word, real | {"STATE": str(folder.parent / "state")}) for word in part.words]
                real[ADDRESS] = stack.enter_context(_server(folder, *words)).url
            elif isinstance(part, Need) and part.kind == "postgres":
                database = stack.enter_context(postgres_server())
                real[DATABASE] = f"{database.host}:{database.port}"
            elif isinstance(part, Need):
                _prepare(part, folder)
            elif part.language == "sh":
                printed, ran = _restore(_paste(_replace(part.text, real), folder), real), True
            elif part.language == "python":
                variables = environment(TALLYSTICK_URL=real[ADDRESS])
                python = python or stack.enter_context(PythonSession(folder, variables))
                printed, ran = _restore(python.run(_replace(part.text, real)), real), True
            elif part.language == "text" and ran:
                yield Shown(part, printed)
                ran = False


def _replace(text: str, real: Mapping[str, str]) -> str:
    """Replace the addresses that a page names by the real ones."""
    for named, address in real.items():
        text = text.replace(named, address)
    return text


def _restore(text: str, real: Mapping[str, str]) -> str:
    return _replace(text, {address: named for named, address in real.items()})


def _server(folder: Path, *options: str) -> AbstractContextManager[Served]:
    return served(folder / "tallystick.db", *options, logs=folder.parent)


def environment(**variables: str) -> dict[str, str]:
    """Return a reader's environment: the command is on the path, and only the given settings of Tallystick are set."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("TALLYSTICK_")}
    programs = [
        str(Path(sys.executable).parent),
        os.environ["PATH"],
        *([str(found)] if (found := postgres_folder()) else []),
    ]
    return {**others, "PATH": ":".join(programs), "COLUMNS": "120", **variables}


def _prepare(need: Need, folder: Path) -> None:
    match need:
        case Need("after", (name,)):
            for _ in run((DOCS / name).read_text(encoding="utf-8"), folder):
                pass  # its own test compares
        case Need("with", (name,)):
            (folder / Path(name).name).symlink_to(SHARED / name)
        case _:
            raise AssertionError(f"nothing is known of <!-- run: {need.kind} {' '.join(need.words)} -->")


def _paste(text: str, folder: Path) -> str:
    """Paste commands into a shell; return what they print on standard output."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=folder, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{text}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
