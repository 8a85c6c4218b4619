"""What is observed: commands that end, fail, hang or cannot start; addresses; files of test results."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from api.importers.observe.observers import observe_addresses, observe_commands, observe_results
from api.importers.observe.registered import RegisteredAddress, RegisteredCommand, read_registered
from instruments.errors import SourceUnreadable
from ledger.errors import InvalidQuery
from projections.changes.recorded_requests import check_digest
from tests.api.cli.command import done, tally

NOW = datetime(2026, 11, 1, tzinfo=UTC)
CASE = '<testcase classname="a" name="{}">{}</testcase>'


def results(tmp_path: Path, *cases: tuple[str, str]) -> Path:
    file = tmp_path / "results.xml"
    body = "".join(CASE.format(name, child) for name, child in cases)
    file.write_text(f"<testsuites><testsuite>{body}</testsuite></testsuites>", encoding="utf-8")
    return file


def test_results_of_tests_by_their_names(tmp_path: Path) -> None:
    file = results(
        tmp_path, ("good", ""), ("bad", "<failure/>"), ("broken", "<error/>"), ("left", "<skipped/>"),
        ("again", "<flakyFailure/>"), ("twice", "<failure/>"), ("twice", ""),
    )  # fmt: skip
    (seen,) = observe_results([file], "unit", [], NOW)
    digests = {word: {check_digest(f"a.{name}") for name in names} for word, names in {
        "passed": ["good"], "failed": ["bad", "broken"], "skipped": ["left"], "flaky": ["again", "twice"],
    }.items()}  # fmt: skip
    assert {word: set(seen.facts[word]) for word in digests} == digests  # type: ignore[arg-type]
    assert seen.text == "1 passed, 2 failed, 2 flaky, 1 skipped"
    assert seen.at_s == min(int(file.stat().st_mtime), int(NOW.timestamp()))
    (only,) = observe_results([file], "unit", ["a.good"], NOW)
    assert (only.text, only.facts["passed_tests"]) == ("1 passed", 1)
    assert observe_results([results(tmp_path)], "unit", [], NOW)[0].facts == {}


def test_files_that_are_no_results_are_named(tmp_path: Path) -> None:
    entities = []
    for number in range(1, 10):
        named = 10 * f"&b{number - 1};"
        entities.append(f'<!ENTITY b{number} "{named}">')
    bomb = f'<!DOCTYPE a [<!ENTITY b0 "bb">{"".join(entities)}]><a>&b9;</a>'
    for text in ("", "not XML", bomb):
        file = tmp_path / "wrong.xml"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SourceUnreadable, match=r"wrong.xml cannot be read"):
            observe_results([file], "unit", [], NOW)
    with pytest.raises(SourceUnreadable, match=r"none.xml cannot be read"):
        observe_results([tmp_path / "none.xml"], "unit", [], NOW)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", None),
        ('[commands.a]\nrun = ["true"]\n[addresses.b]\nurl = "https://example.com/x"\n', None),
        ("[commands.a]\n", "missing required field `run`"),
        ("[commands.a]\nrun = []\n", "length >= 1"),
        ('[commands.a]\nrun = "true"\n', "Expected `array`, got `str`"),
        ('[commands."a b"]\nrun = ["true"]\n', "matching regex"),
        ('[addresses.a]\nurl = "file:///etc/passwd"\n', "matching regex"),
        ('[addresses.a]\nurl = "https://user@example.com"\n', "matching regex"),
        ('[command.a]\nrun = ["true"]\n', "unknown field `command`"),
        ("[commands", "Expected"),
    ],
)
def test_the_file_of_the_operator(tmp_path: Path, text: str, message: str | None) -> None:
    file = tmp_path / "observers.toml"
    file.write_text(text, encoding="utf-8")
    if message is None:
        read_registered(file)
        return
    with pytest.raises(SourceUnreadable, match=message) as caught:
        read_registered(file)
    assert "[commands.smoke]" in caught.value.advice


def test_only_what_is_registered_is_observed() -> None:
    with pytest.raises(InvalidQuery, match="'rm' is not registered"):
        asyncio.run(observe_commands(["rm"], {"smoke": RegisteredCommand(run=["true"])}, Path()))
    with pytest.raises(InvalidQuery, match="'x' is not registered"):
        asyncio.run(observe_addresses(["x"], {}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://localhost/", "http://169.254.169.254/", "http://[::1]/"]
)
def test_addresses_of_private_networks_are_not_asked(url: str) -> None:
    (seen,) = asyncio.run(observe_addresses([], {"home": RegisteredAddress(url=url)}))
    assert seen.facts == {"error": "address refused"}


def is_alive(group: int) -> bool:
    """Return whether a process of a group runs. One that has ended may wait for its parent."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, found = file.read_text().rpartition(")")[2].split()[:3]
            if int(found) == group and state != "Z":
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "facts", "text"),
    [
        ("echo out; echo err >&2", {"exit": 0}, "exit code 0"),
        ("exit 3", {"exit": 3}, "exit code 3"),
        ("kill -9 $$", {"error": "signal", "signal": 9}, "ended by signal 9"),
        ("sleep 60 & sleep 60", {"error": "timeout"}, "no end within 0.5 s"),
    ],
)
def test_commands(tmp_path: Path, script: str, facts: dict[str, object], text: str) -> None:
    command = RegisteredCommand(run=["sh", "-c", f"echo $$ >pid; {script}"], timeout_s=0.5)
    (seen,) = asyncio.run(observe_commands([], {"smoke": command}, tmp_path))
    assert facts.items() <= seen.facts.items()
    assert text in seen.text
    assert ("exit" in seen.facts) == ("exit" in facts)
    assert not is_alive(int((tmp_path / "pid").read_text()))
    (missing,) = asyncio.run(observe_commands([], {"smoke": RegisteredCommand(run=["./none"])}, tmp_path))
    assert missing.facts == {"error": "not started"}


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status = int(self.path.strip("/") or 200)
        if status == 1:
            time.sleep(5)
        self.send_response(status)
        self.send_header("location", "/500")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "facts"), [("", {"status": 200}), ("/503", {"status": 503}), ("/302", {"status": 302}),
                        ("/1", {"error": "timeout"})],
)  # fmt: skip
def test_addresses(address: str, path: str, facts: dict[str, object]) -> None:
    asked = RegisteredAddress(url=f"{address}{path}", allow_private=True, timeout_s=1)
    (seen,) = asyncio.run(observe_addresses([], {"home": asked}))
    assert seen.facts == facts
    closed = RegisteredAddress(url="http://127.0.0.1:9/", allow_private=True)
    assert asyncio.run(observe_addresses([], {"home": closed}))[0].facts == {"error": "no connection"}


@pytest.mark.slow
def test_the_commands_record_what_tests_look_at(tmp_path: Path, address: str) -> None:
    ledger, config = tmp_path / "t.db", tmp_path / "observers.toml"
    config.write_text(
        f'[commands.smoke]\nrun = ["true"]\n[addresses.home]\nurl = "{address}/"\nallow_private = true\n',
        encoding="utf-8",
    )
    done(ledger, "record", "Ship", "--id", "d1", "--test", "command.exit:1m:subject=command:smoke")
    assert "command:smoke: exit code 0" in done(ledger, "observe", "command", "--config", config).text
    assert "http:home: status 200" in done(ledger, "observe", "http", "home", "--config", config).text
    file = results(tmp_path, ("good", ""))
    (seen,) = json.loads(done(ledger, "observe", "junit", file, "--name", "unit", "--json").out)
    assert (seen["subject"], seen["observed"], seen["is_error"]) == ("junit:unit", "1 passed", False)
    logged = [json.loads(event) for event in done(ledger, "log", "--json").text.splitlines()]
    assert [event["type"] for event in logged].count("observation.recorded.v2") == 3
    refused = tally(ledger, "observe", "command", "other", "--config", config)
    assert (refused.code, "'other' is not registered.\nRegistered: smoke." in refused.err) == (2, True)
    assert "[commands.smoke]" in tally(ledger, "observe", "http", "--config", tmp_path / "none.toml").err
