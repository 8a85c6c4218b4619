"""Import labelled cases of benchmarks as scenarios: read, check, write and record them.

Every case is first written to a temporary folder, and loaded from there as any suite is. If one case is faulty, or a
different fixture is in its place, nothing is written. Importing the same cases again writes and records nothing.
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
from instruments.evals.benchmarks import Case, CaseError, Format, folder_name, read_cases
from instruments.evals.errors import BadFixtures, FixtureExists, FixtureFault
from instruments.evals.suite.loader import SCENARIO_FILES, load
from instruments.evals.suite.writer import FILES, write_scenario

FORMATS: tuple[Format, ...] = get_args(Format)

BATCH = 50
"""Scenarios recorded between two progress reports."""

SHOWN = 10
"""Existing fixtures that an error names one by one."""

NOTHING = "Nothing was written."

Report = Callable[[int, int], None]


class ImportedCases(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import.

    Fixtures: `written` are new, `replaced` were different, `there` existed and are equal. Scenarios: `captured` are new
    to the ledger, `revised` differ from what it has, `knew` are unchanged.
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

    Shapes: `output` is the suite's folder; each case becomes a folder in it, named with `prefix`. `force` replaces
            different fixtures. `report` is called with the number of checked cases, and of all cases.
    Errors: BadFixtures, which names every fault; FixtureExists; InvalidQuery, if `output` cannot be written.
    """

    def __init__(
        self, kind: Format, path: Path, output: Path, report: Report, *, prefix: str | None = None, force: bool = False
    ) -> None:
        self._began = time.monotonic()
        self._kind = kind
        self._output = output
        check_writable(output.resolve())
        self._cases = _by_folder(read_cases(kind, path), prefix)
        with TemporaryDirectory() as made:
            self._scenarios = _write_and_load(self._cases, Path(made), report)
            self._new, self._other = _find_changes(self._cases, Path(made), output)
        if self._other and not force:
            raise _existing_fixtures(output, self._other)

    async def write(self, store: EventStore, report: Report) -> ImportedCases:
        """Write and record the cases; call `report` with the number done, and of all.

        Errors: InvalidQuery and those of `record`. Fixtures written before stay, each complete: run it again.
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
                        write_scenario(folder, one.description, one.investigation, one.readme, force=True)
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


def _by_folder(found: Iterable[Case | FixtureFault], prefix: str | None) -> dict[str, Case]:
    """Return cases by the names of their folders. Errors: BadFixtures."""
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


def _write_and_load(named: dict[str, Case], into: Path, report: Report) -> tuple[Scenario, ...]:
    """Write and load every case. Errors: BadFixtures, which names the place of each faulty case."""
    for number, (name, case) in enumerate(named.items(), 1):
        write_scenario(into / name, case.description, case.investigation, case.readme)
        report(number, len(named))
    try:
        return load(into).scenarios
    except BadFixtures as error:
        faults = [
            msgspec.structs.replace(fault, file=named[Path(fault.file).relative_to(into).parts[0]].where)
            for fault in error.faults
        ]
        raise BadFixtures(faults, NOTHING) from None


def _find_changes(named: Iterable[str], made: Path, output: Path) -> tuple[list[str], list[str]]:
    """Return the cases that have no fixture, and those that have a different one."""
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


def _existing_fixtures(output: Path, names: list[str]) -> FixtureExists:
    shown = ", ".join(names[:SHOWN])
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    fixtures = "a fixture that differs" if len(names) == 1 else f"{len(names):,} fixtures that differ"
    return FixtureExists(
        f"{output} has {fixtures} from the imported case: {shown}{more}; nothing was written.",
        "Name another folder to keep your edits, or replace them with --force.",
    )
