"""The client's documents are complete, and its example runs as readers run it; tests/test_docs.py runs the guide."""

import subprocess
import sys
from pathlib import Path

import pytest

import tallystick
from tallystick import Client
from tallystick.client import Client as Documented
from tests.api.cli.command import environment
from tests.support.paths import ROOT
from tests.support.server import served, serving
from tests.support.wait import wait_until
from tests.tallystick.proxy import Fault, proxying

GUIDE = (ROOT / "docs" / "how-to" / "use-the-python-client.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "python-client.md").read_text(encoding="utf-8")
EXAMPLE = (ROOT / "examples" / "client.py").read_text(encoding="utf-8")
SERVER = 'tallystick.Client("http://127.0.0.1:8321", agent="scout")'
LOCAL = 'tallystick.local("scout.db", agent="scout")'


def run(text: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder."""
    (folder / "program.py").write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=environment(**variables), capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def printed(text: str, folder: Path) -> str:
    done = run(text, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_guide_and_the_reference_name_everything() -> None:
    methods = {name for name in vars(Documented) if not name.startswith("_")} - {"close"}
    assert {name for name in methods if f"{name}(" not in GUIDE and f"`{name}`" not in GUIDE} == set()
    errors = {name for name in tallystick.__all__ if isinstance(kind := getattr(tallystick, name), type)
              and issubclass(kind, tallystick.TallystickError)}  # fmt: skip
    assert {name for name in errors if name not in REFERENCE} == set()
    for name in ("TALLYSTICK_URL", "TALLYSTICK_AGENT", "TALLYSTICK_TOKEN"):
        assert name in GUIDE


def test_the_example_has_at_most_eight_lines_and_is_the_guide_s() -> None:
    lines = [line for line in EXAMPLE.splitlines() if line.strip()]
    assert len(lines) <= 8
    assert SERVER in EXAMPLE
    assert LOCAL in EXAMPLE, "the example says how it is done without a server"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for line in lines[4:]:
        assert line.strip() in GUIDE
    for line in lines[1:]:
        assert line.strip() in readme


@pytest.mark.slow
def test_the_example_adds_two_events_however_often_it_runs(tmp_path: Path) -> None:
    with serving(tmp_path / "t.db") as url:
        for _ in range(3):
            assert printed(EXAMPLE.replace("http://127.0.0.1:8321", url), tmp_path) == "gap +0.20\n"
        with Client(url) as client:
            assert [event.type for event in client.events()] == ["decision.recorded.v1", "decision.reviewed.v1"]


@pytest.mark.slow
def test_the_example_does_the_same_without_a_server(tmp_path: Path) -> None:
    program = EXAMPLE.replace(SERVER, LOCAL)
    for _ in range(2):
        assert printed(program, tmp_path) == "gap +0.20\n"
    with tallystick.local(tmp_path / "scout.db") as client:
        assert sum(1 for _ in client.events()) == 2


PLACES: list[tuple[int, Fault]] = [(at, fault) for at in range(3) for fault in ("lose request", "lose answer")]


@pytest.mark.slow
@pytest.mark.parametrize(("before", "fault"), PLACES)
def test_the_example_killed_anywhere_and_run_again_adds_nothing_twice(
    tmp_path: Path, before: int, fault: Fault
) -> None:
    """It is killed while it waits for the answer to its first, second or third request."""
    with serving(tmp_path / "t.db") as url:
        forwarded: list[Fault] = ["none"] * before
        with proxying(url, [*forwarded, *[fault] * 1_000]) as proxy:
            program = EXAMPLE.replace("http://127.0.0.1:8321", proxy.url)
            killed = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environment())
            wait_until(lambda: len(proxy.seen) > before, killed)
            killed.kill()
            killed.wait()
            proxy.faults.clear()
            assert printed(program, tmp_path) == "gap +0.20\n"
        with Client(url) as client:
            assert [event.type for event in client.events()] == ["decision.recorded.v1", "decision.reviewed.v1"]


@pytest.mark.slow
def test_a_program_over_a_private_server_killed_again_and_again_adds_nothing_twice(tmp_path: Path) -> None:
    """It is killed as it records; each run of it does a little more, until one comes to the end."""
    program = """
import tallystick
with tallystick.local("t.db", agent="scout") as client:
    print("ready", flush=True)
    for place in range(200):
        client.record("Choice", decision_id=f"d{place}", confidence=0.5)
        client.review(f"d{place}", "success", event_id=f"r{place}")
        print(place, flush=True)
"""
    for until in (1, 30, 110):
        words = [sys.executable, "-c", program]
        with subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as killed:
            assert killed.stdout is not None
            for _ in range(until):
                assert killed.stdout.readline()
            killed.kill()
    printed(program, tmp_path)
    with served(tmp_path / "t.db") as server, Client(server.url, agent="scout") as client:
        assert client.calibration().coverage.reviewed == 200
        assert sum(1 for _ in client.events()) == 400
