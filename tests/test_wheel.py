"""The wheel as others install it: in one environment with a package and a project that share module names with us."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.instruments.evals.suites import expecting, scenario
from tests.support.paths import ROOT
from tests.test_tidy import SHIPPED

PROJECT = {
    "api/__init__.py": "ours = 1\n",
    "events/__init__.py": "ours = 1\n",
    "ledger/__init__.py": "ours = 1\n",
    "ledger/book.py": "from api import ours as ours\n",
    "tests/__init__.py": "",
    "tests/test_ours.py": (
        "import sys\n"
        "import api, events, ledger.book\n"
        "def test_ours():\n"
        "    assert api.ours == events.ours == ledger.book.ours == 1\n"
        "    assert not {'instruments', 'projections', 'numpy', 'regex', 'typer'} & set(sys.modules)\n"
    ),
}
"""A project with packages of our names: file to content."""

NEIGHBOURS = "import opensearchpy, tallystick; from events import Events; from opensearchpy import OpenSearch"

PROGRAM = """
import sys

import api
import events
from tallystick import Client, TallystickError, local


def gap(client: Client) -> float | None:
    recorded = client.record("Build it", decision_id="d1", confidence=0.8)
    client.review(recorded.decision_id, "success", event_id="d1-review")
    try:
        client.review("d2", "success")
    except TallystickError as error:
        assert error.advice
    return client.calibration(min_decisions=1).gap


assert api.ours == events.ours == 1
with Client(sys.argv[1], agent="scout") as client:
    print(gap(client))
for _ in range(2):
    with local(sys.argv[2], agent="scout") as client:
        print(gap(client))
"""
"""A program of the project, by the client; with `local` it is run again, and adds nothing."""

DECISION = {"type": "decision.recorded.v1", "data": {"decision_id": "d1", "decision": "Build it", "confidence": 0.8}}


class Environment:
    """A fresh environment with the wheel in it, and a folder in which its programs run."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.project = folder / "project"
        for name, content in PROJECT.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.programs = folder / "environment" / "bin"
        self._variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST", "PYTHON", "TALLYSTICK", "COV", "VIRTUAL_ENV"))
        }
        run(sys.executable, "-m", "venv", folder / "environment")
        pip = ("-m", "pip", "--disable-pip-version-check", "--quiet")
        locked = ("-r", ROOT / "requirements.txt", "-r", ROOT / "requirements-wheel.txt")
        self.run("python", *pip, "install", "--require-hashes", *locked)
        self.run("python", *pip, "install", "--no-deps", "--no-index", wheel)
        self.run("python", *pip, "check")

    def run(self, program: str, *arguments: str | Path, given: str = "", code: int = 0) -> str:
        """Run a program of the environment in the project's folder; what it prints."""
        return run(
            self.programs / program, *arguments, given=given, code=code, folder=self.project, variables=self._variables
        )

    @contextmanager
    def serving(self, ledger: Path) -> Iterator[str]:
        """Run a server of a ledger; the value is its base URL."""
        server = subprocess.Popen(
            [self.programs / "tallystick", "--ledger", ledger, "serve", "--port", "0"],
            cwd=self.project, env=self._variables, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        with server:
            try:
                assert server.stderr is not None
                yield next(json.loads(line)["address"] for line in server.stderr if '"event":"serving"' in line)
            finally:
                server.terminate()
                server.communicate()


def run(
    *command: str | Path,
    given: str = "",
    code: int = 0,
    folder: Path = ROOT,
    variables: dict[str, str] | None = None,
) -> str:
    """Run a command that ends with an exit code; what it prints."""
    done = subprocess.run(
        [str(word) for word in command],
        input=given, cwd=folder, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def built(folder: Path, *what: str) -> list[Path]:
    """Build the distributions, in this environment."""
    run(sys.executable, "-m", "build", "--no-isolation", *what, "--outdir", folder, ROOT)
    return sorted(folder.iterdir())


def shipped() -> set[str]:
    """Each file of the shipped folders, by its name in a wheel."""
    files = (path for folder in SHIPPED for path in (ROOT / folder).rglob("*") if path.is_file())
    names = (path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts)
    return {name if name.startswith("tallystick/") else f"tallystick/_app/{name}" for name in names}


@pytest.mark.slow
def test_the_wheel_lives_beside_others(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """One test, because it has one environment."""
    wheel, sdist = built(tmp_path / "dist")
    with subtests.test("the sdist builds the same wheel as the checkout"):
        (direct,) = built(tmp_path / "direct", "--wheel")
        assert sdist.name.endswith(".tar.gz")
        assert direct.read_bytes() == wheel.read_bytes()
    with subtests.test("the wheel has one top-level package, with every file of it"):
        names = set(zipfile.ZipFile(wheel).namelist())
        information = f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"
        manual_page = f"{information.removesuffix('.dist-info')}.data/data/share/man/man1/tallystick.1"
        assert {name.partition("/")[0] for name in names} == {"tallystick", information, manual_page.partition("/")[0]}
        assert {name for name in names if not name.startswith(information)} == {*shipped(), manual_page}
        assert {"tallystick/py.typed", f"{information}/licenses/LICENSE"} <= names
    with subtests.test("check-wheel-contents finds nothing"):
        run(sys.executable, "-m", "check_wheel_contents", "--toplevel", "tallystick", wheel)
    there = Environment(tmp_path, wheel)
    with subtests.test("the package with an `events` of its own, and ours, import"):
        there.run("python", "-P", "-c", NEIGHBOURS)
    with subtests.test("the command runs"):
        assert "scoreboard" in there.run("tallystick", "--help")
        assert there.run("python", "-m", "tallystick", "--version") == there.run("tallystick", "--version")
        assert (there.programs.parent / "share" / "man" / "man1" / "tallystick.1").is_file()
    with subtests.test("a server takes an event, and its ledger is verified"):
        ledger = tmp_path / "ledger.db"
        with there.serving(ledger) as url:
            there.run("tallystick", "append", "-", "--url", url, given=json.dumps(DECISION))
            page = httpx.get(url, headers={"Accept": "text/html"}, follow_redirects=True)
            assert page.headers["content-type"].startswith("text/html"), page.text
            style = httpx.get(f"{url}/ui/assets/pages.css")
            assert "--accent" in style.text, "the pages lack their style"
            assert "an immutable fact" in httpx.get(f"{url}/ui").text, "the pages lack the glossary"
        assert "d1" in there.run("tallystick", "--ledger", ledger, "decision", "d1")
        there.run("tallystick", "--ledger", ledger, "verify")
    with subtests.test("a program of the project uses the client, and its types are checked"):
        (there.project / "program.py").write_text(PROGRAM)
        with there.serving(tmp_path / "served.db") as url:
            said = there.run("python", "program.py", url, "private.db")
        assert len(set(said.split())) == 1
        there.run("tallystick", "--ledger", "private.db", "verify")
        there.run("python", "-m", "mypy", "--strict", "program.py")
    with subtests.test("the project's tests and scenarios run in one session"):
        scenario(there.project / "fixtures" / "good")
        scenario(there.project / "fixtures" / "bad", expecting(root_cause={"exact": "Something else"}))
        asked = ("--tallystick-fixtures", "fixtures", "--tallystick-ledger", tmp_path / "evals.db", "tests")
        assert "1 failed, 2 passed" in there.run("python", "-m", "pytest", *asked, code=1)
        evaluations = ("--ledger", tmp_path / "evals.db", "eval")
        assert '"ended":true' in there.run("tallystick", *evaluations, "list", "--json")
    with subtests.test("reports have their templates"):
        there.run("tallystick", *evaluations, "run", "fixtures", "--html", "report.html", code=1)
        assert "</html>" in (there.project / "report.html").read_text()
