"""Group decisions by model: give cells the models that their claimed and reported names mean.

The fold keeps names as they were written, because an owner can say later which model a name means.
"""

from collections.abc import Callable, Collection

import numpy as np
import numpy.typing as npt
from msgspec import structs

from events.envelope import source_of
from projections.calibration.count_table import MODEL_FIELD, CountSelection, CountTable
from projections.calibration.field_values import FieldValues
from projections.calibration.reviewed_decisions import ReviewedDecisions

ResolveModel = Callable[[str], str | None]
"""Returns the model that joined names (`events.model_names.join_names`) mean; None if they name nothing."""


class ResolvedValues(FieldValues):
    """The models that the names of a field mean. Several names may mean one model."""

    def __init__(self, names: FieldValues, resolve: ResolveModel) -> None:
        super().__init__()
        self.numbers = names.numbers
        self._resolve = resolve

    def in_order(self) -> tuple[list[str | None], npt.NDArray[np.intp]]:
        """Return the models in order, None last, and the rank of the model of each name by the name's number."""
        models = [None if name is None else self._resolve(name) for name in list(self.numbers)]
        named = sorted({model for model in models if model is not None})
        in_order = [*named, *([None] if None in models else [])]
        ranks = {model: rank for rank, model in enumerate(in_order)}
        return in_order, np.array([ranks[model] for model in models], dtype=np.intp)


def with_models(selection: CountSelection, resolve: ResolveModel) -> CountSelection:
    """Return a selection whose names of models are resolved when it is grouped."""
    values = list(selection.values)
    values[MODEL_FIELD] = ResolvedValues(values[MODEL_FIELD], resolve)
    return structs.replace(selection, values=values)


def groups_within(selection: CountSelection, names: Collection[str]) -> npt.NDArray[np.bool_]:
    """Return a mask of the groups whose joined names of a model are among some."""
    fits = np.array([name in names for name in list(selection.cells.values[MODEL_FIELD].numbers)], dtype=bool)
    column = selection.cells.columns[MODEL_FIELD]
    return fits[column] if len(fits) else np.zeros(len(column), dtype=bool)


def table_of_model(table: CountTable, model: str, resolve: ResolveModel) -> CountTable:
    """Return the cells of one model, of a table of all."""
    fits = np.array([key[MODEL_FIELD] is not None and resolve(key[MODEL_FIELD]) == model for key in table.groups])
    rows = np.flatnonzero(fits[table.group]) if len(fits) else np.zeros(0, dtype=np.intp)
    return structs.replace(table, group=table.group[rows], confidence=table.confidence[rows], counts=table.counts[rows])


def decisions_by_model(history: ReviewedDecisions, resolve: ResolveModel) -> ReviewedDecisions:
    """Return the decisions that name a model, as if the model were their agent, to compare models as agents."""
    models = [None if names is None else resolve(names) for names in history.models]
    named = np.array([model is not None for model in models], dtype=bool)
    rows = np.flatnonzero(named[history.group]) if len(named) else np.zeros(0, dtype=np.intp)
    groups = [(source_of(model or ""), *key[1:]) for model, key in zip(models, history.groups, strict=True)]
    used = np.unique(history.group[rows])
    return structs.replace(
        history,
        groups=[groups[number] for number in used.tolist()],
        models=[history.models[number] for number in used.tolist()],
        group=np.searchsorted(used, history.group[rows]).astype(np.uint32),
        time_us=history.time_us[rows],
        confidence=history.confidence[rows],
        outcome=history.outcome[rows],
        question=history.question[rows],
        cluster=history.cluster[rows],
    )
