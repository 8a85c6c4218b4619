"""A workload on one or more nodes of a log: seeded clients whose every call and answer is recorded.

Clients append singles, batches, and events that expect a version of streams which all clients of all processes share;
they post the same ids again after an unknown outcome, and sometimes without a reason; they post conflicts on purpose;
they read pages and the head, and note checkpoints. For each node one follower reads the log from its beginning.
"""

import asyncio
import random
from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from ledger.errors import LedgerUnavailable
from ledger.log import Query
from tests.faults.history.client import HistoryClient, record_checkpoint
from tests.faults.history.node import LogNode
from tests.faults.history.records import (
    ClientEvent,
    FollowInvoked,
    HistoryRecorder,
    OutcomeUnknown,
    PageOk,
    digests_of,
)

FOLLOWED_EVENTS = 200
"""Events in a page of a follower."""

FOLLOW_AGAIN_S = 0.01
"""Pause of a follower after an error."""


class WorkloadPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How much a process does."""

    seed: int
    clients: int = 8
    operations: int = 100
    """Calls of each client, unless it is stopped before."""
    streams: int = 4
    """Streams that all clients of all processes share."""
    patience_s: float | None = None
    """Most seconds that a client waits for an answer, each time a random part; then it gives up: outcome unknown."""


async def run_workload(
    nodes: Sequence[LogNode],
    recorder: HistoryRecorder,
    plan: WorkloadPlan,
    *,
    stop: asyncio.Event | None = None,
    unsettled: Sequence[list[ClientEvent]] = (),
) -> None:
    """Run all clients to their end, or until `stop` is set; each then posts again what is unknown.

    `unsettled`: batches whose outcome an earlier process left unknown (`History.unsettled`); the first client posts
    them again.
    """
    stop = stop or asyncio.Event()
    clients = [
        HistoryClient(
            nodes, recorder, number, random.Random(f"{plan.seed}/{recorder.process}/{number}"),
            streams=plan.streams, patience_s=plan.patience_s,
        )
        for number in range(plan.clients)
    ]  # fmt: skip
    clients[0].unknown += unsettled
    followers = [asyncio.create_task(_follow(node, recorder)) for node in nodes]
    try:
        async with asyncio.TaskGroup() as group:
            for client in clients:
                group.create_task(client.run(plan.operations, stop))
    finally:
        for follower in followers:
            follower.cancel()
        await asyncio.gather(*followers, return_exceptions=True)


async def _follow(node: LogNode, recorder: HistoryRecorder) -> None:
    """Record what a follower sees, with a checkpoint after each page; after an error, go on where it was."""
    after = 0
    while True:
        call = recorder.invoke(FollowInvoked, node=node.name, client=-1, after=after)
        try:
            follower = node.log.follow(Query(after=after, limit=FOLLOWED_EVENTS))
            async with aclosing(follower) as pages:  # type: ignore[type-var]
                async for page in pages:
                    digests = digests_of(page.lines)
                    recorder.answer(call, PageOk, positions=list(page.positions), digests=digests, more=page.more)
                    after = max([after, *page.positions])
                    await record_checkpoint(node, recorder)
        except LedgerUnavailable as error:
            recorder.answer(call, OutcomeUnknown, error=str(error))
        except Exception as error:  # noqa: BLE001 - the checker reports it
            recorder.answer(call, OutcomeUnknown, error=repr(error), unexpected=True)
        await asyncio.sleep(FOLLOW_AGAIN_S)
