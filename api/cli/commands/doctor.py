"""doctor: check an installation, and say what to do."""

from typing import TYPE_CHECKING

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import show
from api.text_format import one_line

if TYPE_CHECKING:
    from api.service.doctor.diagnosis import DoctorReport


@verb()
def doctor(target: LedgerTarget) -> None:
    """Check the installation of a ledger, and say what to do.

    It checks permissions, disk space, SQLite, clock, lock, key, tokens, backups, checkpoints, snapshots and evidence.
    Nothing is written, and a server may run meanwhile. The events themselves are checked by `tallystick verify`.
    Exit code 1: something is wrong.

    Example: tallystick --ledger team.db doctor
    """
    import asyncio

    from api.service.doctor.examination import examine

    ledger = target.place.require_file("tallystick doctor", "Run tallystick status, which works on any ledger.")
    report = asyncio.run(examine(ledger))
    show(target, report, _print_findings, code=int(not report.right))


def _print_findings(report: "DoctorReport") -> None:
    for finding in report.findings:
        advice = f" {one_line(finding.advice)}" if finding.advice else ""
        typer.echo(f"{finding.state:<8} {finding.check}: {one_line(finding.detail)}{advice}")
