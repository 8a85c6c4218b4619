"""Score tables: one for each probe and scorer, with a row for each model, and a measure of the probe's discrimination.

Scores are comparable only within one version of a probe and one version of a scorer. Wrappers, unresolved names and
answers without a name have rows, too. These rows have no percentile and are left out of comparisons of models.

An invalid answer, one that declines for example, has no total. It counts as 0 in the figures `counted_...`, which rank
the rows: otherwise a model would gain by declining the tasks that it cannot do.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType

from ledger.clock import moment_of
from projections.arrays import Floats, RowNumbers, row_numbers_by_group
from projections.discovery.model_names import ModelNames, ResolvedName
from projections.discovery.probe_score_index import ProbeScoreColumns, Table
from projections.discovery.query_params import ProbeScoreQuery
from projections.stats.discrimination import Discrimination, measure_discrimination
from projections.stats.intervals import mean_score_interval
from tallystick.shapes.parts import Interval

ScoredKind = Literal["model", "wrapper", "unresolved", "unnamed"]

ScoredName = tuple[ScoredKind, str | None]
"""The kind and the key of a resolved name; the key is None for answers without a name."""

_TABLE_FIELDS: Final = 4
_MODEL_NAME: Final = 4
_VALID: Final = 5
"""Number of the first fields of `ScoreFacts` that are a `Table`, and indices of other fields."""

_ALIKE = 1e-9
"""Means that differ by less are treated as equal."""


class TimedScore(msgspec.Struct, frozen=True, kw_only=True):
    """A total score and its time."""

    total: float
    time: datetime


class ModelScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one model's answers to a probe. Statistics are over scores with a total; None without any.

    `interval` is Student's 95% interval within 0..1; None with one score or if all are equal, because then the data
    does not show how much scores vary. `std_dev` is that of a sample. `valid_share` is over the scores that state
    whether the answer was valid. `percentile` is the midrank 0..100 of the mean among those of all models: each lower
    mean adds 1 to the rank, each equal one (and its own) one half; None with one model. `change` is the last total
    minus the first.

    `counted` is the number of answers with a total or stated to be invalid, `answered` those of them that are valid.
    `counted_mean`, `counted_interval` and `counted_percentile` are over the counted ones, each invalid one as 0.
    """

    kind: ScoredKind
    model: str | None
    known: bool
    scores: int
    totals: int
    mean: float | None
    interval: Interval | None
    std_dev: float | None
    min: float | None
    max: float | None
    valid_share: float | None
    percentile: float | None
    first: TimedScore | None
    last: TimedScore | None
    change: float | None
    counted: int
    answered: int
    counted_mean: float | None
    counted_interval: Interval | None
    counted_percentile: float | None
    counts: dict[str, float]
    dimensions: dict[str, float]


class ProbeScores(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one probe by one scorer: models first, the best by `counted_mean` first, then other names.

    `rows` is the number of all rows, of which `models` has a page; it is absent if no limit was stated.
    """

    probe_id: str
    probe_version: str | None
    scorer_id: str
    scorer_version: str | None
    scores: int
    discrimination: Discrimination
    models: list[ModelScores]
    rows: int | UnsetType = UNSET


def build_score_tables(scores: ProbeScoreColumns, names: ModelNames, query: ProbeScoreQuery) -> list[ProbeScores]:
    """Build the tables that pass a filter, sorted by probe and scorer. Percentiles are among all rows of a table."""
    tables: dict[Table, int] = {}
    table_numbers = [tables.setdefault(facts[:_TABLE_FIELDS], len(tables)) for facts in scores.facts_table]
    number_by_facts = np.array(table_numbers, dtype=np.uint32)
    starts = _starts(scores)
    results = [
        _table(scores, names, query, table, row_numbers, starts)
        for table, row_numbers in zip(
            tables, row_numbers_by_group(number_by_facts[scores.facts], len(tables)), strict=True
        )
        if _matches(table[0], table[1], query.probe) and _matches(table[2], table[3], query.scorer)
    ]
    return sorted(results, key=_table_order)


def _table_order(scores: ProbeScores) -> tuple[str, str, str, str]:
    return scores.probe_id, scores.probe_version or "", scores.scorer_id, scores.scorer_version or ""


def _matches(name: str, version: str | None, required: str | None) -> bool:
    return required in (None, name) or (version is not None and required == f"{name}@{version}")


def _starts(scores: ProbeScoreColumns) -> RowNumbers:
    """Return the index of each score's first value."""
    sizes = np.array([len(counts) + len(dimensions) for counts, dimensions in scores.labels_table], dtype=np.intp)
    ends = np.cumsum(sizes[scores.labels])
    return np.concatenate([np.zeros(1, dtype=np.intp), ends])[:-1]


def _table(
    scores: ProbeScoreColumns,
    names: ModelNames,
    query: ProbeScoreQuery,
    table: Table,
    rows: RowNumbers,
    starts: RowNumbers,
) -> ProbeScores:
    names_in_table: dict[ScoredName, int] = {}
    number_by_facts = np.zeros(len(scores.facts_table), dtype=np.uint32)
    for number in np.unique(scores.facts[rows]).tolist():
        name = _resolve(names, scores.facts_table[number][_MODEL_NAME])
        number_by_facts[number] = names_in_table.setdefault(name, len(names_in_table))
    groups = row_numbers_by_group(number_by_facts[scores.facts[rows]], len(names_in_table))
    rows_by_name = {name: rows[group] for name, group in zip(names_in_table, groups, strict=True)}
    totals = {name: _totals(scores, name_rows) for name, name_rows in rows_by_name.items()}
    compared = {key or "": values for (kind, key), values in totals.items() if kind == "model"}
    other_totals = [values for (kind, _), values in totals.items() if kind != "model"]
    means = {name: float(values.mean()) for name, values in totals.items() if len(values)}
    ranks = percentiles({key or "": mean for (kind, key), mean in means.items() if kind == "model"})
    counted = {name: _counted(scores, name_rows) for name, name_rows in rows_by_name.items()}
    counted_means = {name: float(values.mean()) for name, values in counted.items() if len(values)}
    counted_ranks = percentiles({key or "": mean for (kind, key), mean in counted_means.items() if kind == "model"})
    selected = None if query.model is None else _resolve(names, query.model)
    listed = sorted(
        (name for name in rows_by_name if selected in (None, name)), key=lambda name: _rank(name, counted_means)
    )
    last = None if query.limit is None else query.offset + query.limit
    models = [
        _row(
            scores,
            (kind, key),
            rows_by_name[kind, key],
            starts,
            known=kind == "model" and key in names.models,
            percentile=ranks.get(key or "") if kind == "model" else None,
            counted=counted[kind, key],
            counted_percentile=counted_ranks.get(key or "") if kind == "model" else None,
        )
        for kind, key in listed[query.offset : last]
    ]
    return ProbeScores(
        probe_id=table[0],
        probe_version=table[1],
        scorer_id=table[2],
        scorer_version=table[3],
        scores=len(rows),
        discrimination=measure_discrimination(
            [values.tolist() for values in compared.values()],
            np.concatenate(other_totals).tolist() if other_totals else (),
        ),
        models=models,
        rows=UNSET if query.limit is None else len(listed),
    )


def _rank(name: ScoredName, means: Mapping[ScoredName, float]) -> tuple[bool, float, str]:
    """Return the place of a row: models first, the best first."""
    return name[0] != "model", -means[name] if name in means else 1.0, name[1] or ""


def _resolve(names: ModelNames, model_name: str | None) -> ScoredName:
    if model_name is None:
        return "unnamed", None
    resolved: ResolvedName = names.resolve(model_name)
    return resolved.kind, resolved.key


def _totals(scores: ProbeScoreColumns, score_rows: RowNumbers) -> Floats:
    totals = scores.total[score_rows]
    return totals[~np.isnan(totals)]


def _counted(scores: ProbeScoreColumns, score_rows: RowNumbers) -> Floats:
    """Return the totals of the answers that count: 0 for an invalid one."""
    invalid = np.array([facts[_VALID] is False for facts in scores.facts_table], dtype=bool)[scores.facts[score_rows]]
    totals = np.where(invalid, 0.0, scores.total[score_rows])
    return totals[~np.isnan(totals)]


def _spread(values: Floats) -> float | None:
    """Return the standard deviation of a sample; None for fewer than two values."""
    return float(values.std(ddof=1)) if len(values) > 1 else None


def _row(
    scores: ProbeScoreColumns,
    name: ScoredName,
    score_rows: RowNumbers,
    starts: RowNumbers,
    *,
    known: bool,
    percentile: float | None,
    counted: Floats,
    counted_percentile: float | None,
) -> ModelScores:
    scored = score_rows[~np.isnan(scores.total[score_rows])]
    totals = scores.total[scored]
    n = len(totals)
    spread, counted_spread = _spread(totals), _spread(counted)
    counted_mean = float(counted.mean()) if len(counted) else None
    invalid = [number for number, facts in enumerate(scores.facts_table) if facts[_VALID] is False]
    order = scored[np.argsort(scores.time_us[scored], kind="stable")]
    first, last = (_timed_score(scores, int(order[0])), _timed_score(scores, int(order[-1]))) if n else (None, None)
    counts, dimensions = _means(scores, score_rows, starts)
    return ModelScores(
        kind=name[0],
        model=name[1],
        known=known,
        scores=len(score_rows),
        totals=n,
        mean=float(totals.mean()) if n else None,
        interval=None if spread is None else mean_score_interval(float(totals.mean()), spread, n),
        std_dev=spread,
        min=float(totals.min()) if n else None,
        max=float(totals.max()) if n else None,
        valid_share=_valid_share(scores, score_rows),
        percentile=percentile,
        first=first,
        last=last,
        change=last.total - first.total if first is not None and last is not None and n > 1 else None,
        counted=len(counted),
        answered=int((~np.isin(scores.facts[scored], invalid)).sum()),
        counted_mean=counted_mean,
        counted_interval=None
        if counted_spread is None or counted_mean is None
        else mean_score_interval(counted_mean, counted_spread, len(counted)),
        counted_percentile=counted_percentile,
        counts=counts,
        dimensions=dimensions,
    )


def percentiles(means: Mapping[str, float]) -> dict[str, float]:
    """Return the midrank of each mean among all means, 0..100; empty for fewer than two."""
    if len(means) < 2:
        return {}
    values = np.array(sorted(means.values()))
    below = {key: int(np.searchsorted(values, mean - _ALIKE, "left")) for key, mean in means.items()}
    not_above = {key: int(np.searchsorted(values, mean + _ALIKE, "right")) for key, mean in means.items()}
    return {key: 50.0 * (below[key] + not_above[key]) / len(values) for key in means}


def _timed_score(scores: ProbeScoreColumns, row_number: int) -> TimedScore:
    return TimedScore(total=float(scores.total[row_number]), time=moment_of(int(scores.time_us[row_number])))


def _valid_share(scores: ProbeScoreColumns, score_rows: RowNumbers) -> float | None:
    numbers, sizes = np.unique(scores.facts[score_rows], return_counts=True)
    sizes_by_number = zip(numbers.tolist(), sizes.tolist(), strict=True)
    by_valid = [(scores.facts_table[number][_VALID], n) for number, n in sizes_by_number]
    stated = sum(n for valid, n in by_valid if valid is not None)
    return sum(n for valid, n in by_valid if valid) / stated if stated else None


def _means(
    scores: ProbeScoreColumns, score_rows: RowNumbers, starts: RowNumbers
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the means of each count and of each dimension by name, over the scores that have it."""
    counts: dict[str, list[Floats]] = {}
    dimensions: dict[str, list[Floats]] = {}
    for number in np.unique(scores.labels[score_rows]).tolist():
        begins = starts[score_rows[scores.labels[score_rows] == number]]
        for offset, (label, by_label) in enumerate(_labels(scores.labels_table[number], counts, dimensions)):
            by_label.setdefault(label, []).append(scores.values[begins + offset])
    return _mean(counts), _mean(dimensions)


def _labels(
    labels: tuple[Sequence[str], Sequence[str]], counts: dict[str, list[Floats]], dimensions: dict[str, list[Floats]]
) -> Iterator[tuple[str, dict[str, list[Floats]]]]:
    yield from ((label, counts) for label in labels[0])
    yield from ((label, dimensions) for label in labels[1])


def _mean(by_label: Mapping[str, Sequence[Floats]]) -> dict[str, float]:
    return {label: float(np.concatenate(values).mean()) for label, values in sorted(by_label.items())}
