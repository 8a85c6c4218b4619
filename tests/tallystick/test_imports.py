"""What `import tallystick` loads, and what programs of others can do with it under strict types."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tallystick
from tests.api.cli.command import environment

PACKAGE = Path(tallystick.__file__).parent
PRIVATE = {"api", "events", "instruments", "ledger", "projections"}
OF_OTHERS = {"httpx", "msgspec", "tallystick"}
CLIENT = [path for path in sorted(PACKAGE.glob("*.py")) if path.stem not in {"__main__", "_app_path", "pytest_plugin"}]


def python(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_importing_loads_neither_the_application_nor_httpx(tmp_path: Path) -> None:
    done = python("import sys, tallystick; print(*sys.modules)", tmp_path)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "tallystick" in loaded, done.stderr
    assert loaded & PRIVATE == set()
    assert loaded & {"httpx", "asyncio", "numpy", "starlette", "typer"} == set(), "each takes longer than all the rest"


@pytest.mark.slow
def test_a_client_works_where_the_application_cannot_be_imported(url: str, tmp_path: Path) -> None:
    for name in PRIVATE:
        (tmp_path / f"{name}.py").write_text("raise ImportError('a module of another project')\n")
    program = f"""
import tallystick
with tallystick.Client({url!r}, agent="elsewhere") as client:
    client.record("Stand alone", confidence=0.5)
    client.calibration()
with tallystick.local("t.db") as client:
    print(client.record("Start a server here").position)
"""
    done = python(program, tmp_path)
    assert done.stdout == "1\n", done.stderr


@pytest.mark.parametrize("path", CLIENT, ids=lambda path: path.stem)
def test_the_client_needs_httpx_and_msgspec_alone(path: Path) -> None:
    named: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named.add((node.module or "").partition(".")[0])
    assert named - set(sys.stdlib_module_names) <= OF_OTHERS


TYPED = """
import asyncio

from tallystick import AsyncClient, Client, Conflict, Reason, local


def decide(client: Client) -> float | None:
    recorded = client.record("Ship it", confidence=0.8, stakes="high", reasons=[Reason("It is tested.")], tags=["a"])
    try:
        client.review(recorded.decision_id, "success", lessons="None.")
    except Conflict as error:
        print(error.field, error.advice)
    with client.decision("Wait", confidence=0.5) as decision:
        decision.partial("Half.")
    for event in client.follow(types=["decision.recorded.v1"]):
        return client.calibration(group_by="category").gap if event.position else None
    return client.advice(confidence=0.5).success


async def decide_soon(client: AsyncClient) -> int:
    async with client.decision("Wait") as decision:
        await decision.think("Hm.")
    return (await client.decisions(status="pending")).total


print(decide(local("t.db")), asyncio.run(decide_soon(AsyncClient())))
"""

MISTYPED = {
    'client.record("Ship it", confidence="high")': "arg-type",
    'client.record("Ship it", stakes="enormous")': "arg-type",
    'client.record("Ship it", colour="red")': "call-arg",
    'client.review("d1", "great")': "arg-type",
    "client.calibration().overall.gap": "union-attr",
}


@pytest.mark.slow
def test_programs_of_others_are_checked_against_its_types(tmp_path: Path) -> None:
    """The wrong lines are all found, and nothing else is."""
    wrong = "from tallystick import Client\n\nclient = Client()\n" + "\n".join(MISTYPED) + "\n"
    (tmp_path / "typed.py").write_text(TYPED)
    (tmp_path / "mistyped.py").write_text(wrong)
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", "."]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    found = [line.rpartition("[")[2].rstrip("]") for line in done.stdout.splitlines() if ": error:" in line]
    assert "typed.py" not in done.stdout.replace("mistyped.py", ""), done.stdout
    assert found == list(MISTYPED.values()), done.stdout + done.stderr
