"""Run the gate, one part of the tests, or all: what `make test`, `make test-slow PART=NAME` and `make test-all` call.

A test that fails is tried once more, alone, after the others. One that passes then is printed as FLAKY: its cause is to
be found, and until then it belongs into tests/quarantine.toml. A report says how long each step took.

    python -m tests gate [ARGUMENTS OF PYTEST]
    python -m tests PART [ARGUMENTS OF PYTEST]
    python -m tests all
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tests.parts import GATE, PARTS, QUARANTINED_MAX, files_of, quarantined
from tests.support.paths import ROOT

GIVE_UP_MINUTES = 30
"""A run of pytest that takes longer is ended, with the names of the tests that ran then. A test has no limit."""

HANGS_S = 300
"""A test of the gate that takes longer waits for what will never be: its process is ended, with its stacks."""

FLAKY_MAX = 3
"""More tests than this that pass only at the second try fail the run."""

FAILED_MAX = 5
"""After more failures than this, a run of the gate ends, and nothing is tried again."""

MEMORY = Path("/dev/shm")
"""Where Linux has files in memory."""

MEMORY_BYTES_MIN = 4 * 1024**3
"""Free bytes that must be there. A run of the gate leaves about 1 GB until it ends."""

NO_TESTS = 5
"""The exit code of pytest when it ran no test. Only the quarantine may be empty."""

BUILD = ROOT / "build" / "tests"
RUNNING = BUILD / "running"
"""Where each process of pytest writes down the test that it runs; see `tests/conftest.py`."""

FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
STATIC = {
    "style": ["ruff", "check", "--quiet"],
    "format": ["ruff", "format", "--check", "--quiet"],
    "layers": ["lint-imports"],
    "types": ["mypy", "--num-workers=2"],
}
"""The steps before the tests of the gate: the fastest first."""


class Step(NamedTuple):
    """A step that has run."""

    name: str
    seconds: float
    passed: bool


def main(words: Sequence[str]) -> int:
    """Run what the first word names; return 0 if everything passed."""
    what, *more = words or [GATE]
    if what not in {GATE, "all", *PARTS}:
        sys.stderr.write(f"{what} is not a part. Parts: {', '.join(PARTS)}. Also: {GATE}, all.\n")
        return 2
    failed = []
    for each in [GATE, *PARTS] if what == "all" else [what]:
        steps = _run_gate(more) if each == GATE else _run_part(each, more)
        _report(each, steps)
        if not all(step.passed for step in steps):
            failed.append(each)
    if what == "all":
        print(f"Failed: {', '.join(failed)}." if failed else "Everything passed.")
    return int(failed != [])


def _run_gate(more: Sequence[str]) -> list[Step]:
    """Run the static checks and the tests of the gate; the first step that fails is the last."""
    steps = []
    for name, command in STATIC.items():
        steps.append(_step(name, [_tool(command[0]), *command[1:]]))
        if not steps[-1].passed:
            return steps
    if len(kept := quarantined()) > QUARANTINED_MAX:
        sys.stderr.write(f"{len(kept)} tests are in tests/quarantine.toml, of at most {QUARANTINED_MAX}: mend some.\n")
        return [*steps, Step("quarantine", 0, passed=False)]
    options = [f"--maxfail={FAILED_MAX + 1}", "-o", f"faulthandler_timeout={HANGS_S}", *more]
    with _folder_in_memory() as folder:
        return [*steps, *_test(GATE, [*options, *([f"--basetemp={folder}"] if folder is not None else [])])]


@contextmanager
def _folder_in_memory() -> Iterator[Path | None]:
    """Provide a folder for the ledgers of the gate that no disk delays, where memory is free; else None.

    Its tests are about what is written, not about whether it lasts: the parts write to the disk.
    """
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_BYTES_MIN):
        yield None
        return
    folder = MEMORY / f"tallystick-gate-{sha256(str(ROOT).encode()).hexdigest()[:16]}"
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_part(part: str, more: Sequence[str]) -> list[Step]:
    """Run a part, from the files that it owns. Laws and quarantined tests are anywhere. The manual is built first."""
    built = [_step("build", ["make", "docs"])] if part == "manual" else []
    files = [] if part in {"laws", "quarantine"} else files_of(part)
    return [*built, *_test(part, [*more, *files])]


def _test(name: str, arguments: Sequence[str]) -> list[Step]:
    """Run the tests of the gate or of a part, and once more those that failed."""
    shutil.rmtree(RUNNING, ignore_errors=True)
    RUNNING.mkdir(parents=True, exist_ok=True)  # another part may begin at the same moment
    FAILED.unlink(missing_ok=True)
    start_s = time.monotonic()
    code = _pytest(name, ["-n", "2", "--dist", "worksteal", *arguments], BUILD / f"{name}.xml")
    nothing_to_run = name == "quarantine" and code == NO_TESTS
    tested = Step("tests", time.monotonic() - start_s, passed=code == 0 or nothing_to_run)
    failed = sorted(json.loads(FAILED.read_text())) if FAILED.exists() else []
    if tested.passed or code != 1 or not failed or len(failed) > FAILED_MAX:
        return [tested]
    print(f"\nTrying {len(failed)} once more, alone: {' '.join(failed)}", flush=True)
    start_s = time.monotonic()
    passed = _pytest(name, ["-n", "0", *failed], BUILD / f"{name}-again.xml") == 0
    again = Step("second try", time.monotonic() - start_s, passed=passed and len(failed) <= FLAKY_MAX)
    if passed:
        for test in failed:
            print(f"FLAKY {test}: failed, then passed alone. Find the cause, or add it to tests/quarantine.toml.")
        if len(failed) > FLAKY_MAX:
            print(f"{len(failed)} are too many, of at most {FLAKY_MAX}.")
    return [tested._replace(passed=passed), again]


def _pytest(part: str, arguments: Sequence[str], report: Path) -> int:
    """Run pytest to its end; after GIVE_UP_MINUTES, end it and name what it ran."""
    options = ["--part", part, "--tb=short", "--durations=20", "--durations-min=0.3", "-q", f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=_environment(part), start_new_session=True) as running:
        try:
            return running.wait(GIVE_UP_MINUTES * 60)
        except subprocess.TimeoutExpired:
            names = sorted({path.read_text(encoding="utf-8") for path in RUNNING.iterdir()})
            print(f"\nGave up after {GIVE_UP_MINUTES} minutes. Running then: {', '.join(names)}", flush=True)
            return 3
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)


def _environment(part: str) -> Mapping[str, str]:
    """Return our environment, with the examples of property-based tests that the part draws."""
    drawn = {"HYPOTHESIS_PROFILE": "gate"} if part == GATE else {}
    return {**drawn, **os.environ}


def _tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _step(name: str, command: Sequence[str]) -> Step:
    print(f"== {name}", flush=True)
    start_s = time.monotonic()
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    return Step(name, time.monotonic() - start_s, passed=code == 0)


def _report(what: str, steps: Sequence[Step]) -> None:
    """Print the minutes of each step, and of a part its budget."""
    total_s = sum(step.seconds for step in steps)
    print(f"\n{what}:")
    for step in steps:
        print(f"  {step.name:<12}{step.seconds / 60:6.2f} min  {'passed' if step.passed else 'FAILED'}")
    budget = f" of {PARTS[what].minutes} min" if what in PARTS else ""
    print(f"  {'together':<12}{total_s / 60:6.2f} min{budget}", flush=True)
    if what in PARTS and total_s > 60 * PARTS[what].minutes:
        print(f"  over its budget: split {what}, or make it cheaper (tests/parts.py).")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
