"""Running a page: its blocks one after the other, as a reader would paste them."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.documents.page import DATA, DOCS, ROOT, Block, Need, parts
from tests.serving import Served, served

ADDRESS = "http://127.0.0.1:8321"

_varying = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b"), "TIME"),
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
    """A text without what differs from run to run."""
    for pattern, name in _varying:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def run(page: str, folder: Path) -> Iterator[Shown]:
    """Run a page in a folder; yield each block that shows what was printed.

    Errors: AssertionError where a block fails, with what it said.
    """
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    with ExitStack() as stack:
        server: Served | None = None
        printed: str | None = None
        for part in parts(page):
            if isinstance(part, Need):
                if part.kind == "server":
                    assert server is None, "one server a page"
                    ledger = folder / "tallystick.db"
                    server = stack.enter_context(served(ledger, *part.words, logs=folder.parent))
                else:
                    _prepare(part, folder)
            elif part.runs:
                printed = _paste(part, folder, server.url if server else ADDRESS)
            elif part.language == "text" and printed is not None:
                yield Shown(part, printed)
                printed = None


def _prepare(need: Need, folder: Path) -> None:
    match need:
        case Need("after", (name,)):
            for _ in run((DOCS / name).read_text(encoding="utf-8"), folder):
                pass  # its own test compares
        case Need("with", (name,)):
            (folder / Path(name).name).symlink_to(DATA / name)
        case _:
            raise AssertionError(f"nothing is known of <!-- run: {need.kind} {' '.join(need.words)} -->")


def _paste(block: Block, folder: Path, url: str) -> str:
    """Paste a block where the server is at a URL; return what it prints on standard output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TALLYSTICK_")}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "120"}
    text = block.text.replace(ADDRESS, url)
    if block.language == "python":
        environment["TALLYSTICK_URL"] = url
        command = [sys.executable, "-c", text]
    else:
        command = ["bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{text}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.replace(url, ADDRESS)
