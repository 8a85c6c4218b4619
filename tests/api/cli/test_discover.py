"""discover, end to end: each row of the reference's table of the loop, by its name."""

import re
import shlex
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.discovering import (
    GO_ON,
    accepted,
    against,
    ending,
    events,
    models,
    of_type,
    outcomes,
    then,
)
from tests.instruments.routers.simulated import (
    MODELS,
    Reply,
    completed,
    error,
    in_turn,
    pool,
    said,
)

REPEAT = "repeat at iteration 2: model aster 4 seen at iteration 0"


@pytest.mark.slow
def test_new_model(ledger: Path) -> None:
    ended = against(pool(), ledger, "--max-iterations", 2, "--run", "first", "--probe", "debugging")
    assert ended.code == 0
    lines = ended.text.splitlines()
    assert re.fullmatch(r"run first: asking openai:http://127\.0\.0\.1:\d+/v1", lines[0])
    assert re.fullmatch(r"iteration 0: Aster 4 \((invalid|score=\d\.\d\d)\) \[\d+ms\]", lines[1])
    assert re.fullmatch(r"iteration 1: Borage-mini-2 \((invalid|score=\d\.\d\d)\) \[\d+ms\]", lines[2])
    assert lines[3] == "ended: max iterations reached"
    assert re.fullmatch(r"discovery complete: 2 unique models in 2 iterations \[\d+ms\]", lines[4])
    assert lines[6].split() == ["model", "provider", "score", "elapsed"]
    assert lines[7].startswith("Aster 4        Meadow")
    found = events(ledger, "first")
    first, second = of_type(found, "discovery.attempted")
    assert (first["attempt"], first["iteration"], first["exclusion_prompt"]) == (1, 0, "")
    assert (second["attempt"], second["iteration"]) == (2, 1)
    assert "Aster 4" in second["exclusion_prompt"]
    assert first["response"] == said("Aster 4")
    assert first["claimed"] == {"model_name": "Aster 4", "provider": "Meadow"}
    assert first["reported_model"] == "meadow/Aster 4"
    assert first["tokens_used"] == 321
    assert first["elapsed_ns"] > 0
    assert [score["attempt"] for score in of_type(found, "probe.scored")] == [1, 2]
    assert [score["model_name"] for score in of_type(found, "probe.scored")] == ["Aster 4", "Borage-mini-2"]


@pytest.mark.slow
def test_repeat(ledger: Path) -> None:
    ended = against(in_turn(*models("Aster 4", "Borage 2", "aster 4")), ledger)
    assert ended.code == 0
    found = events(ledger)
    assert outcomes(found) == ["accepted", "accepted", "repeat"]
    assert ending(found) == ("repeat", REPEAT)
    assert f"ended: {REPEAT}" in ended.text
    assert "discovery complete: 2 unique models in 2 iterations" in ended.text


@pytest.mark.slow
def test_repeat_goes_on_when_it_is_not_to_end(ledger: Path) -> None:
    ended = against(then(models("Aster 4", "Aster 4", "Aster 4"), pool()), ledger, *GO_ON)
    assert ended.code == 0
    found = events(ledger)
    assert outcomes(found) == ["accepted", "repeat", "repeat", "accepted", "accepted", "accepted"]
    assert ending(found) == ("max_attempts", "max attempts reached")


@pytest.mark.slow
def test_wrapper_identity(ledger: Path) -> None:
    ended = against(in_turn(*models("Aster 4", "GitHub Copilot")), ledger)
    assert ended.code == 0
    found = events(ledger)
    assert outcomes(found) == ["accepted", "wrapper"]
    (signal,) = of_type(found, "discovery.signalled")
    assert signal["event"] == "ORANGE"
    why, reason = ending(found)
    assert why == "wrapper"
    assert "GitHub Copilot" in reason
    assert "ORANGE" in ended.text
    assert accepted(found) == ["Aster 4"]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "outcome"), [("EXCLUDED", "refused"), ("", "empty"), (" \n", "empty")])
def test_refusal_or_empty_answer(ledger: Path, text: str, outcome: str) -> None:
    ended = against(in_turn(*models("Aster 4"), completed(text)), ledger)
    assert ended.code == 0
    found = events(ledger)
    assert outcomes(found) == ["accepted", outcome]
    assert ending(found)[0] == outcome
    assert accepted(found) == ["Aster 4"]
    assert f"attempt 2: {outcome}" in ended.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "I would rather talk about something else. " * 20,
        '{"model_name": "Borage 2", "provider": "Meadow"}\n',
        "```go\nfunc keep(n int) int {\n\treturn n\n}\n```\n",
        "\x00\x1b[2J\ufffd garbage",
        '{"a":' * 20_000,
    ],
)
def test_no_identity_or_no_code_in_the_answer(ledger: Path, text: str) -> None:
    ended = against(in_turn(*models("Aster 4"), completed(text)), ledger)
    assert ended.code == 0
    found = events(ledger)
    assert outcomes(found) == ["accepted", "unparsable"]
    (signal,) = of_type(found, "discovery.signalled")
    assert signal["event"] == "ORANGE"
    assert signal["meta"]["length"] == str(len(text))
    assert signal["meta"]["first"] == text[:200]
    assert f"ORANGE: {len(text)} characters" in ended.text
    assert "\x1b" not in ended.text
    assert ending(found)[0] == "unparsable"
    assert accepted(found) == ["Aster 4"]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stall", "drip"])
def test_timeout(ledger: Path, how: str) -> None:
    slow = Reply(b"{", how=how)  # type: ignore[arg-type]
    ended = against(in_turn(*models("Aster 4"), slow), ledger, "--timeout", 2)
    assert ended.code == 0
    found = events(ledger)
    assert outcomes(found) == ["accepted", "timeout", "timeout"]
    assert ending(found)[0] == "timeout"
    _, first, second = of_type(found, "discovery.attempted")
    assert first["exclusion_prompt"] == second["exclusion_prompt"]
    assert first["elapsed_ns"] >= 2_000_000_000
    assert accepted(found) == ["Aster 4"]


@pytest.mark.slow
def test_timeout_that_the_retry_mends(ledger: Path) -> None:
    ended = against(then([Reply(how="stall")], pool()), ledger, "--timeout", 4, "--max-iterations", 1)
    assert ended.code == 0
    found = events(ledger)
    assert outcomes(found) == ["timeout", "accepted"]


@pytest.mark.slow
def test_limit_reached(ledger: Path) -> None:
    ended = against(pool(), ledger, "--max-iterations", 3)
    assert ended.code == 0
    assert ending(events(ledger)) == ("max_iterations", "max iterations reached")
    assert accepted(events(ledger)) == list(MODELS[:3])


@pytest.mark.slow
def test_always_what_was_collected_is_kept_and_no_run_overwrites_another(ledger: Path) -> None:
    for run in ("first", "second"):
        assert against(pool(), ledger, "--run", run, "--max-iterations", 2).code == 0
    for run in ("first", "second"):
        assert accepted(events(ledger, run)) == list(MODELS[:2])
    before = events(ledger)
    said_so = against(pool(), ledger, "--run", "first")
    assert said_so.code == 1
    assert "run first is there already." in said_so.err
    assert events(ledger) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (error(500, "the engine is cold"), "answered 500: the engine is cold"),
        (Reply(b"<html>"), "answered with no JSON object: <html>"),
        (completed(None, choices=[]), ""),
    ],
)
def test_a_router_that_fails_ends_the_run_and_none_is_identified(ledger: Path, reply: Reply, detail: str) -> None:
    ended = against(in_turn(reply), ledger)
    assert ended.code == 1
    found = events(ledger)
    assert outcomes(found) == ["failed" if detail else "empty"]
    assert detail in ending(found)[1]
    assert "discovery complete: 0 unique models in 0 iterations" in ended.text


@pytest.mark.slow
def test_no_router_exceeds_its_attempts(ledger: Path) -> None:
    odd = [error(500, "no"), completed(""), completed("EXCLUDED"), *models("cursor"), Reply(b"?"), completed("prose")]
    ended = against(lambda asked: odd[asked.number % len(odd)], ledger, "--keep-going", "--max-attempts", 9)
    assert ended.code == 1
    found = events(ledger)
    assert len(outcomes(found)) == 9
    assert ending(found) == ("max_attempts", "max attempts reached")


@pytest.mark.slow
def test_no_router_exceeds_its_time(ledger: Path) -> None:
    stalling = in_turn(Reply(how="stall"))
    ended = against(stalling, ledger, "--keep-going", "--max-time", 1.5, "--timeout", 0.4)
    assert ended.code == 1
    found = events(ledger)
    assert set(outcomes(found)) == {"timeout"}
    assert ending(found) == ("max_time", "max time reached")
    assert "ended: max time reached" in ended.text
    times = [datetime.fromisoformat(event["time"]) for event in found]
    assert max(times) - min(times) >= timedelta(seconds=1.4)


@pytest.mark.slow
def test_a_router_that_ignores_exclusions_repeats(ledger: Path) -> None:
    ended = against(in_turn(*models("Aster 4")), ledger)
    assert ended.code == 0
    assert ending(events(ledger)) == ("repeat", "repeat at iteration 1: model aster 4 seen at iteration 0")


@pytest.mark.slow
def test_json_on_standard_output_and_lines_beside_it(ledger: Path) -> None:
    ended = against(pool(), ledger, "--max-iterations", 1, "--run", "one", "--model", "any", "--json")
    assert ended.code == 0
    answer = msgspec.json.decode(ended.out)
    assert answer["run_id"] == "one"
    assert answer["requested_model"] == "any"
    assert (answer["ending"], answer["reason"]) == ("max_iterations", "max iterations reached")
    assert (answer["attempts"], answer["iterations"]) == (1, 1)
    (model,) = answer["models"]
    assert (model["model_name"], model["provider"], model["known"]) == ("Aster 4", "Meadow", False)
    assert model["reported_model"] == "meadow/Aster 4"
    assert model["elapsed_ns"] > 0
    assert ended.err.splitlines()[1].startswith("iteration 0: Aster 4 (")
    assert ended.err.endswith("\nRun one is saved: tallystick run show one\n")


@pytest.mark.slow
def test_each_model_that_is_not_known_has_the_command_that_registers_it(ledger: Path) -> None:
    provider = "x'; touch pwned; '\x1b[2J$(touch pwned)"
    answers = [*models("Aster 4"), completed(said("Borage 2", provider=provider))]
    ended = against(in_turn(*answers), ledger, "--max-iterations", 2)
    assert "\x1b" not in ended.text
    first, second = map(shlex.split, ended.text.partition("Not known yet:\n")[2].splitlines())
    assert first == ["tallystick", "model", "register", "aster-4", "--provider", "Meadow", "--name", "Aster 4"]
    assert second[3:6] == ["borage-2", "--provider", "x'; touch pwned; ' [2J$(touch pwned)"]
    for words in (first, second):
        done(ledger, *words[1:])
    again = against(in_turn(*answers), ledger, "--max-iterations", 2)
    assert "Not known yet:" not in again.text


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        (("--router", "magpie:x"), "--router: must begin with command: or openai:."),
        (("--router", "command:"), "--router: names no program."),
        (("--router", "openai:nowhere"), "--router: gives openai: an invalid server address."),
        (("--router", "command:cat", "--key-env", "K"), "--key-env: applies to openai: only."),
        (("--router", "command:cat", "--timeout", "0"), "--timeout: 0 is not a time."),
        (("--router", "command:cat", "--timeout", "nan"), "--timeout: nan is not a time."),
        (("--router", "command:cat", "--max-time", "inf"), "--max-time: inf is not a time."),
        (("--router", "command:cat", "--probe", "no-such"), "no-such"),
        (("--router", "command:cat", "--run", "a/b"), "run_id 'a/b' is not 1..64 of letters"),
        (("--router", "command:cat", "--run", "r" * 65), "run_id"),
        (("--router", "command:cat", "--probe", ""), "probe_id"),
        (("--router", "command:cat", "--resume", "x", "--max-attempts", "3"), "--max-attempts: is fixed by the run"),
        (("--router", "command:cat", "--resume", "x", "--run", "y"), "--run: is fixed by the run"),
        (("--router", "command:cat", "--resume", "x", "--probe", "y"), "--probe: is fixed by the run"),
        (("--router", "command:cat", "--model", "\udcff"), "--model: is empty, too long, or not printable."),
        (("--router", "command:cat", "--golden", "no/such/folder/file"), "--golden: no/such/folder/file cannot be"),
    ],
)
def test_usage_errors_write_nothing(ledger: Path, arguments: tuple[str, ...], detail: str) -> None:
    assert detail in refused(ledger, "discover", *arguments)
    assert tally(ledger, "log", "--json").out == b""


def test_a_bad_router_shows_the_two_forms(ledger: Path) -> None:
    said_so = refused(ledger, "discover", "--router", "magpie:x")
    assert "command:PROGRAM" in said_so
    assert "openai:https://HOST/v1" in said_so
