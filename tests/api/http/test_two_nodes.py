"""Two servers of one ledger in PostgreSQL: tokens, checkpoints and cosignatures are those of the ledger."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from ledger.place import DatabasePlace
from ledger.transparency.signed_note import SignedCheckpoint, Verifier
from tests.api.cli.command import Ended
from tests.api.cli.test_ledger_target import run
from tests.ledger.postgres.places import LEDGER, new_ledger, schema_sql
from tests.support.event_loop import run as run_until_done
from tests.support.postgres import Primary, postgres_server, requires_postgres
from tests.support.server import Served, served
from tests.support.witness import Witness, witnessing

pytestmark = [pytest.mark.slow, requires_postgres]


class Cluster(NamedTuple):
    """A new ledger on a cluster, and the folder with a folder for each node."""

    place: DatabasePlace
    folder: Path

    def state(self, name: str) -> Path:
        """The folder of a node."""
        return self.folder / name

    def options(self, name: str) -> tuple[str, ...]:
        """The options with which a node finds the ledger and its files."""
        return ("--ledger", str(self.place), "--state", str(self.state(name)))

    def command(self, *words: str) -> Ended:
        """Run a command on a machine of its own, which has no key."""
        ended = run(*self.options("commands"), *words)
        assert ended.code == 0, ended
        return ended


@pytest.fixture(scope="module")
def primary() -> Iterator[Primary]:
    with postgres_server(standbys=1) as server:
        server.synchronous("ANY 1 (standby1)")
        yield server


@pytest.fixture
def cluster(primary: Primary, tmp_path: Path) -> Cluster:
    return Cluster(run_until_done(new_ledger(primary)), tmp_path)


def until(holds: Callable[[], bool], *servers: Served) -> None:
    while not holds():
        assert all(server.process.poll() is None for server in servers)
        time.sleep(0.05)


def status(server: Served, token: str) -> int:
    return httpx.get(f"{server.url}/events", headers={"authorization": f"Bearer {token}"}).status_code


def checkpoint(server: Served, path: str = "checkpoint") -> SignedCheckpoint | None:
    answer = httpx.get(f"{server.url}/{path}")
    return SignedCheckpoint.parse(answer.content) if answer.status_code == 200 else None


def test_a_token_of_any_command_is_that_of_every_server(cluster: Cluster) -> None:
    first_token = cluster.command("token", "add", "ada").text.strip()
    with (
        served(cluster.folder / "1", *cluster.options("a")) as first,
        served(cluster.folder / "2", *cluster.options("b")) as second,
    ):
        nodes = (first, second)
        assert [status(node, first_token) for node in nodes] == [200, 200]
        assert [status(node, "tally_other") for node in nodes] == [401, 401]
        token = cluster.command("token", "add", "bob").text.strip()
        until(lambda: [status(node, token) for node in nodes] == [200, 200], *nodes)
        token_id = next(line for line in cluster.command("token", "list").text.splitlines() if "bob" in line).split()[0]
        cluster.command("token", "revoke", token_id)
        until(lambda: [status(node, token) for node in nodes] == [401, 401], *nodes)
        assert [status(node, first_token) for node in nodes] == [200, 200]


def test_a_server_that_cannot_read_the_tokens_says_where_they_are(cluster: Cluster, primary: Primary) -> None:
    cluster.command("token", "add", "ada")
    with served(cluster.folder / "1", *cluster.options("a")) as server:
        schema_sql(
            cluster.place, primary, "UPDATE notes SET version = version + 1, content = 'x' WHERE name = 'tokens'"
        )
        until(lambda: httpx.get(f"{server.url}/readyz").status_code == 503, server)
        reason = httpx.get(f"{server.url}/readyz").json()["reason"]
    assert reason == "the list of tokens in the database cannot be read: every caller is refused"


def test_checkpoints_and_cosignatures_are_those_of_the_ledger(cluster: Cluster) -> None:
    with served(cluster.folder / "1", *cluster.options("a")) as first:
        until(lambda: checkpoint(first) is not None, first)
        with served(cluster.folder / "2", *cluster.options("b")) as second:
            assert "has no key and signs nothing" in httpx.get(f"{second.url}/readyz").json()["unsigned"]
            assert "unsigned" not in httpx.get(f"{first.url}/readyz").json()
            shutil.copy(cluster.state("a") / f"{LEDGER}.key", cluster.state("b"))
        with served(cluster.folder / "3", *cluster.options("b")) as second:
            nodes = (first, second)
            cluster.command("record", "a decision", "--id", "d1")
            until(lambda: all((one := checkpoint(node)) is not None and one.size == 1 for node in nodes), *nodes)
            signed = checkpoint(first)
            assert signed == checkpoint(second)
            key = cluster.command("key", "show").text.strip()
            assert signed is not None
            assert Verifier.parse(key).verifies(signed.note)
            with witnessing(Witness("witness.example.com/w1", key)) as witness:
                cluster.command("witness", "--url", witness.url, "--key", witness.key)
            cosigned = [checkpoint(node, "checkpoint/witnessed") for node in nodes]
            assert cosigned[0] is not None
            assert cosigned[0] == cosigned[1]
            assert cosigned[0].checkpoint == signed.checkpoint
    assert "--replace begins a new identity" in run(*cluster.options("commands"), "key", "make").err
    assert not (cluster.state("commands") / f"{LEDGER}.key").exists()


def test_nodes_with_the_same_mounted_key_adopt_one_that_replaces_it(cluster: Cluster) -> None:
    secret = cluster.folder / "secret" / "log.key"
    secret.parent.mkdir()
    cluster.command("key", "make", "--origin", "old.example/log")
    made = cluster.state("commands") / f"{LEDGER}.key"
    shutil.copy(made, secret)
    with (
        served(cluster.folder / "1", *cluster.options("a"), "--key", str(secret)) as first,
        served(cluster.folder / "2", *cluster.options("b"), "--key", str(secret)) as second,
    ):
        nodes = (first, second)
        cluster.command("record", "a decision", "--id", "d1")
        until(lambda: all((one := checkpoint(node)) is not None and one.size == 1 for node in nodes), *nodes)
        assert not list(cluster.folder.glob(f"[ab]/{LEDGER}.key"))
        seen: dict[str, list[SignedCheckpoint]] = {node.url: [] for node in nodes}

        def watch() -> list[str]:
            """Remember what each node shows; return the names of the log."""
            for node in nodes:
                one = checkpoint(node)
                assert one is not None
                seen[node.url].append(one)
            return [shown[-1].checkpoint.origin for shown in seen.values()]

        assert watch() == ["old.example/log"] * 2
        replaced = run(*cluster.options("commands"), "key", "make", "--replace", "--origin", "new.example/log")
        assert (replaced.code, "to every other node" in replaced.err) == (0, True)
        key = Verifier.parse(replaced.text.strip())
        until(lambda: watch() == ["new.example/log"] * 2, *nodes)
        for node in nodes:
            assert "which was replaced" in httpx.get(f"{node.url}/readyz").json()["unsigned"]
        cluster.command("record", "another decision", "--id", "d2")
        shutil.copy(made, secret)
        until(lambda: watch() is not None and all(shown[-1].size == 2 for shown in seen.values()), *nodes)
        for node in nodes:
            until(lambda at=node: "unsigned" not in httpx.get(f"{at.url}/readyz").json(), *nodes)  # type: ignore[misc]
        for shown in seen.values():
            origins = [one.checkpoint.origin for one in shown]
            assert origins == sorted(origins, reverse=True), "no checkpoint of the old key after one of the new"
            assert [one.size for one in shown] == sorted(one.size for one in shown)
        newest = checkpoint(first)
        assert newest == checkpoint(second)
        assert newest is not None
        assert key.verifies(newest.note)
        assert {one.checkpoint.root for shown in seen.values() for one in shown if one.size == 2} == {
            newest.checkpoint.root
        }
        assert len({one.checkpoint.root for shown in seen.values() for one in shown if one.size == 1}) == 1
    missing = run(*cluster.options("a"), "serve", "--port", "0", "--key", str(cluster.folder / "none.key"))
    assert (missing.code, "There is no key" in missing.err) == (2, True)
