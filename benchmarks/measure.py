"""What a measurement is: ours beside the thing it is compared with, in one run."""

import os
import platform
import sqlite3
import statistics
import sys
from pathlib import Path

import msgspec
from msgspec import structs


class Measure(msgspec.Struct, kw_only=True):
    """One row of the report. `ratio` is the figure the target speaks of; `holds` is None where there is no target."""

    name: str
    ours: float
    other: float
    unit: str
    against: str
    ratio: float
    target: str
    holds: bool | None


class Machine(msgspec.Struct, kw_only=True):
    """Where the figures were taken."""

    cpu: str
    cores: int
    memory_gib: float
    system: str
    python: str
    sqlite: str


class Report(msgspec.Struct, kw_only=True):
    """Everything a run of the benchmarks found."""

    machine: Machine
    measures: list[Measure]


def at_least(name: str, ours: float, other: float, unit: str, against: str, least: float) -> Measure:
    """A rate that must reach a share of another."""
    ratio = ours / other
    return Measure(
        name=name, ours=ours, other=other, unit=unit, against=against, ratio=ratio,
        target=f">= {least:g}", holds=ratio >= least,
    )  # fmt: skip


def paired(name: str, ours: list[float], other: list[float], unit: str, against: str, least: float) -> Measure:
    """A rate beside another, measured in turns: the ratio is the median of the rounds', which spells move least."""
    ratio = median([mine / theirs for mine, theirs in zip(ours, other, strict=True)])
    measure = at_least(name, median(ours), median(other), unit, against, least)
    return structs.replace(measure, ratio=ratio, holds=ratio >= least)


def at_most(name: str, ours: float, other: float, unit: str, against: str, most: float) -> Measure:
    """A time or size that must stay within a multiple of another."""
    ratio = ours / other
    return Measure(
        name=name, ours=ours, other=other, unit=unit, against=against, ratio=ratio,
        target=f"<= {most:g}", holds=ratio <= most,
    )  # fmt: skip


def machine() -> Machine:
    """This machine."""
    cpu = platform.processor() or platform.machine()
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


def median(values: list[float]) -> float:
    """The middle of some figures: one slow round says little."""
    return statistics.median(values)
