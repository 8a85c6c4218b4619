"""Import labelled cases of benchmarks as scenarios: read, check, write and record them.

Every case is first written to a temporary folder, and loaded from there as any suite is. If a case is faulty, or its
folder has a different fixture, nothing is written. Importing the same cases again writes and records nothing.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from api.progress import ReportProgress
from api.service.evaluation.capture import check_writable, unwritable_error
from api.service.evaluation.scenario_recorder import RecordedScenarios, record_scenarios
from api.service.store import EventStore
from instruments.errors import BadFixtures, FixtureExists, FixtureFault
from instruments.evals.benchmarks import Case, CaseError, Format, folder_name, read_cases
from instruments.evals.scenario import Scenario
from instruments.evals.suite.answerable_inputs import measure_ceiling
from instruments.evals.suite.loader import SCENARIO_FILES, load
from instruments.evals.suite.writer import FILES, write_scenario

BATCH = 50
"""Scenarios recorded between two progress reports."""

SHOWN = 10
"""Existing fixtures that an error names one by one."""

NOTHING = "Nothing was written."


class BenchmarkImportResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import.

    Fixtures: `written` are new, `replaced` were different, `there` existed and are equal. Scenarios: `captured` are new
    in the ledger, `revised` differ from the ledger's, `knew` are unchanged. Inputs: the cases have `inputs` distinct
    inputs for `truths` distinct causes; `ambiguous` cases share their input with another cause, and at most
    `answerable` can be right from the input alone, a share of `ceiling` (0 to 1). `golden_evidence` cases have as
    evidence only what the golden paths looked at.
    """

    format: Format
    cases: int
    written: int
    replaced: int
    there: int
    captured: int
    revised: int
    knew: int
    inputs: int
    truths: int
    ambiguous: int
    answerable: int
    ceiling: float
    golden_evidence: int
    elapsed_ms: int


class BenchmarkImport:
    """The cases of a file or folder, read and checked; nothing is written yet.

    Shapes: `output` is the suite's folder; each case becomes a folder in it, whose name begins with `prefix`. `force`
            replaces different fixtures. `report` is called with the number of checked cases, and of all cases.
    Errors: BadFixtures, which names every fault; FixtureExists; InvalidQuery, if `output` cannot be written.
    """

    def __init__(
        self,
        kind: Format,
        path: Path,
        output: Path,
        report: ReportProgress,
        *,
        prefix: str | None = None,
        force: bool = False,
    ) -> None:
        self._began = time.monotonic()
        self._kind = kind
        self._output = output
        check_writable(output.resolve())
        self._cases = _by_folder(read_cases(kind, path), prefix)
        with TemporaryDirectory() as folder:
            self._scenarios = _write_and_load(self._cases, Path(folder), report)
            self._new, self._different = _find_changes(self._cases, Path(folder), output)
        if self._different and not force:
            raise _existing_fixtures(output, self._different)

    async def write(self, store: EventStore, report: ReportProgress) -> BenchmarkImportResult:
        """Write and record the cases; call `report` with the number done, and of all.

        Errors: InvalidQuery; those of `record_scenarios`. Fixtures written before stay, each complete: run it again.
        """
        changed = {*self._new, *self._different}
        ceiling = measure_ceiling(self._scenarios)
        recorded = RecordedScenarios()
        for start in range(0, len(self._scenarios), BATCH):
            batch = self._scenarios[start : start + BATCH]
            for scenario in batch:
                if scenario.title in changed:
                    case = self._cases[scenario.title]
                    folder = self._output / scenario.title
                    try:
                        write_scenario(folder, case.description, case.investigation, case.readme, force=True)
                    except OSError as error:
                        raise unwritable_error(folder, error.strerror or type(error).__name__) from None
            written = [msgspec.structs.replace(scenario, folder=self._output / scenario.title) for scenario in batch]
            recorded = _sum(recorded, await record_scenarios(store, written, source=self._kind))
            report(start + len(batch), len(self._scenarios))
        return BenchmarkImportResult(
            format=self._kind,
            cases=len(self._cases),
            written=len(self._new),
            replaced=len(self._different),
            there=len(self._cases) - len(changed),
            captured=recorded.captured,
            revised=recorded.revised,
            knew=recorded.unchanged,
            ceiling=ceiling.share,
            **{name: getattr(ceiling, name) for name in ("inputs", "truths", "ambiguous", "answerable")},
            golden_evidence=sum(case.golden_evidence for case in self._cases.values()),
            elapsed_ms=round((time.monotonic() - self._began) * 1000),
        )


def _sum(total: RecordedScenarios, batch: RecordedScenarios) -> RecordedScenarios:
    return RecordedScenarios(
        total.captured + batch.captured, total.revised + batch.revised, total.unchanged + batch.unchanged
    )


def _by_folder(cases: Iterable[Case | FixtureFault], prefix: str | None) -> dict[str, Case]:
    """Return cases by the names of their folders. Errors: BadFixtures."""
    faults: list[FixtureFault] = []
    by_folder: dict[str, Case] = {}
    by_casefolded: dict[str, Case] = {}
    for case in cases:
        if isinstance(case, FixtureFault):
            faults.append(case)
            continue
        try:
            name = folder_name(case.id, prefix)
        except CaseError as error:
            faults.append(error.at(case.where))
            continue
        first = by_casefolded.setdefault(name.casefold(), case)
        if first is case:
            by_folder[name] = case
        else:
            detail = f"{case.id!r} makes the folder {name}, as {first.id!r} of {first.where} does"
            faults.append(FixtureFault(case.where, "id", detail, "Give each case an id of its own."))
    if faults:
        raise BadFixtures(faults, NOTHING)
    return by_folder


def _write_and_load(cases: dict[str, Case], folder: Path, report: ReportProgress) -> tuple[Scenario, ...]:
    """Write every case to a folder, and load them. Errors: BadFixtures, with the source of each faulty case."""
    for number, (name, case) in enumerate(cases.items(), 1):
        write_scenario(folder / name, case.description, case.investigation, case.readme)
        report(number, len(cases))
    try:
        return load(folder).scenarios
    except BadFixtures as error:
        faults = [
            msgspec.structs.replace(fault, file=cases[Path(fault.file).relative_to(folder).parts[0]].where)
            for fault in error.faults
        ]
        raise BadFixtures(faults, NOTHING) from None


def _find_changes(names: Iterable[str], folder: Path, output: Path) -> tuple[list[str], list[str]]:
    """Return the cases of a folder that have no fixture in the output, and those that have a different one."""
    new, different = [], []
    for name in names:
        existing = {file for file in (*FILES, *SCENARIO_FILES) if os.path.lexists(output / name / file)}
        if not existing:
            new.append(name)
        elif existing != set(FILES) or any(_differ(folder / name / file, output / name / file) for file in FILES):
            different.append(name)
    return new, different


def _differ(file: Path, existing: Path) -> bool:
    return not existing.is_file() or file.read_bytes() != existing.read_bytes()


def _existing_fixtures(output: Path, names: list[str]) -> FixtureExists:
    shown = ", ".join(names[:SHOWN])
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    fixtures = "a fixture that differs" if len(names) == 1 else f"{len(names):,} fixtures that differ"
    return FixtureExists(
        f"{output} has {fixtures} from the imported case: {shown}{more}.",
        "Name another folder to keep your edits, or replace them with --force.",
    )
