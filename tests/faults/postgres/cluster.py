"""Three servers of PostgreSQL, one of them the primary, and a failover that the test does itself.

Every server names all three in synchronous_standby_names from its first start, so that a promoted standby confirms no
commit that it alone has. A failover needs both standbys: each confirmed commit is on one of them, nobody knows which.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.place import DatabasePlace, Host
from ledger.postgres.create import create_ledger
from tests.faults.postgres.nodes import LEDGER
from tests.support.event_loop import run
from tests.support.postgres import SUPERUSER, PostgresServer, Primary, new_database, postgres_server
from tests.support.postgres_programs import environment, server_account
from tests.support.wait import wait_until

NAMES = "ANY 1 (primary, standby1, standby2)"
EXHAUSTED = """
SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'startup' AND wait_event = 'RecoveryRetrieveRetryInterval'
"""
"""1 when a standby has replayed all that it has, and finds no primary server to receive more from."""

REPLAYED = "SELECT pg_last_wal_replay_lsn() - '0/0'::pg_lsn"
STREAMS = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"

WAITING = """
SELECT {what} FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND pid IN (
  SELECT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
   WHERE relname = 'events' AND mode = 'RowExclusiveLock')
"""
"""Backends that hold the head and wait for a standby, to confirm events."""

BARRIERS = """
SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND datname = current_database() AND pid IN (
  SELECT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
   WHERE mode = 'RowExclusiveLock' GROUP BY pid HAVING bool_or(relname = 'head') AND NOT bool_or(relname = 'events'))
"""
"""Backends that hold the head and wait for a standby, to confirm a barrier: they keep every event from its turn."""

KEEPER = """
SELECT application_name FROM pg_stat_activity WHERE pid IN (
  SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = database
   WHERE locktype = 'advisory' AND datname = current_database())
"""
"""The node that stores the tiles."""


class Cluster:
    """The servers, and which of them is the primary one."""

    def __init__(self, first: Primary) -> None:
        self.servers: list[PostgresServer] = [first, *first.standbys]
        self.primary: PostgresServer = first

    @property
    def standbys(self) -> list[PostgresServer]:
        """The servers other than the primary one."""
        return [server for server in self.servers if server is not self.primary]

    def new_ledger(self) -> DatabasePlace:
        """The place of a new ledger, in a new database; it names every server."""
        hosts = tuple(Host(server.host, server.port) for server in self.servers)
        place = DatabasePlace(hosts=hosts, database=new_database(self.primary), ledger=LEDGER, user=SUPERUSER)
        run(create_ledger(place))
        return place

    def fail_over(self) -> PostgresServer:
        """Kill the primary server, promote the standby that has the most, and return the old one, which is down."""
        old, standbys = self.primary, self.standbys
        old.kill()
        wait_until(lambda: all(standby.psql(EXHAUSTED) == "1" for standby in standbys), *standbys)
        chosen, other = sorted(standbys, key=lambda standby: int(standby.psql(REPLAYED)), reverse=True)
        chosen.psql("SELECT pg_promote(false)")
        wait_until(lambda: chosen.psql("SELECT pg_is_in_recovery()") == "f", chosen)
        self.primary = chosen
        other.configure(primary_conninfo=self.source_of(other))
        self.wait_for_standbys(1)
        return old

    def start(self) -> None:
        """Start all servers, of which none runs."""
        for server in (self.primary, *self.standbys):
            server.start()
        self.wait_for_standbys(2)

    def rejoin(self, server: PostgresServer) -> None:
        """Make a server that was killed a standby: rewind it to where the primary one left it, and start it.

        pg_rewind reads the timeline of the primary server from its last checkpoint.
        """
        self.primary.psql("CHECKPOINT")
        source = self.source_of(server, "postgres")
        rewind: list[str | Path] = [server.programs / "pg_rewind", "-D", server.data, "--source-server", source, "-R"]
        self.run_program(rewind, server)
        server.start()
        self.wait_for_standbys(2)

    def wait_for_standbys(self, count: int) -> None:
        """Wait until so many standbys receive what the primary server writes."""
        wait_until(lambda: int(self.primary.psql(STREAMS)) >= count, self.primary)

    def source_of(self, standby: PostgresServer, database: str = "replication") -> str:
        """The address from which a standby receives what the primary server writes."""
        name = standby.name
        primary = self.primary
        return f"host={primary.host} port={primary.port} user={SUPERUSER} dbname={database} application_name={name}"

    def run_program(self, words: list[str | Path], server: PostgresServer) -> None:
        """Run one of PostgreSQL's programs as the user that runs the server."""
        done = subprocess.run(
            words, cwd=server.sockets, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False,
            **server_account().options(),
        )  # fmt: skip
        assert done.returncode == 0, f"{words[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')}"


@contextmanager
def cluster_of_three() -> Iterator[Cluster]:
    """Make three servers that replicate; end them."""
    with postgres_server(standbys=2, settings={"synchronous_standby_names": NAMES}) as first:
        yield Cluster(first)
