"""A ledger, its engine and its snapshots, opened and always closed: a connection left open keeps the process alive."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from events.envelope import Draft
from events.registry import VOCABULARY
from events.vocabulary import Vocabulary
from ledger.sqlite.log import SqliteLog
from projections.engine import Engine, Progress
from projections.projection import Projection
from projections.registry import PROJECTIONS
from projections.snapshots import Snapshots
from tests.projections.random_histories import DAWN

SECRET = bytes(range(32))
"""The secret of every snapshot and search index of these tests."""


class Ticking:
    """A clock that is a second later each time it is asked."""

    def __init__(self) -> None:
        self.now = DAWN - timedelta(seconds=1)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class Opened(NamedTuple):
    """An engine and the log under it."""

    log: SqliteLog
    engine: Engine


def views_of(path: Path) -> Path:
    return path.with_suffix(".views.db")


@asynccontextmanager
async def ledger(path: Path, vocabulary: Vocabulary = VOCABULARY) -> AsyncIterator[SqliteLog]:
    """The log of a file."""
    log = await SqliteLog.open(path, vocabulary=vocabulary, clock=Ticking())
    try:
        yield log
    finally:
        await log.close()


@asynccontextmanager
async def engine(
    path: Path,
    kinds: Sequence[type[Projection]] = PROJECTIONS,
    *,
    vocabulary: Vocabulary = VOCABULARY,
    started: bool = True,
    crash: bool = False,
    progress: Progress | None = None,
) -> AsyncIterator[Opened]:
    """An engine on a file, which is `started` or not; one that crashes keeps nothing of what it folded."""
    async with ledger(path, vocabulary) as log:
        snapshots = await Snapshots.open(views_of(path), writable=True, secret=SECRET)
        try:
            one = Engine(log, kinds, snapshots, vocabulary)
            if started:
                await one.start(progress)
            yield Opened(log, one)
            if not crash:
                await one.close()
        finally:
            await snapshots.close()


async def post_each(log: SqliteLog, drafts: Sequence[Draft]) -> None:
    """Append the drafts one by one."""
    for draft in drafts:
        await log.append([draft])


async def write(path: Path, drafts: Sequence[Draft]) -> None:
    """A ledger file that holds the drafts."""
    async with ledger(path) as log:
        await log.append(drafts)


class ReplayComparison(NamedTuple):
    """The digests of a projection's incremental state and of its replayed state; they must be equal."""

    name: str
    version: int
    incremental: str
    replayed: str

    @property
    def same(self) -> bool:
        return self.incremental == self.replayed


async def compare_with_replay(one: Engine, upto: int | None = None) -> list[ReplayComparison]:
    """Fold everything again from position 1 and compare with the states that snapshots and increments gave."""
    target = await one.catch_up() if upto is None else upto
    kinds = {name: type(state) for name, state in one.live.items()}
    digests = {name: (await one.at(kind, target))[0].digest() for name, kind in kinds.items()}
    replayed = await one.replay(target)
    return [
        ReplayComparison(name, kind.version, digests[name], replayed[name].digest()) for name, kind in kinds.items()
    ]


def encoded(states: Sequence[Projection] | Engine) -> dict[str, tuple[bytes, str]]:
    """Each state's bytes without its tables, and its digest, by its projection's name."""
    projections = list(states.live.values()) if isinstance(states, Engine) else states
    return {projection.name: (projection.encode(), projection.digest()) for projection in projections}
