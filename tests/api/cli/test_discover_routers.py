"""discover with routers of every kind, and what none of them may leave behind: a secret."""

import json
import shlex
import sys
from hashlib import sha256
from pathlib import Path
from textwrap import dedent

import pytest

from tests.api.cli.command import Ended, done, tally
from tests.api.cli.discovering import (
    KEY,
    accepted,
    against,
    discover,
    discovering,
    ending,
    events,
    everything,
    of_type,
    outcomes,
)
from tests.instruments.routers.simulated import (
    CODE,
    Asked,
    Reply,
    completed,
    error,
    in_turn,
    said,
    simulated,
)

PROGRAM = """
import json, os, sys
prompt = sys.stdin.read()
pool = ["Aster 4", "Borage-mini-2", "Campion 7b"]
model = next((name for name in pool if name not in prompt), None)
if model is None:
    print("EXCLUDED")
else:
    print(json.dumps({"model_name": model, "provider": "Meadow"}))
    print("```go")
    print(CODE, end="")
    print("```")
print("thinking with", os.environ.get("MEADOW_API_KEY"), sys.argv[1:], file=sys.stderr)
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "ledger.db"


@pytest.fixture(autouse=True)
def _folder(ledger: Path) -> None:
    ledger.parent.mkdir()


def program(folder: Path, code: str = PROGRAM, *arguments: str) -> str:
    """The specification of a router that is a Python program."""
    path = folder / "router.py"
    path.write_text(f"CODE = {CODE!r}\n{dedent(code)}")
    return "command:" + shlex.join([sys.executable, str(path), *arguments])


def without(secrets: tuple[str, ...], ledger: Path, ended: Ended) -> None:
    """Check that no file of the ledger and no output contains a secret."""
    kept = everything(ledger)
    assert b"discovery.started" in kept
    for secret in secrets:
        for form in (secret, secret.upper(), secret.lower(), json.dumps(secret)[1:-1]):
            assert form.encode() not in kept
            assert form not in ended.text + ended.err


@pytest.mark.slow
def test_a_program_is_a_router(ledger: Path, tmp_path: Path) -> None:
    ended = tally(ledger, "discover", "--router", program(tmp_path), "--json", given=b"")
    assert ended.code == 0
    found = events(ledger)
    assert accepted(found) == ["Aster 4", "Borage-mini-2", "Campion 7b"]
    assert outcomes(found)[-1] == "refused"
    (started,) = of_type(found, "discovery.started")
    assert started["router"] == f"command:{Path(sys.executable).name}"
    assert "requested_model" not in started
    assert all("reported_model" not in attempt for attempt in of_type(found, "discovery.attempted"))


@pytest.mark.slow
def test_a_program_keeps_its_secrets(ledger: Path, tmp_path: Path) -> None:
    echo = PROGRAM + dedent(
        """
        print(os.environ, sys.argv)
        sys.exit(f"no: {os.environ} {sys.argv}" if "Borage" in prompt else 0)
        """
    )
    router = program(tmp_path, echo, "--api-key", "arg-secret-1", "--header=Authorization: Bearer arg-secret-2")
    for more in ((), ("--keep-going", "--max-attempts", 4)):
        ended = tally(ledger, "discover", "--router", router, *more, MEADOW_API_KEY=KEY, OTHER_TOKEN="tok-en-secret")
        assert accepted(events(ledger))[0] == "Aster 4"
        without((KEY, "arg-secret-1", "arg-secret-2", "tok-en-secret"), ledger, ended)
    assert b"[redacted]" in everything(ledger)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "outcome", "reason"),
    [
        ("import sys; sys.exit('out of credit')", "failed", "out of credit"),
        ("import os; os.write(1, bytes(range(256)) * 100)", "unparsable", ""),
        ("print('x' * 5_000_000)", "failed", "wrote more than"),
        ("import os; os.close(0); os.close(1)", "empty", ""),
        ("import os; os.kill(os.getpid(), 11)", "failed", "was ended by SIGSEGV"),
    ],
)
def test_programs_that_misbehave_end_the_run_in_words(
    ledger: Path, tmp_path: Path, code: str, outcome: str, reason: str
) -> None:
    ended = tally(ledger, "discover", "--router", program(tmp_path, code), given=b"")
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert outcomes(events(ledger)) == [outcome]
    assert reason in ending(events(ledger))[1]


@pytest.mark.slow
def test_an_endpoint_learns_the_secrets_and_nobody_else_does(ledger: Path) -> None:
    def echo(asked: Asked) -> Reply:
        reported = json.dumps(dict(asked.headers)) + asked.path
        if asked.number == 1:
            return completed(f"{said('Aster 4')}\n{reported}", model=KEY)
        if asked.number == 2:
            return error(401, reported)
        return completed(reported) if asked.number == 3 else Reply(reported.encode(), 500)

    with simulated(echo) as router:
        address = router.url.replace("://", "://someone:user-secret@") + "?code=query-secret"
        ended = tally(
            ledger, "discover", "--router", f"openai:{address}", "--key-env", "MEADOW_KEY", "--keep-going",
            "--max-attempts", 4, "--header", "X-Org: env:ORG", "--header", "X-Plain: plain-secret",
            given=b"", MEADOW_KEY=KEY, ORG="header-secret",
        )  # fmt: skip
        headers = router.asked[0].headers
        assert router.asked[0].path.endswith("?code=query-secret")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert (headers["x-org"], headers["x-plain"]) == ("header-secret", "plain-secret")
    assert ended.code == 0
    assert outcomes(events(ledger)) == ["accepted", "failed", "unparsable", "failed"]
    (started,) = of_type(events(ledger), "discovery.started")
    assert started["router"] == f"openai:{router.url}"
    without((KEY, "header-secret", "plain-secret", "user-secret", "query-secret"), ledger, ended)
    assert b"[redacted]" in everything(ledger)


def test_usage_errors_print_no_secret(ledger: Path) -> None:
    for arguments in (
        ("--router", "openai:htps://someone:user-secret@host/v1?code=query-secret"),
        ("--router", "command:'no-closing user-secret query-secret"),
        ("--router", "openai:http://127.0.0.1:9/v1", "--header", "user-secret query-secret"),
        ("--router", "openai:http://127.0.0.1:9/v1", "--header", "X-A: user-secret\nquery-secret"),
        ("--router", "openai:http://someone:user-secret@127.0.0.1:9/v1?code=query-secret", "--timeout", "0"),
    ):
        ended = tally(ledger, "discover", *arguments, given=b"")
        assert ended.code == 2
        assert "user-secret" not in ended.err
        assert "query-secret" not in ended.err
    assert not ledger.exists()


@pytest.mark.slow
def test_a_response_over_the_line_limit_is_kept_by_its_digest(ledger: Path, tmp_path: Path) -> None:
    text = said("Aster 4") + "long-winded " * 20_000
    golden = tmp_path / "golden.txt"
    with simulated(in_turn(completed(text), Reply(how="stall"))) as router:
        with discovering(ledger, router, "--run", "long", "--golden", golden) as process:
            router.wait_for(2, process)
            process.kill()
        assert golden.read_text() == text
        golden.unlink()
        words = ("--resume", "long", "--golden", golden, "--timeout", 0.5)
        assert discover(ledger, router, *words).code == 0
    assert golden.read_text() == text
    first, *_ = of_type(events(ledger), "discovery.attempted")
    assert "response" not in first
    assert first["response_digest"] == sha256(text.encode()).hexdigest()
    assert done(ledger, "evidence", "get", first["response_digest"]).text == text


@pytest.mark.slow
def test_an_erased_response_changes_nothing_but_is_shown_as_erased(ledger: Path) -> None:
    text = said("Aster 4") + "long-winded " * 20_000
    assert against(in_turn(completed(text)), ledger, "--max-iterations", 1, "--run", "long").code == 0
    (attempt,) = of_type(events(ledger), "discovery.attempted")
    shown = ("run", "show", "long", "--attempts", "--json")
    before = json.loads(done(ledger, *shown).out)
    assert done(ledger, "evidence", "erase", attempt["response_digest"], "--reason", "long", "--yes").code == 0
    after = json.loads(done(ledger, *shown).out)
    assert before["attempts"][0].get("erased") is None
    assert after["attempts"][0].pop("erased") is True
    assert after == before


@pytest.mark.slow
def test_sensitive_answers_stand_in_no_event_and_can_be_erased(ledger: Path, tmp_path: Path) -> None:
    """Through a resumption, too: the run says so, not the command."""
    text, odd = said("Aster 4") + "\nfor-your-eyes-only", "for-your-eyes-only, and nobody says who"
    with (
        simulated(in_turn(completed(text), Reply(how="stall"))) as router,
        discovering(ledger, router, "--run", "quiet", "--sensitive") as process,
    ):
        router.wait_for(2, process)
        process.kill()
    ended = against(in_turn(completed(odd)), ledger, "--resume", "quiet")
    assert "ORANGE: 39 characters\n" in ended.text
    run = events(ledger, "quiet")
    first, second = of_type(run, "discovery.attempted")
    assert (first["outcome"], second["outcome"]) == ("accepted", "unparsable")
    assert not any({"response", "output"} & set(attempt) for attempt in (first, second))
    assert b"for-your-eyes-only" not in everything(ledger)
    assert done(ledger, "evidence", "get", first["response_digest"]).text == text
    shown = json.loads(done(ledger, "run", "show", "quiet", "--json").out)
    assert shown["results"][0]["probe"]["raw_output"] == CODE
    before = done(ledger, "probe", "scores", "--json").out
    for digest in (first["response_digest"], first["output_digest"]):
        assert done(ledger, "evidence", "erase", digest, "--reason", "asked for", "--yes").code == 0
    (result,) = json.loads(done(ledger, "run", "show", "quiet", "--json").out)["results"]
    assert (result["probe"].get("raw_output"), result["probe"]["erased"]) == (None, True)
    after = json.loads(done(ledger, "probe", "scores", "--json").out)
    assert after["probes"] == json.loads(before)["probes"]
