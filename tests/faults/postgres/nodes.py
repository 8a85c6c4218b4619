"""Nodes of a ledger in PostgreSQL, as worker processes open them."""

import asyncio
import ctypes
import os
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from api.service.checkpoints import CheckpointService
from ledger.admission import Lookups
from ledger.clock import Clock, system_clock
from ledger.errors import Forked, LedgerUnavailable, LedgerUnusable
from ledger.log import Head
from ledger.lookup_keys import LookupKeys
from ledger.place import Durability, Place
from ledger.postgres import connection, writer
from ledger.postgres.connection import LedgerConnection
from ledger.postgres.log import PostgresLog
from ledger.postgres.notes import SharedNotes
from tests.faults.history.node import LogNode, SizeAndRoot

OPEN_POSTGRES = f"{__name__}:open_postgres"
OPEN_JUMPING = f"{__name__}:open_jumping"
OPEN_SIGNING = f"{__name__}:open_signing"

STATE = "TALLYSTICK_FAULTS_STATE"
"""The variable that names the folder with the folders of the nodes."""

LEDGER = "acme"
"""The name of the ledger, and of a node's files."""

Opened = TypeVar("Opened")

STOP_IN_TRANSACTION = signal.SIGUSR1
"""A worker that gets this signal stops (SIGSTOP) as soon as it holds the row lock of the head."""

DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux: a worker ends when the test has ended, also if that was killed."""

AGAIN_S = 0.2
"""Seconds before a node that could not open the ledger tries again."""

HOURS_MAX = 30.0
"""A clock jumps by so much at most, back or forth."""


@asynccontextmanager
async def open_postgres(
    place: str, name: str, *, clock: Clock = system_clock, durability: Durability = "quorum"
) -> AsyncIterator[Sequence[LogNode]]:
    """Open a ledger in a database. Its connections have the name of the process; it waits for a primary server."""
    ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)
    connection.SETTINGS["application_name"] = name
    stop_in_transaction()
    database = Place.parse(place).database
    assert database is not None, place
    log = await _again(lambda: PostgresLog.open(database, clock=clock, durability=durability))

    async def checkpoint() -> SizeAndRoot:
        edge = await log.wait_for_tree(0)
        return SizeAndRoot(edge.size, edge.root())

    try:
        yield [LogNode(name, log, checkpoint)]
    finally:
        await log.close()


@asynccontextmanager
async def open_signing(place: str, name: str, *, durability: Durability = "quorum") -> AsyncIterator[Sequence[LogNode]]:
    """Open a ledger and sign its checkpoints, as a server does. Each node has a folder, which its successors use."""
    database = Place.parse(place).database
    assert database is not None, place
    async with open_postgres(place, name, durability=durability) as (node,):
        assert isinstance(node.log, PostgresLog)
        notes = await _again(lambda: SharedNotes.open(database))
        service = CheckpointService(state_folder(Path(os.environ[STATE]), name) / LEDGER, node.log, node.log, notes)
        await service.start()

        async def checkpoint() -> SizeAndRoot:
            try:
                signed = (await service.checkpoint()).checkpoint
            except Forked as error:
                raise LedgerUnavailable(error.detail, error.advice) from error
            return SizeAndRoot(signed.size, signed.root)

        try:
            yield [LogNode(name, node.log, checkpoint)]
        finally:
            await service.close()
            await notes.close()


def state_folder(state: Path, name: str) -> Path:
    """The folder of a node and its successors: of `a1`, `a2` and so on."""
    return state / name[0]


@asynccontextmanager
async def open_jumping(place: str, name: str) -> AsyncIterator[Sequence[LogNode]]:
    """Open a ledger with a clock that jumps."""
    async with open_postgres(place, name, clock=JumpingClock(random.Random(name))) as nodes:
        yield nodes


class JumpingClock:
    """A clock that now and then jumps by hours, back or forth."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._ahead = timedelta()

    def __call__(self) -> datetime:
        if self._rng.random() < 0.1:
            self._ahead = timedelta(hours=self._rng.uniform(-HOURS_MAX, HOURS_MAX))
        return system_clock() + self._ahead


async def _again(open_: Callable[[], Awaitable[Opened]]) -> Opened:
    """Open something; try again while no server answers, as the supervisor of a service starts it again."""
    while True:
        try:
            return await open_()
        except LedgerUnusable:
            await asyncio.sleep(AGAIN_S)


def stop_in_transaction() -> None:
    """Have the signal stop this process when it next holds the row lock of the head, between two statements."""
    asked = False
    look_up = writer._look_up

    def ask() -> None:
        nonlocal asked
        asked = True

    async def look_up_and_stop(connected: LedgerConnection, keys: LookupKeys) -> tuple[Head, Lookups]:
        nonlocal asked
        found = await look_up(connected, keys)
        if asked:
            asked = False
            os.kill(os.getpid(), signal.SIGSTOP)
        return found

    asyncio.get_running_loop().add_signal_handler(STOP_IN_TRANSACTION, ask)
    writer._look_up = look_up_and_stop  # type: ignore[assignment]
