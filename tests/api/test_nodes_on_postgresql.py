"""Real servers over one ledger in a real PostgreSQL, as users run them: every interface, two nodes, and restarts."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.api.cli.test_ledger_target import run
from tests.api.http.posts import fresh, get, post, recorded, reviewed
from tests.api.mcp.handshake_client import HandshakeClient
from tests.api.pytest_plugin.test_plugin import pytest_in, suite
from tests.support.paths import ROOT
from tests.support.postgres import Primary, new_database, postgres_server, requires_postgres
from tests.support.server import Served, served
from tests.support.shared_place import address, new_role
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

READ_S = 60.0
"""Far more than any answer needs."""


def new_ledger(server: Primary) -> str:
    """Make a ledger as its owner; return the address for a role that may append to it and read it."""
    owners, role = address(server, new_database(server)), new_role(server)
    assert run("ledger", "create", "--ledger", owners, "--grant", role, given=b"").code == 0
    return owners.replace("postgres@", f"{role}@")


class Node(NamedTuple):
    """A server of a ledger: the ledger's address, and the folder of the files that the node keeps."""

    server: Served
    place: str
    state: Path

    @property
    def url(self) -> str:
        return self.server.url


@contextmanager
def node(place: str, state: Path) -> Iterator[Node]:
    """Run a server over a ledger."""
    state.mkdir(exist_ok=True)
    with served(place, "--durability", "local", "--state", str(state), logs=state) as server:
        yield Node(server, place, state)


@pytest.fixture(scope="module")
def nodes(postgres: Primary, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, Node]]:
    """Two nodes of one ledger."""
    place = new_ledger(postgres)
    with ExitStack() as stack:
        first, second = (stack.enter_context(node(place, tmp_path_factory.mktemp("node"))) for _ in range(2))
        yield first, second


def client(one: Node) -> httpx.Client:
    return httpx.Client(base_url=one.url, timeout=READ_S)


def lines_of(one: Node) -> list[bytes]:
    """Every stored line, as a node prints them."""
    return run("log", "--url", one.url, "--limit", 10_000, given=b"").out.splitlines()


def test_what_one_node_records_the_other_shows(nodes: tuple[Node, Node]) -> None:
    urls = [("--url", one.url) for one in nodes]
    ids = []
    for number in range(12):
        words = ("record", f"choose {number}", "--confidence", 0.8, "--agent", "ann", "--json")
        recorded_ = run(*words, *urls[number % 2], given=b"")
        assert recorded_.code == 0, recorded_.err
        ids.append(json.loads(recorded_.out)["decision_id"])
        outcome = "success" if number % 3 else "failure"
        assert run("review", ids[-1], "--outcome", outcome, *urls[1 - number % 2], given=b"").code == 0
    for asked in (("calibration",), ("decisions",), ("decision", ids[0]), ("log",)):
        shown = [run(*asked, "--json", *url, given=b"") for url in urls]
        assert shown[0].out == shown[1].out, asked
        assert shown[0].out
    counted = json.loads(run("status", "--json", *urls[1], given=b"").out)
    assert (counted["durability"], counted["reviewed"] >= 12) == ("local", True)
    assert "local promised" in run("status", *urls[0], given=b"").text
    assert lines_of(nodes[0]) == lines_of(nodes[1])


def test_both_nodes_say_what_was_promised(nodes: tuple[Node, Node]) -> None:
    for one in nodes:
        with client(one) as http:
            answered = http.get("/readyz")
        assert (answered.status_code, answered.json()["durability"]) == (200, "local")


def test_a_feed_of_one_node_has_what_the_other_records(nodes: tuple[Node, Node]) -> None:
    with client(nodes[0]) as first, client(nodes[1]) as second:
        after = get(second, "/readyz")["head"]
        accept = {"accept": "text/event-stream"}
        with second.stream("GET", "/events", params={"after": after}, headers=accept) as feed:
            mine = fresh()
            post(first, recorded(mine))
            data = next(line for line in feed.iter_lines() if line.startswith("data:"))
    assert json.loads(data.removeprefix("data:"))["subject"] == f"decision/{mine}"


def test_log_follow_prints_what_another_node_records(nodes: tuple[Node, Node], tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tallystick", "log", "--follow", "--limit", "1", "--url", nodes[1].url]
    printed = tmp_path / "printed"
    with printed.open("wb") as out, subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out) as follow:
        try:
            with client(nodes[0]) as http:
                post(http, recorded())
                wait_until(lambda: printed.read_bytes().count(b"\n") >= 1, follow)
                mine = fresh()
                post(http, recorded(mine))
            wait_until(lambda: f'"decision/{mine}"'.encode() in printed.read_bytes(), follow)
        finally:
            follow.terminate()


def test_a_receipt_of_a_node_can_be_checked_offline(nodes: tuple[Node, Node], tmp_path: Path) -> None:
    one = nodes[0]
    with client(one) as http:
        position = post(http, recorded())["position"]
        wait_until(lambda: http.get(f"/events/{position}/receipt").status_code == 200, one.server.process)
    receipt = tmp_path / "event.tlog-proof"
    assert run("receipt", position, "--url", one.url, "--output", receipt, given=b"").code == 0
    key = run("key", "show", "--ledger", one.place, "--state", one.state, given=b"").text.strip()
    checked = run("receipt", "--check", receipt, "--key", key, given=b"")
    assert checked.code == 0, checked.err
    assert json.loads(checked.out)["position"] == position


def test_agents_use_either_node_over_mcp(nodes: tuple[Node, Node]) -> None:
    with HandshakeClient(f"{nodes[0].url}/mcp") as first, HandshakeClient(f"{nodes[1].url}/mcp") as second:
        answered = first.call("record_decision", decision="Use a queue", category="tooling", confidence=0.7)
        shown = second.call("get_decision", id=answered["id"])
    assert "Use a queue" in json.dumps(shown)


def test_the_pages_of_both_nodes_show_a_decision(nodes: tuple[Node, Node]) -> None:
    mine, accept = fresh(), {"accept": "text/html"}
    with client(nodes[0]) as http:
        post(http, recorded(mine, decision="a decision that the page shows"))
    for one in nodes:
        with client(one) as http:
            for path in (
                "/",
                "/ui/decisions",
                f"/ui/decisions/{mine}",
                "/ui/log",
                "/ui/calibration",
                "/ui/proof",
                "/ui/operate",
            ):
                page = http.get(path, headers=accept, follow_redirects=True)
                assert page.status_code == 200, (path, page.text)
                assert page.headers["content-type"].startswith("text/html")
            assert "a decision that the page shows" in http.get(f"/ui/decisions/{mine}", headers=accept).text


def test_the_pytest_plugin_writes_a_run_into_the_database(postgres: Primary, tmp_path: Path) -> None:
    place, scenarios = new_ledger(postgres), ("--tallystick-fixtures", "fixtures")
    said = pytest_in(suite(tmp_path), *scenarios, "--tallystick-ledger", place, code=4)
    assert "--durability local" in said
    settings = {"TALLYSTICK_DURABILITY": "local", "TALLYSTICK_STATE": str(tmp_path / "state")}
    said = pytest_in(tmp_path, *scenarios, "--tallystick-ledger", place, "-k", "llm", code=1, **settings)
    assert "2 scores recorded" in said
    assert b'"eval.finished.v1"' in run("log", "--ledger", place, "--state", tmp_path / "state", given=b"").out


def test_a_node_that_starts_again_shows_what_was_recorded_meanwhile(postgres: Primary, tmp_path: Path) -> None:
    place = new_ledger(postgres)
    with node(place, tmp_path / "second") as other, client(other) as writer:
        with node(place, tmp_path / "first") as one, client(one) as http:
            post(http, recorded())
            one.server.process.terminate()
            assert one.server.process.wait(READ_S) == 0
        mine = fresh()
        post(writer, [recorded(mine), reviewed(mine)])
        with node(place, tmp_path / "first") as again, client(again) as http:
            assert get(http, f"/decisions/{mine}")["review"]["outcome"] == "success"
            assert get(http, "/readyz")["head"] == 3
            post(http, recorded())
        assert get(writer, "/readyz")["head"] == 4


@requires_postgres
def test_a_server_goes_on_by_itself_after_postgresql_was_away(tmp_path: Path) -> None:
    with postgres_server() as primary, node(new_ledger(primary), tmp_path) as one, client(one) as http:
        post(http, recorded())
        primary.stop()
        away = http.get("/readyz")
        assert (away.status_code, away.json()["status"], away.json()["head"]) == (503, "not ready", 1)
        assert away.json()["reason"]
        assert http.get("/healthz").status_code == 200
        assert "\ntallystick_queue_events 0.0" in http.get("/metrics").text
        primary.start()
        wait_until(lambda: http.get("/readyz").status_code == 200, one.server.process, primary)
        post(http, recorded())
        assert get(http, "/decisions")["total"] == 2

        primary.freeze()
        frozen = http.get("/readyz")
        primary.thaw()
        assert (frozen.status_code, frozen.json()["status"], frozen.json()["head"]) == (503, "not ready", 2)
        assert "does not answer within" in frozen.json()["reason"]
        wait_until(lambda: http.get("/readyz").status_code == 200, one.server.process, primary)
        post(http, recorded())

        primary.configure(fsync="off")
        wait_until(lambda: http.get("/readyz").status_code == 503, one.server.process, primary)
        assert "runs with fsync = off" in http.get("/readyz").json()["reason"]
        refused = http.post("/events", json=recorded())
        assert refused.status_code == 503
        assert "fsync = off" in refused.text
        primary.configure(fsync="on")
        wait_until(lambda: http.get("/readyz").status_code == 200, one.server.process, primary)
        post(http, recorded())
        assert get(http, "/readyz")["head"] == 4
