"""--ledger with a database of PostgreSQL, and --state: which verbs take them, and what is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.cli.command import Ended, environment
from tests.api.cli.lines import history
from tests.api.cli.test_ledger_target import run
from tests.ledger.postgres.places import new_ledger
from tests.support.event_loop import run as run_until_done
from tests.support.paths import ROOT
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.slow

ADDRESS = "postgresql://n1,n2/db?ledger=acme"
SECRET = "Sw0rdfish"

WITHOUT_ASYNCPG = """
import sys
sys.modules["asyncpg"] = None
from api.cli.main import main
sys.argv = ["tallystick", *sys.argv[1:]]
main()
"""


def refused(*words: str | Path, **variables: str) -> str:
    """Run a command that is refused; its errors."""
    ended = run(*words, given=b"", **variables)
    assert (ended.code, ended.out) == (2, b""), ended
    return ended.err


@pytest.mark.parametrize("verb", [("log",), ("record", "x"), ("token", "list"), ("serve",), ("verify",), ("schema",)])
def test_a_password_is_refused_before_the_verb_and_after_it(verb: tuple[str, ...]) -> None:
    address = f"postgresql://ann:{SECRET}@n1/db?ledger=acme"
    for words in (("--ledger", address, *verb), (*verb, "--ledger", address)):
        said = refused(*words)
        assert "ledger: the address contains a password" in said
        assert "PGPASSFILE" in said
        assert SECRET not in said


def test_the_variable_is_named_if_it_is_wrong() -> None:
    said = refused("log", TALLYSTICK_LEDGER=f"postgresql://ann:{SECRET}@n1/db?ledger=acme")
    assert said.startswith("error: TALLYSTICK_LEDGER: the address contains a password")
    assert SECRET not in said
    assert "Did you mean ledger?" in refused("log", TALLYSTICK_LEDGER="postgresql://n1/db?ledgr=acme")


def test_a_verb_that_asks_a_server_takes_no_notice_of_a_wrong_variable() -> None:
    said = run("log", "--url", "http://127.0.0.1:1", TALLYSTICK_LEDGER="postgresql://n1/db").err
    assert "TALLYSTICK_LEDGER" not in said
    assert "127.0.0.1:1" in said


def test_a_near_miss_of_a_parameter_or_of_the_scheme_is_explained() -> None:
    assert "Did you mean sslmode?" in refused("--ledger", f"{ADDRESS}&sslmod=require", "log")
    assert "Did you mean postgresql://?" in refused("log", "--ledger", "postgre://n1/db?ledger=acme")
    assert "Name a server with --url." in refused("log", "--ledger", "http://127.0.0.1:8321")


@pytest.mark.parametrize(
    ("verb", "instead"),
    [
        (("restore", "copy.db"), "PostgreSQL's own programs"),
        (("doctor",), "tallystick status"),
    ],
    ids=" ".join,
)
def test_a_verb_that_needs_a_file_says_what_to_do_instead(verb: tuple[str, ...], instead: str) -> None:
    command = " ".join(("tallystick", *verb[:1]))
    for said in (refused(*verb, "--ledger", ADDRESS), refused(*verb, TALLYSTICK_LEDGER=ADDRESS)):
        assert f"ledger: {command} works on a ledger file, and {ADDRESS} is a ledger in PostgreSQL." in said
        assert instead in said


def test_a_state_folder_is_refused_beside_a_file(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    assert run("append", "--ledger", ledger, given=history(2)).code == 0
    for words in (("--state", tmp_path, "--ledger", ledger, "log"), ("log", "--ledger", ledger, "--state", tmp_path)):
        assert f"state: {ledger} is a file, and its other files are beside it." in refused(*words)
    assert run("log", "--ledger", ledger, TALLYSTICK_STATE=str(tmp_path)).code == 0


def test_the_key_is_in_the_state_folder_and_the_tokens_are_in_the_database(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    address = str(run_until_done(new_ledger(postgres)))
    place, state = ("--ledger", address), tmp_path / "a" / "state"
    assert run(*place, "--state", state, "key", "make", "--origin", "example.com/acme").code == 0
    assert run("token", *place, "add", "ann", TALLYSTICK_STATE=str(state)).code == 0
    assert "ann" in run("token", "list", *place, "--state", tmp_path / "other").text
    assert {path.name for path in state.iterdir()} == {"acme.key", "acme.lock"}
    assert f"{address} has no key yet" in run("key", "show", *place, "--state", tmp_path / "other").err
    assert f"{address} has no key yet" in run("key", "show", *place, XDG_STATE_HOME=str(tmp_path)).err
    assert run("key", "show", *place, "--state", state).text.startswith("example.com/acme+")


@pytest.mark.parametrize("verb", [("log",), ("record", "x"), ("checkpoint",), ("serve", "--port", "0")], ids=" ".join)
def test_without_the_extra_a_verb_says_what_to_install(tmp_path: Path, verb: tuple[str, ...]) -> None:
    words = ("--ledger", ADDRESS, "--state", str(tmp_path), *verb)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ASYNCPG, *words], cwd=ROOT, env=environment(), capture_output=True, check=False
    )
    ended = Ended(done.returncode, done.stdout, done.stderr.decode())
    assert (ended.code, ended.out) == (2, b""), ended
    assert "A ledger in PostgreSQL needs packages that are not installed" in ended.err
    assert "pip install 'tallystick[postgres]'" in ended.err
