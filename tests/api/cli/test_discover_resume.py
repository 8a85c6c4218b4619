"""discover, interrupted: by kill -9, by a signal, by its server; and gone on with from what the log holds."""

import os
import random
import signal
import time
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.discovering import (
    Json,
    accepted,
    against,
    discover,
    discovering,
    ending,
    events,
    of_type,
    outcomes,
    then,
)
from tests.instruments.routers.simulated import (
    MODELS,
    Asked,
    Reply,
    Script,
    completed,
    in_turn,
    pool,
    said,
    simulated,
)
from tests.support.server import served
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

SEED = 20261121


def stalling_at(number: int) -> Script:
    """The pool, of whose models one never answers."""
    answered = pool()
    return lambda asked: Reply(how="stall") if asked.number == number else answered(asked)


def seen(found: list[Json]) -> list[Json]:
    """What a run found, without what differs from run to run."""
    return [
        {name: value for name, value in attempt.items() if name not in {"run_id", "elapsed_ns"}}
        for attempt in of_type(found, "discovery.attempted")
    ]


def scored(found: list[Json]) -> list[Json]:
    """What was scored, without the ids."""
    own = ("score_id", "run_id")
    return [{name: value for name, value in one.items() if name not in own} for one in of_type(found, "probe.scored")]


def inventory(ledger: Path) -> Json:
    """The inventory, without what differs from time to time."""
    reported: Json = msgspec.json.decode(done(ledger, "inventory", "--json").out)
    timeless = _without({"as_of", "first_seen", "last_seen"}, reported)
    assert isinstance(timeless, dict)
    return timeless


def _without(names: set[str], value: object) -> object:
    if isinstance(value, dict):
        return {name: _without(names, one) for name, one in value.items() if name not in names}
    return [_without(names, one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("number", [1, 2, 4, 6])
def test_a_run_that_is_killed_goes_on_as_if_it_had_not_been(tmp_path: Path, number: int) -> None:
    undisturbed, killed = tmp_path / "undisturbed.db", tmp_path / "killed.db"
    named = ("--router-name", "the pool")
    assert against(pool(), undisturbed, "--run", "monday", *named).code == 0
    with simulated(stalling_at(number)) as router:
        with discovering(killed, router, "--run", "monday", *named) as process:
            router.wait_for(number, process)
            process.kill()
        assert len(outcomes(events(killed))) == number - 1
        assert discover(killed, router, "--resume", "monday", *named).code == 0
    assert seen(events(killed)) == seen(events(undisturbed))
    assert scored(events(killed)) == scored(events(undisturbed))
    assert ending(events(killed)) == ending(events(undisturbed))
    assert inventory(killed) == inventory(undisturbed)
    assert len(inventory(killed)["models"]) == len(MODELS)


def test_kills_at_any_moment_lose_nothing_that_was_answered(ledger: Path) -> None:
    rng = random.Random(SEED)
    with simulated(pool()) as router:
        arguments = ["--run", "often-killed"]
        for number in (1, 3, 5):
            with discovering(ledger, router, *arguments) as process:
                router.wait_for(len(router.asked) + 1 if number > 1 else 1, process)
                time.sleep(rng.random() * 0.02)
                process.kill()
            if tally(ledger, "log", "--subject", "discovery/often-killed", "--json").out:
                arguments = ["--resume", "often-killed"]
        ended = discover(ledger, router, *arguments)
    found = events(ledger, "often-killed")
    assert ended.code in {0, 1}
    attempts = of_type(found, "discovery.attempted")
    assert [attempt["attempt"] for attempt in attempts] == list(range(1, len(attempts) + 1))
    assert accepted(found) == list(MODELS)
    assert ending(found)[0] == "refused"


under_nohup = pytest.mark.skipif(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, reason="hangups are ignored here")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), pytest.param(signal.SIGHUP, 129, marks=under_nohup)],
)
def test_a_signal_ends_it_cleanly(ledger: Path, number: signal.Signals, code: int) -> None:
    with simulated(stalling_at(3)) as router:
        with discovering(ledger, router, "--run", "stopped") as process:
            router.wait_for(3, process)
            process.send_signal(number)
            out, err = (stream.decode() for stream in process.communicate())
        assert process.returncode == code
        assert "Traceback" not in err
        assert "--resume stopped, with the same router" in err
        assert "Borage-mini-2" in out
        assert outcomes(events(ledger)) == ["accepted", "accepted"]
        assert of_type(events(ledger), "discovery.finished") == []
        ended = discover(ledger, router, "--resume", "stopped")
    assert ended.code == 0
    assert accepted(events(ledger)) == list(MODELS)
    assert "discovery complete: 5 unique models in 5 iterations" in ended.text
    assert "Aster 4 " in ended.text


def test_a_signal_ends_the_program_that_was_asked(ledger: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    router = f"command:sh -c 'echo $$ > {pid}; exec sleep 999'"
    with simulated(pool()) as unasked, discovering(ledger, unasked, "--router", router) as process:
        wait_until(lambda: pid.exists() and pid.read_text().strip(), process)
        process.terminate()
        process.communicate()
    assert process.returncode == 143
    wait_until(lambda: not Path(f"/proc/{int(pid.read_text())}").exists())


def test_only_a_run_that_is_there_and_goes_on_can_be_resumed(ledger: Path) -> None:
    words = ("discover", "--router", "command:cat", "--resume", "no-such")
    assert "Run not found: no-such" in refused(ledger, *words, code=1)
    assert against(pool(), ledger, "--run", "over", "--max-iterations", 1).code == 0
    before = events(ledger)
    said_so = against(pool(), ledger, "--resume", "over")
    assert said_so.code == 1
    assert "Run over has ended: max iterations reached." in said_so.err
    assert events(ledger) == before


def test_a_resumed_run_keeps_its_settings(ledger: Path) -> None:
    settings = ("--max-iterations", 3, "--max-attempts", 7, "--model", "meadow/any")
    with simulated(stalling_at(2)) as router:
        with discovering(ledger, router, "--run", "kept", *settings) as process:
            router.wait_for(2, process)
            process.kill()
        resumed = discover(ledger, router, "--resume", "kept")
        assert {asked.model for asked in router.asked} == {"meadow/any"}
    assert resumed.err == ""
    assert accepted(events(ledger)) == list(MODELS[:3])
    assert ending(events(ledger))[0] == "max_iterations"


def test_another_router_is_warned_of(ledger: Path) -> None:
    with simulated(stalling_at(2)) as router, discovering(ledger, router, "--run", "moved") as process:
        router.wait_for(2, process)
        process.kill()
    ended = against(pool(), ledger, "--resume", "moved", "--router-name", "elsewhere", "--model", "other")
    assert ended.code == 0
    assert f"warning: the router was openai:{router.url}, and is elsewhere from here on." in ended.err
    assert "warning: the requested model was auto, and is other from here on." in ended.err


def test_a_timeout_is_retried_once_over_a_resumption_too(ledger: Path) -> None:
    with simulated(in_turn(Reply(how="stall"))) as router:
        with discovering(ledger, router, "--run", "slow", "--timeout", 2) as process:
            router.wait_for(2, process)
            process.kill()
        assert discover(ledger, router, "--resume", "slow", "--timeout", 1).code == 1
    found = events(ledger)
    assert outcomes(found) == ["timeout", "timeout"]
    assert ending(found)[0] == "timeout"


def test_the_golden_file_holds_the_first_accepted_response(ledger: Path, tmp_path: Path) -> None:
    golden = tmp_path / "golden.txt"
    text = "\r\n \u00fc" + said("Aster 4") + "\t\n\n"
    ended = against(then([completed("prose")], in_turn(completed(text))), ledger, "--keep-going", "--max-attempts", 4,
                    "--golden", golden)  # fmt: skip
    assert ended.code == 0
    assert golden.read_bytes() == text.encode()
    with simulated(pool()) as router:
        refusal = discover(ledger, router, "--golden", golden)
        assert refusal.code == 2
        assert f"--golden: {golden} is there already." in refusal.err
        assert router.asked == []
        assert discover(ledger, router, "--golden", golden, "--force", "--max-iterations", 2).code == 0
    assert golden.read_text() == said("Aster 4")
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_no_golden_file_where_none_is_accepted(ledger: Path, tmp_path: Path) -> None:
    assert against(in_turn(completed("prose")), ledger, "--golden", tmp_path / "golden.txt").code == 1
    assert not (tmp_path / "golden.txt").exists()


def test_the_golden_file_comes_from_the_log_where_the_run_is_resumed(ledger: Path, tmp_path: Path) -> None:
    golden = tmp_path / "golden.txt"
    with simulated(stalling_at(2)) as router:
        with discovering(ledger, router, "--run", "golden", "--golden", golden) as process:
            router.wait_for(2, process)
            process.kill()
        assert golden.read_text() == said("Aster 4")
        golden.write_text("of another run")
        assert discover(ledger, router, "--resume", "golden", "--golden", golden).code == 2
        golden.unlink()
        assert discover(ledger, router, "--resume", "golden", "--golden", golden).code == 0
    assert golden.read_text() == said("Aster 4")


def test_a_golden_file_that_appears_meanwhile_is_not_overwritten(ledger: Path, tmp_path: Path) -> None:
    golden = tmp_path / "golden.txt"

    def script(asked: Asked) -> Reply:
        golden.write_text("mine")
        return completed(said("Aster 4"))

    ended = against(script, ledger, "--golden", golden, "--max-iterations", 1)
    assert ended.code == 1
    assert golden.read_text() == "mine"
    assert "could not be written" in ended.err
    assert accepted(events(ledger)) == ["Aster 4"]


def test_through_a_server(ledger: Path, tmp_path: Path) -> None:
    with served(ledger) as server:
        for run in ("first", "second"):
            ended = against(pool(), tmp_path / "unused.db", "--run", run, "--url", server.url)
            assert ended.code == 0, ended.err
        assert accepted(events(ledger, "first")) == list(MODELS)
        with simulated(stalling_at(3)) as router:
            with discovering(tmp_path / "unused.db", router, "--run", "killed", "--url", server.url) as process:
                router.wait_for(3, process)
                process.kill()
            assert discover(tmp_path / "unused.db", router, "--resume", "killed", "--url", server.url).code == 0
    assert seen(events(ledger, "killed")) == seen(events(ledger, "first")) == seen(events(ledger, "second"))
    assert not (tmp_path / "unused.db").exists()


def test_an_answer_outlives_a_server_that_starts_again(ledger: Path, tmp_path: Path) -> None:
    with served(ledger) as server:
        port = server.url.rpartition(":")[2]
        servers = [server]

        def script(asked: Asked) -> Reply:
            if asked.number == 2:
                servers[-1].stop()
                os.sync()
            return pool()(asked)

        with simulated(script) as router:
            words = ("--run", "survivor", "--url", server.url, "--max-iterations", 3)
            with discovering(tmp_path / "unused.db", router, *words) as process:
                server.process.wait()
                with served(ledger, "--port", port):
                    process.communicate()
    assert process.returncode == 0
    assert accepted(events(ledger)) == list(MODELS[:3])


def test_a_server_that_is_gone_for_good_is_reported_with_how_to_go_on(ledger: Path, tmp_path: Path) -> None:
    with served(ledger) as server:

        def script(asked: Asked) -> Reply:
            if asked.number == 2:
                server.stop()
            return pool()(asked)

        ended = against(script, tmp_path / "unused.db", "--run", "lonely", "--url", server.url)
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert "--resume lonely continues" in ended.err
    assert against(pool(), ledger, "--resume", "lonely").code == 0
    assert accepted(events(ledger)) == list(MODELS)


def test_the_ledger_is_held_while_it_runs(ledger: Path) -> None:
    with simulated(stalling_at(1)) as router, discovering(ledger, router) as process:
        router.wait_for(1, process)
        assert "is being written by process" in refused(ledger, "discover", "--router", "command:cat")
        assert done(ledger, "log", "--json").out
