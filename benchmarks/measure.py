"""A measurement: our figure, and the figure that it is compared with."""

import os
import platform
import sqlite3
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec
from msgspec import structs


class Effort(NamedTuple):
    """How often a rate is measured, and for how many seconds each time."""

    rounds: int
    seconds: int


FULL_EFFORT = Effort(rounds=5, seconds=3)
TRIAL_EFFORT = Effort(rounds=1, seconds=1)
"""For a trial run, whose figures say little."""


class Measure(msgspec.Struct, kw_only=True):
    """One row of the report. `ratio` is `ours` / `other`, `target` limits it; `holds` is None without a target."""

    name: str
    ours: float
    other: float
    unit: str
    against: str
    ratio: float
    target: str
    holds: bool | None


class Machine(msgspec.Struct, kw_only=True):
    """The machine and software of the measurements."""

    cpu: str
    cores: int
    memory_gib: float
    system: str
    python: str
    sqlite: str


class Report(msgspec.Struct, kw_only=True):
    """The results of a run of the benchmarks."""

    machine: Machine
    measures: list[Measure]


def expect_at_least(name: str, ours: float, other: float, unit: str, against: str, ratio_min: float) -> Measure:
    """Compare a rate that must reach at least a multiple of another."""
    ratio = ours / other
    return Measure(
        name=name, ours=ours, other=other, unit=unit, against=against, ratio=ratio,
        target=f">= {ratio_min:g}", holds=ratio >= ratio_min,
    )  # fmt: skip


def compare_in_turns(
    name: str, ours: list[float], other: list[float], unit: str, against: str, ratio_min: float
) -> Measure:
    """Compare two rates measured in turns; the ratio is the median over the rounds, which a slow one affects least."""
    ratio = median([rate / compared for rate, compared in zip(ours, other, strict=True)])
    measure = expect_at_least(name, median(ours), median(other), unit, against, ratio_min)
    return structs.replace(measure, ratio=ratio, holds=ratio >= ratio_min)


def expect_at_most(name: str, ours: float, other: float, unit: str, against: str, ratio_max: float) -> Measure:
    """Compare a time or size that must be at most a multiple of another."""
    ratio = ours / other
    return Measure(
        name=name, ours=ours, other=other, unit=unit, against=against, ratio=ratio,
        target=f"<= {ratio_max:g}", holds=ratio <= ratio_max,
    )  # fmt: skip


def expect_within(
    name: str, ours: float, other: float, unit: str, against: str, *, limit: float, ratio_max: float | None = None
) -> Measure:
    """Compare a time or size that has a limit of its own and, with `ratio_max`, one against another."""
    ratio = ours / other
    target = f"<= {limit:g} {unit}" if ratio_max is None else f"<= {limit:g} {unit} and <= {ratio_max:g}"
    return Measure(
        name=name, ours=ours, other=other, unit=unit, against=against, ratio=ratio,
        target=target, holds=ours <= limit and (ratio_max is None or ratio <= ratio_max),
    )  # fmt: skip


def show_beside(name: str, ours: float, other: float, unit: str, against: str) -> Measure:
    """Show two figures side by side, without a target."""
    return Measure(
        name=name, ours=ours, other=other, unit=unit, against=against, ratio=ours / other, target="", holds=None
    )


def compare_beside(name: str, ours: list[float], other: list[float], unit: str, against: str) -> Measure:
    """Compare two rates measured in turns, without a target."""
    ratio = median([rate / compared for rate, compared in zip(ours, other, strict=True)])
    return structs.replace(show_beside(name, median(ours), median(other), unit, against), ratio=ratio)


def describe_machine() -> Machine:
    """Describe this machine."""
    cpu = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        cpu = names[0] if names else cpu
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu=cpu,
        cores=os.cpu_count() or 1,
        memory_gib=round(pages / 2**30, 1),
        system=f"{platform.system()} {platform.release()}",
        python=sys.version.split()[0],
        sqlite=sqlite3.sqlite_version,
    )
