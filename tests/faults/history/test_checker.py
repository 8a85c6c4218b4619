"""The checker accepts correct histories, and finds every kind of violation under its rule."""

import asyncio
import os
import random
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.faults.history.checker import Verdict, check
from tests.faults.history.final_log import final_lines
from tests.faults.history.history_change import HistoryChange
from tests.faults.history.memory_log import LogBug, MemoryLedger, MemoryNode, memory_nodes
from tests.faults.history.mutations import MUTATIONS
from tests.faults.history.records import (
    AnyRecord,
    AppendInvoked,
    History,
    HistoryRecorder,
    OutcomeUnknown,
    load,
    load_folder,
)
from tests.faults.history.worker import open_sqlite, worker_command
from tests.faults.history.workload import WorkloadPlan, run_workload
from tests.support.event_loop import run
from tests.support.paths import ROOT
from tests.support.wait import wait_until

SEEDS = st.integers(0, 2**32)


class RecordedRun:
    """A history, and the final log. It has no fields that hypothesis prints."""

    def __init__(self, records: list[AnyRecord], lines: list[tuple[int, bytes]]) -> None:
        self.records, self.lines = records, lines

    def verdict(self) -> Verdict:
        return check(self.records, self.lines)


async def on_sqlite(folder: Path, plan: WorkloadPlan) -> RecordedRun:
    async with open_sqlite(str(folder / "ledger.db"), "sqlite") as nodes:
        with HistoryRecorder(folder, "p") as recorder:
            await run_workload(nodes, recorder, plan)
        return RecordedRun(load_folder(folder), await final_lines(nodes[0].log))


async def in_memory(folder: Path, seed: int, bug: LogBug | None, operations: int = 60) -> RecordedRun:
    """Run a workload over three nodes, with crashes; read the final log without the fault."""
    rng = random.Random(seed)
    ledger = MemoryLedger(rng, bug)

    async def crash() -> None:
        while True:
            await asyncio.sleep(rng.uniform(0.002, 0.02))
            rng.choice((ledger.crash, ledger.sync))()

    crashes = asyncio.create_task(crash())
    with HistoryRecorder(folder, "p") as recorder:
        await run_workload(memory_nodes(ledger, 3), recorder, WorkloadPlan(seed=seed, operations=operations))
    crashes.cancel()
    ledger.bug = None
    return RecordedRun(load_folder(folder), await final_lines(MemoryNode(ledger)))


@contextmanager
def folder_of_example() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def correct(tmp_path_factory: pytest.TempPathFactory) -> RecordedRun:
    return run(on_sqlite(tmp_path_factory.mktemp("history"), WorkloadPlan(seed=20, operations=30)))


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=5)
def test_a_history_of_sqlite_is_clean(seed: int) -> None:
    with folder_of_example() as folder:
        found = run(on_sqlite(folder, WorkloadPlan(seed=seed, clients=6, operations=25))).verdict()
    assert not found.violations, str(found)
    assert found.figures["events acknowledged"] > 0


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@given(seed=SEEDS)
@settings(max_examples=4)
def test_a_mutated_history_breaks_its_rule(
    correct: RecordedRun, mutation: Callable[[HistoryChange], None], seed: int
) -> None:
    change = HistoryChange(correct.records, correct.lines, random.Random(seed))
    mutation(change)
    found = check(change.records, change.lines)
    assert MUTATIONS[mutation] in found.rules, str(found)
    assert f"rule {MUTATIONS[mutation]}" in str(found)


def test_the_history_that_is_mutated_is_clean(correct: RecordedRun) -> None:
    found = correct.verdict()
    assert not found.violations, str(found)
    assert all(found.figures[name] for name in found.figures if name != "unknown"), found.figures


@pytest.mark.slow
@given(seed=SEEDS)
@settings(max_examples=4)
def test_a_correct_log_with_aborts_and_crashes_is_clean(seed: int) -> None:
    with folder_of_example() as folder:
        found = run(in_memory(folder, seed, None)).verdict()
    assert not found.violations, str(found)
    assert found.figures["unknown"] > 0


FOUND = {
    LogBug.EARLY_ANSWER: 1,
    LogBug.IGNORED_OUTCOME: 1,
    LogBug.UNCOMMITTED_READS: 4,
    LogBug.STALE_READS: 5,
    LogBug.NO_IDENTITIES: 7,
    LogBug.SIGNS_UNCOMMITTED: 8,
    LogBug.NO_LOCK: 9,
    LogBug.TORN_COMMIT: 10,
}
"""The rule that each faulty log breaks."""


@pytest.mark.slow
@pytest.mark.parametrize("bug", LogBug, ids=lambda bug: bug.name.lower())
@pytest.mark.parametrize("seed", [1, 2])
def test_a_faulty_log_is_found(tmp_path: Path, bug: LogBug, seed: int) -> None:
    found = run(in_memory(tmp_path, seed, bug)).verdict()
    assert FOUND[bug] in found.rules, str(found)


def test_a_read_that_another_node_has_outrun_is_stale_only_across_nodes(correct: RecordedRun) -> None:
    """With `across_nodes=False`, a node must show only what the clients of the same node know."""
    apart = [
        msgspec.structs.replace(record, node=f"n{record.client}") if hasattr(record, "client") else record
        for record in correct.records
    ]
    change = HistoryChange(apart, correct.lines, random.Random(1))
    known = change.timeline.known_before
    heads = [
        (known(asked.at_ns, "head", asked.node), known(asked.at_ns, "head"), head)
        for asked, head in change.history.heads
    ]
    own, _, head = change.pick([one for one in heads if one[0] < one[1]])
    change.change(head, msgspec.structs.replace(head, position=own))
    assert 5 in check(change.records, change.lines).rules
    assert 5 not in check(change.records, change.lines, across_nodes=False).rules


def test_a_report_names_both_nodes_that_signed_different_roots(correct: RecordedRun) -> None:
    """Even where both are beyond the log, which then cannot say which one is false."""
    change = HistoryChange(correct.records, correct.lines, random.Random(1))
    seen = msgspec.structs.replace(change.history.checkpoints[-1], size=10_000)
    other = msgspec.structs.replace(seen, process="q", node="other", root=bytes(32))
    found = [
        v for v in check([*correct.records, seen, other], correct.lines).violations if "different roots" in v.detail
    ]
    assert [violation.calls for violation in found] == [(f"{seen.name} of sqlite", f"{other.name} of other")]
    assert str(found[0]).startswith("rule 8 at position 10000: two checkpoints of one size have different roots (p#")


@pytest.mark.slow
def test_what_a_client_gave_up_is_posted_again(tmp_path: Path) -> None:
    """A client with little patience gives up many calls, and its retries find the events that it had given up."""
    recorded = run(on_sqlite(tmp_path, WorkloadPlan(seed=3, clients=16, operations=10, patience_s=0.005)))
    found = recorded.verdict()
    assert not found.violations, str(found)
    assert any(isinstance(record, OutcomeUnknown) for record in recorded.records)


def test_the_last_line_of_a_history_may_be_torn(tmp_path: Path) -> None:
    with HistoryRecorder(tmp_path, "p") as recorder:
        recorder.invoke(AppendInvoked, node="n", client=0, events=[])
        recorder.invoke(AppendInvoked, node="n", client=1, events=[])
    path = tmp_path / "p.ndjson"
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole)):
        path.write_bytes(whole[:end])
        assert len(load(path)) == 1
    path.write_bytes(whole[: first - 2] + whole[first - 1 :])
    with pytest.raises(msgspec.DecodeError):
        load(path)
    with pytest.raises(FileExistsError):
        HistoryRecorder(tmp_path, "p")


def has_bytes(path: Path, count: int) -> bool:
    return path.exists() and path.stat().st_size >= count


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """One worker is killed, the next continues it and is stopped, and both histories fit the log that is left."""
    for process, after, end in (("first", "", signal.SIGKILL), ("second", "first", signal.SIGTERM)):
        plan = WorkloadPlan(seed=5, operations=100_000)
        command = worker_command(str(tmp_path / "ledger.db"), tmp_path, process, plan, after=after)
        worker = subprocess.Popen(command, cwd=ROOT)
        try:
            wait_until(partial(has_bytes, tmp_path / f"{process}.ndjson", 2_000_000), worker)
            os.kill(worker.pid, end)
            assert worker.wait() == (-end if end is signal.SIGKILL else 0)
        finally:
            worker.kill()
            worker.wait()

    async def lines() -> list[tuple[int, bytes]]:
        async with open_sqlite(str(tmp_path / "ledger.db"), "last") as nodes:
            return await final_lines(nodes[0].log)

    records = load_folder(tmp_path)
    found = check(records, run(lines()))
    assert not found.violations, str(found)
    assert found.figures["appends acknowledged"] > 100
    first = [record for record in records if record.process == "first"]
    assert History.of(first).unsettled(), "no append was under way when the first worker was killed"
    assert not History.of(records).unsettled(), "the second worker did not settle what the first had left"
