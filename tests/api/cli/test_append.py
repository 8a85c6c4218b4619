"""append: files, pipes, retries, lines that are wrong."""

import signal
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from tests.api.cli.command import command, done, environment, refused
from tests.api.cli.lines import decided, history, turned_out
from tests.support.paths import ROOT
from tests.support.wait import wait_until

POLL_S = 0.005


def summary(out: bytes) -> dict[str, object]:
    return msgspec.json.decode(out, type=dict[str, object])


def test_a_file_is_appended_and_a_retry_adds_nothing(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "events.ndjson"
    file.write_bytes(history(10))
    assert summary(done(ledger, "append", file, "--json").out) == {
        "appended": 20, "duplicates": 0, "first": 1, "last": 20,
    }  # fmt: skip
    assert done(ledger, "append", file).text == "0 events appended, 20 there already, positions 1 to 20.\n"
    assert done(ledger, "log").out.count(b"\n") == 20


def test_a_pipe_is_appended_in_batches_by_an_agent(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    given = history(7) + decided("own", source="/agents/other")
    assert done(ledger, "append", "-", "--agent", "bob", "--batch", 4, given=given).text.startswith("15 events")
    events = [msgspec.json.decode(line) for line in done(ledger, "log").out.splitlines()]
    assert [event["source"] for event in events] == ["/agents/bob"] * 14 + ["/agents/other"]


def test_nothing_is_nothing(tmp_path: Path) -> None:
    assert summary(done(tmp_path / "t.db", "append", "--json", given=b"\n \n").out) == {
        "appended": 0, "duplicates": 0, "first": None, "last": None,
    }  # fmt: skip


def test_a_bad_line_is_named_with_what_was_written_before(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", tmp_path / "events.ndjson"
    file.write_bytes(history(5) + b"\n" + decided("late", confidence=1.5) + decided("never"))
    said = refused(ledger, "append", file, "--batch", 4)
    assert f"error: {file}, line 12: data.confidence: expected `number` <= 1.0." in said
    assert "8 events were appended before; nothing of its batch (lines 9 to 13) was written." in said
    assert "Running it again is safe for events with ids" in said
    assert done(ledger, "log").out.count(b"\n") == 8
    file.write_bytes(history(5) + decided("late", confidence=0.5))
    assert done(ledger, "append", file).text.startswith("3 events appended, 8 there already")


def test_what_the_log_does_not_admit_is_named_by_line(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    said = refused(ledger, "append", given=decided("a") + b"\n" + turned_out("b", "success"), code=1)
    assert "standard input, line 3: decision/b is not in the log" in said
    done(ledger, "append", given=decided("a", id="k"))
    assert "id 'k' of /agents/anonymous is taken" in refused(ledger, "append", given=decided("b", id="k"), code=1)


def test_input_that_cannot_be_read(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    assert "line 1: Not well-formed JSON" in refused(ledger, "append", given=b"nope\n")
    assert "No such file" in refused(ledger, "append", tmp_path / "missing")
    assert "Is a directory" in refused(ledger, "append", tmp_path)
    assert "--agent: 'a b' cannot be the name of an agent" in refused(ledger, "append", "--agent", "a b")
    assert "There is no folder" in refused(tmp_path / "no" / "t.db", "append", given=decided("a"))


@pytest.mark.slow
def test_a_pipe_that_falls_silent_gives_what_it_has(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", given=decided("first"))
    follower = subprocess.Popen(
        command(ledger, "log", "--follow"), cwd=ROOT, env=environment(), stdout=subprocess.PIPE, bufsize=0
    )
    writer = subprocess.Popen(command(ledger, "append"), cwd=ROOT, env=environment(), stdin=subprocess.PIPE)
    assert follower.stdout is not None
    assert writer.stdin is not None
    with follower, writer:
        try:
            assert b"do first" in follower.stdout.readline()
            writer.stdin.write(decided("second"))
            writer.stdin.flush()
            assert b"do second" in follower.stdout.readline()
            writer.stdin.close()
            assert writer.wait(600) == 0
        finally:
            writer.kill()
            follower.kill()


@pytest.mark.slow
@pytest.mark.parametrize("after_ms", [*range(0, 32, 2), 1_000])
def test_an_interruption_is_quiet(tmp_path: Path, after_ms: int) -> None:
    """Also while the ledger is being opened: each file that is open has a thread, which must end."""
    ledger = tmp_path / "t.db"
    with subprocess.Popen(
        command(ledger, "append"), cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as waiting:
        assert waiting.stderr is not None
        try:
            wait_until(ledger.exists, waiting)
            time.sleep(after_ms / 1_000)
            waiting.send_signal(signal.SIGINT)
            assert waiting.wait(600) == 130
            assert waiting.stderr.read() == b""
        finally:
            waiting.kill()
