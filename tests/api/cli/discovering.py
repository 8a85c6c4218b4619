"""`tallystick discover` against the simulated router, and what it left in the ledger."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.api.cli.command import Ended, Value, command, done, environment, tally
from tests.instruments.routers.simulated import (
    Reply,
    Script,
    Simulated,
    completed,
    said,
    simulated,
)
from tests.support.paths import ROOT

Json = dict[str, Any]
KEY = "sk-meadow-0123456789abcdef"

GO_ON = ("--keep-going", "--max-attempts", 6, "--max-iterations", 6)


def discover(ledger: Path, router: Simulated, *arguments: Value, **variables: str) -> Ended:
    """Ask a simulated router to its end."""
    return tally(ledger, "discover", "--router", f"openai:{router.url}", *arguments, given=b"", **variables)


def against(script: Script, ledger: Path, *arguments: Value, **variables: str) -> Ended:
    """Ask a router that does as a script says, to its end."""
    with simulated(script) as router:
        return discover(ledger, router, *arguments, **variables)


@contextmanager
def discovering(ledger: Path, router: Simulated, *arguments: Value) -> Iterator[subprocess.Popen[bytes]]:
    """A command that is under way."""
    words = command(ledger, "discover", "--router", f"openai:{router.url}", *arguments)
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, env=environment(), stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def events(ledger: Path, run: str | None = None) -> list[Json]:
    """The events of every run, or of one, with those of scores."""
    lines = done(ledger, "log", "--json").out.splitlines()
    found: list[Json] = [event for event in map(msgspec.json.decode, lines) if "decision" not in event["type"]]
    return [event for event in found if run is None or event["data"].get("run_id") == run]


def of_type(found: list[Json], name: str) -> list[Json]:
    """The payloads of one type, of any version."""
    return [event["data"] for event in found if event["type"].rpartition(".")[0] == name]


def outcomes(found: list[Json]) -> list[str]:
    return [attempt["outcome"] for attempt in of_type(found, "discovery.attempted")]


def accepted(found: list[Json]) -> list[str]:
    """The models accepted, in order."""
    attempts = of_type(found, "discovery.attempted")
    return [attempt["claimed"]["model_name"] for attempt in attempts if attempt["outcome"] == "accepted"]


def ending(found: list[Json]) -> tuple[str, str]:
    """Why the one run ended: in a word, and in words."""
    (finished,) = of_type(found, "discovery.finished")
    return finished["ending"], finished["reason"]


def everything(ledger: Path) -> bytes:
    """Every byte of every file of a ledger."""
    files = sorted(path for path in ledger.parent.rglob(f"{ledger.name}*") if path.is_file())
    folders = [path for path in ledger.parent.glob(f"{ledger.name}*") if path.is_dir()]
    files += sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())
    return b"\0".join(path.read_bytes() for path in files)


def then(first: list[Reply], script: Script) -> Script:
    """These replies, and from then on a script's."""
    return lambda asked: first[asked.number - 1] if asked.number <= len(first) else script(asked)


def models(*names: str) -> list[Reply]:
    """Replies of these models, which ignore the exclusions in the prompt."""
    return [completed(said(name)) for name in names]
