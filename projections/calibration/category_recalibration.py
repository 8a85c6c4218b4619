"""Recalibration maps of single categories, each offered only where it improves on the map of all decisions."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from msgspec import structs

from projections.arrays import Floats
from projections.calibration.cell_groups import Groups, make_groups
from projections.calibration.confidence_bins import ConfidenceBins, bin_counts, merge_cells_by_group
from projections.calibration.count_table import Counts, CountTable
from projections.calibration.gap_evidence import MissingOutcomes
from projections.calibration.map_families import REVIEWS_MIN
from projections.calibration.named_clusters import ClusterPart
from projections.calibration.recalibration import (
    GAIN_MIN,
    FittedMap,
    describe_map,
    fit_families,
    fit_map,
    holds_for_missing,
    is_offered,
    lower_bound,
    measure_gain,
    merge_neighbours,
    split,
)
from projections.calibration.scores import brier_score, missing_outcomes
from projections.calibration.view_evidence import NO_EVIDENCE, ViewEvidence
from projections.outcome_codes import OUTCOMES_COUNT
from projections.query_check import Check, no_check
from tallystick.shapes.recalibration import CategoryRecalibration, Recalibration

CATEGORIES_MAX = 200
"""Most categories that are examined: those with the most reviews."""


class RecalibrationMaps(NamedTuple):
    """The map of all decisions, and those of categories; None and empty if none is offered."""

    overall: Recalibration | None = None
    by_category: Sequence[CategoryRecalibration] = ()


def fit_recalibration_maps(
    table: CountTable, evidence: ViewEvidence = NO_EVIDENCE, check: Check = no_check
) -> RecalibrationMaps:
    """Return the maps of the decisions of a table. `check` is called between parts of the work.

    `evidence` has the named clusters, of all decisions and by category.
    """
    bins, named = bin_counts(table.confidence, table.counts), evidence.overall.clusters
    shared = fit_map(bins, check=check, named=named)
    if shared is not None and not holds_for_missing(shared, bins, missing_outcomes(table.confidence, table.counts)):
        shared = None
    check()
    groups = make_groups(table, "category", check)
    cells = dict(_cells_by_category(groups)) if len(groups.nonempty) > 1 else {}
    categories = {name: bin_counts(*part) for name, part in cells.items()}
    clusters = {name: evidence.by("category").of(name).clusters for name in cells}
    missing = {name: missing_outcomes(*part) for name, part in cells.items()}
    return RecalibrationMaps(
        None if shared is None else describe_map(bins, shared, named),
        list(fit_category_maps(categories, shared, check, clusters, missing)),
    )


def fit_category_maps(
    categories: Mapping[str, ConfidenceBins],
    shared: FittedMap | None,
    check: Check = no_check,
    clusters: Mapping[str, ClusterPart | None] = MappingProxyType({}),
    missing: Mapping[str, MissingOutcomes] = MappingProxyType({}),
) -> Iterator[CategoryRecalibration]:
    """Yield the map of each category that needs its own beside the shared one, in the given order.

    `clusters` are the named ones of each category, `missing` its decisions without a review.
    """
    for name, bins in categories.items():
        named = clusters.get(name)
        found = _fit_beside(bins, shared, len(categories), check, named)
        check()
        if found is not None and (name not in missing or holds_for_missing(found, bins, missing[name], shared)):
            before = brier_score(bins, None if shared is None else shared.at(bins.confidence))
            fields = {
                **structs.asdict(describe_map(bins, found, named)),
                "mapped_brier_score": before - found.gain.mean,
                "gain_lower_bound": lower_bound(found.gain, len(categories)),
            }
            yield CategoryRecalibration(category=name, shared_brier_score=before, **fields)


def _fit_beside(
    bins: ConfidenceBins, shared: FittedMap | None, examined: int, check: Check, named: ClusterPart | None
) -> FittedMap | None:
    """Return the map to offer for a category beside the shared map, with the gain over it.

    It is one fitted to the stated confidences (or these as they are, if no map improves on them), or one fitted to the
    shared map's forecasts: the one with the larger gain. The former is cross-validated only if it may be better than
    the shared map: if any family is so on the reviews that it was fitted to. That halved the time of `detail=curves`.
    """
    if shared is None:
        return fit_map(bins, None, examined, check, named)
    merged, clusters = merge_neighbours(bins, named)
    forecast, stated = shared.at(merged.confidence), merged.confidence
    limit, offered = brier_score(merged, forecast) - GAIN_MIN, []
    candidates = [stated, *(fit.mapped[0] for _, fit in fit_families(merged, stated))]
    own = None
    if any(brier_score(merged, mapped) <= limit for mapped in candidates):
        own = fit_map(bins, None, examined, check, named)
    if brier_score(merged, stated if own is None else own.mapped) <= limit:
        folds = split(merged, clusters)
        refitted = np.broadcast_to(stated, folds.successes.shape) if own is None else own.refitted
        before = np.broadcast_to(forecast, refitted.shape)
        gain = measure_gain(merged, folds, before, refitted, forecast, clusters)
        kept = FittedMap("as_stated", stated, stated, refitted, gain) if own is None else own._replace(gain=gain)
        offered = [kept] if is_offered(gain, examined) else []
    moved = fit_map(bins, shared, examined, check, named)
    if moved is not None:
        offered.append(moved)
    return max(offered, key=lambda found: found.gain.mean, default=None)


def _cells_by_category(groups: Groups) -> Iterator[tuple[str, tuple[Floats, Counts]]]:
    """Yield the cells of the named categories with enough reviews, in the order of their names."""
    table = groups.table
    reviewed = np.where(np.isnan(table.confidence), 0, table.counts[:, 1:OUTCOMES_COUNT].sum(axis=1))
    n = np.bincount(groups.numbers, weights=reviewed, minlength=len(groups.names.ranks))
    most = np.argsort(-n, kind="stable")[:CATEGORIES_MAX]
    examined = np.sort(most[n[most] >= REVIEWS_MIN["logit_shift"]])
    place = np.full(len(n), -1, dtype=np.intp)
    place[examined] = np.arange(len(examined))
    cells = place[groups.numbers] >= 0
    merged = merge_cells_by_group(
        table.confidence[cells], table.counts[cells], place[groups.numbers[cells]], len(examined)
    )
    for number, part in zip(examined.tolist(), merged, strict=True):
        name = groups.names.of(number)
        if name is not None:
            yield name, part
