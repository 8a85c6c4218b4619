"""A process that runs a workload and records it: `python -m tests.faults.history.worker --help`.

SIGTERM stops its clients after the call that each is in. A worker that was killed is started again with another name
and `--after` its old name: it then posts again what the old one left unknown.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from pathlib import Path

from ledger.sqlite.log import SqliteLog
from tests.faults.history.node import LogNode, node_with_edge
from tests.faults.history.records import History, HistoryRecorder, load
from tests.faults.history.workload import WorkloadPlan, run_workload

OpenNodes = Callable[[str, str], AbstractAsyncContextManager[Sequence[LogNode]]]
"""Opens the nodes at a place, for a process with a name."""

OPEN_SQLITE = "tests.faults.history.worker:open_sqlite"


@asynccontextmanager
async def open_sqlite(place: str, name: str) -> AsyncIterator[Sequence[LogNode]]:
    """Open a ledger file."""
    log = await SqliteLog.open(Path(place))
    try:
        yield [node_with_edge(name, log, log)]
    finally:
        await log.close()


async def work(open_nodes: OpenNodes, place: str, recorder: HistoryRecorder, plan: WorkloadPlan, after: str) -> None:
    """Run a workload until its end or SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    left = History.of(load(recorder.path.with_name(f"{after}.ndjson"))).unsettled() if after else []
    async with open_nodes(place, recorder.process) as nodes:
        await run_workload(nodes, recorder, plan, stop=stop, unsettled=left)


def worker_command(
    place: str, folder: Path, process: str, plan: WorkloadPlan, *, after: str = "", opened_by: str = OPEN_SQLITE
) -> list[str]:
    """The command that starts a worker, from the project's folder."""
    options: dict[str, object] = {
        "--folder": folder, "--process": process, "--after": after, "--open": opened_by, "--seed": plan.seed,
        "--clients": plan.clients, "--operations": plan.operations, "--streams": plan.streams,
    }  # fmt: skip
    if plan.patience_s is not None:
        options["--patience"] = plan.patience_s
    named = [str(part) for option in options.items() for part in option]
    return [sys.executable, "-m", "tests.faults.history.worker", place, *named]


def main() -> None:
    """Open the nodes, run the workload, write the history."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.history.worker", description=__doc__)
    parser.add_argument("place", help="where the log is: the path of a ledger file, or what --open needs")
    parser.add_argument("--folder", type=Path, required=True, help="where the history is written")
    parser.add_argument("--process", required=True, help="the name of this process, new in the folder")
    parser.add_argument("--after", default="", help="the name of the process that this one continues")
    parser.add_argument("--open", default=OPEN_SQLITE, help=f"MODULE:FUNCTION, an OpenNodes ({OPEN_SQLITE})")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--operations", type=int, default=100, help="calls of each client")
    parser.add_argument("--streams", type=int, default=4, help="streams that all clients share")
    parser.add_argument("--patience", type=float, help="most seconds that a client waits for an answer")
    given = parser.parse_args()
    plan = WorkloadPlan(
        seed=given.seed, clients=given.clients, operations=given.operations, streams=given.streams,
        patience_s=given.patience,
    )  # fmt: skip
    module, _, function = given.open.partition(":")
    open_nodes: OpenNodes = getattr(import_module(module), function)
    with HistoryRecorder(given.folder, given.process) as recorder:
        asyncio.run(work(open_nodes, given.place, recorder, plan, given.after))


if __name__ == "__main__":
    main()
