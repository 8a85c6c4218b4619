"""Keep the measurements as JSON, so that each row can be measured separately, and write them as a table."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from benchmarks.measure import Machine, describe_machine
from tests.faults.row import Row

HEAD = """# Faults

The faults that were injected into a ledger, and the results. `make faults` repeats them: each row follows from its seed
and dose, except for what the scheduler of the machine adds. `make test` runs a shorter form of the same code.

"""


class Report(msgspec.Struct, kw_only=True):
    """Every row that was measured, and where the last of them was."""

    machine: Machine
    rows: list[Row]


def merge(path: Path, rows: Iterable[Row], order: Iterable[str]) -> Report:
    """Keep some rows in place of those of their names, in the order of the table."""
    kept = {row.name: row for row in msgspec.json.decode(path.read_bytes(), type=Report).rows} if path.exists() else {}
    kept |= {row.name: row for row in rows}
    report = Report(machine=describe_machine(), rows=[kept[name] for name in order if name in kept])
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    return report


def markdown(report: Report) -> str:
    """The report as FAULTS.md has it."""
    where = report.machine
    lines = ["|fault|dose|seed|must hold|held|what was found|", "|-|-|-|-|-|-|"]
    for row in report.rows:
        found = "; ".join(f"{name} {_figure(value)}" for name, value in row.figures.items())
        held = "yes" if row.held else "**no**"
        dose = f"{row.dose:,} {row.unit}"
        lines.append(f"|{row.title}|{dose}|{row.seed}|{row.must_hold}|{held}|{found}; {row.elapsed_s:,.0f} s in all|")
    machine_line = (
        f"Measured on {where.cores} cores of {where.cpu}, {where.memory_gib:.0f} GiB, {where.system},"
        f" Python {where.python}, SQLite {where.sqlite}."
    )
    return HEAD + "\n".join(lines) + "\n\n" + machine_line + "\n"


def _figure(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"
