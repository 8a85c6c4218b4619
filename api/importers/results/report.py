"""The result of an import of others' results: files, runs with their figures, what was not kept, and faults."""

from math import fsum, isclose, isnan
from typing import Literal

import msgspec
import numpy as np

from api.importers.batch_append import FileFault
from api.importers.results.imported_run import Format, ImportedFile, NotKept
from api.importers.results.run_events import PreparedRun
from projections.evaluation.aggregation import scenario_weights, tally_scores
from projections.evaluation.score_context import score_outcome

Outcome = Literal["new", "there", "continued", "conflict"]
"""What a run is to the ledger: new, complete already, partly there, or there with other content."""

TOLERANCE = 1e-9
"""Relative difference up to which two means are equal."""

_NAN = float("nan")


class ImportedRunReport(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One run of a file.

    `mean` is the mean over scenarios of the points of their attempts, an error counting 0; `mean_scored` leaves errors
    out. `stated_mean` is the tool's own, and `agrees` whether `mean_scored` is equal to it.
    """

    run_id: str
    outcome: Outcome
    suite: str
    agent: str | None = None
    scorer_id: str
    scenarios: int
    scored: int
    passed: int
    errors: int
    skipped: int
    mean: float | None = None
    mean_scored: float | None = None
    stated_mean: float | None = None
    agrees: bool | None = None


class ImportedFileReport(msgspec.Struct, kw_only=True):
    """One file: its format, the program that wrote it, its runs, and everything that was not kept, with counts."""

    file: str
    format: Format
    imported_from: str
    source_digest: str
    runs: list[ImportedRunReport] = []
    not_kept: list[NotKept] = []


class ResultsImport(msgspec.Struct, kw_only=True):
    """The result of importing files. `runs` were written now or continued, `there` existed already.

    `scores` and `appended` count what was written: scores, and all events. After a dry run they say what would be.
    `faults` are files and runs that were not imported; `conflicts` counts those that the ledger has with other content.
    """

    files: list[ImportedFileReport] = []
    faults: list[FileFault] = []
    conflicts: int = 0
    runs: int = 0
    there: int = 0
    scores: int = 0
    appended: int = 0
    duplicates: int = 0
    first: int | None = None
    last: int | None = None
    dry_run: bool = False
    elapsed_ms: int = 0

    @property
    def usable(self) -> bool:
        """Whether any file could be read."""
        return bool(self.files)


def report_run(prepared: PreparedRun, outcome: Outcome) -> ImportedRunReport:
    """Return the report of a run, with the figures that `eval show` computes too."""
    run, events = prepared.run, [graded.score for graded in prepared.scores.values()]
    numbers: dict[str, int] = {}
    scenario = np.array([numbers.setdefault(event.scenario_id, len(numbers)) for event in events], dtype=np.int64)
    outcomes = np.array([score_outcome(event) for event in events], dtype=np.uint8)
    points = np.array([_NAN if event.total_score is None else event.total_score for event in events], dtype=np.float64)
    stated = np.array([_NAN if event.weight is None else event.weight for event in events], dtype=np.float64)
    tally = tally_scores(scenario, outcomes, points, len(numbers))
    weights = scenario_weights(scenario, stated, len(numbers)).tolist()
    mean_scored = _mean(tally.mean_scored.tolist(), weights)
    agrees = None
    if run.stated_mean is not None and mean_scored is not None:
        agrees = isclose(mean_scored, run.stated_mean, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return ImportedRunReport(
        run_id=prepared.run_id,
        outcome=outcome,
        suite=run.suite,
        agent=run.agent,
        scorer_id=run.scorer_id,
        scenarios=len(numbers),
        scored=sum(event.state == "scored" for event in events),
        passed=sum(event.passed is True for event in events),
        errors=sum(event.state == "error" for event in events),
        skipped=sum(event.state == "skipped" for event in events),
        mean=_mean(tally.mean.tolist(), weights),
        mean_scored=mean_scored,
        stated_mean=run.stated_mean,
        agrees=agrees,
    )


def report_file(file: ImportedFile) -> ImportedFileReport:
    """Return the report of a file, without its runs."""
    fields = [name for name in ImportedFileReport.__struct_fields__ if name != "runs"]
    return ImportedFileReport(**{name: getattr(file, name) for name in fields})


def _mean(values: list[float], weights: list[float]) -> float | None:
    """Return the weighted mean of the values that are numbers; None without any."""
    used = [(value, weight) for value, weight in zip(values, weights, strict=True) if not isnan(value) and weight > 0]
    total = fsum(weight for _, weight in used)
    return fsum(value * weight for value, weight in used) / total if used else None
