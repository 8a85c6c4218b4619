"""Connections to PostgreSQL: sessions whose commits are durable, and errors that say whether anything was written.

I4 A commit counts only if the server confirms it without a WARNING. With one, or if the connection is lost while it
   commits, the outcome is unknown: a cancelled wait for a standby leaves the rows visible on the primary alone.

Every new connection passes a barrier before anything is read through it: a write that the standbys confirm, and with it
everything before it. A server that crashed while it waited for a standby shows rows that no standby may have.
"""

import asyncio
import socket
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import asyncpg
from asyncpg.connect_utils import SessionAttribute
from msgspec import structs

from ledger.errors import LedgerUnavailable, LedgerUnusable
from ledger.place import DatabasePlace, Host
from ledger.postgres.schema import BARRIER, SHAPE, schema_of

CONNECT_S = 3.0
"""Seconds for connecting to a server."""

SILENT_S = 5
"""Seconds without a sign of the other side, after which a connection is lost."""

LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.TooManyConnectionsError,
    OSError,
    TimeoutError,
)
"""Errors after which another connection, perhaps to another server, may succeed."""

UNREADABLE = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
"""All errors of a statement."""

SETTINGS = {
    "application_name": "tallystick",
    "synchronous_commit": "on",
    "idle_in_transaction_session_timeout": "2s",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "client_connection_check_interval": "2s",
    "tcp_user_timeout": f"{SILENT_S}s",
    "tcp_keepalives_idle": "2",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": str(SILENT_S - 2),
    "default_transaction_isolation": "read committed",
    "jit": "off",
}
"""A node that stops while it holds the head releases it after 2 s. A connection that was given up while it waited for
the head ends on the server after 2 s: while no standby answers, nodes give up one after another. Compiling a short
statement (jit) takes longer than running it."""


if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection  # generic for the type checker alone


class UnknownOutcomeError(Exception):
    """A commit was not confirmed: its rows may be in the log, or not."""


class LedgerConnection(_Connection):
    """A connection that remembers the warnings of the server."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - those of asyncpg
        super().__init__(*args, **kwargs)
        self.warnings: list[str] = []
        self.server: Host | None = None
        """The server, as the address of the ledger names it."""
        self.add_log_listener(self._note_warning)

    async def commit(self) -> None:
        """Commit the transaction. Errors: UnknownOutcomeError; the connection must not be used after it."""
        self.warnings.clear()
        try:
            status = await self.execute("COMMIT")
        except UNREADABLE as error:
            raise UnknownOutcomeError(str(error)) from error
        if self.warnings or status != "COMMIT":
            raise UnknownOutcomeError(self.warnings[0] if self.warnings else f"the server answered {status}")

    async def rollback(self) -> None:
        """End the transaction without its changes."""
        await self.execute("ROLLBACK")

    async def pass_barrier(self) -> None:
        """Return when everything that can be read from the server is durable. Errors: UnknownOutcomeError, LOST."""
        await self.execute(BARRIER)
        await self.commit()

    def _note_warning(self, _connection: object, message: asyncpg.PostgresLogMessage) -> None:
        if message.severity_en not in {"NOTICE", "INFO", "LOG", "DEBUG"}:
            self.warnings.append(f"{message.severity_en}: {message.message}")

    def abort(self) -> None:
        """Close the connection at once: the server rolls back its transaction, unless that is being committed."""
        with suppress(*UNREADABLE):
            self.terminate()


async def connect(place: DatabasePlace, **settings: str) -> LedgerConnection:
    """Connect to the primary server of a cluster, for a ledger's schema. Errors: LOST, asyncpg.PostgresError.

    All hosts are tried at once: one that does not answer delays nothing.
    """
    return await _connect_first([_connect_host(place, host, settings) for host in place.hosts])


async def connect_durably(place: DatabasePlace, timeout_s: float, **settings: str) -> LedgerConnection:
    """Connect to a ledger, on the first host that lets it pass the barrier: a primary that was replaced does not.

    Errors: LedgerUnusable, if there is no such ledger; LOST, UnknownOutcomeError, asyncpg.PostgresError.
    """

    async def connect_host(host: Host) -> LedgerConnection:
        connection = await _connect_host(place, host, settings)
        try:
            await _check_shape(connection, place)
            await connection.pass_barrier()
        except BaseException:
            connection.abort()
            raise
        return connection

    async with asyncio.timeout(timeout_s):
        return await _connect_first([connect_host(host) for host in place.hosts])


async def connect_standby(place: DatabasePlace, timeout_s: float) -> LedgerConnection:
    """Connect to a ledger on the first host that answers and is a standby. It takes no write, so there is no barrier.

    Errors: LedgerUnusable, if there is no such ledger; LOST, asyncpg.PostgresError.
    """

    async def connect_host(host: Host) -> LedgerConnection:
        connection = await _connect_host(place, host, {}, SessionAttribute.standby)
        try:
            await _check_shape(connection, place)
        except BaseException:
            connection.abort()
            raise
        return connection

    async with asyncio.timeout(timeout_s):
        return await _connect_first([connect_host(host) for host in place.hosts])


async def _connect_host(
    place: DatabasePlace,
    host: Host,
    settings: dict[str, str],
    wanted: SessionAttribute = SessionAttribute.read_write,
) -> LedgerConnection:
    connection: LedgerConnection = await asyncpg.connect(
        dsn_of(structs.replace(place, hosts=(host,))),
        timeout=CONNECT_S,
        connection_class=LedgerConnection,
        target_session_attrs=wanted,
        server_settings=SETTINGS | {"search_path": schema_of(place), **settings},
    )
    connection.server = host
    _detect_silence(connection)
    return connection


async def _connect_first(attempts: Sequence[Coroutine[None, None, LedgerConnection]]) -> LedgerConnection:
    """Return the first connection that is made, and close the others. Errors: that of one host."""
    tasks = [asyncio.create_task(attempt) for attempt in attempts]
    waiting = set(tasks)
    errors: list[BaseException] = []
    try:
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                if (error := task.exception()) is None:
                    tasks.remove(task)
                    return task.result()
                errors.append(error)
    finally:
        for task in tasks:
            task.cancel()
            task.add_done_callback(_abort_connection)
    raise min(errors, key=_rank)


def _abort_connection(attempt: asyncio.Task[LedgerConnection]) -> None:
    """Close the connection of an attempt whose result nobody uses."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().abort()


def unusable(place: DatabasePlace, error: Exception) -> LedgerUnusable:
    """Return the error of a ledger that cannot be opened."""
    return LedgerUnusable(f"{place} cannot be opened: {_say(error)}.", "Check the address, the server and the role.")


def unavailable(place: DatabasePlace, error: Exception) -> LedgerUnavailable:
    """Return the error of a read that failed."""
    return LedgerUnavailable(f"{place} cannot be read: {_say(error)}.", "Check the servers, then retry.")


def dsn_of(place: DatabasePlace) -> str:
    """Return the address in the form that asyncpg reads, without the ledger."""
    return str(place).replace(f"?ledger={place.ledger}", "?", 1).replace("?&", "?").removesuffix("?")


def _rank(error: BaseException) -> int:
    """Return how little an error says of a ledger: that of the primary server is 0, that of a standby 3."""
    if isinstance(error, LedgerUnusable):
        return 0
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return 3
    return 1 if isinstance(error, LOST) else 2


def _say(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip().rstrip(".")


def _detect_silence(connection: LedgerConnection) -> None:
    """Have the operating system close a connection whose other side is silent, so that no commit waits without end."""
    transport: asyncio.Transport = getattr(connection, "_transport")  # noqa: B009 - the only way to the socket
    connected = transport.get_extra_info("socket")
    if connected is None or connected.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 2),
        ("TCP_KEEPINTVL", 1),
        ("TCP_KEEPCNT", SILENT_S - 2),
        ("TCP_USER_TIMEOUT", SILENT_S * 1000),
    ):
        if hasattr(socket, name):  # not every system has all of them
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def _check_shape(connection: LedgerConnection, place: DatabasePlace) -> None:
    try:
        # named with its schema: a search path leaves out a schema that the role may not use
        row = await connection.fetchrow(f"SELECT shape, complete FROM {schema_of(place)}.head")
    except asyncpg.UndefinedTableError:
        raise LedgerUnusable(
            f"{place} has no ledger {place.ledger}.",
            "Make it, as a role that may create schemas: tallystick ledger create. Or name another one.",
        ) from None
    except asyncpg.InsufficientPrivilegeError as error:
        raise LedgerUnusable(
            f"{place} cannot be read: {error}.", "Grant the role access: tallystick ledger create --grant ROLE."
        ) from None
    assert row is not None, "a table with one row, which cannot be deleted"
    if row["shape"] != SHAPE:
        raise LedgerUnusable(
            f"{place} has shape {row['shape']}; this program knows {SHAPE}.",
            "Use the version of Tallystick that wrote it.",
        )
    if not row["complete"]:
        raise LedgerUnusable(
            f"{place} is incomplete: an import into it has not ended.",
            "Run the import again: it continues where it stopped.",
        )
