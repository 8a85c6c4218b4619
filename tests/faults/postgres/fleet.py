"""Worker processes over one ledger, one node each: they are killed, succeeded, stopped and continued."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint
from ledger.transparency.keys import key_path, make_key
from tests.faults.history.worker import worker_command
from tests.faults.history.workload import WorkloadPlan
from tests.faults.postgres.nodes import LEDGER, STATE, state_folder
from tests.support.paths import ROOT
from tests.support.wait import wait_until

ENDLESS = 1_000_000
"""Calls of a client that is stopped by a signal."""

EVERYWHERE: Mapping[str, Sequence[str]] = MappingProxyType(dict.fromkeys("abc", ()))
"""Three workers, started as they are."""

ACKNOWLEDGED = b'"kind":"append ok"'


class Worker:
    """A process with a node, and its predecessors: `a3` continues `a2`."""

    def __init__(
        self, slot: str, place: str, folder: Path, plan: WorkloadPlan, opened_by: str, start: Sequence[str] = ()
    ) -> None:
        self.slot = slot
        self.generation = 0
        self._start = start
        self._place, self._folder, self._plan, self._opened_by = place, folder, plan, opened_by
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def name(self) -> str:
        """The name of the process, which is also that of its node and of its connections."""
        return f"{self.slot}{self.generation}"

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self._process is not None
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def start(self) -> None:
        """Start a process that posts again what the last one left unknown."""
        after = self.name if self.generation and self._path().exists() else ""
        self.generation += 1
        command = worker_command(
            self._place, self._folder, self.name, self._plan, after=after, opened_by=self._opened_by
        )
        with self._path("err").open("wb") as errors:
            self._process = subprocess.Popen(
                [*self._start, *command], cwd=ROOT, stdin=subprocess.DEVNULL, stderr=errors,
                env={**os.environ, STATE: str(self._folder / "state")},
            )  # fmt: skip

    def kill(self) -> None:
        """Kill it (SIGKILL)."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def is_stopped(self) -> bool:
        """Whether SIGSTOP has stopped it."""
        stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[0] == "T"

    def acknowledged(self) -> int:
        """How many appends were acknowledged to this process."""
        return self.recorded(ACKNOWLEDGED)

    def recorded(self, part: bytes) -> int:
        """How often the records of this process have a part."""
        path = self._path()
        return path.read_bytes().count(part) if path.exists() else 0

    def signed(self) -> int:
        """The number of events of the newest checkpoint that the node keeps, if it signs; 0 before the first."""
        seen = read_checkpoint(checkpoint_path(state_folder(self._folder / "state", self.slot) / LEDGER))
        return 0 if seen is None else seen.size

    def finish(self) -> None:
        """Wait until it has ended after SIGTERM."""
        assert self._process is not None
        code = self._process.wait()
        errors = self._path("err").read_text(encoding="utf-8", errors="replace")
        assert code == 0, f"worker {self.name} ended with {code}: {errors[-2000:]}"

    def _path(self, suffix: str = "ndjson") -> Path:
        return self._folder / f"{self.name}.{suffix}"


class Fleet:
    """The workers of one ledger."""

    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers

    def wait_for_appends(self, count: int, *without: Worker) -> None:
        """Wait until so many more appends are acknowledged to every worker but some."""
        others = [worker for worker in self.workers if worker not in without]
        wanted = [(worker, worker.acknowledged() + count) for worker in others]
        wait_until(lambda: all(worker.acknowledged() >= number for worker, number in wanted), *others, every_s=0.1)

    def finish(self) -> None:
        """Stop the clients, each after its call, and wait until what they left unknown is settled."""
        for worker in self.workers:
            worker.send(signal.SIGTERM)
        for worker in self.workers:
            worker.finish()


@contextmanager
def working(
    place: str, folder: Path, plan: WorkloadPlan, opened_by: str, starts: Mapping[str, Sequence[str]] = EVERYWHERE
) -> Iterator[Fleet]:
    """Start a worker for each letter, and wait until each has appended; kill them at the end.

    `starts` has the words before the command of each, which start it elsewhere.
    """
    _make_key([state_folder(folder / "state", slot) for slot in starts])
    workers = [Worker(slot, place, folder, plan, opened_by, start) for slot, start in starts.items()]
    try:
        fleet = Fleet(workers)
        fleet.wait_for_appends(1)
        yield fleet
    finally:
        for worker in workers:
            worker.kill()


def _make_key(folders: Sequence[Path]) -> None:
    """Give all nodes the same key."""
    for folder in folders:
        folder.mkdir(parents=True)
    make_key(folders[0] / LEDGER)
    for folder in folders[1:]:
        shutil.copy(key_path(folders[0] / LEDGER), key_path(folder / LEDGER))
