"""The models that reviewed decisions came from, before and after a change of the gap, and when agents changed theirs.

An agent changed its model between two of its decisions that name different models, one after another. Decisions without
a name, and names that identify no model (`unknown`, a host's own), say nothing about a change. Neither do decisions of
one moment that name several models, because their order is not known (review_moments.py).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from events.envelope import agent_of
from events.host_names import is_wrapper
from events.model_names import is_unresolved
from ledger.clock import microseconds, moment_of
from projections.arrays import AnyInts, Ints
from projections.calibration.model_groups import ResolveModel
from projections.calibration.review_moments import number_moments
from projections.calibration.reviewed_decisions import ReviewedDecisions
from tallystick.shapes.history import DriftModels, ModelChange, ModelCount

CHANGES_MAX = 20
"""Most changes of models that are listed: those nearest to the date of the change; the latest without an alarm."""

COUNTS_MAX = 20
"""Most models that are counted by name on each side of the change: those with the most reviews."""


class DatedChange(NamedTuple):
    """A change of the gap after some of the examined reviews, dated `time`, with the interval of the date."""

    reviewed_before: int
    time: datetime
    earliest: datetime
    latest: datetime


def describe_models(
    history: ReviewedDecisions, examined: npt.NDArray[np.bool_], resolve: ResolveModel, change: DatedChange | None
) -> DriftModels | UnsetType:
    """Describe the models of the examined rows of a history. UNSET if none is named and the gap did not change."""
    models = _Models(history, resolve)
    group = history.group if examined.all() else history.group[examined]
    named = int(np.count_nonzero((models.of_group >= 0)[group])) if len(group) else 0
    if not named and change is None:
        return UNSET
    moves = _find_moves(history, examined, models)
    total = len(moves.time_us)
    if change is None:
        latest = range(max(0, total - CHANGES_MAX), total)
        return DriftModels(
            named=named, changes=tuple(_move(moves, models, number, None) for number in latest), changes_total=total
        )
    closest = np.argsort(np.abs(moves.time_us - microseconds(change.time)), kind="stable")[:CHANGES_MAX].tolist()
    return DriftModels(
        named=named,
        before=tuple(models.count(group[: change.reviewed_before])),
        after=tuple(models.count(group[change.reviewed_before :])),
        nearest=_move(moves, models, closest[0], change) if closest else None,
        changes=tuple(_move(moves, models, number, change) for number in sorted(closest)),
        changes_total=total,
    )


class _Models:
    """The models that the groups of a history mean. `of_group` has their numbers in `names`, -1 for none.

    `identified` has -1 also for names that identify no model.
    """

    def __init__(self, history: ReviewedDecisions, resolve: ResolveModel) -> None:
        resolved = {joined: None if joined is None else resolve(joined) for joined in set(history.models)}
        self.names = sorted({model for model in resolved.values() if model is not None})
        numbers = {name: number for number, name in enumerate(self.names)}
        no_model = {name for name in self.names if is_wrapper(name) or is_unresolved(name)}
        models = [resolved[joined] for joined in history.models]
        self.of_group = np.array([-1 if model is None else numbers[model] for model in models], dtype=np.int32)
        self.identified = np.array(
            [-1 if model is None or model in no_model else numbers[model] for model in models], dtype=np.int32
        )

    def count(self, groups: npt.NDArray[np.uint32]) -> list[ModelCount]:
        """Count the models of decisions, given their groups: the most frequent first, decisions without one last."""
        counts = np.bincount(self.of_group[groups] + 1, minlength=len(self.names) + 1)
        largest = [int(number) for number in np.argsort(-counts[1:], kind="stable")[:COUNTS_MAX]]
        found = [ModelCount(model=self.names[number], reviewed=int(counts[number + 1])) for number in largest]
        return [one for one in [*found, ModelCount(model=None, reviewed=int(counts[0]))] if one.reviewed]


class _Moves(NamedTuple):
    """Changes of models in order of time. Shapes: one entry per change; `agent` is a number in `agents`."""

    agents: Sequence[str]
    agent: AnyInts
    before: AnyInts
    after: AnyInts
    last_us: Ints
    time_us: Ints


def _find_moves(history: ReviewedDecisions, examined: npt.NDArray[np.bool_], models: _Models) -> _Moves:
    """Find the changes of models in the examined rows of a history."""
    names = [agent_of(source) for source, *_ in history.groups]
    agents = sorted(set(names))
    numbers = {name: number for number, name in enumerate(agents)}
    moment = np.zeros(len(examined), dtype=np.int32)
    moment[examined] = number_moments(history.time_us[examined])
    rows = np.flatnonzero(examined & (models.identified >= 0)[history.group]).astype(np.int32)
    agent_of_group = np.array([numbers[name] for name in names], dtype=np.min_scalar_type(len(agents)))
    rows = rows[np.argsort(agent_of_group[history.group[rows]], kind="stable")]
    group, moment = history.group[rows], moment[rows]
    agent, model = agent_of_group[group], models.identified[group]
    if not len(rows):
        return _Moves(agents, *(np.zeros(0, dtype=np.int64) for _ in range(5)))
    starts = np.append(0, np.flatnonzero((agent[1:] != agent[:-1]) | (moment[1:] != moment[:-1])) + 1)
    alike = np.flatnonzero(np.minimum.reduceat(model, starts) == np.maximum.reduceat(model, starts))
    first, last = starts[alike], np.append(starts[1:], len(rows))[alike] - 1
    changed = np.flatnonzero((agent[first[1:]] == agent[first[:-1]]) & (model[first[1:]] != model[first[:-1]]))
    old, new = last[changed], first[changed + 1]
    by_time = np.argsort(rows[new], kind="stable")
    old, new = old[by_time], new[by_time]
    time_us = history.time_us
    return _Moves(agents, agent[new], model[old], model[new], time_us[rows[old]], time_us[rows[new]])


def _move(moves: _Moves, models: _Models, number: int, change: DatedChange | None) -> ModelChange:
    last, time = moment_of(int(moves.last_us[number])), moment_of(int(moves.time_us[number]))
    return ModelChange(
        agent=moves.agents[moves.agent[number]],
        before=models.names[moves.before[number]],
        after=models.names[moves.after[number]],
        last_before=last,
        time=time,
        within=None if change is None else bool(change.earliest <= time and last < change.latest),
    )
