"""Simulated agents whose outcomes become known late, looked at again and again through the columns of calibration."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats
from projections.calibration.cells import CellNumbers
from projections.calibration.change_point import detect_change
from projections.calibration.confidence_bins import bin_counts
from projections.calibration.counted_columns import COUNTS_WIDTH, OPEN, CountedColumns
from projections.calibration.gap_evidence import GapEvidence, MissingOutcomes, evidence_of_counts
from projections.calibration.maturity import Maturity
from projections.column_table import ColumnTable
from projections.decisions.time_bounds import GroupTimes
from projections.outcome_codes import OUTCOME_NUMBERS, OUTCOME_VALUES, UNREVIEWED

DAY_US = 86_400_000_000
LEVELS = np.array([0.7, 0.8, 0.9, 0.95])
SUCCESS, FAILURE = OUTCOME_NUMBERS["success"], OUTCOME_NUMBERS["failure"]


class Agent(NamedTuple):
    """Decisions as arrays: confidence, whether each is good, the day it was made, reviewed (inf: never), and due.

    `due` is None if decisions state no date.
    """

    confidence: Floats
    good: npt.NDArray[np.bool_]
    made: Floats
    reviewed: Floats
    due: Floats | None

    def at(self, day: float) -> CountedColumns:
        """Return the columns as they are on a day."""
        cells = CellNumbers()
        for level in LEVELS.tolist():
            cells.add(("/agents/a", "c", None, None, None, None), level)
        known = self.made <= day
        made, reviewed, good = self.made[known], self.reviewed[known], self.good[known]
        seen = reviewed <= day
        delay = np.where(seen, np.maximum(1, (np.where(seen, reviewed, made) - made) * DAY_US), 0)
        recorded = ColumnTable(time_us=np.int64, cluster=np.uint32)
        counted = ColumnTable(cell=np.uint32, outcome=np.uint8, question=np.uint32, due_us=np.int64, delay_us=np.int64)
        recorded.append(len(made), {"time_us": (made * DAY_US).astype(np.int64)})
        columns: dict[str, npt.NDArray[Any]] = {
            "cell": np.searchsorted(LEVELS, self.confidence[known]).astype(np.uint32),
            "outcome": np.where(seen, np.where(good, SUCCESS, FAILURE), UNREVIEWED).astype(np.uint8),
            "due_us" if self.due is not None else "delay_us": (
                delay if self.due is None else self.due[known] * DAY_US
            ).astype(np.int64),
        }
        counted.append(len(made), columns)
        maturity = Maturity(recorded, counted, cells.now(), int(day * DAY_US))
        whole = np.array([0]), np.array([int(day * DAY_US)])
        return CountedColumns(recorded, counted, GroupTimes(*whole), maturity)


def evidence_at(agent: Agent, day: float) -> GapEvidence | None:
    """Return the evidence on a day; None without a due review."""
    numbers = agent.at(day).count_numbers(0, slice(None))
    counts = np.bincount(numbers, minlength=len(LEVELS) * COUNTS_WIDTH).reshape(-1, COUNTS_WIDTH)[:, :-1]
    bins = bin_counts(LEVELS, counts)
    if not bins.reviewed:
        return None
    overdue, may_come = counts[:, UNREVIEWED].astype(np.float64), counts[:, OPEN].astype(np.float64)
    return evidence_of_counts(*bins.weighted_reviews(), None, MissingOutcomes(LEVELS, overdue, may_come))


def drifts(agent: Agent, days: range) -> bool:
    """Return whether drift is ever found on some days."""
    for day in days:
        columns = agent.at(day)
        maturity, cell = columns.maturity, columns.counted.chunk("cell", 0)
        made_us, stated_us = columns.recorded.chunk("time_us", 0), columns.counted.chunk("due_us", 0)
        outcome = columns.counted.chunk("outcome", 0)
        due = (maturity.due_us(0, slice(None)) <= maturity.now_us) & (outcome != UNREVIEWED)
        rows = np.flatnonzero(due & maturity.is_settled(cell, made_us, stated_us))
        if detect_change(LEVELS[cell[rows]], OUTCOME_VALUES[outcome[rows]], made_us[rows]).alarm:
            return True
    return False


def surely_off(agent: Agent, days: range) -> Iterator[int]:
    """Yield each day on which the gap of an agent is surely not 0."""
    for day in days:
        found = evidence_at(agent, day)
        if found is not None and (found.supports("over") or found.supports("under")):
            yield day


def failure_first(rng: np.random.Generator, good: npt.NDArray[np.bool_], due: float) -> Floats:
    """Return delays: success is known at the due date, failure after 5 days on average."""
    return np.where(good, due, np.minimum(rng.exponential(5, len(good)), due))


def decide(
    rng: np.random.Generator, days: int, *, a_day: float = 10, gap: float = 0.0
) -> tuple[Floats, npt.NDArray[np.bool_], Floats]:
    """Return confidences, whether the decisions turn out well, and the days on which they are made."""
    n = int(a_day * days)
    confidence = rng.choice(LEVELS, n)
    return confidence, rng.random(n) < confidence + gap, np.sort(rng.uniform(0, days, n))
