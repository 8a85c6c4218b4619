"""The PostgreSQL of the tests: it starts, stops, is killed, replicates, and leaves nothing behind."""

import asyncio
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from tests.support.paths import ROOT
from tests.support.postgres import Primary, new_database, new_schema_name, postgres_server, requires_postgres
from tests.support.postgres_processes import processes_of
from tests.support.postgres_programs import environment
from tests.support.wait import wait_until

pytestmark = [pytest.mark.slow, requires_postgres]

OPENED = """
import sys
import tempfile
from tests.support.postgres import postgres_server
with postgres_server() as server:
    server.freeze()
    print(server.cluster_name, server.data, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def replicated() -> Iterator[Primary]:
    with postgres_server(standbys=1, settings={"track_commit_timestamp": "on"}) as server:
        server.psql("CREATE TABLE kept (number int)")
        yield server


def test_a_server_is_durable_and_checks_its_pages(postgres: Primary) -> None:
    for setting in ("fsync", "full_page_writes", "synchronous_commit", "data_checksums"):
        assert postgres.psql(f"SHOW {setting}") == "on"
    assert int(postgres.psql("SHOW server_version_num")) >= 150_000


def test_it_is_reached_by_address_and_by_socket(postgres: Primary) -> None:
    async def ask() -> list[object]:
        named = await asyncpg.connect(postgres.dsn(database))
        local = await asyncpg.connect(
            host=str(postgres.sockets), port=postgres.port, user="postgres", database=database
        )
        try:
            return [await each.fetchval("SELECT current_database()") for each in (named, local)]
        finally:
            await named.close()
            await local.close()

    database = new_database(postgres)
    assert asyncio.run(ask()) == [database, database]


def test_names_of_databases_and_schemas_are_new(postgres: Primary) -> None:
    assert new_database(postgres) != new_database(postgres)
    schema = new_schema_name()
    assert postgres.psql(f"CREATE SCHEMA {schema}; SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'") == "1"


def test_wrong_sql_fails(postgres: Primary) -> None:
    with pytest.raises(AssertionError, match=r'primary: SELECT nothing: .*column "nothing" does not exist'):
        postgres.psql("SELECT nothing")


def test_what_was_committed_is_there_after_each_end(replicated: Primary) -> None:
    server, port = replicated, replicated.port
    server.psql("INSERT INTO kept VALUES (1)")
    server.kill()
    assert server.processes() == []
    assert server.poll() == -signal.SIGKILL
    server.start()
    server.psql("INSERT INTO kept VALUES (2)")
    assert server.stop("immediate") == 0
    server.start()
    server.psql("INSERT INTO kept VALUES (3)")
    server.restart()
    assert server.psql("SELECT number FROM kept WHERE number < 10 ORDER BY number") == "1\n2\n3"
    assert server.port == port
    assert server.psql("SHOW track_commit_timestamp") == "on"


def test_a_commit_waits_for_a_frozen_synchronous_standby(replicated: Primary) -> None:
    standby = replicated.standby(1)
    replicated.synchronous("ANY 1 (standby1)")
    wait_until(lambda: replicated.psql("SELECT sync_state FROM pg_stat_replication") == "quorum", replicated, standby)
    standby.freeze()
    insert = [str(replicated.programs / "psql"), "-Xc", "INSERT INTO kept VALUES (10)", replicated.dsn()]
    with subprocess.Popen(insert, env=environment(), stdout=subprocess.PIPE) as client:
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        wait_until(lambda: replicated.psql(waiting) == "1", client)
        assert client.poll() is None
        standby.thaw()
        assert client.wait() == 0
    standby.pause()
    replicated.psql("INSERT INTO kept VALUES (11)")
    assert standby.psql("SELECT count(*) FROM kept WHERE number = 11") == "0"
    standby.resume()
    wait_until(lambda: standby.psql("SELECT count(*) FROM kept WHERE number = 11") == "1", standby)
    replicated.synchronous("")
    standby.kill()
    replicated.psql("INSERT INTO kept VALUES (12)")
    standby.start()


def test_a_promoted_standby_takes_writes(replicated: Primary) -> None:
    async def write() -> object:
        client = await asyncpg.connect(replicated.cluster_dsn() + "?target_session_attrs=primary")
        try:
            await client.execute("INSERT INTO kept VALUES (20)")
            return await client.fetchval("SHOW port")
        finally:
            await client.close()

    standby = replicated.add_standby()
    replicated.kill()
    standby.promote()
    assert asyncio.run(write()) == str(standby.port)


def test_nothing_is_left_of_a_server() -> None:
    with pytest.raises(KeyError), postgres_server(standbys=1) as server:  # noqa: PT012 - the failure of a test
        home, data = server.sockets, server.data
        assert len(processes_of(home.name)) > 10
        server.standby(1).freeze()
        raise KeyError
    assert processes_of(home.name) == []
    assert not home.exists()
    assert not data.exists()


def test_a_killed_test_leaves_nothing() -> None:
    command = [sys.executable, "-c", OPENED]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as opened:
        assert opened.stdout is not None
        cluster_name, data = opened.stdout.readline().decode().split()
        segment = (Path(data) / "postmaster.pid").read_text().splitlines()[6].split()[1]
        assert len(processes_of(cluster_name)) > 5
        assert segment in segments()
        opened.kill()
        opened.stdout.read()  # its end is the end of the guard, which inherited it
    assert processes_of(cluster_name) == []
    assert not Path(data).parent.exists()
    assert segment not in segments()


def segments() -> set[str]:
    """The ids of the segments of shared memory of System V."""
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text(encoding="ascii").splitlines()}


def test_another_folder_has_the_data() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # open to the user that runs the server
        with postgres_server(folder) as server:
            assert folder in server.data.parents
        assert list(folder.iterdir()) == []
