"""A node of a log, as the clients of a workload use it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

from events.envelope import Draft
from ledger.transparency.tree import TreeLog
from tallystick.shapes.appended import AppendedEvent
from tests.faults.history.final_log import LogPages


class HistoryLog(LogPages, Protocol):
    """The part of a log that a workload uses: every `Log` has it."""

    async def append(self, batch: Sequence[Draft]) -> list[AppendedEvent]: ...


class SizeAndRoot(NamedTuple):
    """A checkpoint: the number of lines of a tree, and its root."""

    size: int
    root: bytes


class LogNode(NamedTuple):
    """A node. `checkpoint` returns the newest checkpoint that the node has published or would sign, if it has one."""

    name: str
    log: HistoryLog
    checkpoint: Callable[[], Awaitable[SizeAndRoot | None]]


def node_with_edge(name: str, log: HistoryLog, tree: TreeLog) -> LogNode:
    """A node whose checkpoints are the edge of the tree of its log."""

    async def checkpoint() -> SizeAndRoot | None:
        edge = tree.edge
        return SizeAndRoot(edge.size, edge.root())

    return LogNode(name, log, checkpoint)
