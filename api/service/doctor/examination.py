"""Run every check of an installation. Nothing is written, and a server may run meanwhile."""

import sqlite3
import time
from asyncio import to_thread
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from api.service.doctor import ledger_checks, machine_checks
from api.service.doctor.diagnosis import Diagnosis, DoctorReport, wrong
from api.service.ledger import LedgerService, open_for_reading
from events.errors import TallystickError
from ledger.clock import moment_of, system_clock
from ledger.errors import LedgerUnusable
from ledger.private_file import follow_typed_link

VERIFY_ADVICE = "See all that is wrong: tallystick verify."


async def examine(ledger: Path) -> DoctorReport:
    """Check a ledger and its machine. Errors: LedgerUnusable, if there is no file."""
    path = follow_typed_link(ledger).absolute()
    if not path.is_file():
        raise LedgerUnusable(
            f"There is no ledger at {ledger}.", "Name one with --ledger, or begin it: tallystick serve."
        )
    began_s, steady_s = time.time(), time.monotonic()
    findings: list[Diagnosis] = []
    for name, check in (
        ("permissions", machine_checks.check_permissions),
        ("unfinished files", machine_checks.check_unfinished),
        ("disk", machine_checks.check_disk),
        ("SQLite", machine_checks.check_sqlite),
        ("lock", machine_checks.check_lock),
        ("ledger", ledger_checks.check_schema),
        ("key", ledger_checks.check_key),
        ("tokens", lambda file: ledger_checks.check_tokens(file, system_clock())),
    ):
        findings += await to_thread(_run, name, check, path)
    if all(finding.state != "wrong" for finding in findings if finding.check in {"ledger", "write-ahead log"}):
        findings += [finding async for finding in _examine_contents(path, began_s, steady_s)]
    return DoctorReport(
        ledger=str(ledger), right=all(finding.state != "wrong" for finding in findings), findings=findings
    )


async def _examine_contents(path: Path, began_s: float, steady_s: float) -> AsyncIterator[Diagnosis]:
    """Check what needs the events."""
    now = system_clock()
    try:
        async with open_for_reading(path) as ledger:
            head = await ledger.reader.head()
            newest = moment_of(head.recorded_us) if head.position else None
            for finding in await to_thread(
                _run, "backup", lambda file: ledger_checks.check_backup(file, now, head.position), path
            ):
                yield finding
            for name, check in (
                ("checkpoint", ledger_checks.check_checkpoint),
                ("snapshots", ledger_checks.check_snapshots),
            ):
                for finding in await _run_on_ledger(name, check, ledger):
                    yield finding
    except (TallystickError, OSError, sqlite3.Error) as error:
        yield _failed("ledger", error)
        return
    for finding in await to_thread(_run, "evidence", ledger_checks.check_evidence, path):
        yield finding
    stepped_s = (time.time() - began_s) - (time.monotonic() - steady_s)
    for finding in await to_thread(
        _run, "clock", lambda file: machine_checks.check_clock(file, system_clock(), newest, stepped_s), path
    ):
        yield finding


def _run(name: str, check: Callable[[Path], Iterator[Diagnosis]], path: Path) -> list[Diagnosis]:
    """Run a check; a check that cannot be completed is a finding itself."""
    findings: list[Diagnosis] = []
    try:
        findings.extend(check(path))
    except (TallystickError, OSError, sqlite3.Error) as error:
        findings.append(_failed(name, error))
    return findings


async def _run_on_ledger(
    name: str, check: Callable[[LedgerService], AsyncIterator[Diagnosis]], ledger: LedgerService
) -> list[Diagnosis]:
    findings: list[Diagnosis] = []
    try:
        findings += [finding async for finding in check(ledger)]
    except (TallystickError, OSError, sqlite3.Error) as error:
        findings.append(_failed(name, error))
    return findings


def _failed(name: str, error: Exception) -> Diagnosis:
    if isinstance(error, TallystickError):
        return wrong(name, error.detail, error.advice or VERIFY_ADVICE)
    return wrong(name, f"it could not be checked: {error}.", "Check the permissions of the file, and the disk.")
