"""status: of a file, beside a server and through it."""

import time
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from api.client.open_store import FOLD_EVENTS_MIN
from tests.api.cli.command import done, refused, tally
from tests.api.cli.lines import decided, history
from tests.support.server import POLL_S, served


def status(ledger: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(done(ledger, "status", "--json", *words).out)
    return found


def test_a_file(ledger: Path) -> None:
    assert "There is no ledger" in refused(ledger, "status")
    done(ledger, "append", "--agent", "ann", given=history(4))
    done(ledger, "record", "open", "--agent", "bob")
    done(ledger, "model", "register", "m")
    done(ledger, "evidence", "put", "-", given=b"material")
    found = status(ledger)
    assert (found["ledger"], found["writer"], found["head"]["position"]) == ("ledger.db", None, 11)
    assert (found["decisions"], found["reviewed"]) == (5, 4)
    assert found["agents"] == [
        {"agent": "ann", "decisions": 4, "reviewed": 4}, {"agent": "bob", "decisions": 1, "reviewed": 0},
    ]  # fmt: skip
    assert (found["runs"], found["models"], found["models_registered"], found["evaluations"]) == (0, 0, 1, 0)
    assert (found["evidence"], found["types"]["decision.recorded.v1"]) == (1, 5)
    assert found["checkpoint"] is None
    assert found["tokens"] == {"required": False, "count": 0, "expired": 0}
    assert found["disk"]["log_bytes"] >= ledger.stat().st_size
    assert found["disk"]["evidence_bytes"] > 0
    shown = done(ledger, "status").text
    assert "written by   no process" in shown
    assert "decisions    5, 4 of them reviewed" in shown
    assert "checkpoint   none: nothing is signed yet" in shown
    assert "tokens       none: every local user may do everything" in shown
    assert "ann            4         4" in shown


@pytest.mark.slow
def test_beside_a_server_and_through_it(ledger: Path) -> None:
    with served(ledger) as server:
        done(ledger, "record", "x", "--url", server.url)
        with httpx.Client(base_url=server.url) as client:
            while client.get("/checkpoint").raise_for_status().text.split("\n")[1] != "1":
                time.sleep(POLL_S)
            answered = client.get("/status").json()
        through = status(ledger, "--url", server.url)
        beside = status(ledger)
        assert beside["writer"] == {"pid": server.process.pid, "address": server.url}
        shown = done(ledger, "status").text
        assert f"written by   process {server.process.pid} at {server.url}" in shown
        assert "checkpoint   of 1 event, signed " in shown
        assert done(ledger, "status", "--url", server.url).text.startswith(f"{server.url}\n")
    for found in (answered, through, beside):
        assert found["checkpoint"].pop("age_s") >= 0
        assert (found["checkpoint"]["size"], found["checkpoint"]["valid"]) == (1, True)
        del found["disk"], found["views"]
    assert answered == through == beside
    assert status(ledger)["writer"] is None


@pytest.mark.slow
def test_a_process_that_was_killed_writes_no_more(ledger: Path) -> None:
    with served(ledger) as server:
        server.process.kill()
        server.process.wait()
        assert Path(f"{ledger}.lock").read_bytes()
        assert status(ledger)["writer"] is None


@pytest.mark.slow
def test_views_are_behind_until_they_are_folded(ledger: Path) -> None:
    done(ledger, "append", given=history(3))
    assert status(ledger)["views"] == {"position": 0, "behind": 6}
    done(ledger, "append", given=b"".join(decided(f"e{n}") for n in range(FOLD_EVENTS_MIN - 7)))
    assert status(ledger)["views"] == {"position": 0, "behind": FOLD_EVENTS_MIN - 1}
    done(ledger, "record", "x")
    assert status(ledger)["views"] == {"position": FOLD_EVENTS_MIN, "behind": 0}
    done(ledger, "record", "y")
    assert status(ledger)["views"] == {"position": FOLD_EVENTS_MIN, "behind": 1}
    assert "views        " in done(ledger, "status").text


def test_a_checkpoint_of_other_events_is_not_valid(ledger: Path, tmp_path: Path) -> None:
    done(ledger, "append", given=history(3))
    done(ledger, "checkpoint")
    other = tmp_path / "other.db"
    done(other, "append", given=history(2))
    for ending in ("key", "checkpoint"):
        Path(f"{ledger}.{ending}").replace(f"{other}.{ending}")
    ended = tally(other, "status")
    assert ended.code == 1
    assert "NOT VALID: It covers 6 events, and the log has 4." in ended.text
    done(other, "append", given=history(3))
    ended = tally(other, "status", "--json")
    assert ended.code == 1
    assert msgspec.json.decode(ended.out)["checkpoint"]["reason"] == "Its root is not that of the events."


def test_tokens_are_counted_and_not_shown(ledger: Path) -> None:
    done(ledger, "append", given=history(1))
    token = done(ledger, "token", "add", "ann", "--scope", "read").text.strip()
    done(ledger, "token", "add", "bob", "--scope", "append")
    assert status(ledger)["tokens"] == {"required": True, "count": 2, "expired": 0}
    with served(ledger) as server:
        assert "Authorization header required" in refused(ledger, "status", "--url", server.url)
        assert status(ledger, "--url", server.url, "--token", token)["tokens"]["count"] == 2
