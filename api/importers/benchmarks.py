"""A verb of its own: labelled cases of benchmarks brought in as scenarios: read, loaded, written and recorded.

Every case is first written to a folder that is thrown away, and loaded from there as any suite is. Where one is faulty,
or a fixture that says something else is in the way of one, nothing is written at all. The same import again writes and
records nothing.
"""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import msgspec

from api.service.evaluation.capture import check_writable, unwritable_error
from api.service.evaluation.scenarios import RecordedScenarios, record_scenarios
from api.service.store import EventStore
from instruments.evals import Scenario
from instruments.evals.benchmarks import Case, CaseError, Format, cases, folder_name
from instruments.evals.errors import BadFixtures, FixtureExists, FixtureFault
from instruments.evals.suite.loader import SCENARIO_FILES, load
from instruments.evals.suite.writer import FILES, write

FORMATS: tuple[Format, ...] = get_args(Format)

BATCH = 50
"""Scenarios recorded between two reports."""

SHOWN = 10
"""Fixtures in the way that are named one by one."""

NOTHING = "Nothing was written."

Report = Callable[[int, int], None]


class ImportedCases(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an import.

    `written` fixtures are new, `replaced` ones said something else, and those that were `there` are as they would be
    written. `captured` scenarios are new to the ledger, `revised` ones others than it knew, and it `knew` the rest.
    """

    format: Format
    cases: int
    written: int
    replaced: int
    there: int
    captured: int
    revised: int
    knew: int
    elapsed_ms: int


class BenchmarkImport:
    """The cases of a file or folder, read and checked; nothing is written yet.

    Shapes: `output` is the suite's folder, of which each case becomes a folder, whose name `prefix` begins; `force`
            replaces fixtures that say something else. `report` is told how many cases are checked, of how many.
    Errors: BadFixtures, which names every fault; FixtureExists; InvalidQuery, where `output` cannot be written.
    """

    def __init__(
        self, kind: Format, path: Path, output: Path, report: Report, *, prefix: str | None = None, force: bool = False
    ) -> None:
        self._began = time.monotonic()
        self._kind = kind
        self._output = output
        check_writable(output.resolve())
        self._cases = _named(cases(kind, path), prefix)
        with TemporaryDirectory() as made:
            self._scenarios = _loaded(self._cases, Path(made), report)
            self._new, self._other = _compared(self._cases, Path(made), output)
        if self._other and not force:
            raise _in_the_way(output, self._other)

    async def write(self, store: EventStore, report: Report) -> ImportedCases:
        """Write and record the cases; `report` is told how many are, of how many.

        Errors: InvalidQuery and those of `record`. What was written before stays, each fixture whole: run it again.
        """
        changed = {*self._new, *self._other}
        done = RecordedScenarios()
        for start in range(0, len(self._scenarios), BATCH):
            batch = self._scenarios[start : start + BATCH]
            for scenario in batch:
                if scenario.title in changed:
                    one = self._cases[scenario.title]
                    folder = self._output / scenario.title
                    try:
                        write(folder, one.description, one.investigation, one.readme, force=True)
                    except OSError as error:
                        raise unwritable_error(folder, error.strerror or type(error).__name__) from None
            placed = [msgspec.structs.replace(one, folder=self._output / one.title) for one in batch]
            done = _sum(done, await record_scenarios(store, placed, source=self._kind))
            report(start + len(batch), len(self._scenarios))
        return ImportedCases(
            format=self._kind,
            cases=len(self._cases),
            written=len(self._new),
            replaced=len(self._other),
            there=len(self._cases) - len(changed),
            captured=done.captured,
            revised=done.revised,
            knew=done.unchanged,
            elapsed_ms=round((time.monotonic() - self._began) * 1000),
        )


def _sum(one: RecordedScenarios, other: RecordedScenarios) -> RecordedScenarios:
    return RecordedScenarios(
        one.captured + other.captured, one.revised + other.revised, one.unchanged + other.unchanged
    )


def _named(found: Iterable[Case | FixtureFault], prefix: str | None) -> dict[str, Case]:
    """Cases by the names of their folders. Errors: BadFixtures."""
    faults: list[FixtureFault] = []
    named: dict[str, Case] = {}
    first: dict[str, Case] = {}
    for one in found:
        if isinstance(one, FixtureFault):
            faults.append(one)
            continue
        try:
            name = folder_name(one.id, prefix)
        except CaseError as wrong:
            faults.append(wrong.at(one.where))
            continue
        other = first.setdefault(name.casefold(), one)
        if other is one:
            named[name] = one
        else:
            what = f"{one.id!r} makes the folder {name}, as {other.id!r} of {other.where} does"
            faults.append(FixtureFault(one.where, "id", what, "Give each case an id of its own."))
    if faults:
        raise BadFixtures(faults, NOTHING)
    return named


def _loaded(named: dict[str, Case], into: Path, report: Report) -> tuple[Scenario, ...]:
    """Every case, written and loaded. Errors: BadFixtures, in which each fault is where its case stands."""
    for number, (name, case) in enumerate(named.items(), 1):
        write(into / name, case.description, case.investigation, case.readme)
        report(number, len(named))
    try:
        return load(into).scenarios
    except BadFixtures as error:
        faults = [
            msgspec.structs.replace(fault, file=named[Path(fault.file).relative_to(into).parts[0]].where)
            for fault in error.faults
        ]
        raise BadFixtures(faults, NOTHING) from None


def _compared(named: Iterable[str], made: Path, output: Path) -> tuple[list[str], list[str]]:
    """Of which cases there is no fixture, and of which there is one that says something else."""
    new, other = [], []
    for name in named:
        there = {file for file in (*FILES, *SCENARIO_FILES) if os.path.lexists(output / name / file)}
        if not there:
            new.append(name)
        elif there != set(FILES) or any(_differ(made / name / file, output / name / file) for file in FILES):
            other.append(name)
    return new, other


def _differ(one: Path, other: Path) -> bool:
    return not other.is_file() or one.read_bytes() != other.read_bytes()


def _in_the_way(output: Path, names: list[str]) -> FixtureExists:
    shown = ", ".join(names[:SHOWN])
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    fixtures = "a fixture that says" if len(names) == 1 else f"{len(names):,} fixtures that say"
    return FixtureExists(
        f"{output} holds {fixtures} something else than its case: {shown}{more}; nothing was written.",
        "Keep what was edited by naming another folder, or replace it with --force.",
    )
