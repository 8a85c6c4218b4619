"""The options of every verb, before the verb and after it; and verbs that print no JSON."""

from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import Ended, Value, environment, tally
from tests.api.cli.lines import history
from tests.support import warm_process
from tests.support.paths import ROOT
from tests.support.server import serving

pytestmark = pytest.mark.slow


def run(*words: Value, given: bytes = b"", **variables: str) -> Ended:
    """Run a command as it is typed, without an option before the verb."""
    done = warm_process.run(list(map(str, words)), given, environment(**variables), ROOT, 120)
    return Ended(done.returncode, done.stdout, done.stderr.decode())


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("target") / "t.db"
    assert run("append", "--ledger", path, given=history(3)).code == 0
    return path


@pytest.mark.parametrize(
    "verb", [("calibration",), ("decision", "d1"), ("log",), ("eval", "list"), ("token", "list"), ("status",)], ids=str
)
def test_before_the_verb_and_after_it(filled: Path, verb: tuple[str, ...]) -> None:
    ledger = ("--ledger", str(filled))
    first = run(*ledger, "--json", *verb)
    assert first.code == 0, first.err
    for words in ((*verb, *ledger, "--json"), (*ledger, *verb, "--json"), ("--json", *verb, *ledger)):
        again = run(*words)
        assert (again.code, keys(again)) == (0, keys(first)), words
    assert run(*verb, "--json", TALLYSTICK_LEDGER=str(filled)).code == 0


def keys(ended: Ended) -> object:
    """What an answer is about, without its figures: the age of a checkpoint goes on."""
    if ended.out.count(b"\n") != 1:
        return ended.out
    found = msgspec.json.decode(ended.out)
    return sorted(found) if isinstance(found, dict) else found


def test_between_a_group_and_its_verb(filled: Path) -> None:
    assert run("eval", "--ledger", filled, "--json", "list").out.startswith(b'{"evaluations":[]')


def test_the_option_nearest_to_the_end_counts(filled: Path, tmp_path: Path) -> None:
    none = tmp_path / "none.db"
    assert run("--ledger", none, "log", "--ledger", filled).code == 0
    assert "There is no ledger" in run("--ledger", filled, "log", "--ledger", none).err
    assert run("--ledger", filled, "log", TALLYSTICK_LEDGER=str(none)).code == 0
    assert run("log", "--ledger", filled, TALLYSTICK_LEDGER=str(none)).code == 0


def test_a_server_is_named_before_the_verb_or_after_it(filled: Path) -> None:
    with serving(filled) as url:
        for words in (("--url", url, "checkpoint"), ("checkpoint", "--url", url)):
            assert run(*words).out.count(b"\n") > 3
        assert run("checkpoint", TALLYSTICK_URL=url).out.count(b"\n") > 3
        assert run("--url", "http://127.0.0.1:1", "checkpoint", "--url", url).code == 0
        assert run("checkpoint", "--url", url, TALLYSTICK_URL="http://127.0.0.1:1").code == 0
        assert run("--url", url, "verify").text.count("Nothing is wrong: 6 events") == 1


def test_a_verb_that_prints_no_json_says_so(filled: Path) -> None:
    for verb in (("serve", "--port", "0"), ("probe", "prompt")):
        ended = tally(filled, "--json", *verb)
        assert (ended.code, ended.out) == (2, b"")
        assert "does not print JSON" in msgspec.json.decode(ended.err)["detail"]
